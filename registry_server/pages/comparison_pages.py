"""Split a comparison into pages of bounded size. Pure.

The first page begins with the rights that the newer version adds; the lines of the texts come last. What does not fit
continues on the next page, row by row in the same order, so nothing is omitted or repeated.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Generic, TypeVar

from msgspec import Struct
from msgspec.structs import astuple, replace

from registry_server.pages.comparison import Differences, Hooks, Lists, Rights, Tools
from registry_server.pages.comparison import Facts as FactChanges
from registry_server.pages.escaped_text import marked, marked_within
from registry_server.pages.file_changes import FileChange
from registry_server.pages.limits import COMPARISON, PAGES
from registry_server.pages.text_changes import Hunk, Line, Part

D = TypeVar("D", bound=Differences)

_ROW, _LINE, _PART, _FILE = 220, 150, 30, 900
"""Characters of HTML around a row of a list, a line of a diff, a marked part of a line, and the lines of a file."""


class _Row(Struct, frozen=True):
    """One row, the list or file that it belongs to, and its cost in characters of HTML."""

    slot: str
    value: Any
    cost: int
    file: int = -1
    hunk: int = -1


class Paged(Struct, Generic[D], frozen=True):
    """A comparison and the rows of each of its pages."""

    whole: D
    pages: tuple[tuple[_Row, ...], ...]

    def page(self, number: int) -> D:
        """Return the part on page ``number``, from 1. It is empty for a page that does not exist."""
        return _built(self.whole, self.pages[number - 1] if 1 <= number <= len(self.pages) else ())


def paged(whole: D, most: int = COMPARISON.page_characters) -> Paged[D]:
    """Split a comparison into as few pages as possible, at least one, each of at most ``most`` characters of HTML."""
    pages: list[list[_Row]] = [[]]
    room = most
    open_file = open_hunk = -1
    for row in _rows(whole):
        extra = (_FILE if row.file != open_file and row.file >= 0 else 0) + (_ROW if row.hunk != open_hunk else 0)
        if room < row.cost + extra and pages[-1]:
            pages.append([])
            room = most
            extra = _FILE + _ROW if row.file >= 0 else 0
        pages[-1].append(row)
        room -= row.cost + extra
        open_file, open_hunk = row.file, row.hunk
    return Paged(whole, tuple(map(tuple, pages)))


def _rows(whole: Differences) -> Iterator[_Row]:
    for slot, rows in _lists(whole).items():
        for row in rows:
            yield _Row(slot, row, _ROW + _cost(row))
    for at, file in enumerate(whole.files):
        yield _Row("file", file, sum(map(_html, file.notes)) + 2 * _html(file.path), at)
        for hunk_at, hunk in enumerate(file.hunks):
            for line in hunk.lines:
                fitted = _fitted(line)
                cost = _LINE + sum(_PART + _html(part.text) for part in fitted.parts)
                yield _Row("line", fitted, cost, at, hunk_at)


def _lists(whole: Differences) -> dict[str, tuple[Any, ...]]:
    """Return the lists in reading order."""
    return {
        "unknown": whole.unknown,
        "widened": whole.rights.widened,
        "tools_added": whole.agent_tools.added,
        "hooks_added": whole.hooks.added,
        "runs": whole.runs,
        "facts_added": whole.facts.added,
        "relations_added": whole.relations.added,
        "narrowed": whole.rights.narrowed,
        "tools_removed": whole.agent_tools.removed,
        "hooks_removed": whole.hooks.removed,
        "facts_removed": whole.facts.removed,
        "relations_removed": whole.relations.removed,
    }


def _cost(row: Any) -> int:
    """Return the characters of HTML for all texts of a row. The page cuts each text (filter ``fitted``)."""
    if isinstance(row, str):
        return _html(row)
    if isinstance(row, Struct):
        return sum(_cost(value) for value in astuple(row))
    if isinstance(row, tuple):
        return sum(_cost(value) for value in row)
    return 30


def _html(text: str) -> int:
    return min(len(marked(text)), PAGES.fitted_characters)


def _fitted(line: Line) -> Line:
    """Cut the line where its HTML becomes too long: a hidden character takes much more room when it is shown."""
    room = PAGES.fitted_characters
    parts: list[Part] = []
    left_out = 0
    for part in line.parts:
        _, taken = marked_within(part.text, max(room, 0))
        if taken:
            parts.append(Part(part.text[:taken], part.changed))
        left_out += len(part.text) - taken
        room = room - len(marked(part.text[:taken])) if taken == len(part.text) else 0
    return line if not left_out else replace(line, parts=tuple(parts), after=line.after + left_out)


def _built(whole: D, rows: Sequence[_Row]) -> D:
    slots: dict[str, list[Any]] = {}
    for row in rows:
        slots.setdefault(row.slot, []).append(row.value)
    listed = {name: tuple(slots.get(name, ())) for name in _lists(whole)}
    return replace(
        whole,
        unknown=listed["unknown"],
        rights=Rights(listed["widened"], listed["narrowed"]),
        agent_tools=Tools(listed["tools_added"], listed["tools_removed"], whole.agent_tools.any_command),
        hooks=Hooks(listed["hooks_added"], listed["hooks_removed"]),
        runs=listed["runs"],
        facts=FactChanges(listed["facts_added"], listed["facts_removed"]),
        relations=Lists(listed["relations_added"], listed["relations_removed"]),
        files=tuple(_files(whole, [row for row in rows if row.file >= 0])),
    )


def _files(whole: Differences, rows: Sequence[_Row]) -> Iterator[FileChange]:
    """Yield the files that have rows on the page, each with its lines on that page."""
    for at in dict.fromkeys(row.file for row in rows):
        file = whole.files[at]
        own = [row for row in rows if row.file == at and row.slot == "line"]
        hunks = []
        for hunk_at in dict.fromkeys(row.hunk for row in own):
            lines = tuple(row.value for row in own if row.hunk == hunk_at)
            begins = (
                lines[0].old == file.hunks[hunk_at].lines[0].old and lines[0].new == file.hunks[hunk_at].lines[0].new
            )
            hunks.append(Hunk(file.hunks[hunk_at].skipped if begins else 0, lines))
        ends = bool(own) and own[-1].hunk == len(file.hunks) - 1 and own[-1].value.old == file.hunks[-1].lines[-1].old
        ends = ends and own[-1].value.new == file.hunks[-1].lines[-1].new
        yield replace(file, hunks=tuple(hunks), skipped=file.skipped if ends else 0)
