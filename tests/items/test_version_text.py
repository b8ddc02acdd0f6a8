"""One grammar for the versions of all kinds (DECISIONS Directives 19), and messages that say what is wrong with one."""

from __future__ import annotations

from pathlib import Path

import pytest

from rye.errors import UsageError
from rye.items.declared import normalized_version, version_of
from rye.items.version_text import version_problem
from rye.resolution.versions import Version
from rye.text.diagnostics import Diagnostic
from tests.scenes.person import Person

BIG = 2**63


@pytest.mark.parametrize("text", ["0.0.0", f"{BIG - 1}.0.1", "1.2.3-rc.1", "1.2.3+b.1", "1.2.3-0a.x-y+01"])
def test_what_is_a_version_here_is_one_to_the_solver(text: str) -> None:
    assert version_problem(text) is None
    assert str(Version.parse(text)) == text


@pytest.mark.parametrize(
    "text", [f"{BIG}.0.0", f"1.0.{10**30}", "1.2", "01.0.0", "1.0.0-01", "v1.0.0", "1.0.0 ", "1.0.0+", ""]
)
def test_what_is_none_here_is_none_to_the_solver(text: str) -> None:
    assert version_problem(text) is not None
    with pytest.raises(UsageError):
        Version.parse(text)


def test_a_directive_s_version_has_three_numbers_and_nothing_else() -> None:
    assert version_problem("1.0.0-rc.1", release_only=True) == "is not exactly X.Y.Z"
    assert version_problem("1234567890.0.0", release_only=True) is None
    assert version_problem(f"{BIG}.0.0", release_only=True) == "has a number of 2^63 or more"


def test_short_versions_are_completed() -> None:
    assert [normalized_version(value) for value in (1, "1", "1.2", 0, BIG - 1)] == [
        "1.0.0",
        "1.0.0",
        "1.2.0",
        "0.0.0",
        f"{BIG - 1}.0.0",
    ]
    assert [normalized_version(value) for value in (BIG, -1, 1.0, True, "x")] == [None] * 5


@pytest.mark.parametrize(
    ("version", "said"),
    [("1000000000.0.0", None), (f"{BIG}.0.0", "has a number of 2^63 or more"), ("1.1", "is not exactly X.Y.Z")],
)
def test_messages_say_what_is_wrong(tmp_path: Path, version: str, said: str | None) -> None:
    """The message for a directive's version 1000000000.0.0 once said that it is not X.Y.Z."""
    rye = Person(tmp_path)
    path = rye.new("directive", "ops/deploy")
    path.write_text(path.read_text().replace('version="0.1.0"', f'version="{version}"'))
    found = rye.run("validate", str(path), "--json").json["results"][0]["diagnostics"]
    messages = [one["message"] for one in found if one["code"] == "R03"]
    assert messages == ([] if said is None else [f"The version {version!r} {said}."])


def test_so_do_those_of_other_kinds() -> None:
    found: list[Diagnostic] = []
    assert version_of(f"{BIG}.0.0", "K02", "version", 3, found) is None
    assert version_of("v1", "K02", "version", 3, found) is None
    assert [one.message for one in found] == [
        f"version has a number of 2^63 or more: '{BIG}.0.0'.",
        "version is not a semantic version: 'v1'.",
    ]
