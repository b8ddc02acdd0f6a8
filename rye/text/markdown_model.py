"""What a Markdown text is made of, as :mod:`rye.text.markdown_blocks` finds it. Lines count from 1, offsets from 0."""

from __future__ import annotations

from msgspec import Struct

COMMENT = 2
"""The kind of HTML block that a comment is, in CommonMark's numbering."""


class Heading(Struct, frozen=True):
    """An ATX heading (``## Text``), or a setext one (underlined, ``setext``), whose text nobody asks for."""

    level: int
    text: str
    """Without the hashes and the whitespace around it; empty for a setext heading."""
    line: int
    """An ATX heading's line, or the line of a setext heading's underline."""
    offset: int
    """Where that line starts in the text."""
    depth: int
    """How many quotes and list items it stands in."""
    setext: bool = False


class Fence(Struct, frozen=True):
    """One fenced code block."""

    info: str
    """The info string, trimmed, with character references and backslash escapes resolved."""
    line: int
    """Of the opening marker."""
    column: int
    """Of the opening marker, from 1."""
    end_line: int
    """The last line that belongs to the block: the closing marker's, or the last one of its content."""
    closed: bool
    depth: int
    """How many quotes and list items it stands in."""
    text: str
    """The content, without container prefixes and without the fence's own indent; it starts on line ``line + 1``."""
    start: int
    """Where the opening marker's line starts in the text."""
    end: int
    """Where the line after the block starts in the text; the text's end where there is none."""
    offsets: tuple[int, ...] = ()
    """For each content line, how many characters of the file's line stand before it; empty where none do on any line."""

    @property
    def word(self) -> str:
        """The first word of the info string in lower case; empty where there is none."""
        words = self.info.split(None, 1)
        return words[0].lower() if words else ""

    @property
    def lines(self) -> tuple[str, ...]:
        """The content's lines."""
        return tuple(self.text.split("\n")) if self.end_line - self.closed > self.line else ()

    def place(self, line: int, column: int) -> tuple[int, int]:
        """A place in the content (both from 1) as line and column of the file."""
        index = line - 1
        before = self.offsets[index] if 0 <= index < len(self.offsets) else 0
        return self.line + line, column + before


class Html(Struct, frozen=True):
    """An HTML block. ``kind``: 1–7, as CommonMark numbers its start conditions."""

    kind: int
    line: int
    end_line: int
    depth: int
    closed: bool = True
    """Kinds 1 to 5: whether what ends such a block was found; else the end of what holds it ended it."""


class Code(Struct, frozen=True):
    """An indented code block."""

    line: int
    end_line: int
    depth: int


class Break(Struct, frozen=True):
    """A thematic break."""

    line: int
    depth: int


class Container(Struct, frozen=True):
    """A quote or a list item, ``depth`` containers deep itself."""

    quote: bool
    line: int
    end_line: int
    """The last line that continues it, lazily or not; for a list item, blank lines after it may count."""
    depth: int
    text: str
    """The paragraph that an outermost list item starts with, each line trimmed; empty for all others."""


class Blocks(Struct, frozen=True):
    """What a text is made of. Each list is in the order of the text; paragraphs are what is left over."""

    headings: tuple[Heading, ...]
    fences: tuple[Fence, ...]
    code: tuple[Code, ...]
    html: tuple[Html, ...]
    breaks: tuple[Break, ...]
    containers: tuple[Container, ...]
    read_to: int
    """Where reading stopped: the text's length, unless ``until`` ended it."""
    too_deep: int | None = None
    """The line where quotes and lists nest deeper than MAX_DEPTH; reading stopped there, so do not rely on the rest."""

    @property
    def open_at_end(self) -> str | None:
        """What the text leaves open outside containers, so that it would swallow whatever is put after it."""
        for fence in self.fences[-1:]:
            if not fence.closed and not fence.depth:
                return "code fence"
        for block in self.html[-1:]:
            if not block.closed and not block.depth:
                return "HTML comment" if block.kind == COMMENT else "HTML block"
        return None

    @property
    def code_lines(self) -> list[tuple[int, int]]:
        """First and last line of every code block, fenced and indented."""
        fenced = [(block.line, block.end_line) for block in self.fences]
        return fenced + [(block.line, block.end_line) for block in self.code]

    @property
    def comment_lines(self) -> list[tuple[int, int]]:
        """First and last line of every HTML block that is a comment."""
        return [(block.line, block.end_line) for block in self.html if block.kind == COMMENT]
