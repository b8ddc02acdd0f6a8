"""Fit text to a terminal's width: line breaks, tables and progress bars. Works on values; :mod:`rye.cli.console` prints them.

Lines break between words, but not inside a command in backticks that fits on one line. Continuation lines are indented, so
that an author's text cannot imitate a line of ours. A table that is too wide first shortens the columns that allow it, then
puts long first cells on lines of their own, then all first cells. A last column of prose wraps.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from msgspec import Struct

GAP = 2
_INDENT = 4
_MOST_PROSE = 100
_LEAST_PROSE = 36
"""The narrowest readable column of prose."""
_LEAST_FIRST = 16
"""Below this width of the first column, every row takes two lines."""
_BAR = 40
"""The widest progress bar, in columns."""
_LEAST_BAR = 8
_BAR_SPEED = 20
"""Columns a second by which a bar without a total moves."""
_WORD = r" *(?:`[^`\n]*`|[^ ])+"
_PART = r" *[^ ]+"

Span = tuple[str, str | None]
"""Text, and the name of its style."""
Line = list[Span]
Cell = str | Span


class Column(Struct, frozen=True):
    """A column of a table."""

    title: str
    least: int | None = None
    """On a narrow terminal, cells may be cut to this width. Only for values that another command shows in full."""
    prose: bool = False
    """The column wraps, to at most ``lines`` lines. Only for the last column."""
    lines: int = 2


def columns(text: str) -> int:
    """The width of printable text on a terminal: wide characters take two columns, combining characters none.

    Combining characters with a width of their own (category Mc) count: terminals disagree, and a line that looks shorter than
    it is would continue at the left edge.
    """
    return len(text) if text.isascii() else sum(map(_width, text))


def _width(character: str) -> int:
    if unicodedata.east_asian_width(character) in ("W", "F"):
        return 2
    return 0 if unicodedata.combining(character) and unicodedata.category(character) == "Mn" else 1


def cut(text: str, width: int) -> str:
    """Cut ``text`` to at most ``width`` columns; the cut is marked with ``…``."""
    if columns(text) <= width:
        return text
    kept = _fitting(text, 0, len(text), width - 1)
    return text[:kept].rstrip() + "…"


def breaks(text: str, width: int, hang: int, *, hard: bool = False) -> list[tuple[int, int]]:
    """Return the start and end of each line that ``text`` breaks into. Every line but the first has ``width - hang`` columns.

    Text between double spaces stays together if it fits on one line. ``hard``: also break words that are longer than a line,
    after a ``/`` if possible; otherwise they stay whole, so that they can be copied. Words that are not ASCII are always broken:
    they can contain blank characters, which would push a forged line to the terminal's left edge.
    """
    if columns(text) <= width:
        return [(0, len(text))]
    most = width - hang
    words = _words(text, most)
    parts: list[tuple[int, int]] = []
    begin = end = 0
    for number, (start, stop) in enumerate(words):
        room = most if parts else width
        kept_whole = _together(text, words, number, most)
        breakable = hard or not text[start:stop].isascii()
        in_place = breakable and end - begin <= hang and _slash(text, begin, stop, room) > end - begin
        in_place = in_place and columns(text[start:stop].lstrip(" ")) > most
        if text[begin:end].strip() and not in_place and columns(text[begin:kept_whole]) > room:
            parts.append((begin, end))
            begin = stop - len(text[start:stop].lstrip(" "))
            room = most
        while breakable and begin + _fitting(text, begin, stop, room) < stop:
            kept = begin + _broken(text, begin, stop, room)
            parts.append((begin, kept))
            begin, room = kept, most
        end = stop
    if text[begin:end].strip() or not parts:
        parts.append((begin, end))
    return parts


def _together(text: str, words: Sequence[tuple[int, int]], number: int, most: int) -> int:
    """The end of the text to keep together with a word: up to the next double space, if that fits on one line."""
    begin, stop = words[number]
    if text[begin : begin + 2] != "  ":
        return stop
    for later in range(number + 1, len(words)):
        start, end = words[later]
        if text[start : start + 2] == "  ":
            break
        stop = end
    return stop if columns(text[begin:stop].lstrip(" ")) <= most else words[number][1]


def _broken(text: str, begin: int, stop: int, room: int) -> int:
    """How many characters of a word that is too long go on this line."""
    fitting = max(1, _fitting(text, begin, stop, room))
    slash = _slash(text, begin, stop, room)
    return slash if slash * 3 > fitting else fitting


def _slash(text: str, begin: int, stop: int, room: int) -> int:
    """The position in the word after the last ``/`` that fits; 0 if there is none."""
    return max(0, text.rfind("/", begin, begin + _fitting(text, begin, stop, room)) + 1 - begin)


def flow(spans: Sequence[Span], width: int, hang: int, *, hard: bool = False) -> list[Line]:
    """Break styled text into lines of at most ``width`` columns, all but the first indented by ``hang``; see :func:`breaks`."""
    spans = [(text.replace("\t", " "), style) for text, style in spans]  # a tab has no width of its own
    whole = "".join(text for text, _ in spans)
    lines: list[Line] = []
    for begin, end in breaks(whole, width, hang, hard=hard):
        line: Line = [(" " * hang, None)] if lines else []
        place = 0
        for text, style in spans:
            piece = text[max(0, begin - place) : max(0, end - place)]
            place += len(text)
            if piece:
                line.append((piece, style))
        lines.append(line)
    return lines


def progress_line(title: str, done: int, total: int | None, seconds: float, width: int) -> Line:
    """One frame of a progress bar, in at most ``width - 1`` columns: in the last one, some terminals begin a new line.

    ``total`` None or 0: it is unknown, and a part of the bar moves to and fro. ``seconds``: since the work began.
    """
    percent = f" {100 * min(done, total) // total:>3} %" if total else ""
    tail = f"{percent} {seconds:.0f} s"
    room = min(_BAR, width - 2 - columns(title) - len(tail))
    if room < _LEAST_BAR:
        return [(cut(f"{title}{tail}", width - 1), None)]
    if total:
        before, filled = 0, room * min(done, total) // total
    else:
        filled = room // 4
        turn = int(seconds * _BAR_SPEED) % (2 * (room - filled))
        before = min(turn, 2 * (room - filled) - turn)
    after = room - before - filled
    return [(f"{title} {' ' * before}", None), ("━" * filled, "info"), (f"{' ' * after}{tail}", None)]


def table(rows: Sequence[Sequence[Cell]], header: Sequence[Column], width: int) -> list[Line]:
    """Lay out a table with its header for a terminal of ``width`` columns."""
    body = [[(cell, None) if isinstance(cell, str) else cell for cell in row] for row in rows]
    for number, column in enumerate(header):
        if column.prose:  # spaces could imitate columns
            for row in body:
                row[number] = (" ".join(row[number][0].split()), row[number][1])
    titles: list[Span] = [(column.title, "dim") for column in header]
    whole = [max(columns(row[number][0]) for row in [titles, *body]) for number in range(len(header))]
    widths = [*whole]
    _narrow(widths, header, width)
    rest = sum(widths[1:]) + GAP * (len(widths) - 1)
    if widths[0] + rest <= width:
        return [line for row in [titles, *body] for line in _row(row, header, widths)]
    room = width - rest
    within = sum(columns(row[0][0]) <= room for row in body)
    if room < _LEAST_FIRST or within * 2 < len(body):
        widths = whole  # with the first cell on a line of its own, the others have more room
        _narrow(widths, header, width, first=_INDENT - GAP)
        return [line for row in [titles, *body] for line in _stacked(row, header, widths, width)]
    lines: list[Line] = []
    for row in [titles, *body]:
        own = columns(row[0][0]) > room
        if own:
            lines.extend(flow([row[0]], width, _INDENT, hard=True))
        lines.extend(_row([("", None), *row[1:]] if own else row, header, [room, *widths[1:]]))
    return lines


def _narrow(widths: list[int], header: Sequence[Column], width: int, first: int | None = None) -> None:
    """Shorten the columns that allow it until the table fits, prose first. ``first``: the first column's width to count with."""
    for number, column in reversed(list(enumerate(header))):
        if column.prose:
            widths[number] = min(widths[number], _MOST_PROSE)
        least = _LEAST_PROSE if column.prose else column.least
        taken = (widths[0] if first is None else first) + sum(widths[1:]) + GAP * (len(widths) - 1)
        if least is not None and taken > width:
            widths[number] = max(min(least, widths[number]), widths[number] - (taken - width))


def _row(row: Sequence[Span], header: Sequence[Column], widths: Sequence[int]) -> list[Line]:
    """One row in aligned columns; several lines if its prose wraps."""
    *cells, (last, style) = row
    line: Line = []
    for (text, own), width in zip(cells, widths, strict=False):
        shown = cut(text, width)
        line.extend([(shown, own), (" " * (width - columns(shown) + GAP), None)])
    begin = sum(widths[:-1]) + GAP * len(cells)
    if not header[-1].prose:
        return [_trimmed([*line, (cut(last, widths[-1]), style)])]
    parts = [last[a:b] for a, b in breaks(last, widths[-1], 0, hard=True)]
    if len(parts) > header[-1].lines:
        most = header[-1].lines
        parts = [*parts[: most - 1], cut(parts[most - 1] + " …", widths[-1])]
    first, *more = parts
    return [_trimmed([*line, (first, style)]), *([(" " * begin, None), (part, style)] for part in more)]


def _stacked(row: Sequence[Span], header: Sequence[Column], widths: Sequence[int], width: int) -> list[Line]:
    """The first cell on a line of its own and the others below it in aligned columns; if that is still too wide, all cells in
    sequence."""
    if _INDENT + sum(widths[1:]) + GAP * (len(widths) - 2) <= width:
        first = flow([row[0]], width, _INDENT, hard=True)
        return [*first, *_row([("", None), *row[1:]], header, [_INDENT - GAP, *widths[1:]])]
    spans: list[Span] = []
    for (text, style), room, column in zip(row, [*widths], header, strict=True):
        shown = cut(text, room * column.lines if column.prose else room) if column.prose or column.least else text
        spans.extend([(" " * GAP, None), (shown, style)] if spans else [(shown, style)])
    return [_trimmed(line) for line in flow(spans, width, _INDENT, hard=True)]


def _trimmed(line: Line) -> Line:
    """Remove trailing spaces."""
    while line and not line[-1][0].strip():
        line = line[:-1]
    return [*line[:-1], (line[-1][0].rstrip(), line[-1][1])] if line else line


def _fitting(text: str, begin: int, stop: int, width: int) -> int:
    """How many characters from ``begin`` fit in ``width`` columns. Reads no further than they go."""
    if text.isascii():
        return min(stop - begin, max(0, width))
    kept = used = 0
    for place in range(begin, stop):
        used += _width(text[place])
        if used > width:
            break
        kept += 1
    return kept


def _words(text: str, most: int) -> list[tuple[int, int]]:
    """Start and end of each word with the spaces before it. A command in backticks is one word if it fits on one line."""
    spans = []
    for word in re.finditer(_WORD, text.rstrip(" ")):
        begin, end = word.span()
        if columns(word[0].lstrip()) <= most:
            spans.append((begin, end))
        else:
            spans.extend((begin + part.start(), begin + part.end()) for part in re.finditer(_PART, word[0]))
    if spans and spans[-1][1] < len(text):  # spaces at the end
        spans[-1] = (spans[-1][0], len(text))
    return spans
