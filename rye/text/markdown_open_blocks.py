"""The blocks that the Markdown scanner has open: a stack of containers, and one leaf in the innermost."""

from __future__ import annotations

from msgspec import Struct, field


class Open(Struct):
    """An open container: a quote (``indent`` 0), or a list item that lines indented by ``indent`` continue."""

    indent: int
    line: int
    empty: bool = True
    """Whether it has only its marker so far."""
    text: str = ""


class Leaf(Struct):
    """The open leaf block."""

    kind: str
    """``paragraph``, ``fence``, ``code``, ``html`` or ``""``."""
    line: int = 0
    last: int = 0
    marker: str = ""
    length: int = 0
    indent: int = 0
    column: int = 0
    info: str = ""
    html: int = 0
    item: Open | None = None
    """The outermost list item whose first block is this paragraph."""
    start: int = 0
    """The offset of the fence's line, or of that paragraph."""
    lines: list[str] | None = None
    """The content of a fence, or the lines so far of a paragraph that may be a link reference definition."""
    offsets: list[int] = field(default_factory=list)


NO_LEAF = Leaf("")
PLAIN_TEXT = Leaf("paragraph")
"""A paragraph whose content does not matter. Both constants are shared; never modify them."""
