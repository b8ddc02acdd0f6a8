"""The static files that follow from a ledger's entries.

Each is a function of committed data and can be written again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from registry_server.sequencer.acceptance import blobs_of, namespace_of
from registry_server.sequencer.columns import name_of
from registry_server.sequencer.ledger import Ledger
from registry_server.sequencer.tree import Edge
from registry_server.storage.objects import Objects
from rye.registry.protocol import notes, statements, wire
from rye.registry.protocol.name_map import node_path
from rye.registry.protocol.statements import (
    Checkpoint,
    ClockStep,
    Keyset,
    OrganizationPolicy,
    OwnerStatement,
    Root,
)
from rye.registry.protocol.tiles import WIDTH, Tile, encode_entry, partial_tiles
from rye.registry.trust.head_times import CLOCK, encode_steps
from rye.registry.trust.namespace_proofs import owners_path
from rye.registry.trust.policies import POLICY, encode_newest

File = tuple[str, bytes]
"""Path and content."""
_AT_ONCE = 16 * WIDTH
"""Entries that are read at once."""


@dataclass(frozen=True, slots=True)
class Owed:
    """What entries of the log need in the store, apart from tiles and bundles."""

    names: frozenset[str]
    blobs: frozenset[str]
    owners: frozenset[str]
    """Namespaces whose owners stated something about themselves."""
    has_step: bool
    """Whether a step back in time is among them."""
    has_policy: bool
    """Whether an organization's policy is."""


def owed_since(ledger: Ledger, start: int, end: int) -> Owed:
    """Return what the entries from position ``start`` to ``end``, exclusive, need."""
    names: set[str] = set()
    blobs: set[str] = set()
    owners: set[str] = set()
    is_stepped = has_policy = False
    for first in range(start, end, _AT_ONCE):
        for leaf in ledger.leaves(first, min(first + _AT_ONCE, end)):
            statement = statements.parse(notes.parse(leaf).text)
            if isinstance(statement, OwnerStatement):
                owners.add(statement.namespace)
            elif namespace_of(statement) is not None:
                assert isinstance(statement, Keyset | statements.ItemStatement)
                names.add(name_of(statement))
            blobs.update(blobs_of(statement))
            is_stepped = is_stepped or isinstance(statement, ClockStep)
            has_policy = has_policy or isinstance(statement, OrganizationPolicy)
    left = frozenset(blobs - ledger.taken_down(blobs).keys())
    return Owed(frozenset(names), left, frozenset(owners), is_stepped, has_policy)


def files_since(ledger: Ledger, public: Objects, shown: Checkpoint | None, owed: Owed) -> Iterator[File]:
    """Yield every file except blobs that the newest head needs and the head at ``shown`` did not. None: all files."""
    start = shown.size if shown else 0
    for first in range(start // WIDTH * WIDTH, ledger.size, _AT_ONCE):
        yield from bundle_files(ledger.leaves(first, min(first + _AT_ONCE, ledger.size)), first)
    edge = _edge_at(public, shown)
    for leaf_hash in ledger.leaf_hashes(ledger.size, edge.size):
        edge.append(leaf_hash)
    yield from ((tile.path, data) for tile, data in edge.tiles())
    yield from index_files(ledger, owed.names).values()
    yield from map_files(ledger.map_nodes_since(start))
    yield from owners_files(ledger, owed.owners)
    yield from root_files(ledger)
    yield from clock_files(ledger) if owed.has_step else ()
    yield from policy_files(ledger) if owed.has_policy else ()


def index_files(ledger: Ledger, names: Iterable[str]) -> dict[str, File]:
    """Return the index file of each name."""
    files = {}
    for name, lines in ledger.index_lines(names):
        data = wire.encode_index(lines)
        files[name] = (f"index/{_sha256(data)}", data)
    return files


def map_files(nodes: Mapping[str, bytes]) -> list[File]:
    """Return the files of name map nodes, given by their hashes."""
    return [(node_path(sha256), data) for sha256, data in nodes.items()]


def root_files(ledger: Ledger) -> list[File]:
    """Return the files of all root statements."""
    return [(f"root/{number}", note) for number, note in ledger.root_notes()]


def owners_files(ledger: Ledger, namespaces: Iterable[str]) -> list[File]:
    """Return the file of each namespace whose owners stated something about themselves."""
    found = ledger.owner_lines(namespaces)
    return [(owners_path(namespace), wire.encode_index(lines)) for namespace, lines in found.items()]


def clock_files(ledger: Ledger) -> list[File]:
    """Return the file of the steps back in time. Reads the whole log, so only for one that has a new step."""
    return [(CLOCK, encode_steps(ledger.steps_back()))]


def policy_files(ledger: Ledger) -> list[File]:
    """Return the file of the newest policy. Reads the whole log, as above."""
    newest = ledger.newest_policy()
    return [(POLICY, encode_newest(newest))] if newest is not None else []


def bundle_files(entries: Sequence[bytes], start: int) -> list[File]:
    """Return the bundles of entries from position ``start``, a multiple of 256."""
    return joined_bundles([encode_entry(entry) for entry in entries], start)


def joined_bundles(encoded: Sequence[bytes], start: int) -> list[File]:
    """Return the bundles of encoded entries from position ``start``, a multiple of 256."""
    bundles = []
    for offset in range(0, len(encoded), WIDTH):
        part = encoded[offset : offset + WIDTH]
        bundles.append((Tile(0, (start + offset) // WIDTH, len(part)).entries_path, b"".join(part)))
    return bundles


def has_any(entries: Iterable[bytes], kind: type[Root | ClockStep | OrganizationPolicy]) -> bool:
    """Whether one of the entries is a statement of this type."""
    return any(leaf.startswith(kind.TITLE.encode() + b"\n") for leaf in entries)


def _edge_at(public: Objects, shown: Checkpoint | None) -> Edge:
    """Return the tree that the store shows, from its own partial tiles if they match its root; otherwise the empty
    tree.
    """
    if shown is None:
        return Edge(0, {})
    tiles = partial_tiles(shown.size)
    data = public.get_all([tile.path for tile in tiles])
    partial = {
        tile.level: hashes for tile, hashes in zip(tiles, data, strict=True) if hashes and len(hashes) == tile.bytes
    }
    if len(partial) == len(tiles):
        edge = Edge(shown.size, partial)
        if edge.range.root() == shown.root_hash:
            return edge
    return Edge(0, {})


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
