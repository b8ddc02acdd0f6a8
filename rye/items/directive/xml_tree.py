"""The XML inside a directive's fence as a tree of elements, each with its position in the file (DECISIONS Directives 2).

The rules of this file:

* No DOCTYPE in any form, no entities beyond XML's five, no network, no recovery, no processing instructions, UTF-8 only, a cap on
  depth. These are refused before lxml sees the text where possible, and by lxml's own settings as well.
* Elements, attributes and text come from lxml's tree. lxml knows an element's line but not its column, so a scanner also walks
  the text and records only where tags are. Both must agree tag by tag. Where they differ, the text is refused, because it means
  different things to different readers.
* A character reference can produce a character that the file itself must not contain, so the parsed text is checked again for
  hidden characters (DESIGN §5 Content).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import accumulate
from typing import TYPE_CHECKING

from msgspec import Struct

from rye.limits import CONTENT
from rye.text.content import check_text
from rye.text.lazy_pattern import lazy_pattern
from rye.text.markdown_model import Fence

if TYPE_CHECKING:
    from lxml.etree import _Element

BLANKS = " \t\r\n"
"""XML's whitespace; other space characters are text."""


class XmlError(Exception):
    """The fence's content is not acceptable XML. ``line`` and ``column`` are positions in the file."""

    def __init__(self, message: str, line: int, column: int, hint: str | None = None, code: str = "D003"):
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column
        self.hint = hint
        self.code = code


class Document(Struct, frozen=True, gc=False):
    """What all elements of one fence share: its content and the offsets of its lines."""

    fence: Fence
    content: str
    starts: list[int]
    """The offset of each line of the content."""
    tags: list[str]
    """The name of every element, in document order."""

    @property
    def plain(self) -> bool:
        """Whether there is certainly no namespace: no element name contains a colon, and nothing can declare one."""
        return "xmlns" not in self.content and ":" not in "".join(self.tags)

    def place(self, offset: int) -> tuple[int, int]:
        """Convert an offset in the content to a line and column of the file."""
        index = bisect_right(self.starts, offset)
        return self.fence.place(index, offset - self.starts[index - 1] + 1)

    def line(self, offset: int) -> int:
        """Convert an offset in the content to a line of the file."""
        return self.fence.line + bisect_right(self.starts, offset)


class Element(Struct, frozen=True, gc=False):
    """One element. Positions are in the file; they are computed on access, since most are never needed."""

    tag: str
    attributes: dict[str, str]
    children: tuple[Element, ...]
    text: str
    """The text directly in it, all pieces joined, without comments; not trimmed."""
    document: Document
    start: int
    """The offset of its ``<`` in the document's content."""
    inner: int
    """The offset of its content."""
    end: int
    """The offset of its closing tag; ``inner`` for an empty-element tag."""
    prefixed: bool = False
    """Whether it involves a namespace, which the format does not have."""

    @property
    def trimmed(self) -> str:
        """The text without surrounding whitespace."""
        return self.text.strip(BLANKS)

    @property
    def source(self) -> str:
        """The content between its tags, as written."""
        return self.document.content[self.inner : self.end]

    @property
    def line(self) -> int:
        """The line of its ``<``."""
        return self.document.line(self.start)

    @property
    def column(self) -> int:
        """The column of its ``<``."""
        return self.document.place(self.start)[1]

    @property
    def text_place(self) -> tuple[int, int]:
        """Line and column of the first character between its tags that is not whitespace."""
        source = self.source
        return self.document.place(self.inner + len(source) - len(source.lstrip(BLANKS)))

    @property
    def text_line(self) -> int:
        """The line of ``text_place``."""
        return self.text_place[0]

    @property
    def text_column(self) -> int:
        """The column of ``text_place``."""
        return self.text_place[1]

    def of(self, tag: str) -> tuple[Element, ...]:
        """Its direct children with that tag."""
        return tuple([child for child in self.children if child.tag == tag])

    def walk(self) -> Iterator[Element]:
        """Yield this element and everything below it, in document order."""
        stack = [self]
        while stack:
            element = stack.pop()
            yield element
            stack.extend(reversed(element.children))


_DOCTYPE = lazy_pattern(r"<!\s*doctype", re.IGNORECASE)
_TOKEN = lazy_pattern(
    r"<(?:([^\s<>/=\"'!?]++)((?>(?:[^<>\"']++|\"[^\"<]*+\"|'[^'<]*+')*))>(?:(?<!/>)[^<]*+(</)\1>)?"
    r"|/([^\s<>/=\"'!?]++)(?>(?:[^<>\"']++|\"[^\"<]*+\"|'[^'<]*+')*)>"
    r"|!--(?s:.*?)-->|!\[CDATA\[(?s:.*?)\]\]>|(.?))"
)
"""A start tag, with its text and closing tag if there is only text between them; a closing tag; a comment; a CDATA section; or,
as the last group, a ``<`` that starts none of these."""


@cache
def _declaration() -> re.Pattern[str]:
    return re.compile(
        r"<\?xml\s+version\s*=\s*(?:'1\.0'|\"1\.0\")(?:\s+encoding\s*=\s*(?:'utf-8'|\"utf-8\"))?"
        r"(?:\s+standalone\s*=\s*(?:'yes'|\"yes\"|'no'|\"no\"))?\s*\?>",
        re.IGNORECASE,
    )


@cache
def _read_xml() -> Callable[[bytes], _Element]:
    """The hardened parser. All directives share one, since creating a parser costs as much as reading a small file."""
    from lxml import etree

    parser = etree.XMLParser(
        encoding="utf-8",
        resolve_entities=False,
        load_dtd=False,
        dtd_validation=False,
        no_network=True,
        recover=False,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )
    return partial(etree.fromstring, parser=parser)


_ROOT = lazy_pattern(r"<([^\s<>/=\"'!?&]++)")
_EQUALS = lazy_pattern(r"=\s*[\"']")
_XMLNS = lazy_pattern(r"\sxmlns(?::[^\s=]*)?\s*=")


class _Tag(Struct, gc=False):
    name: str
    start: int
    inner: int
    """The offset of its content."""
    end: int
    """The offset of the closing tag; ``inner`` for an empty-element tag."""
    prefixed: bool


def sniff_root(content: str) -> str | None:
    """The name of the first element in ``content``, well-formed or not, without a namespace prefix, or None."""
    position = 0
    while True:
        while position < len(content) and (content[position] in BLANKS or content[position] == "\ufeff"):
            position += 1
        if content.startswith("<!--", position):
            position = content.find("-->", position)
        elif content.startswith("<?", position):
            position = content.find("?>", position)
        elif content.startswith("<!", position):
            position = _end_of_declaration(content, position)
        else:
            found = _ROOT.match(content, position)
            return found.group(1).rpartition(":")[2] if found else None
        if position < 0:
            return None
        position = content.find(">", position) + 1


def _end_of_declaration(content: str, position: int) -> int:
    """The offset of the ``>`` that ends ``<!…`` at ``position``, after any internal subset; -1 if it never ends."""
    close = content.find(">", position)
    subset = content.find("[", position)
    if 0 <= subset < close:
        subset_end = content.find("]", subset)
        return content.find(">", subset_end) if subset_end >= 0 else -1
    return close


def parse(fence: Fence) -> Element:
    """Return the root element of the fence's content. Raises XmlError at the first problem."""
    reader = _Reader(fence)
    reader.refuse()
    tags = reader.scan()
    return reader.tree(tags)


class _Reader:
    def __init__(self, fence: Fence):
        self.fence = fence
        self.content = content = fence.text
        self.references = "&#" in content
        lengths = map((1).__add__, map(len, content.split("\n")))
        self.document = Document(fence, content, list(accumulate(lengths, initial=0)), [])

    def fail(self, message: str, offset: int, hint: str | None = None, code: str = "D003") -> XmlError:
        return XmlError(message, *self.document.place(offset), hint, code)

    def refuse(self) -> None:
        content = self.content
        if "<!" in content and (found := _DOCTYPE.search(content)):
            raise self.fail(
                "A DOCTYPE is not allowed, not even in a comment: a DOCTYPE can define entities and load other files.",
                found.start(),
                "Delete it; for the literal text, write `&lt;!DOCTYPE`.",
                "D004",
            )
        for character in ("\0", "\r"):
            at = content.find(character)
            if at >= 0:
                raise self.fail(f"U+{ord(character):04X} is not allowed in XML.", at, "Delete the character.")

    def scan(self) -> list[_Tag]:
        """Find every start tag, in document order. Raises XmlError for what only this walk can describe well."""
        tags: list[_Tag] = []
        open_tags: list[_Tag] = []
        depth, attributes = CONTENT.xml_depth, CONTENT.xml_attributes
        crowded = self.content.count("<") > CONTENT.xml_elements
        namespaces = "xmlns" in self.content
        for found in _TOKEN.finditer(self.content):
            what = found.lastindex
            if what == 2 or what == 3:
                name, rest, closed = found.group(1, 2, 3)
                inner = found.end(2) + 1
                prefixed = ":" in name or (namespaces and _XMLNS.search(rest) is not None)
                # Most elements contain only text; their closing tag is part of the match.
                tag = _Tag(name, found.start(), inner, inner if closed is None else found.start(3), prefixed)
                if not open_tags or crowded or len(open_tags) >= depth or len(rest) > attributes:
                    self._refuse_too_much(tag, rest, tags, open_tags)
                tags.append(tag)
                if closed is None and rest[-1:] != "/":
                    open_tags.append(tag)
            elif what == 4:
                self._close(found[4], found.start(), open_tags)
            elif what == 5:
                self._other(found.start())
        if open_tags:
            tag = open_tags[-1]
            raise self.fail(f"`<{tag.name}>` is never closed.", tag.start, f"Add `</{tag.name}>`.")
        if not tags:
            raise self.fail("The fence contains no element.", 0, "Put the `<directive>` element in it.")
        self.document.tags.extend([tag.name for tag in tags])
        return tags

    def _close(self, name: str, at: int, open_tags: list[_Tag]) -> None:
        if not open_tags:
            raise self.fail(f"`</{name}>` closes nothing.", at, "Delete it, or add the opening tag.")
        tag = open_tags.pop()
        if tag.name != name:
            line = self.document.line(tag.start)
            message = f"`</{name}>` appears while `<{tag.name}>` of line {line} is still open."
            raise self.fail(message, at, f"Write `</{tag.name}>` first.")
        tag.end = at

    def _refuse_too_much(self, tag: _Tag, rest: str, before: list[_Tag], open_tags: list[_Tag]) -> None:
        """Refuse a second root, and too many attributes or elements or too much depth. ``rest``: the tag after its name."""
        name, at, limits = tag.name, tag.start, CONTENT
        if not open_tags and before:
            message = f"`<{name}>` comes after the end of `<{before[0].name}>`."
            raise self.fail(message, at, "Only one root element is allowed.")
        if len(rest) > limits.xml_attributes and len(_EQUALS.findall(rest)) > limits.xml_attributes:
            message = f"`<{name}>` has more than {limits.xml_attributes} attributes."
            raise self.fail(message, at, "Remove some.", "D006")
        if len(before) >= limits.xml_elements:
            message = f"The fence has more than {limits.xml_elements:,} elements."
            raise self.fail(message, at, "Remove some.", "D006")
        if len(open_tags) >= limits.xml_depth and not rest.endswith("/"):
            raise self.fail(
                f"Elements are nested more than {limits.xml_depth} deep.", at, "Reduce the nesting.", "D006"
            )

    def _other(self, at: int) -> None:
        """Refuse a ``<`` that starts no tag, comment or CDATA section. An XML declaration at the start is allowed."""
        content = self.content
        if content.startswith("<!--", at):
            raise self.fail("A comment is never closed.", at, "End it with `-->`.")
        if content.startswith("<![CDATA[", at):
            raise self.fail("A CDATA section is never closed.", at, "End it with `]]>`.")
        if content.startswith("<?", at):
            if at == 0 and _declaration().match(content):
                return
            message = "Processing instructions and encodings other than UTF-8 are not allowed."
            raise self.fail(message, at, "Delete it; a directive needs no XML declaration.", "D005")
        hint = "In the fence, write `&lt;` for `<` and `&amp;` for `&`, and quote attribute values."
        raise self.fail("This `<` does not start a well-formed tag.", at, hint)

    def tree(self, tags: list[_Tag]) -> Element:
        try:
            root = _read_xml()(self.content.encode("utf-8", "surrogatepass"))
        except SyntaxError as error:
            raise self._syntax_error(error) from None
        if "<!" in self.content and root.getroottree().docinfo.internalDTD is not None:
            raise self.fail("A DOCTYPE is not allowed.", 0, "Delete it.", "D004")
        nodes = list(root.iter())
        for node, tag in zip(nodes, tags, strict=False):
            name = node.tag
            if name != tag.name or ":" in name or "}" in name:
                self._check_name(name, tag)
        if len(nodes) != len(tags):
            unread = tags[min(len(nodes), len(tags) - 1)]
            raise self.fail("The XML is ambiguous here.", unread.start, "Write it in a simpler form.")
        element = self._element(nodes, tags)
        if self.references:
            self._refuse_hidden(element)
        return element

    def _element(self, nodes: list[_Element], tags: list[_Tag]) -> Element:
        """Build the root's element. ``nodes`` are the root and everything below it in document order, ``tags`` their tags.

        It runs from the last node to the first, so that an element's children are complete before it. The names in document order
        and the number of children of each determine a single tree: lxml's.
        """
        document = self.document
        waiting: list[Element] = []  # those whose parent is still to come, last child first
        for index in range(len(nodes) - 1, -1, -1):
            node, tag = nodes[index], tags[index]
            text = node.text or ""
            children: tuple[Element, ...] = ()
            count = len(node)
            if count:
                children = tuple(waiting[: -count - 1 : -1])
                del waiting[-count:]
                text += "".join([child.tail or "" for child in node])
            given = node.items()
            attributes: dict[str, str] = dict(given) if given else {}  # type: ignore[arg-type]
            waiting.append(
                Element(tag.name, attributes, children, text, document, tag.start, tag.inner, tag.end, tag.prefixed)
            )
        return waiting[0]

    def _check_name(self, name: object, tag: _Tag) -> None:
        """Refuse an element whose name is not that of the tag found. Namespaces are not compared."""
        if not isinstance(name, str) or name.rpartition("}")[2] != tag.name.rpartition(":")[2]:
            raise self.fail("The XML is ambiguous here.", tag.start, "Write it in a simpler form.")

    def _refuse_hidden(self, root: Element) -> None:
        """Refuse what a character reference produces but the file itself may not contain."""
        for element in root.walk():
            for text in (element.text, *element.attributes.values()):
                if text.isascii() and text.isprintable():
                    continue
                for found in check_text(text):
                    if found.severity == "error":
                        message = f"A character reference in `<{element.tag}>` produces text that is not allowed:"
                        raise self.fail(f"{message} {found.message}", element.start, "Delete the reference.", "D007")

    def _syntax_error(self, error: SyntaxError) -> XmlError:
        line, column = error.lineno or 1, (error.offset or 0) + 1
        lines = self.content.split("\n")
        line = min(max(line, 1), len(lines))
        raw = lines[line - 1].encode("utf-8", "surrogatepass")
        column = len(raw[: max(column - 1, 0)].decode("utf-8", "ignore")) + 1
        message = (error.msg or "malformed").split(", line ")[0]
        message = re.sub(r"\bline (\d+)", lambda found: f"line {self.fence.line + int(found.group(1))}", message)
        hint = None
        if "ntity" in message or "EntityRef" in message:
            hint = "Write `&amp;` for `&`; the only entities are &lt; &gt; &amp; &quot; and &apos;."
        elif "redefined" in message:
            hint = "Write the attribute once."
        return XmlError(f"The XML is malformed: {message}.", *self.fence.place(line, column), hint)


def escape(text: str) -> str:
    """Escape text for use as character data. The standard library's function would import half the network stack."""
    return text.translate({ord("&"): "&amp;", ord("<"): "&lt;", ord(">"): "&gt;"})
