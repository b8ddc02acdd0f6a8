"""Split a directive's text into Markdown, its XML fence, its steps and its criteria, which a page shows in their own
forms. Pure.

A section is recognized only if it is written plainly: only whitespace between its elements, no attribute on a step
except its name, and no tag of the format left open. Everything else stays Markdown, where tags are text, so a page
never omits what an agent reads.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from rye.items.directive.process import Tag, tags

_FENCE = re.compile(r"```xml[ \t]*\n(?P<xml>\s*<directive\b.*?)^ {0,3}`{3,}[ \t]*$\n?", re.MULTILINE | re.DOTALL)
FOLD = "Metadata, inputs and outputs as XML"
"""The label of a folded fence, before the number of its lines."""
_OF = {"process": "step", "success_criteria": "criterion"}


class Prose(Struct, frozen=True):
    """A piece of Markdown."""

    text: str


class Fence(Struct, frozen=True):
    """The XML of the directive, without the lines of the fence itself."""

    xml: str

    @property
    def is_plain(self) -> bool:
        """Whether it can be folded: it has no comment, CDATA or processing instruction that could hold words only
        agents read."""
        return "<!" not in self.xml and "<?" not in self.xml


class Steps(Struct, frozen=True):
    """A process: the name and Markdown of each step."""

    steps: tuple[tuple[str, str], ...]


class Criteria(Struct, frozen=True):
    """Success criteria: the Markdown of each."""

    texts: tuple[str, ...]


Part = Prose | Fence | Steps | Criteria


def undivided(text: str) -> tuple[Part, ...]:
    """Return the whole text as Markdown."""
    return (Prose(text),)


def parts(text: str) -> tuple[Part, ...]:
    """Split the text, in order. It is one :class:`Prose` if its first fence is not a ``<directive>``."""
    start = text.find("```")
    above = text[: max(start, 0)]
    fence = _FENCE.match(text, start) if start >= 0 and (not above or above.endswith("\n")) else None
    if fence is None or "~~~" in above or "<!--" in above or not fence["xml"].rstrip().endswith("</directive>"):
        return undivided(text)
    body = text[fence.end() :]
    found: list[Part] = [Prose(above), Fence(fence["xml"])]
    shown = 0
    for opened, closed, inner in _sections(body):
        section = _section(body, opened, closed, inner)
        if section is not None:
            found += [Prose(body[shown : opened.start]), section]
            shown = closed.end
    found.append(Prose(body[shown:]))
    return tuple(part for part in found if not isinstance(part, Prose) or part.text.strip())


def said(part: Part) -> str:
    """Return all words of a part, without the tags that its form replaces."""
    if isinstance(part, Prose):
        return part.text
    if isinstance(part, Fence):
        return f"{FOLD}\n{part.xml}"  # count the label's words too, so that they cannot hide lost words
    if isinstance(part, Steps):
        return "\n\n".join(f"{name}\n{text}" for name, text in part.steps)
    return "\n\n".join(part.texts)


def _sections(body: str) -> list[tuple[Tag, Tag, list[Tag]]]:
    """Return each section that begins at the start of a line: its two tags, and the tags of its elements."""
    found = []
    opened: Tag | None = None
    inner: list[Tag] = []
    for tag in tags(body):
        if tag.name in _OF and not tag.closing:
            opened, inner = (tag if tag.column == 1 and not tag.empty and not tag.written.strip() else None), []
        elif tag.name in _OF:
            if opened is not None and opened.name == tag.name:
                found.append((opened, tag, inner))
            opened = None
        elif opened is not None and tag.name == _OF[opened.name]:
            inner.append(tag)
    return found


def _section(body: str, opened: Tag, closed: Tag, inner: Sequence[Tag]) -> Steps | Criteria | None:
    """Return the section's elements; None if it is not written plainly."""
    if not inner or len(inner) % 2 or closed.written.strip():
        return None
    elements: list[tuple[str, str]] = []
    end = opened.end
    for first, last in zip(inner[::2], inner[1::2], strict=True):
        attributes = first.attributes()
        names = [name for name, _ in attributes]
        expected = ["name"] if opened.name == "process" else []
        if first.closing or first.empty or not last.closing or last.written.strip() or not first.well_formed():
            return None
        if names != expected or body[end : first.start].strip():
            return None
        elements.append((attributes[0][1] if attributes else "", body[first.end : last.start]))
        end = last.end
    if body[end : closed.start].strip():
        return None
    if opened.name == "process":
        return Steps(tuple((name, _dedented(written)) for name, written in elements))
    return Criteria(tuple(_dedented(written) for _, written in elements))


def _dedented(text: str) -> str:
    """Remove the indentation that all lines share. The first line follows a tag and does not count."""
    first, *lines = text.split("\n")
    filled = [line for line in lines if line.strip()]
    margin = min((len(line) - len(line.lstrip(" ")) for line in filled), default=0)
    return "\n".join([first.strip(), *(line[margin:] for line in lines)]).strip("\n")
