"""Adding names to the name map, changing their index files, and comparing two maps.

A change rewrites only the nodes on the paths to the changed names, so its cost grows with the depth of the tree and
not with the number of names. Names are never removed, because statements are not.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from rye.registry.protocol.name_map import nodes as form
from rye.registry.protocol.name_map.nodes import (
    Child,
    Inner,
    Leaf,
    MapEntry,
    Node,
    Place,
    Read,
    encode_node,
    hash_of,
    open_node,
    places_below,
)


class Update(Struct, frozen=True):
    """The result of a change to a map."""

    root: str
    """SHA-256 of the new root."""
    files: Mapping[str, bytes]
    """The nodes that are not in the old map, by SHA-256."""
    nodes: Mapping[str, Node]
    """The same, decoded, for the next change."""
    dropped: frozenset[str]
    """SHA-256 of the nodes that are only in the old map."""


def update(root: str, entries: Iterable[MapEntry], nodes: Mapping[str, Node]) -> Update:
    """Return the map with these names added or changed. ``nodes`` contains the paths to them (:func:`~.paths.load`)."""
    wanted = {entry.name: entry for entry in entries}
    changes = sorted(((hash_of(name), entry) for name, entry in wanted.items()), key=lambda change: change[0])
    work = _Work(nodes)
    found = work.change(root, changes) if changes else root
    shared = work.made.keys() & work.replaced
    return Update(
        found,
        {sha256: data for sha256, data in work.files.items() if sha256 not in shared},
        {sha256: node for sha256, node in work.made.items() if sha256 not in shared},
        frozenset(work.replaced - shared),
    )


def changed_names(old: str, new: str, read: Read) -> dict[str, MapEntry]:
    """Return the names whose entries differ between two maps, with their entries in the new one.

    Nodes that are in both maps are not read. Raises ValueError if a name is missing from the new map: names are never
    removed.
    """
    ours, theirs = {old: Place(old)}, {new: Place(new)}
    before: dict[str, MapEntry] = {}
    after: dict[str, MapEntry] = {}
    while ours.keys() != theirs.keys():
        # A node's first line says where it belongs, so a shared node is on the same level of both maps.
        gone = [place for sha256, place in ours.items() if sha256 not in theirs]
        fresh = [place for sha256, place in theirs.items() if sha256 not in ours]
        data = read([*gone, *fresh])
        ours = _below(gone, data[: len(gone)], before)
        theirs = _below(fresh, data[len(gone) :], after)
    if not before.keys() <= after.keys():
        raise ValueError(f"the new map lacks {min(before.keys() - after.keys())}")
    return {name: entry for name, entry in after.items() if before.get(name) != entry}


def _below(places: Sequence[Place], data: Sequence[bytes], names: dict[str, MapEntry]) -> dict[str, Place]:
    nodes: dict[str, Place] = {}
    for place, one in zip(places, data, strict=True):
        node = open_node(place, one)
        if isinstance(node, Leaf):
            names.update(node.entries)
        else:
            nodes.update((below.sha256, below) for below in places_below(node))
    return nodes


_Change = tuple[bytes, MapEntry]
"""A name's hash and its entry."""


class _Work:
    """One update in progress. Changes are sorted by hash, so those below a range are a slice."""

    def __init__(self, nodes: Mapping[str, Node]):
        self._nodes = nodes
        self.made: dict[str, Node] = {}
        self.files: dict[str, bytes] = {}
        self.replaced: set[str] = set()

    def change(self, sha256: str, changes: Sequence[_Change]) -> str:
        """Return the root with these changes."""
        node = self._take(sha256)
        if isinstance(node, Inner):
            return self._keep(self._inner(node, changes))
        merged = _merged(node, changes)
        if len(merged) <= form.LEAF_NAMES:
            return self._keep(Leaf(b"", 0, 255, {entry.name: entry for _, entry in merged}))
        return self._keep(Inner.of(b"", self._split(b"", 0, 255, merged)))

    def _take(self, sha256: str) -> Node:
        self.replaced.add(sha256)
        return self._nodes[sha256]

    def _keep(self, node: Node) -> str:
        data = encode_node(node)
        sha256 = hashlib.sha256(data).hexdigest()
        self.made[sha256], self.files[sha256] = node, data
        return sha256

    def _inner(self, node: Inner, changes: Sequence[_Change]) -> Inner:
        return Inner.of(node.prefix, self._rows(node.prefix, 0, 255, node.children, changes))

    def _rows(
        self, prefix: bytes, low: int, high: int, rows: Sequence[Child], changes: Sequence[_Change]
    ) -> list[Child]:
        """Return the rows of a range, with the changes in that range."""
        if not changes:
            return list(rows)
        if not rows:
            return self._split(prefix, low, high, changes)
        if rows[0].low == low and rows[0].high == high:
            return self._row(prefix, rows[0], changes)
        middle = (low + high + 1) // 2
        at = bisect_left(rows, middle, key=lambda row: row.low)
        cut = bisect_left(changes, middle, key=lambda change: change[0][len(prefix)])
        return [
            *self._rows(prefix, low, middle - 1, rows[:at], changes[:cut]),
            *self._rows(prefix, middle, high, rows[at:], changes[cut:]),
        ]

    def _row(self, prefix: bytes, row: Child, changes: Sequence[_Change]) -> list[Child]:
        node = self._take(row.sha256)
        if isinstance(node, Leaf):
            entries = {**node.entries, **{entry.name: entry for _, entry in changes}}
            if len(entries) <= form.LEAF_NAMES:  # it stays a leaf, so its names' hashes do not matter
                leaf = Leaf(prefix, row.low, row.high, entries)
                return [Child(row.low, row.high, len(entries), self._keep(leaf))]
            return self._split(prefix, row.low, row.high, _merged(node, changes))
        inner = self._inner(node, changes)
        return [Child(row.low, row.high, inner.names, self._keep(inner))]

    def _split(self, prefix: bytes, low: int, high: int, found: Sequence[_Change]) -> list[Child]:
        """Return the rows over a range with exactly these names (rule 1 of
        :mod:`~rye.registry.protocol.name_map.nodes`).
        """
        if not found:
            return []
        if len(found) <= form.LEAF_NAMES and (low, high) != (0, 255):
            leaf = Leaf(prefix, low, high, {entry.name: entry for _, entry in found})
            return [Child(low, high, len(found), self._keep(leaf))]
        if low == high:
            below = prefix + bytes([low])
            inner = Inner.of(below, self._split(below, 0, 255, found))
            return [Child(low, high, len(found), self._keep(inner))]
        middle = (low + high + 1) // 2
        cut = bisect_left(found, middle, key=lambda change: change[0][len(prefix)])
        return [*self._split(prefix, low, middle - 1, found[:cut]), *self._split(prefix, middle, high, found[cut:])]


def _merged(leaf: Leaf, changes: Sequence[_Change]) -> list[_Change]:
    """A leaf's names with the changes applied, by hash."""
    names = {entry.name: (digest, entry) for digest, entry in changes}
    for name, entry in leaf.entries.items():
        if name not in names:
            names[name] = (hash_of(name), entry)
    return sorted(names.values(), key=lambda change: change[0])
