"""The target's text while directives change it (DECISIONS Overrides 11–14, 17).

The text is a sequence of blocks, each a heading with the lines up to the next heading. Every block has a *label*: byte
strings that sort in the order of the text. The blocks of a replacement get the replaced heading's label plus four bytes each,
so they sort into the section's place. All blocks whose labels extend one label are a *region*.

* A replaced section leaves a marker at its label, with its old level and heading. So it can still be found if its heading
  changed, its replacement counts as one section whatever headings it has, and a directive for a removed section does not
  match a later section of the same name.
* Headings inside a replacement are blocks like any others. Inserted content is not scanned, so it is never a target.
* A section ends at the next heading or marker of the same or a higher level; a region ends after its last label.
* Inserted content is kept in slots of a section until the text is composed. The order of the output: before, heading,
  prepended, body with subsections, appended, after.

The labels are kept sorted, per level and per heading. So a lookup takes logarithmic time and a replacement time proportional
to the lines that it removes and adds: a hostile file cannot make many small directives expensive.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import Literal, NamedTuple

from msgspec import Struct, field

from rye.customization.heading_path import Selector
from rye.customization.provenance import LineOrigin, consecutive
from rye.text.line_form import is_blank
from rye.text.markdown_sections import Sections

Label = bytes
Slot = Literal["before", "prepended", "appended", "after"]
_AFTER_ALL_BELOW = b"\xff"
"""Appended to a label, sorts after all its extensions: their next byte is the high byte of a small number, never 0xff."""


class Match(NamedTuple):
    """A section that a path matches. ``namesakes``: how many other headings its selectors match within their scopes."""

    label: Label
    namesakes: int
    base_line: int | None
    """Line of the heading in the target's file; for a heading inside a replacement, the line of the replaced heading."""


class Missing(NamedTuple):
    """No section matches. ``emptied_by``: line of the directive that removed the section or its parent, if one did;
    ``label``: the section's label if it was itself removed."""

    emptied_by: int | None = None
    label: Label | None = None


class _Block(Struct, kw_only=True):
    level: int
    text: str
    lines: list[str]
    first: int
    """The line that ``lines`` begin on: in the overrides file if ``source`` is set, else in the target's file."""
    source: int | None
    """Line of the directive that added the block; None: it is from the target."""
    base_line: int | None
    marker: bool = False
    """Whether it only marks a replaced section; a marker has no lines."""
    emptied: bool = False


class _Insertion(Struct):
    lines: list[str]
    first: int
    source: int


class _Ending(Struct):
    appended: list[_Insertion] = field(default_factory=list)
    after: list[_Insertion] = field(default_factory=list)


class Composed(NamedTuple):
    """The composed text. ``sources[i]``: line of the directive that added ``lines[i]``, None if it is from the target;
    ``origins[i]``: where ``lines[i]`` was written. ``rewritten_end``: a directive changed the end of the text (it added the
    last line or removed what followed it), so the text ends with one newline (DECISIONS Overrides 18)."""

    lines: list[str]
    sources: list[int | None]
    origins: list[LineOrigin]
    rewritten_end: bool


class EvolvingDocument:
    """The body of one target. Call :meth:`replace` for all replacements, then :meth:`insert`, then :meth:`compose`."""

    def __init__(self, lines: list[str], body: Sections):
        """``body``: the sections of ``lines`` after the frontmatter."""
        self._blocks: dict[Label, _Block] = {}
        self._order: list[Label] = []
        self._levels: dict[int, list[Label]] = {level: [] for level in range(1, 7)}
        self._headings: dict[Selector, list[Label]] = {}
        self._before: dict[Label, list[_Insertion]] = {}
        self._lead: dict[Label, list[_Insertion]] = {}
        """Content prepended to a region that does not start with a heading."""
        self._prepended: dict[Label, list[_Insertion]] = {}
        self._endings: dict[int, dict[Label, _Ending]] = {}
        self.setext_lines = tuple(index + 1 for index in body.setext)
        self._insert_blocks(
            (
                _number(index),
                _Block(
                    level=block.level,
                    text=block.text,
                    lines=lines[block.start : block.end],
                    first=block.start + 1,
                    source=None,
                    base_line=block.start + 1,
                ),
            )
            for index, block in enumerate(body.blocks)
        )

    # Looking up

    def find(self, path: tuple[Selector, ...]) -> Match | Missing:
        """The section that ``path`` names: each selector takes the first match within the section of the one before
        (DECISIONS Overrides 9)."""
        low, high = b"", _AFTER_ALL_BELOW
        namesakes = 0
        label = b""
        for at, selector in enumerate(path, 1):
            labels = self._headings.get(selector, [])
            first = bisect_right(labels, low)
            if first >= len(labels) or labels[first] >= high:
                return Missing()
            label = labels[first]
            block = self._blocks[label]
            if block.emptied:
                return Missing(block.source, label if at == len(path) else None)
            # The same heading inside a replacement is not a namesake: most replacements repeat the heading.
            following = bisect_left(labels, label + _AFTER_ALL_BELOW) if block.marker else first + 1
            namesakes += max(0, bisect_left(labels, high) - following)
            low, high = label, self._end(label)
        return Match(label, namesakes, self._blocks[label].base_line)

    def _end(self, label: Label) -> Label:
        """The label that ends the section: every block after the section has this label or a later one."""
        block = self._blocks[label]
        if block.marker:
            return label + _AFTER_ALL_BELOW
        end = _AFTER_ALL_BELOW
        for level in range(1, block.level + 1):
            labels = self._levels[level]
            following = bisect_right(labels, label)
            if following < len(labels) and labels[following] < end:
                end = labels[following]
        return end

    def _span(self, label: Label) -> tuple[int, int]:
        return bisect_left(self._order, label), bisect_left(self._order, self._end(label))

    def section_is(self, label: Label, content: list[str]) -> bool:
        """Whether the section's lines already equal ``content``, apart from blank lines at its end."""
        start, end = self._span(label)
        at = 0
        for index in range(start, end):
            for line in self._blocks[self._order[index]].lines:
                if at < len(content):
                    if line != content[at]:
                        return False
                    at += 1
                elif not is_blank(line):
                    return False
        return at == len(content)

    # Changing

    def replace(self, label: Label, content: list[str], found: Sections, first: int, source: int) -> int:
        """Replace the section with ``content``. Return how many lines the section had.

        ``content``: no blank lines at either end; empty removes the section. ``found``: the sections of ``content``.
        ``first``: the line of the overrides file that ``content`` begins on; ``source``: the directive's line.
        """
        start, end = self._span(label)
        old = self._blocks[label]
        removed = self._order[start:end]
        gone = sum(len(self._blocks[each].lines) for each in removed)
        self._remove_blocks(removed)
        marker = _Block(
            level=old.level,
            text=old.text,
            lines=[],
            first=first,
            source=source,
            base_line=old.base_line,
            marker=True,
            emptied=not content,
        )
        self._insert_blocks(
            [
                (label, marker),
                *(
                    (
                        label + _number(index),
                        _Block(
                            level=block.level,
                            text=block.text,
                            lines=content[block.start : block.end],
                            first=first + block.start,
                            source=source,
                            base_line=old.base_line,
                        ),
                    )
                    for index, block in enumerate(found.blocks)
                ),
            ]
        )
        return gone

    def _remove_blocks(self, labels: list[Label]) -> None:
        """Remove consecutive blocks."""
        first, last = labels[0], labels[-1]
        for selector in {Selector(self._blocks[each].level, self._blocks[each].text) for each in labels}:
            if selector.level:
                _cut(self._headings[selector], first, last)
        for level_labels in self._levels.values():
            _cut(level_labels, first, last)
        _cut(self._order, first, last)
        for each in labels:
            del self._blocks[each]

    def _insert_blocks(self, blocks: Iterable[tuple[Label, _Block]]) -> None:
        """Insert blocks that sort consecutively, in order."""
        order: list[Label] = []
        levels: dict[int, list[Label]] = {}
        headings: dict[Selector, list[Label]] = {}
        for label, block in blocks:
            self._blocks[label] = block
            order.append(label)
            if block.level:
                levels.setdefault(block.level, []).append(label)
                headings.setdefault(Selector(block.level, block.text), []).append(label)
        _splice(self._order, order)
        for level, labels in levels.items():
            _splice(self._levels[level], labels)
        for selector, labels in headings.items():
            _splice(self._headings.setdefault(selector, []), labels)

    def insert(self, label: Label, slot: Slot, content: list[str], first: int, source: int) -> None:
        """Add ``content`` to a slot of the section, after what the slot already has.

        ``content``: not empty, no blank lines at either end. ``first`` and ``source`` as for :meth:`replace`.
        """
        insertion = _Insertion(content, first, source)
        at = self._first_block(label)
        if slot == "before":
            self._before.setdefault(at, []).append(insertion)
        elif slot == "prepended":
            slots = self._prepended if self._blocks[at].level else self._lead
            slots.setdefault(at, []).append(insertion)
        else:
            ending = self._endings.setdefault(self._span(label)[1], {}).setdefault(at, _Ending())
            (ending.appended if slot == "appended" else ending.after).append(insertion)

    def _first_block(self, label: Label) -> Label:
        """The first block at ``label`` that has lines: a marker and the first block of its region are in the same place."""
        while self._blocks[label].marker:
            label += _number(0)
        return label

    # Writing

    def compose(self, head: list[str], head_origins: list[LineOrigin], head_source: int | None) -> Composed:
        """The whole text: ``head`` (the frontmatter with its ``---`` lines, or nothing), then the body with its insertions.

        ``head_origins``: where each line of ``head`` was written. ``head_source``: line of the directive that created the
        frontmatter; None if no directive did.
        """
        out = _Output()
        if head_source is None:
            out.run(head, head_origins, None)
        else:
            out.piece(head, head_origins, head_source)
        for index, label in enumerate(self._order):
            self._write_endings(out, index)
            block = self._blocks[label]
            if block.marker:
                out.seam()
                continue
            for insertion in (*self._before.get(label, ()), *self._lead.get(label, ())):
                out.piece(insertion.lines, consecutive(True, insertion.first, len(insertion.lines)), insertion.source)
            origins = consecutive(block.source is not None, block.first, len(block.lines))
            prepended = self._prepended.get(label)
            if prepended:
                out.run(block.lines[:1], origins[:1], block.source)
                for insertion in prepended:
                    out.piece(
                        insertion.lines, consecutive(True, insertion.first, len(insertion.lines)), insertion.source
                    )
                out.run(block.lines[1:], origins[1:], block.source)
            else:
                out.run(block.lines, origins, block.source)
        self._write_endings(out, len(self._order))
        return out.finish()

    def _write_endings(self, out: _Output, index: int) -> None:
        """Write what was appended to and inserted after the sections that end here, innermost section first."""
        endings = self._endings.get(index, {})
        for label in sorted(endings, reverse=True):
            for insertion in (*endings[label].appended, *endings[label].after):
                out.piece(insertion.lines, consecutive(True, insertion.first, len(insertion.lines)), insertion.source)


class _Output:
    """The lines written so far. Where text of two sources meets, or something was removed, there is exactly one blank line."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._sources: list[int | None] = []
        self._origins: list[LineOrigin] = []
        self._source: int | None = None
        self._joining = False

    def run(self, lines: list[str], origins: list[LineOrigin], source: int | None) -> None:
        """Write lines; they continue the last run without a join if both have the same source."""
        if source != self._source:
            self._joining = True
            self._source = source
        if self._joining:
            start = 0
            while start < len(lines) and is_blank(lines[start]):
                start += 1
            if start == len(lines):
                return
            self._join()
            lines, origins = lines[start:], origins[start:]
        self._write(lines, origins, source)

    def piece(self, lines: list[str], origins: list[LineOrigin], source: int) -> None:
        """Write inserted lines, with a join before and after them."""
        self._join()
        self._write(lines, origins, source)
        self._joining = True

    def seam(self) -> None:
        """Require a join here: something was removed, or a replacement begins."""
        self._joining = True

    def _join(self) -> None:
        self._drop_blank_end()
        if self._lines:
            self._write([""], self._origins[-1:], None)
        self._joining = False

    def _drop_blank_end(self) -> None:
        while self._lines and is_blank(self._lines[-1]):
            self._lines.pop()
            self._sources.pop()
            self._origins.pop()

    def _write(self, lines: list[str], origins: list[LineOrigin], source: int | None) -> None:
        self._lines.extend(lines)
        self._sources.extend([source] * len(lines))
        self._origins.extend(origins)

    def finish(self) -> Composed:
        rewritten = self._joining or (bool(self._sources) and self._sources[-1] is not None)
        if rewritten:
            self._drop_blank_end()
        return Composed(self._lines, self._sources, self._origins, rewritten)


def _number(index: int) -> Label:
    return index.to_bytes(4, "big")


def _cut(labels: list[Label], first: Label, last: Label) -> None:
    del labels[bisect_left(labels, first) : bisect_right(labels, last)]


def _splice(labels: list[Label], new: list[Label]) -> None:
    if new:
        at = bisect_left(labels, new[0])
        labels[at:at] = new
