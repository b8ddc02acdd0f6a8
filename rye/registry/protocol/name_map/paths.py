"""Looking up names in the name map, and reading the whole map: which nodes are needed, and whether each is the one its
parent names.

The caller keeps the nodes opened so far, by their SHA-256. :func:`missing` returns the ones needed next for all names
together, so a batch of names costs one round of fetching per level. A node is opened only for its place:
:func:`open_node` checks its hash, its prefix and range, and that it has as many names as its parent says. So the
path from a signed root to a leaf proves either that a name exists with this index file or that it does not exist.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence

from msgspec import Struct

from rye.registry.protocol.name_map import nodes as form
from rye.registry.protocol.name_map.nodes import (
    Inner,
    Leaf,
    MapEntry,
    Node,
    decode_node,
    hash_of,
    misplaced,
    wrong_hash,
)

_NODES_AT_ONCE = 256
"""Nodes per round when a whole map is read."""


class Place(Struct, frozen=True):
    """Where a node belongs: what its parent, or for the root the snapshot, says about it."""

    sha256: str
    prefix: bytes = b""
    low: int = 0
    high: int = 255
    names: int | None = None
    """None: the root, whose number of names is stated nowhere."""


Open = Callable[[Place, bytes], Node]
"""Opens a node: :func:`open_node`, or a function with more checks."""
Read = Callable[[Sequence[Place]], Sequence[bytes]]
"""Returns the bytes of these nodes, in order."""


def root_place(sha256: str) -> Place:
    """Return the place of a map's root."""
    return Place(sha256)


def open_node(place: Place, data: bytes) -> Node:
    """Return the node at a place. Raises NameMapError ``map-hash``, ``map-malformed``, ``map-place``."""
    if hashlib.sha256(data).hexdigest() != place.sha256:
        raise wrong_hash(place.sha256)
    node = decode_node(data)
    if place.names is None:
        if node.prefix or (isinstance(node, Leaf) and (node.low, node.high) != (0, 255)):
            raise misplaced(place.sha256, "it is not a root")
        return node
    if place.names > form.LEAF_NAMES:
        if not isinstance(node, Inner) or node.prefix != place.prefix + bytes([place.low]):
            raise misplaced(place.sha256, f"an inner node below {_shown(place)} is expected")
    elif not isinstance(node, Leaf) or (node.prefix, node.low, node.high) != (place.prefix, place.low, place.high):
        raise misplaced(place.sha256, f"a leaf over {_shown(place)} is expected")
    if node.names != place.names:
        raise misplaced(place.sha256, f"it has {node.names} names, but its parent says {place.names}")
    return node


def find(root: str, name: str, nodes: Mapping[str, Node]) -> MapEntry | Place | None:
    """Return the entry of a name, None if it does not exist, or the node that must be opened next to find out."""
    return _from(Place(root), hash_of(name), name, nodes)


def missing(root: str, names: Iterable[str], nodes: Mapping[str, Node]) -> list[Place]:
    """Return the nodes needed next to look these names up, each once; empty if everything is known."""
    found: dict[str, Place] = {}
    for name in names:
        place = find(root, name, nodes)
        if isinstance(place, Place):
            found[place.sha256] = place
    return list(found.values())


def load(
    root: str, names: Iterable[str], nodes: MutableMapping[str, Node], read: Read, opened: Open = open_node
) -> None:
    """Open every node on the paths to these names, with one round of reading for each level."""
    waiting = {name: hash_of(name) for name in names}
    reached = dict.fromkeys(waiting, Place(root))
    while waiting:
        places: dict[str, Place] = {}
        for name, digest in list(waiting.items()):
            step = _from(reached[name], digest, name, nodes)
            if isinstance(step, Place):
                reached[name] = places[step.sha256] = step
            else:
                del waiting[name]
        wanted = list(places.values())
        for place, data in zip(wanted, read(wanted) if wanted else [], strict=True):
            nodes[place.sha256] = opened(place, data)


def leaves(root: str, read: Read, opened: Open = open_node) -> Iterator[Leaf]:
    """Yield every leaf of a map, in no particular order, reading up to 256 nodes per round."""
    waiting = [Place(root)]
    while waiting:
        places = waiting[-_NODES_AT_ONCE:]
        del waiting[-_NODES_AT_ONCE:]
        for place, data in zip(places, read(places), strict=True):
            node = opened(place, data)
            if isinstance(node, Leaf):
                yield node
            else:
                waiting += places_below(node)


def places_below(node: Inner) -> Iterator[Place]:
    """Yield the places of an inner node's children."""
    for child in node.children:
        yield Place(child.sha256, node.prefix, child.low, child.high, child.names)


def child_at(node: Inner, value: int) -> int | None:
    """Return the index of the row whose range contains this value of the next byte; None if no such name exists."""
    at = bisect_right(node.lows, value) - 1
    return at if at >= 0 and value <= node.children[at].high else None


def _from(place: Place, digest: bytes, name: str, nodes: Mapping[str, Node]) -> MapEntry | Place | None:
    node = nodes.get(place.sha256)
    while isinstance(node, Inner):
        at = child_at(node, digest[len(node.prefix)])
        if at is None:
            return None
        child = node.children[at]
        place = Place(child.sha256, node.prefix, child.low, child.high, child.names)
        node = nodes.get(child.sha256)
    return place if node is None else node.entries.get(name)


def _shown(place: Place) -> str:
    return f"{place.prefix.hex() or '-'} {place.low:02x}-{place.high:02x}"
