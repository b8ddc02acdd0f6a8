"""The blocks that a scanner of Markdown has open: containers, and one leaf in the last of them."""

from __future__ import annotations

from msgspec import Struct, field


class Open(Struct):
    """An open container: a quote (``indent`` 0), or a list item that later lines continue when indented by ``indent``."""

    indent: int
    line: int
    empty: bool = True
    """Nothing but its marker so far."""
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
    """The outermost list item that this paragraph starts."""
    start: int = 0
    """Where the fence's line, or that paragraph, starts in the text."""
    lines: list[str] | None = None
    """A fence's content; of a paragraph that may be a link reference definition, its lines so far."""
    offsets: list[int] = field(default_factory=list)


NO_LEAF = Leaf("")
PLAIN_TEXT = Leaf("paragraph")
"""A paragraph of which nothing needs to be known. These two are shared, so they are never changed."""
