"""The names of one head: where their index files are, and what these say, each proved by the head's name map.

There is one wave for each level of the map, and one for all index files. Nodes are named by their content, so those of an
earlier head serve the next one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rye.limits import RegistryLimits
from rye.registry.protocol import name_map
from rye.registry.protocol.name_map import MapEntry, Node, Place
from rye.registry.store.cache import Cache
from rye.registry.transport.seam import Request
from rye.registry.trust.trust_error import TrustError
from rye.registry.trust.trusted import LoggedStatement, TrustedHead
from rye.registry.waves import Waves


class ProvedNames:
    """What one head says about names. ``nodes``: those that are open already; this adds to them."""

    def __init__(
        self, head: TrustedHead, waves: Waves, cache: Cache, limits: RegistryLimits, nodes: dict[str, Node]
    ) -> None:
        self._head = head
        self._waves = waves
        self._cache = cache
        self._limits = limits
        self._nodes = nodes
        self._indexes: dict[str, tuple[LoggedStatement, ...] | None] = {}

    def entry(self, name: str) -> MapEntry | None:
        """Return where the index file of a name is; None if the name does not exist. Call :meth:`load_paths` first."""
        found = name_map.find(self._head.map, name, self._nodes)
        if isinstance(found, Place):
            raise RuntimeError(f"the path to {name} was not loaded")
        return found

    def index(self, name: str) -> tuple[LoggedStatement, ...] | None:
        """Return the statements about a name; None if the name does not exist. Call :meth:`load_indexes` first."""
        return self._indexes[name]

    def load_paths(self, names: Iterable[str]) -> None:
        """Open the nodes on the paths to all these names. Raises TrustError and FetchError."""
        name_map.load(self._head.map, names, self._nodes, self._read, self._open)

    def load_indexes(self, names: Iterable[str]) -> None:
        """Read the index files of these names. Raises TrustError and FetchError."""
        wanted = [name for name in dict.fromkeys(names) if name not in self._indexes]
        self.load_paths(wanted)
        entries = {name: self.entry(name) for name in wanted}
        requests: dict[str, Request] = {}
        for entry in entries.values():
            if entry is not None:
                if entry.size > self._limits.index_bytes:
                    raise TrustError(
                        "index-size",
                        f"The index file of {entry.name} has {entry.size:,} bytes, which is too large.",
                    )
                requests[entry.sha256] = Request(f"index/{entry.sha256}", entry.size)
        data = self._waves.addressed(requests, "index-missing")
        for name, entry in entries.items():
            if entry is None:
                self._indexes[name] = None
            else:
                self._indexes[name] = self._head.open_index(entry, data[entry.sha256])
                self._cache.put(data[entry.sha256])

    def every(self, most: int) -> frozenset[str] | None:
        """Return every name of the whole map; None if it has more than ``most`` names."""
        root = name_map.root_place(self._head.map)
        if self._open(root, self._read([root])[0]).names > most:
            return None
        leaves = name_map.leaves(self._head.map, self._read, self._open)
        return frozenset(name for leaf in leaves for name in leaf.entries)

    def _read(self, places: Sequence[Place]) -> list[bytes]:
        most = self._limits.map_node_bytes
        requests = {place.sha256: Request(name_map.node_path(place.sha256), most) for place in places}
        data = self._waves.addressed(requests, "map-missing")
        return [data[place.sha256] for place in places]

    def _open(self, place: Place, data: bytes) -> Node:
        node = self._head.open_node(place, data)
        self._cache.put(data)
        return node
