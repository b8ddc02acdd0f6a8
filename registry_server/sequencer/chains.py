"""Roots and keyset chains, verified from their notes and cached: most requests concern recently used namespaces.

A cached value depends only on the bytes that it was made from, so it cannot be stale.
"""

from __future__ import annotations

from functools import lru_cache

from rye.registry.protocol import notes
from rye.registry.protocol.statements import Keyset, Root
from rye.registry.trust.keysets import KeysetChain, extend

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
    chain = KeysetChain(origin, namespace)
    for position, data in keysets:
        note = notes.parse(data)
        chain = extend(chain, position, note, Keyset.parse(note.text), roots)
    return chain
