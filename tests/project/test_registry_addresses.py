"""An address that lacks its scheme is answered with the one that works."""

from __future__ import annotations

from pathlib import Path

import pytest

from rye.errors import UsageError
from rye.project.registries import normal_address


@pytest.mark.parametrize(
    ("typed", "hint"),
    [
        ("registry.example.org", "Write https://registry.example.org"),
        ("registry.example.org:8443/rye", "Write https://registry.example.org:8443/rye"),
        ("127.0.0.1:8420", "Write http://127.0.0.1:8420"),
        ("localhost:8420", "Write http://localhost:8420"),
        ("[::1]:8420", "Write http://[::1]:8420"),
    ],
)
def test_a_host_is_answered_with_its_address(tmp_path: Path, typed: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        normal_address(typed, tmp_path)
    assert (caught.value.code, caught.value.details) == ("bad-argument", {"what": "registry"})
    assert caught.value.hint == hint
    assert normal_address(hint.removeprefix("Write "), tmp_path)


@pytest.mark.parametrize(
    "typed", ["xyz", "../none", "ftp://a.example", "a b.example", "a.example/\x1b[2J", "u@a.example"]
)
def test_what_is_no_host_is_not_guessed_at(tmp_path: Path, typed: str) -> None:
    with pytest.raises(UsageError) as caught:
        normal_address(typed, tmp_path)
    assert "Write" not in (caught.value.hint or "")
