"""The tokens of the text index. Pure.

An item's stems (:mod:`rye.text.ranking.scoring`) become *tokens*, the same set on every database:

============  =============================================================
``stem``      a stem anywhere: id, kind, keywords, description
``/stem``     a stem of the id's last segment, which is its name
``=name``     the namespace
``:kind``     the kind
``#16384.6``  a block of items to which the item belongs (:func:`blocks_of`)
============  =============================================================

Two neighbouring words of a name, and all of it, are also stems, so ``filesystem`` finds ``file-system``.

SQLite finds the beginnings of tokens itself. On PostgreSQL the index has them as well: ``wo*``, and ``/wo*`` for names.

So each part of a query is one token with a sorted list of items, and lists are intersected without reading them in full.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from rye.text.ranking.scoring import BEGINNING_LETTERS, name_stems, stems_in
from rye.text.ranking.words import LEAST_LETTERS

BLOCK_ITEMS = (16_384, 131_072)
"""Items of a small and of a large block. Blocks of one size overlap by half, so that the newest one always has between half
as many and as many."""


def tokens_of(kind: str, identifier: str, terms: str) -> frozenset[str]:
    """Return the tokens of an item. ``terms``: :func:`rye.text.ranking.scoring.terms_of` it."""
    return frozenset(
        (
            *stems_in(terms),
            *(f"/{stem}" for stem in name_stems(identifier)),
            namespace_token(identifier.partition("/")[0]),
            kind_token(kind),
        )
    )


def namespace_token(namespace: str) -> str:
    """Return the token of a namespace."""
    return f"={namespace}"


def kind_token(kind: str) -> str:
    """Return the token of a kind."""
    return f":{kind}"


def beginnings_of(tokens: Iterable[str]) -> frozenset[str]:
    """Return the tokens for the beginnings of words, as a query asks for them (``is_prefix``)."""
    beginnings: set[str] = set()
    for token in tokens:
        if token[0] not in "=:":
            marks = int(token[0] == "/")
            last = min(len(token), BEGINNING_LETTERS + marks)
            beginnings.update(f"{token[:letters]}*" for letters in range(LEAST_LETTERS + marks, last + 1))
    return frozenset(beginnings)


def blocks_of(number: int) -> list[str]:
    """Return the tokens of the blocks to which an item belongs: for each size the even and the odd one."""
    return [token for size in BLOCK_ITEMS for token in _blocks_of(number, size)]


class ItemBlock(NamedTuple):
    """A block of items."""

    token: str
    size: int


def newest_blocks(largest: int) -> list[ItemBlock]:
    """Return the newest block of each size, smallest first. ``largest``: the newest item's number.

    A size is left out if there are so few items that looking in a block first saves nothing.
    """
    return [
        ItemBlock(_blocks_of(largest, size)[largest % size < size // 2], size)
        for size in BLOCK_ITEMS
        if largest > _BLOCKS_THAT_PAY * size
    ]


_BLOCKS_THAT_PAY = 2


def _blocks_of(number: int, size: int) -> tuple[str, str]:
    return f"#{size}.{2 * (number // size)}", f"#{size}.{2 * ((number + size // 2) // size) + 1}"
