"""Explains what is at a position: a capability with its tier, an element, an item. In plain text, so that no item can show a
link or a picture in an editor."""

from __future__ import annotations

from msgspec import Struct

from rye.describing.right_words import right_words
from rye.items.capabilities import ITEM_TYPES, PRIMARIES, capability, everything_of, is_path_pattern
from rye.items.directive.grammar import rule_at
from rye.lsp.cursor import cursor_at, word_at
from rye.permissions.risk import Tier, tier
from rye.workspace.items.item_summary import Described

_TIERS = {
    Tier.SAFE: "it reads",
    Tier.WRITE: "it changes files, or runs one named item",
    Tier.ELEVATED: "it reaches programs, the network, or items that are not named individually",
    Tier.UNRESTRICTED: "it may do anything",
}


class Explained(Struct, frozen=True):
    """An explanation of a span. Either ``text`` is the explanation, or ``reference`` is an item to describe."""

    start: int
    end: int
    text: str = ""
    reference: str = ""


def explain(text: str, offset: int, *, directive: bool) -> Explained | None:
    """Return the explanation for an offset; None if there is none."""
    if directive:
        right = _right(text, offset)
        if right is not None:
            return right
    word = word_at(text, offset)
    if word is not None and word.is_capability:
        return Explained(word.start, word.end, explained_capability(word.text))
    if word is not None:
        return Explained(word.start, word.end, reference=word.text)
    return _element(text, offset) if directive else None


def explained_capability(pattern: str) -> str:
    """Explain a capability in words, with its tier."""
    risk = tier(pattern)
    words = right_words(pattern)
    return f"{pattern}\n{words[0].upper()}{words[1:]}.\nTier: {risk} ({_TIERS[risk]})."


def described(found: Described) -> str:
    """Describe an item in a few lines; if it may not be shown, say why."""
    if found.problem is not None:
        return "\n".join(filter(None, (found.reference, _shown(found.problem), _shown(found.hint or ""))))
    lines = [f"{found.kind}:{found.id}" + (f" {found.version}" if found.version else "")]
    if found.description:
        lines.append(_shown(found.description))
    if found.signer:
        lines.append(f"Installed, verified; signed by {found.signer}.")
    else:
        lines.append(f"From the {found.space} space.")
    if found.tier:
        lines.append(f"Tier of its rights: {found.tier}.")
    return "\n".join(lines)


def _right(text: str, offset: int) -> Explained | None:
    """Explain the path in an item type's element as the capability that it grants."""
    start = text.rfind(">", 0, offset) + 1
    end = text.find("<", offset)
    if end < 0 or end - start > 512 or not start:
        return None
    cursor = cursor_at(text, start)
    path = text[start:end].strip()
    if not cursor.fence or cursor.what != "text" or "permissions" not in cursor.path or not path:
        return None
    names = cursor.path[cursor.path.index("permissions") + 1 :]
    if len(names) == 2 and names[0] in PRIMARIES and names[1] in ITEM_TYPES and is_path_pattern(path):
        return Explained(start, end, explained_capability(capability(names[0], names[1], path)))
    if len(names) == 1 and names[0] in PRIMARIES and path == "*":
        return Explained(start, end, explained_capability(everything_of(names[0])))
    if not names and path == "*":
        return Explained(start, end, explained_capability("rye.*"))
    return None


def _element(text: str, offset: int) -> Explained | None:
    """Explain the element name in a tag."""
    opened = text.rfind("<", 0, offset + 1)
    if opened < 0 or offset - opened > 64:
        return None
    begin = opened + (2 if text.startswith("</", opened) else 1)
    end = begin
    while end < len(text) and (text[end].isalnum() or text[end] in "_-."):
        end += 1
    if not opened <= offset <= end or end == begin:
        return None
    cursor = cursor_at(text, begin)
    closing = text.startswith("</", opened)
    path = cursor.path if closing else (*cursor.path, text[begin:end])
    rule = rule_at(path, fence=cursor.fence)
    return Explained(begin, end, f"<{text[begin:end]}>\n{rule.says}") if rule is not None else None


def _shown(text: str) -> str:
    """Replace unprintable characters with spaces, and cut the text to 1000 characters."""
    return "".join(letter if letter.isprintable() else " " for letter in text)[:1000]
