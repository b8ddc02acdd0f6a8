"""The complete prompt for an agent in a role (DECISIONS Role directives and formula overlays 10).

The order is fixed: role template, role directives, context files, hand-off, formula steps with overlays. Blank lines at the ends
of each part are removed, empty parts are left out, and parts are separated by one blank line. Their text is not interpreted.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

PARTS = ("role", "role-directives", "context", "handoff", "formula")


class Looked(Struct, frozen=True):
    """One file that was looked for, for ``--explain``."""

    part: str
    path: str
    found: bool
    detail: str = ""

    def as_json(self) -> dict[str, object]:
        """The entry of ``looked`` in the document of ``rye prime``."""
        return {"part": self.part, "path": self.path, "found": self.found, "detail": self.detail}

    def __str__(self) -> str:
        state = self.detail or ("found" if self.found else "not found")
        return f"{self.part}: {self.path}: {state}"


class Section(Struct, frozen=True):
    """One part of the prompt and its source files."""

    part: str
    text: str
    sources: tuple[str, ...]

    def as_json(self) -> dict[str, object]:
        """The entry of ``sections`` in the document of ``rye prime``."""
        return {"part": self.part, "text": self.text, "sources": list(self.sources)}


def ordered(sections: Iterable[Section]) -> tuple[Section, ...]:
    """The parts that are not empty, in the order of a prompt. Sections of the same part keep their order."""
    trimmed = (Section(each.part, _trim(each.text), each.sources) for each in sections)
    return tuple(sorted((each for each in trimmed if each.text), key=lambda each: PARTS.index(each.part)))


def prompt(sections: Iterable[Section]) -> str:
    """The prompt. It ends with a newline unless it is empty."""
    text = "\n\n".join(section.text for section in ordered(sections))
    return f"{text}\n" if text else ""


def _trim(text: str) -> str:
    """``text`` without blank lines at its ends; an indented first line keeps its indentation."""
    lines = text.split("\n")
    start, end = 0, len(lines)
    while start < end and not lines[start].strip():
        start += 1
    while end > start and not lines[end - 1].strip():
        end -= 1
    return "\n".join(lines[start:end])
