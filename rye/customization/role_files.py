"""The role directive files of a layout (DECISIONS Role directives and formula overlays 1, 8, 12)."""

from __future__ import annotations

from rye.customization.places import DIRECTIVE_SUFFIX, Places, check_name
from rye.customization.role_directives import RoleDirectiveFile, RoleDirectives, role_directives
from rye.errors import RyeError
from rye.text.hidden_text import hidden_text


def directives_of(places: Places, role: str) -> RoleDirectives:
    """The directives of a role, with every path where a file can be.

    Raises UsageError for an invalid item name, RyeError for a file that cannot be read or has hidden text.
    """
    check_name(role, "role")
    files: list[RoleDirectiveFile] = []
    for folder in places.role_directives:
        path = folder.file(role, DIRECTIVE_SUFFIX)
        text = folder.text(path)
        if text is not None and (hidden := hidden_text(text)):
            raise RyeError(
                "hidden-text",
                f"{folder.shown(path)}:{hidden[0].line}: {hidden[0].message}",
                "Remove the character.",
                details={"diagnostics": [finding.as_json() for finding in hidden]},
            )
        files.append(RoleDirectiveFile(role, folder.level, folder.shown(path), text))
    return role_directives(tuple(files))


def all_files(places: Places) -> list[RoleDirectiveFile]:
    """The existing files, sorted by level and name, without their text. A file's name might not be a valid item name."""
    return [
        RoleDirectiveFile(path.name.removesuffix(DIRECTIVE_SUFFIX), folder.level, folder.shown(path))
        for folder in places.role_directives
        for path in folder.files(DIRECTIVE_SUFFIX)
    ]
