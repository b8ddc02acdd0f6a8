"""The parts of a directive's text that a page shows better than as Markdown: its fence, its steps and its criteria. Pure.

A section is a part of its own only where it is written plainly: nothing but blanks stands between its elements, no step has an
attribute besides its name, and no tag of the format is left open. Anything else stays Markdown, where tags are text, so that a
page never leaves out what an agent reads.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from rye.items.directive.process import Tag, tags

_FENCE = re.compile(r"```xml[ \t]*\n(?P<xml>\s*<directive\b.*?)^ {0,3}`{3,}[ \t]*$\n?", re.MULTILINE | re.DOTALL)
FOLD = "Metadata, inputs and outputs as XML"
"""What stands on a folded fence, before the number of its lines."""
_OF = {"process": "step", "success_criteria": "criterion"}


class Prose(Struct, frozen=True):
    """Markdown."""

    text: str


class Fence(Struct, frozen=True):
    """The XML of the directive, without the fence's own lines."""

    xml: str

    @property
    def is_plain(self) -> bool:
        """Whether it can be folded: it has no comments, CDATA or instructions, where words for the agent alone could stand."""
        return "<!" not in self.xml and "<?" not in self.xml


class Steps(Struct, frozen=True):
    """A process: name and Markdown of each step."""

    steps: tuple[tuple[str, str], ...]


class Criteria(Struct, frozen=True):
    """Success criteria: the Markdown of each."""

    texts: tuple[str, ...]


Part = Prose | Fence | Steps | Criteria


def undivided(text: str) -> tuple[Part, ...]:
    """The whole text as Markdown."""
    return (Prose(text),)


def parts(text: str) -> tuple[Part, ...]:
    """The whole text in order; one :class:`Prose` where it has no fence with a ``<directive>`` first."""
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
    """All words of a part, without the tags that its form replaces."""
    if isinstance(part, Prose):
        return part.text
    if isinstance(part, Fence):
        return f"{FOLD}\n{part.xml}"  # the fold's own words hide no loss of the same words
    if isinstance(part, Steps):
        return "\n\n".join(f"{name}\n{text}" for name, text in part.steps)
    return "\n\n".join(part.texts)


def _sections(body: str) -> list[tuple[Tag, Tag, list[Tag]]]:
    """Each section that begins at the start of a line: its two tags, and those of its elements between."""
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
    """The section's elements; None where it is not written plainly."""
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
    """The lines without the blanks that all of them begin with; the first line follows a tag and has no indent of its own."""
    first, *lines = text.split("\n")
    filled = [line for line in lines if line.strip()]
    margin = min((len(line) - len(line.lstrip(" ")) for line in filled), default=0)
    return "\n".join([first.strip(), *(line[margin:] for line in lines)]).strip("\n")
