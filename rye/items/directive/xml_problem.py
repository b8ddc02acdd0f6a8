"""Explain to the author why Expat refused the XML. Used only after the refusal.

Expat only names the place where it gave up. The tags tell more: which one is never closed, and where it was opened.
"""

from __future__ import annotations

from xml.parsers.expat import ErrorString, errors

from rye.items.directive.xml_document import Document, XmlError
from rye.text.lazy import lazy_pattern

NO_INSTRUCTION = "Processing instructions and encodings other than UTF-8 are not allowed."
NO_DECLARATION_NEEDED = "Delete it; a directive needs no XML declaration."
_ESCAPE = "In the fence, write `&lt;` for `<` and `&amp;` for `&`, and quote attribute values."
_ENTITIES = "Write `&amp;` for `&`; the only entities are &lt; &gt; &amp; &quot; and &apos;."
_WORDS: dict[str, tuple[str, str | None]] = {
    errors.XML_ERROR_UNDEFINED_ENTITY: ("an entity that XML does not define", _ENTITIES),
    errors.XML_ERROR_BAD_CHAR_REF: ("a reference to a character that XML cannot contain", "Delete the reference."),
    errors.XML_ERROR_DUPLICATE_ATTRIBUTE: ("a duplicate attribute", "Write the attribute once."),
    errors.XML_ERROR_UNBOUND_PREFIX: ("a namespace prefix that is not declared", "Write the name without a prefix."),
    errors.XML_ERROR_INVALID_TOKEN: ("this is not well-formed", _ESCAPE),
}
"""Expat's messages, reworded, with hints."""
_TOKEN = lazy_pattern(
    r"<(?:([^\s<>/=\"'!?]++)((?>(?:[^<>\"']++|\"[^\"<]*+\"|'[^'<]*+')*))>"
    r"|/([^\s<>/=\"'!?]++)(?>(?:[^<>\"']++|\"[^\"<]*+\"|'[^'<]*+')*)>"
    r"|!--(?s:.*?)-->|!\[CDATA\[(?s:.*?)\]\]>|(.?))"
)
"""A start tag and its attributes; a closing tag; a comment; a CDATA section; or, as the last group, a ``<`` that starts none of
these."""


def explained(document: Document, code: int, at: int) -> XmlError:
    """Return the error for refused XML. ``code``: Expat's; ``at``: the offset in characters where it stopped."""
    wrong = _wrong_tag(document)
    if wrong is not None:
        return wrong
    said = ErrorString(code) or "it cannot be read"
    what, hint = _WORDS.get(said, (said, None))
    return document.refusal(f"The XML is malformed: {what}.", min(at, len(document.content)), hint)


def _wrong_tag(document: Document) -> XmlError | None:
    """Return the error for the first misplaced or unclosed tag, or None if all tags match."""
    first: tuple[str, int] | None = None
    opened: list[tuple[str, int]] = []
    for found in _TOKEN.finditer(document.content):
        at = found.start()
        if found.lastindex == 2:
            name = found[1]
            if first is None:
                first = name, at
            elif not opened:
                message = f"`<{name}>` comes after the end of `<{first[0]}>`."
                return document.refusal(message, at, "Only one root element is allowed.")
            if not found[2].endswith("/"):
                opened.append((name, at))
        elif found.lastindex == 3:
            if (wrong := _wrong_close(document, found[3], at, opened.pop() if opened else None)) is not None:
                return wrong
        elif found.lastindex == 4 and (wrong := _no_tag(document, at)) is not None:
            return wrong
    if opened:
        name, at = opened[-1]
        return document.refusal(f"`<{name}>` is never closed.", at, f"Add `</{name}>`.")
    if first is None:
        return document.refusal("The fence contains no element.", 0, "Put the `<directive>` element in it.")
    return None


def _wrong_close(document: Document, name: str, at: int, opened: tuple[str, int] | None) -> XmlError | None:
    if opened is None:
        return document.refusal(f"`</{name}>` has no opening tag.", at, "Delete it, or add the opening tag.")
    if opened[0] == name:
        return None
    message = f"`</{name}>` appears while `<{opened[0]}>` of line {document.place(opened[1])[0]} is still open."
    return document.refusal(message, at, f"Write `</{opened[0]}>` first.")


def _no_tag(document: Document, at: int) -> XmlError | None:
    """A ``<`` that starts no tag, comment or CDATA section. None: an XML declaration at the start, which Expat has checked."""
    content = document.content
    if content.startswith("<!--", at):
        return document.refusal("A comment is never closed.", at, "End it with `-->`.")
    if content.startswith("<![CDATA[", at):
        return document.refusal("A CDATA section is never closed.", at, "End it with `]]>`.")
    if content.startswith("<?", at):
        is_declaration = at == 0 and content.startswith("<?xml") and "?>" in content
        return None if is_declaration else document.refusal(NO_INSTRUCTION, at, NO_DECLARATION_NEEDED, "D005")
    return document.refusal("This `<` does not start a well-formed tag.", at, _ESCAPE)
