"""Colours for the lines of a comparison, and the pages of the lines that it folds. Pure.

Only the stretches of both texts that have shown lines are read (:mod:`registry_server.pages.highlighting`). A changed word has
the colour of plain text on its mark, and a sign before each line says what happened to it: nobody needs the colours to read it.
"""

from __future__ import annotations

from bisect import bisect_right

from markupsafe import Markup

from registry_server.pages.escaped_text import marked
from registry_server.pages.file_changes import Contents, FileChange
from registry_server.pages.highlighting import Colours, Run, language_of, stretches
from registry_server.pages.limits import COMPARISON
from registry_server.pages.source_parts import part_of_line
from registry_server.pages.text_changes import Line


class _Side:
    """The text of one version of a file."""

    def __init__(self, text: str, path: str, colours: Colours) -> None:
        self._language, self._colours = language_of(path), colours
        self._lines = text.split("\n")
        self._stretches = list(stretches(self._lines)) if self._language else []
        self._starts = [each.start for each in self._stretches]
        self._read: dict[int, list[list[Run]] | None] = {}
        self._text = text

    def runs(self, number: int) -> list[Run] | None:
        """Return the coloured pieces of a line, from 1; None: it has no colours."""
        at = bisect_right(self._starts, number - 1) - 1
        if at < 0 or number > len(self._lines):
            return None
        each = self._stretches[at]
        if at not in self._read:
            self._read[at] = self._colours.runs(self._lines[each.start : each.stop], self._language)
        read = self._read[at]
        return read[number - 1 - each.start] if read is not None else None

    def part(self, number: int) -> int:
        """Return the part of the file's source page on which a line is."""
        return part_of_line(self._text, number)


class DiffColours:
    """The lines of one page of a comparison as HTML."""

    def __init__(self, old: Contents, new: Contents, share: float = 1.0) -> None:
        self._contents = {True: old, False: new}
        self._colours = Colours(COMPARISON.colour_characters * share)
        self._sides: dict[tuple[str, bool], _Side] = {}

    def line(self, file: FileChange, line: Line) -> Markup:
        """Return the visible part of a line, with its changed words marked."""
        is_old = line.new is None
        number = line.old if is_old else line.new
        runs = self._side(file, is_old).runs(number) if number is not None else None
        if runs is None:
            return Markup("").join(_mark(part.changed, marked(part.text)) for part in line.parts)
        html, start = [], line.before
        for part in line.parts:
            end = start + len(part.text)
            html.append(_mark(part.changed, self._colours.line(_within(runs, start, end))))
            start = end
        return Markup("").join(html)

    def part(self, file: FileChange, line: int, *, is_old: bool) -> int:
        """Return the part of the source page of one version on which a line is."""
        return self._side(file, is_old).part(line)

    def _side(self, file: FileChange, is_old: bool) -> _Side:
        path = file.renamed_from or file.path if is_old else file.path
        if (path, is_old) not in self._sides:
            data = self._contents[is_old].files.get(path, b"")
            self._sides[path, is_old] = _Side(data.decode("utf-8", "replace"), path, self._colours)
        return self._sides[path, is_old]


def _mark(changed: bool, html: Markup) -> Markup:
    return Markup("<mark>{}</mark>").format(html) if changed else html


def _within(runs: list[Run], start: int, end: int) -> list[Run]:
    """Return the pieces of a line between two of its characters."""
    found, at = [], 0
    for name, text in runs:
        piece = text[max(start - at, 0) : max(end - at, 0)]
        if piece:
            found.append((name, piece))
        at += len(text)
    return found
