"""Role directives: plain Markdown that an operator adds to a role's prompt.

The rules are those of DECISIONS, Role directives and formula overlays, 1, 8 and 12.

The user's file (the "town") comes first and the project's (the "rig") last, so the project has the last word. Each is trimmed; a
blank one counts as missing. The text is not interpreted. Names of roles are item names, so no name can lead out of a folder.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from rye.text.line_form import read_form

Level = Literal["user", "project"]
LEVEL_WORDS: dict[Level, str] = {"user": "Town", "project": "Rig"}
_AUTHORITY = "(operator policy — overrides formula where they conflict)"


class RoleDirectiveFile(Struct, frozen=True):
    """One path where a role directive can be. ``text`` is None if there is no file; a blank file exists but has no effect."""

    role: str
    level: Level
    path: str
    text: str | None = None

    @property
    def found(self) -> bool:
        """Whether the file exists."""
        return self.text is not None

    @property
    def effective(self) -> bool:
        """Whether the file exists and is not blank."""
        return bool(_said(self.text))


class RoleDirectives(Struct, frozen=True):
    """The directives of one role: ``header`` and ``text``, both empty if there are none."""

    header: str = ""
    text: str = ""
    sources: tuple[RoleDirectiveFile, ...] = ()

    def render(self) -> str:
        """The header, a blank line and the text, without a final newline; empty if there is no text."""
        return f"{self.header}\n\n{self.text}" if self.text else ""


def directives_header(user: bool, project: bool) -> str:
    """The header, which names the levels that have directives; empty if neither has (rule 1)."""
    speaking: dict[Level, bool] = {"user": user, "project": project}
    words = " & ".join(LEVEL_WORDS[level] for level, speaks in speaking.items() if speaks)
    return f"## {words} Directives {_AUTHORITY}" if words else ""


def join_directives(user: str | None, project: str | None) -> str:
    """Both texts trimmed and joined by one newline, the user's first. A blank text counts as missing."""
    return "\n".join(text for text in (_said(user), _said(project)) if text)


def role_directives(files: tuple[RoleDirectiveFile, ...]) -> RoleDirectives:
    """The directives of a role from its files (at most one for each level), given in any order."""
    texts: dict[Level, str | None] = {file.level: file.text for file in files}
    user, project = texts.get("user"), texts.get("project")
    header = directives_header(bool(_said(user)), bool(_said(project)))
    ordered = tuple(sorted(files, key=lambda file: file.level != "user"))
    return RoleDirectives(header, join_directives(user, project), ordered)


def _said(text: str | None) -> str:
    return read_form(text or "")[0].strip()
