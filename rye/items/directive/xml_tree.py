"""The XML inside a directive's fence as a tree of elements, each with its place in the file (DECISIONS Directives 2).

The rules of this file:

* No DOCTYPE in any form, no entities beyond XML's five, no network, no recovery, no processing instructions, UTF-8 only, a cap on
  depth. Refused before lxml sees the text where possible, and by lxml's own settings as well.
* What an element is, and every attribute and text, comes from lxml's tree. lxml knows an element's line but not its column, so
  the text is also walked by a scanner that only records where tags stand. Both must tell the same story, tag by tag;
  where they differ the text is refused, because it then means different things to different readers.
* A character reference can bring in what may not stand in the file itself, so the parsed text is looked at again for hidden
  characters (DESIGN §5 Content).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING

from msgspec import Struct

from rye.limits import CONTENT
from rye.text.content import check_text
from rye.text.markdown_model import Fence

if TYPE_CHECKING:
    from lxml.etree import XMLParser, XMLSyntaxError, _Element

BLANKS = " \t\r\n"
"""XML's white space; other blanks are text."""


class XmlError(Exception):
    """The fence's content is not XML that may be read. ``line`` and ``column`` are the file's."""

    def __init__(self, message: str, line: int, column: int, hint: str | None = None, code: str = "D003"):
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column
        self.hint = hint
        self.code = code


class Element(Struct, frozen=True):
    """One element. ``line`` and ``column`` are those of its ``<`` in the file."""

    tag: str
    attributes: dict[str, str]
    children: tuple[Element, ...]
    text: str
    """The text directly in it, all pieces joined, comments left out; untrimmed."""
    source: str
    """What stands between its tags, as written."""
    line: int
    column: int
    text_line: int
    text_column: int
    """Of the first character between its tags that is no white space."""
    prefixed: bool = False
    """Whether a namespace is involved, which the format does not have."""

    @property
    def trimmed(self) -> str:
        return self.text.strip(BLANKS)

    def of(self, tag: str) -> tuple[Element, ...]:
        """Its direct children of that name."""
        return tuple([child for child in self.children if child.tag == tag])

    def first(self, tag: str) -> Element | None:
        return next((child for child in self.children if child.tag == tag), None)

    def walk(self) -> Iterator[Element]:
        """This element and everything below it, in document order."""
        stack = [self]
        while stack:
            element = stack.pop()
            yield element
            stack.extend(reversed(element.children))


_DOCTYPE = re.compile(r"<!\s*doctype", re.IGNORECASE)
_TOKEN = re.compile(
    r"<(?:(/?)([^\s<>/=\"'!?]++)((?:[^<>\"']++|\"[^\"<]*+\"|'[^'<]*+')*+)>(?:[^<]*+(</)\2>)?|!--|!\[CDATA\[|\?)?"
)
"""A tag, with what follows it up to its closing tag where that is only text; or what starts any other markup; or a ``<`` that
starts nothing."""


@cache
def _declaration() -> re.Pattern[str]:
    return re.compile(
        r"<\?xml\s+version\s*=\s*(?:'1\.0'|\"1\.0\")(?:\s+encoding\s*=\s*(?:'utf-8'|\"utf-8\"))?"
        r"(?:\s+standalone\s*=\s*(?:'yes'|\"yes\"|'no'|\"no\"))?\s*\?>",
        re.IGNORECASE,
    )


@cache
def _parser() -> XMLParser:
    """The hardened parser: one for all directives, since making one costs as much as reading a small file."""
    from lxml import etree

    return etree.XMLParser(
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


_ROOT = re.compile(r"<([^\s<>/=\"'!?&]++)")
_EQUALS = re.compile(r"=\s*[\"']")
_XMLNS = re.compile(r"\sxmlns(?::[^\s=]*)?\s*=")


class _Tag(Struct):
    name: str
    start: int
    inner: int
    """Where what is inside begins."""
    end: int
    """Where the closing tag begins; ``inner`` for an empty-element tag."""
    prefixed: bool
    one_line: bool


def sniff_root(content: str) -> str | None:
    """The name of the first element in ``content``, well-formed or not, without a namespace prefix. None: there is none."""
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
    """The ``>`` that ends ``<!…`` at ``position``, past an internal subset; -1 where nothing ends it."""
    close = content.find(">", position)
    subset = content.find("[", position)
    if 0 <= subset < close:
        subset_end = content.find("]", subset)
        return content.find(">", subset_end) if subset_end >= 0 else -1
    return close


def parse(fence: Fence) -> Element:
    """The root element of the fence's content. Raises XmlError at the first thing that is wrong."""
    reader = _Reader(fence)
    reader.refuse()
    tags = reader.scan()
    return reader.tree(tags)


class _Reader:
    def __init__(self, fence: Fence):
        self.fence = fence
        self.content = fence.text
        self.references = "&#" in self.content
        self.starts = list(accumulate([len(line) + 1 for line in self.content.split("\n")], initial=0))
        self.line = fence.line
        self.shifted = bool(fence.offsets)

    def place(self, offset: int) -> tuple[int, int]:
        """Offset in the content to line and column of the file."""
        index = bisect_right(self.starts, offset)
        column = offset - self.starts[index - 1] + 1
        return self.fence.place(index, column) if self.shifted else (self.line + index, column)

    def fail(self, message: str, offset: int, hint: str | None = None, code: str = "D003") -> XmlError:
        return XmlError(message, *self.place(offset), hint, code)

    def refuse(self) -> None:
        content = self.content
        if "<!" in content and (found := _DOCTYPE.search(content)):
            raise self.fail(
                "A DOCTYPE is not allowed, not even in a comment: it can define entities and pull in other files.",
                found.start(),
                "Delete it; write `&lt;!DOCTYPE` where you mean the text.",
                "D004",
            )
        for character in ("\0", "\r"):
            at = content.find(character)
            if at >= 0:
                raise self.fail(f"U+{ord(character):04X} cannot stand in XML.", at, "Delete the character.")

    def scan(self) -> list[_Tag]:
        """Where every start tag stands, in document order. Raises for what only this walk can name well."""
        content = self.content
        tags: list[_Tag] = []
        open_tags: list[_Tag] = []
        position = 0
        most_attributes, most_elements, deepest = CONTENT.xml_attributes, CONTENT.xml_elements, CONTENT.xml_depth
        while (found := _TOKEN.search(content, position)) is not None:
            at = found.start()
            slash, name, rest, closed = found.groups()
            if name is None:
                position = self._past_other_markup(at, found.group())
                continue
            position = found.end(3) + 1
            if slash:
                if not open_tags:
                    raise self.fail(f"`</{name}>` closes nothing.", at, "Delete it, or add the opening tag.")
                tag = open_tags.pop()
                if tag.name != name:
                    line, _ = self.place(tag.start)
                    message = f"`</{name}>` stands where `<{tag.name}>` of line {line} must be closed."
                    raise self.fail(message, at, f"Write `</{tag.name}>` first.")
                tag.end = at
                continue
            prefixed = ":" in name or ((":" in rest or "xmlns" in rest) and _XMLNS.search(rest) is not None)
            tag = _Tag(name, at, position, position, prefixed, "\n" not in rest)
            if not open_tags and tags:
                raise self.fail(
                    f"`<{name}>` stands after the end of `<{tags[0].name}>`.", at, "Only one root element is allowed."
                )
            if rest.count("=") > most_attributes and len(_EQUALS.findall(rest)) > CONTENT.xml_attributes:
                raise self.fail(
                    f"`<{name}>` has more than {CONTENT.xml_attributes} attributes.", at, "Drop some.", "D006"
                )
            tags.append(tag)
            if len(tags) > most_elements:
                raise self.fail(f"The fence has more than {CONTENT.xml_elements:,} elements.", at, "Drop some.", "D006")
            if not rest.endswith("/"):
                if len(open_tags) >= deepest:
                    raise self.fail(f"Elements are nested more than {deepest} deep.", at, "Flatten them.", "D006")
                if closed is None:
                    open_tags.append(tag)
                else:  # an element of text alone, the commonest: its closing tag need not be looked at again
                    tag.end, position = found.start(4), found.end()
        if open_tags:
            tag = open_tags[-1]
            raise self.fail(f"`<{tag.name}>` is never closed.", tag.start, f"Add `</{tag.name}>`.")
        if not tags:
            raise self.fail("The fence holds no element.", 0, "Put the `<directive>` element into it.")
        return tags

    def _past_other_markup(self, at: int, opening: str) -> int:
        """The offset behind what starts at ``at`` and is no tag: a comment, a CDATA section, the XML declaration."""
        content = self.content
        if opening == "<!--":
            end = content.find("-->", at + 4)
            if end < 0:
                raise self.fail("A comment is never closed.", at, "End it with `-->`.")
            return end + 3
        if opening == "<![CDATA[":
            end = content.find("]]>", at)
            if end < 0:
                raise self.fail("A CDATA section is never closed.", at, "End it with `]]>`.")
            return end + 3
        if opening == "<?":
            found = _declaration().match(content) if at == 0 else None
            if found is None:
                message = "Processing instructions and encodings other than UTF-8 are not allowed."
                raise self.fail(message, at, "Delete it; a directive needs no XML declaration.", "D005")
            return found.end()
        hint = "In the fence, write `&lt;` for `<` and `&amp;` for `&`, and quote attribute values."
        raise self.fail("This `<` starts no well-formed tag.", at, hint)

    def tree(self, tags: list[_Tag]) -> Element:
        from lxml import etree

        try:
            root = etree.fromstring(self.content.encode("utf-8", "surrogatepass"), _parser())
        except etree.XMLSyntaxError as error:
            raise self._syntax_error(error) from None
        if root.getroottree().docinfo.internalDTD is not None:
            raise self.fail("A DOCTYPE is not allowed.", 0, "Delete it.", "D004")
        following = iter(tags)
        try:
            element = self._element(root, following)
            unread = next(following, None)
        except StopIteration:
            unread = tags[-1]
        if unread is not None:
            raise self.fail("The XML reads in two ways here.", unread.start, "Write it more plainly.")
        return element

    def _element(self, node: _Element, following: Iterator[_Tag]) -> Element:
        """``node`` and all below it. Depth is capped by :meth:`scan`, so recursion is bounded."""
        tag = next(following)
        name = node.tag
        if name != tag.name or "}" in name or ":" in name:
            self._check_name(name, tag)
        text = node.text or ""
        children: tuple[Element, ...] = ()
        if len(node):
            below = []
            for child in node:
                below.append(self._element(child, following))
                text += child.tail or ""
            children = tuple(below)
        given = node.items()
        attributes = {str(key): str(value) for key, value in given} if given else {}
        line, column = self.place(tag.start)
        inner = self.content[tag.inner : tag.end]
        if tag.one_line and inner[:1] not in BLANKS:
            text_line, text_column = line, column + tag.inner - tag.start
        else:
            text_line, text_column = self.place(tag.inner + len(inner) - len(inner.lstrip(BLANKS)))
        if self.references:
            for read in (text, *attributes.values()):
                self._refuse_hidden(read, tag)
        return Element(tag.name, attributes, children, text, inner, line, column, text_line, text_column, tag.prefixed)

    def _check_name(self, name: object, tag: _Tag) -> None:
        """Refuse an element that is not the one whose tag was found; its namespace is not compared."""
        if not isinstance(name, str) or name.rpartition("}")[2] != tag.name.rpartition(":")[2]:
            raise self.fail("The XML reads in two ways here.", tag.start, "Write it more plainly.")

    def _refuse_hidden(self, text: str, tag: _Tag) -> None:
        """What a character reference brought in that the file itself may not hold."""
        if text.isascii() and text.isprintable():
            return
        for found in check_text(text):
            if found.severity == "error":
                message = f"A character reference in `<{tag.name}>` brings in what a file may not hold: {found.message}"
                raise self.fail(message, tag.start, "Delete the reference.", "D007")

    def _syntax_error(self, error: XMLSyntaxError) -> XmlError:
        line, column = error.position
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
            hint = "Give the attribute once."
        return XmlError(f"The XML is malformed: {message}.", *self.fence.place(line, column), hint)


def escape(text: str) -> str:
    """A text as character data. The library's function would import half of the network stack."""
    return text.translate({ord("&"): "&amp;", ord("<"): "&lt;", ord(">"): "&gt;"})
