"""Roots and keyset chains, verified from their notes and cached: most requests concern recently used namespaces.

A cached value depends only on the bytes that it was made from, so it cannot be stale.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import sqlalchemy as sa

from registry_server.sequencer import queries
from registry_server.storage import database
from rye.registry.protocol import notes
from rye.registry.protocol.statements import Keyset, Root
from rye.registry.trust.keysets import KeysetChain, extend
from rye.registry.trust.owners import Owners

_ROOTS = 256
_CHAINS = 4096
"""Cache entries per process."""


@lru_cache(maxsize=_ROOTS)
def read_root(note: bytes) -> Root:
    """Return the root statement in a signed note from this registry's own tables."""
    return Root.parse(notes.parse(note).text)


@lru_cache(maxsize=_CHAINS)
def read_chain(
    origin: str, namespace: str, keysets: tuple[tuple[int, bytes], ...], roots: tuple[Root, ...]
) -> KeysetChain:
    """Return the chain that these signed notes form at their positions. Raises TrustError."""
    chain, owners = KeysetChain(origin, namespace), Owners(roots)
    for position, data in keysets:
        note = notes.parse(data)
        chain = extend(chain, position, note, Keyset.parse(note.text), owners)
    return chain


def chains_of(engine: sa.Engine, origin: str, namespaces: Sequence[str]) -> dict[str, KeysetChain]:
    """Return the chains of some namespaces as they are now, from a single query. Raises TrustError."""
    keysets: dict[str, list[tuple[int, bytes]]] = {namespace: [] for namespace in namespaces}
    roots: dict[int, bytes] = {}
    for kind, namespace, number, note, *_ in database.ask(engine, queries.CHAINS, {"namespaces": list(namespaces)}):
        if kind == queries.ROOT_ROW:
            roots[number] = bytes(note)
        else:
            keysets[namespace].append((number, bytes(note)))
    root_statements = tuple(read_root(roots[number]) for number in sorted(roots))
    return {
        namespace: read_chain(origin, namespace, tuple(sorted(entries)), root_statements)
        for namespace, entries in keysets.items()
    }
