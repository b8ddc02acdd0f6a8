"""Role directives: DECISIONS Role directives and formula overlays 1, 8, 12."""

from __future__ import annotations

import pytest

from rye.customization.places import check_name
from rye.customization.role_directives import (
    RoleDirectiveFile,
    directives_header,
    join_directives,
    role_directives,
)
from rye.errors import UsageError

AUTHORITY = "(operator policy — overrides formula where they conflict)"


@pytest.mark.parametrize(
    ("user", "project", "header", "text"),
    [
        ("town\n", "\n rig \n", f"## Town & Rig Directives {AUTHORITY}", "town\nrig"),
        ("town", None, f"## Town Directives {AUTHORITY}", "town"),
        (None, "rig", f"## Rig Directives {AUTHORITY}", "rig"),
        (" \n\t", "rig", f"## Rig Directives {AUTHORITY}", "rig"),
        ("\ufefftown\r\nmore", "\ufeff", f"## Town Directives {AUTHORITY}", "town\nmore"),
        (None, " ", "", ""),
    ],
)
def test_town_then_rig_under_one_header(user: str | None, project: str | None, header: str, text: str) -> None:
    files = (RoleDirectiveFile("r", "project", "p", project), RoleDirectiveFile("r", "user", "u", user))
    told = role_directives(files)
    assert (told.header, told.text) == (header, text)
    assert told.render() == (f"{header}\n\n{text}" if text else "")
    assert [source.level for source in told.sources] == ["user", "project"]
    assert join_directives(user, project) == text


def test_places_that_were_looked_at_say_what_was_there() -> None:
    absent, blank = RoleDirectiveFile("r", "user", "u"), RoleDirectiveFile("r", "user", "u", " \n")
    assert (absent.found, absent.effective) == (False, False)
    assert (blank.found, blank.effective) == (True, False)
    assert directives_header(False, False) == ""


@pytest.mark.parametrize("name", ["../x", "a/b", "", "A", ".", "a.md", "a\\b", "con", "a\n", "/etc"])
def test_names_are_item_names(name: str) -> None:
    with pytest.raises(UsageError):
        check_name(name, "role")
    assert check_name("polecat-2", "role") == "polecat-2"
