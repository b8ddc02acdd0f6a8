"""The XML inside a directive's fence as a tree of elements, each with its position in the file (DECISIONS Directives 2).

Expat reads it, since it says where every tag begins. The rules:

* No DOCTYPE in any form, no entities beyond XML's five, no processing instructions, UTF-8 only, nothing fetched, nothing guessed,
  and a cap on depth, elements and attributes. A DOCTYPE is refused before Expat sees the text, and again by Expat's handler.
* Expat puts a namespace's address in front of every name in it, so a long address could fill the memory. Addresses are measured
  first, by a parser without namespaces.
* Expat does not explain malformed XML well; :mod:`rye.items.directive.xml_problem` does.
* A character reference can produce a character that the file itself must not contain, so the parsed text is checked again for
  hidden characters (DESIGN §5 Content).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import NoReturn
from xml.parsers import expat

from msgspec import Struct

from rye.items.directive.xml_document import BLANKS, Document
from rye.items.directive.xml_problem import NO_DECLARATION_NEEDED, NO_INSTRUCTION, explained
from rye.limits import CONTENT
from rye.text.content import check_text
from rye.text.lazy import lazy_pattern
from rye.text.markdown_model import Fence


class Element(Struct, frozen=True, gc=False, kw_only=True):
    """One element. Positions are in the file; most are computed on access, since most are never needed."""

    tag: str
    attributes: dict[str, str]
    children: tuple[Element, ...]
    text: str
    """The text directly in it, all pieces joined, without comments; not trimmed."""
    trimmed: str
    """The text without surrounding whitespace."""
    document: Document
    row: int
    """The content's line of its ``<``, from 1."""
    start: int
    """The offset of its ``<`` in the content."""
    end: int
    """The offset of its closing tag; for an empty-element tag, where the tag ends."""
    prefixed: bool = False
    """Whether it involves a namespace, which the format does not have."""

    @property
    def inner(self) -> int:
        """The offset of its content, after the start tag."""
        found = _START_TAG.match(self.document.content, self.start)
        assert found is not None
        return found.end()

    @property
    def source(self) -> str:
        """The text between its tags, as written."""
        return self.document.content[self.inner : self.end]

    @property
    def line(self) -> int:
        """The file's line of its ``<``."""
        return self.document.fence.line + self.row

    @property
    def column(self) -> int:
        """The file's column of its ``<``, from 1."""
        return self.document.place_in(self.row, self.start)[1]

    @property
    def text_place(self) -> tuple[int, int]:
        """Line and column of the first character between its tags that is not whitespace."""
        inner, content = self.inner, self.document.content
        source = content[inner : self.end]
        at = inner + len(source) - len(source.lstrip(BLANKS))
        return self.document.place_in(self.row + content.count("\n", self.start, at), at)

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


_START_TAG = lazy_pattern(r"<[^<>\"']++(?>(?:\"[^\"]*+\"|'[^']*+')[^<>\"']*+)*>")
"""A start tag of well-formed XML."""
_DOCTYPE = lazy_pattern(r"<!\s*doctype", re.IGNORECASE)
_NAME = lazy_pattern(r"<([^\s<>/=\"']++)")
_NO_DOCTYPE = "A DOCTYPE is not allowed, not even in a comment: a DOCTYPE can define entities and load other files."


@cache
def _declaration() -> re.Pattern[str]:
    return re.compile(
        r"<\?xml\s+version\s*=\s*(?:'1\.0'|\"1\.0\")(?:\s+encoding\s*=\s*(?:'utf-8'|\"utf-8\"))?"
        r"(?:\s+standalone\s*=\s*(?:'yes'|\"yes\"|'no'|\"no\"))?\s*\?>",
        re.IGNORECASE,
    )


def parse(fence: Fence) -> Element:
    """Return the root element of the fence's content. Raises XmlError at the first problem."""
    document = Document(fence, fence.text, [], "xmlns" in fence.text)
    _refuse(document)
    data = document.content.encode("utf-8", "surrogatepass")
    if document.declares:
        _refuse_long_namespaces(document, data)
    root = _Tree(document, data).read()
    if "#" in document.content and "&#" in document.content:
        _refuse_hidden(root)
    return root


def _refuse(document: Document) -> None:
    """Refuse what must not even reach the parser."""
    # Here and below: to look for one character first takes a hundredth of the time of looking for two.
    content = document.content
    if "!" in content and (found := _DOCTYPE.search(content)):
        hint = "Delete it; for the literal text, write `&lt;!DOCTYPE`."
        raise document.refusal(_NO_DOCTYPE, found.start(), hint, "D004")
    for character in ("\0", "\r"):
        at = content.find(character)
        if at >= 0:
            raise document.refusal(f"U+{ord(character):04X} is not allowed in XML.", at, "Delete the character.")


def _refuse_long_namespaces(document: Document, data: bytes) -> None:
    """Refuse an address that is longer than allowed. Malformed XML is left to the reader that comes next."""
    most, parser = CONTENT.xml_namespace, expat.ParserCreate("utf-8")

    def start(_name: str, attributes: dict[str, str]) -> None:
        for name, value in attributes.items():
            if len(value) > most and (name == "xmlns" or name.startswith("xmlns:")):
                at = _characters(data, 0, parser.CurrentByteIndex)
                message = f"A namespace's address has more than {most} characters."
                raise document.refusal(message, at, "Write names without prefix and `xmlns`.", "D015")

    parser.StartElementHandler = start
    try:
        parser.Parse(data, True)
    except expat.ExpatError:
        return
    finally:
        parser.StartElementHandler = None


def _characters(data: bytes, start: int, end: int) -> int:
    """How many characters a part of the UTF-8 has."""
    return len(data[start:end].decode("utf-8", "replace"))


class _Tree:
    """Builds the tree from Expat's events, which come in document order."""

    def __init__(self, document: Document, data: bytes) -> None:
        self.document = document
        self.data = data
        self.is_ascii = len(self.data) == len(document.content)
        self.placed_bytes = self.placed_characters = 0
        self.declares = False
        """Whether the next element declares a namespace."""
        # A name in a namespace comes as `address}name`; other names come as they are, and a name has no brace.
        self.parser = parser = expat.ParserCreate("utf-8", "}")
        parser.buffer_text = True
        parser.XmlDeclHandler = self._declared
        parser.StartDoctypeDeclHandler = self._doctype
        parser.ProcessingInstructionHandler = self._instruction
        parser.StartNamespaceDeclHandler = self._namespace

    def read(self) -> Element:
        """The root. Raises XmlError."""
        parser, document, is_ascii, place = self.parser, self.document, self.is_ascii, self._place
        depth, most, elements = CONTENT.xml_depth, CONTENT.xml_attributes, CONTENT.xml_elements
        # Only then can a name be in a namespace: one that is declared, or XML's own.
        namespaces = document.declares or (":" in document.content and "xml:" in document.content)
        names = document.tags
        # Shared by all elements, since a list for each would take longer: an open element remembers how long they were at its
        # start, and takes what came after.
        opened: list[tuple[str, dict[str, str], int, int, bool, int, int]] = []
        complete: list[Element] = []
        pieces: list[str] = []

        def start(name: str, attributes: dict[str, str]) -> None:
            at = parser.CurrentByteIndex if is_ascii else place(parser.CurrentByteIndex)
            if len(opened) >= depth or len(attributes) > most or len(names) >= elements:
                self._refuse_too_much(at, len(attributes))
            prefixed = False
            if namespaces:
                name, attributes, prefixed = self._as_written(name, attributes, at)
            names.append(name)
            opened.append((name, attributes, parser.CurrentLineNumber, at, prefixed, len(complete), len(pieces)))

        def end(_name: str) -> None:
            name, attributes, row, at, prefixed, child, piece = opened.pop()
            stop = parser.CurrentByteIndex if is_ascii else place(parser.CurrentByteIndex)
            below: tuple[Element, ...] = ()
            if len(complete) > child:
                below = tuple(complete[child:])
                del complete[child:]
            if len(pieces) - piece == 1:
                text = pieces.pop()
            else:
                text = "".join(pieces[piece:])
                del pieces[piece:]
            trimmed = text.strip(BLANKS)
            complete.append(
                Element(
                    tag=name,
                    attributes=attributes,
                    children=below,
                    text=text,
                    trimmed=trimmed,
                    document=document,
                    row=row,
                    start=at,
                    end=stop,
                    prefixed=prefixed,
                )
            )

        parser.StartElementHandler = start
        parser.EndElementHandler = end
        parser.CharacterDataHandler = pieces.append
        try:
            parser.Parse(self.data, True)
        except expat.ExpatError as error:
            raise explained(document, error.code, self._offset(parser.ErrorByteIndex)) from None
        finally:
            self._let_go()
        return complete[0]

    def _let_go(self) -> None:
        """Clear the handlers. They and the parser refer to each other, and would keep the text until a collection."""
        parser = self.parser
        parser.StartElementHandler = parser.EndElementHandler = parser.CharacterDataHandler = None
        parser.XmlDeclHandler = parser.StartDoctypeDeclHandler = None
        parser.ProcessingInstructionHandler = parser.StartNamespaceDeclHandler = None

    def _as_written(self, name: str, attributes: dict[str, str], at: int) -> tuple[str, dict[str, str], bool]:
        """An element in a text with namespaces: its name as the tag has it, its attributes, those in a namespace as
        ``{address}name``, and whether a namespace is involved."""
        found = _NAME.match(self.document.content, at)
        written = name if found is None else found[1]
        declares, self.declares = self.declares, False
        given = {f"{{{key}" if "}" in key else key: value for key, value in attributes.items()}
        return written, given, declares or ":" in written

    def _place(self, index: int) -> int:
        """The offset in characters of an event's offset in bytes; events come in order."""
        self.placed_characters += _characters(self.data, self.placed_bytes, index)
        self.placed_bytes = index
        return self.placed_characters

    def _offset(self, index: int) -> int:
        """The same for any offset in bytes, from the beginning."""
        return _characters(self.data, 0, index)

    def _refuse_too_much(self, at: int, attributes: int) -> None:
        """Refuse more attributes, elements or depth than allowed. An empty-element tag can be one level deeper."""
        content, limits = self.document.content, CONTENT
        found = _NAME.match(content, at)
        name = found[1][:80] if found is not None else ""
        if attributes > limits.xml_attributes:
            message = f"`<{name}>` has more than {limits.xml_attributes} attributes."
            raise self.document.refusal(message, at, "Remove some.", "D006")
        if len(self.document.tags) >= limits.xml_elements:
            message = f"The fence has more than {limits.xml_elements:,} elements."
            raise self.document.refusal(message, at, "Remove some.", "D006")
        tag = _START_TAG.match(content, at)
        if tag is None or not tag.group().endswith("/>"):
            message = f"Elements are nested more than {limits.xml_depth} deep."
            raise self.document.refusal(message, at, "Reduce the nesting.", "D006")

    def _declared(self, *_parts: object) -> None:
        """Refuse an XML declaration other than version 1.0 in UTF-8."""
        if _declaration().match(self.document.content) is None:
            raise self.document.refusal(NO_INSTRUCTION, 0, NO_DECLARATION_NEEDED, "D005")

    def _doctype(self, *_parts: object) -> NoReturn:
        raise self.document.refusal("A DOCTYPE is not allowed.", 0, "Delete it.", "D004")

    def _instruction(self, *_parts: object) -> NoReturn:
        at = self._offset(self.parser.CurrentByteIndex)
        raise self.document.refusal(NO_INSTRUCTION, at, NO_DECLARATION_NEEDED, "D005")

    def _namespace(self, *_parts: object) -> None:
        self.declares = True


def _refuse_hidden(root: Element) -> None:
    """Refuse what a character reference produces but the file itself must not contain."""
    for element in root.walk():
        for text in (element.text, *element.attributes.values()):
            if text.isascii() and text.isprintable():
                continue
            for found in check_text(text):
                if found.severity == "error":
                    message = f"A character reference in `<{element.tag}>` produces text that is not allowed:"
                    raise element.document.refusal(
                        f"{message} {found.message}", element.start, "Delete the reference.", "D007"
                    )
