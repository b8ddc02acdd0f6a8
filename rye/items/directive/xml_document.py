"""The XML text inside a directive's fence: positions in the file, the name of the first element, the error for bad XML."""

from __future__ import annotations

from msgspec import Struct

from rye.text.lazy import lazy_pattern
from rye.text.markdown_model import Fence

BLANKS = " \t\r\n"
"""XML's whitespace; other space characters are text."""


class XmlError(Exception):
    """The fence's content is not acceptable XML. ``line`` and ``column`` are the file's."""

    def __init__(self, message: str, line: int, column: int, hint: str | None = None, code: str = "D003"):
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column
        self.hint = hint
        self.code = code


class Document(Struct, frozen=True, gc=False):
    """What all elements of one fence share."""

    fence: Fence
    content: str
    """The fence's text."""
    tags: list[str]
    """The name of every element, in document order."""
    declares: bool
    """Whether the content can declare a namespace."""

    @property
    def plain(self) -> bool:
        """Whether there is certainly no namespace: no element name contains a colon, and nothing can declare one."""
        return not self.declares and ":" not in "".join(self.tags)

    def refusal(self, message: str, offset: int, hint: str | None = None, code: str = "D003") -> XmlError:
        """Return an error at an offset in the content."""
        return XmlError(message, *self.place(offset), hint, code)

    def place(self, offset: int) -> tuple[int, int]:
        """Convert an offset in the content to a line and column of the file. Takes time linear in the offset."""
        return self.place_in(self.content.count("\n", 0, offset) + 1, offset)

    def place_in(self, row: int, offset: int) -> tuple[int, int]:
        """Like ``place``, for an offset in line ``row`` of the content (from 1)."""
        return self.fence.place(row, offset - self.content.rfind("\n", 0, offset))


_ROOT = lazy_pattern(r"<([^\s<>/=\"'!?&]++)")


def sniff_root(content: str) -> str | None:
    """The name of the first element in ``content``, well-formed or not, without a namespace prefix, or None.

    After a DOCTYPE, which no directive may have: ``directive`` if any element is one.
    """
    position = 0
    while True:
        while position < len(content) and (content[position] in BLANKS or content[position] == "\ufeff"):
            position += 1
        if content.startswith("<!--", position):
            position = content.find("-->", position + 4)
        elif content.startswith("<?", position):
            position = content.find("?>", position + 2)
        elif content.startswith("<!", position):
            return _declared_root(content, position)
        else:
            found = _ROOT.match(content, position)
            return found.group(1).rpartition(":")[2] if found else None
        if position < 0:
            return None
        position = content.find(">", position) + 1


def _declared_root(content: str, position: int) -> str | None:
    """The same for a text with a declaration at ``position``. Where the declaration ends depends on quotes and comments in it, so
    any ``<directive>`` after its start counts as the first element."""
    names = [found[1].rpartition(":")[2] for found in _ROOT.finditer(content, position)]
    return "directive" if "directive" in names else names[0] if names else None


def escape(text: str) -> str:
    """Escape text for use as character data. The standard library's function would import half the network stack."""
    return text.translate({ord("&"): "&amp;", ord("<"): "&lt;", ord(">"): "&gt;"})
