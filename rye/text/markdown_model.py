"""The blocks of a Markdown text, as :mod:`rye.text.markdown_blocks` finds them. Lines count from 1, offsets from 0."""

from __future__ import annotations

from msgspec import Struct

COMMENT = 2
"""The number that CommonMark gives to HTML blocks that are comments."""


class Heading(Struct, frozen=True):
    """An ATX heading (``## Text``) or a setext heading (underlined; ``setext`` is true and the text is not read)."""

    level: int
    text: str
    """The text without hashes and surrounding whitespace; empty for a setext heading."""
    line: int
    """The line of an ATX heading, or of a setext heading's underline."""
    offset: int
    """The offset of that line in the text."""
    depth: int
    """How many quotes and list items contain it."""
    setext: bool = False


class Fence(Struct, frozen=True, kw_only=True):
    """One fenced code block."""

    info: str
    """The info string, trimmed, with character references and backslash escapes resolved."""
    line: int
    """The line of the opening marker."""
    column: int
    """The column of the opening marker, from 1."""
    end_line: int
    """The last line of the block: that of the closing marker, or else of its content."""
    closed: bool
    depth: int
    """How many quotes and list items contain it."""
    text: str
    """The content without container prefixes and without the fence's own indent. It starts on line ``line + 1``."""
    start: int
    """The offset of the opening marker's line in the text."""
    end: int
    """The offset of the line after the block, or the text's length."""
    offsets: tuple[int, ...] = ()
    """For each content line, how many characters precede it on the file's line; empty if that is 0 for every line. If the line
    begins with what remains of a tab, its spaces count as preceding; so the number can be negative."""

    @property
    def word(self) -> str:
        """The first word of the info string in lower case, or an empty string."""
        words = self.info.split(None, 1)
        return words[0].lower() if words else ""

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines of the content."""
        return tuple(self.text.split("\n")) if self.end_line - self.closed > self.line else ()

    def place(self, line: int, column: int) -> tuple[int, int]:
        """Convert a position in the content (line and column, from 1) to one in the file."""
        index = line - 1
        before = self.offsets[index] if 0 <= index < len(self.offsets) else 0
        return self.line + line, max(column + before, 1)


class Html(Struct, frozen=True):
    """An HTML block. ``kind``: 1–7, as CommonMark numbers its start conditions."""

    kind: int
    line: int
    end_line: int
    depth: int
    closed: bool = True
    """For kinds 1 to 5, whether its end marker was found; if not, it ends with its container or with the text."""


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
    """A quote or a list item; ``depth`` is how many containers it is in."""

    quote: bool
    line: int
    end_line: int
    """The last line that continues it, lazily or not. For a list item, this can include trailing blank lines."""
    depth: int
    text: str
    """The first paragraph of an outermost list item, each line trimmed; empty for other containers."""


class Blocks(Struct, frozen=True, kw_only=True):
    """All blocks of a text, each kind in document order. Whatever is in none of them is paragraphs."""

    headings: tuple[Heading, ...]
    fences: tuple[Fence, ...]
    code: tuple[Code, ...]
    html: tuple[Html, ...]
    breaks: tuple[Break, ...]
    containers: tuple[Container, ...]
    read_to: int
    """The offset where reading stopped: the text's length, unless ``until`` ended it."""
    too_deep: int | None = None
    """The line where quotes and lists nest deeper than MAX_DEPTH. Reading stopped there, so the rest is unknown."""

    @property
    def open_at_end(self) -> str | None:
        """What the text leaves open outside containers, in words, or None. It would swallow any text appended after it."""
        for fence in self.fences[-1:]:
            if not fence.closed and not fence.depth:
                return "code fence"
        for block in self.html[-1:]:
            if not block.closed and not block.depth:
                return "HTML comment" if block.kind == COMMENT else "HTML block"
        return None

    @property
    def code_lines(self) -> list[tuple[int, int]]:
        """First and last line of each code block, fenced or indented."""
        fenced = [(block.line, block.end_line) for block in self.fences]
        return fenced + [(block.line, block.end_line) for block in self.code]

    @property
    def comment_lines(self) -> list[tuple[int, int]]:
        """First and last line of each HTML block that is a comment."""
        return [(block.line, block.end_line) for block in self.html if block.kind == COMMENT]
