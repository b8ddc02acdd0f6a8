"""The name map of the newest head, in the database: a batch reads the paths to its names and writes the changed nodes.

Rows are nodes by their hash. A node that a batch replaces is deleted from the table; its file stays in the store until
``rebuild --prune``.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Mapping, Sequence

from registry_server.sequencer.ledger import Ledger
from rye.errors import RyeError
from rye.registry.protocol import name_map
from rye.registry.protocol.name_map import EMPTY_MAP, EMPTY_MAP_SHA256, Inner, MapEntry, Node, Place, Update

_INNER = 1024
"""Inner nodes kept in memory, a few MiB: those of the upper levels, which nearly every batch reads."""
_LEAVES = 512
"""Leaves kept in memory, a few MiB: the newest ones."""


class NameNodes:
    """The map, with a cache of its nodes. Nodes are named by their content, so the cache cannot be stale."""

    def __init__(self) -> None:
        self._empty: dict[str, Node] = {EMPTY_MAP_SHA256: name_map.decode_node(EMPTY_MAP)}
        self._inner: dict[str, Node] = {}
        self._leaves: dict[str, Node] = {}
        self._known: ChainMap[str, Node] = ChainMap(self._inner, self._leaves, self._empty)

    def change(self, ledger: Ledger, root: str | None, entries: Iterable[MapEntry], since: int) -> Update:
        """Bring the map up to date in the database; returns the nodes to write to the store.

        ``root``: of the current map; None if there is no map yet. ``entries``: the names whose index files changed.
        ``since``: the size of the log at the head with the current map. Raises RyeError ``database-damaged``.
        """
        changed = list(entries)
        nodes = self._known.new_child()

        def read(places: Sequence[Place]) -> list[bytes]:
            nodes = ledger.map_nodes(place.sha256 for place in places)
            if len(nodes) != len(places):
                raise RyeError(
                    "database-damaged",
                    "Nodes of the name map are missing from the database.",
                    "Nothing was changed. Write them again: rye-registry rebuild",
                )
            return [nodes[place.sha256] for place in places]

        name_map.load(root or EMPTY_MAP_SHA256, (entry.name for entry in changed), nodes, read)
        done = name_map.update(root or EMPTY_MAP_SHA256, changed, nodes)
        if root is None and done.root == EMPTY_MAP_SHA256:
            done = Update(done.root, {EMPTY_MAP_SHA256: EMPTY_MAP}, {}, frozenset())
        ledger.write_map(done.files, done.dropped, since)
        self._remember({**nodes.maps[0], **done.nodes}, done.dropped)
        return done

    def _remember(self, nodes: Mapping[str, Node], dropped: frozenset[str]) -> None:
        for sha256 in dropped:
            self._inner.pop(sha256, None)
            self._leaves.pop(sha256, None)
        for sha256, node in nodes.items():
            if sha256 not in dropped:
                (self._inner if isinstance(node, Inner) else self._leaves)[sha256] = node
        if len(self._inner) > _INNER:
            upper = sorted(self._inner.items(), key=lambda entry: len(entry[1].prefix))[:_INNER]
            self._inner.clear()
            self._inner.update(upper)
        for sha256 in list(self._leaves)[: max(len(self._leaves) - _LEAVES, 0)]:
            del self._leaves[sha256]
