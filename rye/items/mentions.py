"""Where a text names an item: by its id, in a right, or by a bare name. Pure.

``-`` and ``_`` are one letter, as in every look-up (DESIGN 6).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rye.items.capabilities import ITEM_TYPES, PRIMARIES
from rye.limits import EDITOR

Span = tuple[int, int]
"""Start and end of a piece of a text, the end excluded."""


def mentions_of(text: str, kind: str, item_id: str, *, with_kind: bool = False) -> list[Span]:
    """Return the spans in which a text names the item by its complete id: with or without a kind, and in capabilities
    (``acme.fs.write``). The span is the id alone. There are at most :data:`rye.limits.EDITOR` ``.occurrences``.

    ``with_kind``: leave out ids without a kind, which may mean an item of another kind.
    """
    prefix = f"{kind}:" if with_kind else f"(?:{kind}:)?"
    found = [re.finditer(rf"(?<![\w/.:-]){prefix}({_spelled(item_id)})(?![\w/-])", text)]
    if kind in ITEM_TYPES:
        dotted = _spelled(item_id.replace("/", "."))
        right = rf"rye\.(?:{'|'.join(PRIMARIES)})\.{kind}\.({dotted})(?![\w.*?\[-])"
        found.append(re.finditer(right, text))
    return sorted(one.span(1) for each in found for one in each)[: EDITOR.occurrences]


def words_on(text: str, line: int | None, word: str) -> list[Span]:
    """Return where a whole word is on a line (from 1); without a line, where the text has it in quotation marks."""
    if line is None:
        return [found.span(1) for found in re.finditer(rf"[\"']({re.escape(word)})[\"']", text)]
    start = 0
    for _ in range(line - 1):
        start = text.find("\n", start) + 1
        if not start:
            return []
    end = text.find("\n", start)
    pattern = re.compile(rf"(?<![\w/.-])({re.escape(word)})(?![\w/-])")
    return [found.span(1) for found in pattern.finditer(text, start, end if end >= 0 else len(text))]


def names_in(text: str, name: str) -> Iterator[Span]:
    """Yield where a text has a bare name, as written in files (``code-review``) or as people write it (``Code Review``)."""
    words = "[-_ ]".join(re.escape(word) for word in re.split("[-_]", name))
    for found in re.finditer(rf"(?<![\w-]){words}(?![\w-])", text, re.IGNORECASE):
        yield found.span()


def _spelled(item_id: str) -> str:
    return re.sub(r"\\-|_", "[-_]", re.escape(item_id))
