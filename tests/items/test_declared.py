"""Dependencies that formats other than directives list (DESIGN §6)."""

from __future__ import annotations

import pytest

from rye.items.declared import parse_dependency
from rye.items.reading import Dependency


@pytest.mark.parametrize("wanted", ["^1.2", "~1", ">=1, <3", "1.x || 2.x", "*", "1.0.0-rc.1"])
def test_a_reference_with_a_range(wanted: str) -> None:
    assert parse_dependency(f"tool:acme/fs/read @ {wanted}", 7) == Dependency(
        "depends_on", "tool:acme/fs/read", wanted, 7
    )


def test_no_range_is_any_version() -> None:
    assert parse_dependency("read") == Dependency("depends_on", "read", None, None)


@pytest.mark.parametrize("wanted", ["", " ", "banana", "1.2.3.4", "^^1", "01.2", "1.2 ||| 2", "9" * 300])
def test_a_range_that_no_solver_reads_makes_the_reference_malformed(wanted: str) -> None:
    assert parse_dependency(f"tool:acme/fs/read@{wanted}") is None


@pytest.mark.parametrize("text", ["", "@^1", "widget:a/b", ":a/b", "../a", "A/b", "a//b", "a/b/"])
def test_what_names_no_item_is_malformed(text: str) -> None:
    assert parse_dependency(text) is None
