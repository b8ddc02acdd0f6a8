"""The nodes of the name map: their format, every rule that a single node can break, and the way from the root to a name.

::

    rye.map/v1 leaf <prefix> <low>-<high>        rye.map/v1 inner <prefix>
    <name> <sha256 of its index file> <size>     <low>-<high> <names> <sha256 of the child>
    …                                            …

``<prefix>`` is the beginning of the SHA-256 of every name below, in whole bytes, or ``-`` if it is empty.
``<low>-<high>`` is a range of values of the next byte. A range has 1, 2, 4, … or 256 values and begins at a multiple
of that number.

Rules:

1. To form the rows of an inner node, start with the range ``00-ff`` and halve each range that has more than 128
   names, down to a single value. Ranges without names are omitted. A single value that still has more than 128
   names is an inner node over the next byte; every other range is a leaf.
2. So a row of more than 128 names has one value, and a range twice as large as any row's has more than 128 names. A
   node alone shows that it is split neither too much nor too little.
3. A leaf lists 1 to 128 names, sorted by their bytes, whose hashes are in its range. Only the root can be a leaf over
   ``00-ff``, and only the root can be empty.
4. A node has exactly one spelling; :func:`decode_node` refuses all others.

To look names up, the caller keeps the nodes opened so far, by their SHA-256. :func:`missing` returns the ones needed
next for all names together, so a batch of names costs one round of fetching per level. A node is opened only for its
place: :func:`open_node` checks its hash, its prefix and range, and that it has as many names as its parent says. So the
path from a signed root to a leaf proves either that a name exists with this index file or that it does not exist.
"""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from functools import cache

from msgspec import Struct

from rye.errors import RyeError
from rye.items.identity import MAX_SEGMENTS, SEGMENT_PATTERN
from rye.items.kinds import KINDS
from rye.registry.protocol.lines import MAX_NUMBER
from rye.registry.protocol.wire import NAMESPACE

TITLE = "rye.map/v1"
LEAF_NAMES = 128
"""The most names in a leaf. A range with more is halved."""
MAX_NODE_BYTES = 160 * 1024
"""Just above the largest leaf: 128 of the longest names."""

_HASH_BYTES = 32
_DAMAGED = (
    "Do not install from it. Try the registry's own address, or ask its operator; `rye log verify` shows details."
)


class NameMapError(RyeError):
    """A node that cannot be used.

    Codes: ``map-malformed`` (not a node), ``map-hash`` (not the requested node), ``map-place`` (a node that does not
    belong where its parent puts it).
    """


class MapEntry(Struct, frozen=True):
    """Where the index file of a name is."""

    name: str
    """``<kind>:<id>`` or ``namespace:<segment>``."""
    sha256: str
    size: int


class Leaf(Struct, frozen=True):
    """The names whose hashes begin with ``prefix`` and continue with a byte from ``low`` to ``high``."""

    prefix: bytes
    low: int
    high: int
    entries: Mapping[str, MapEntry]
    """Entries by name."""

    @property
    def names(self) -> int:
        """How many names the leaf has."""
        return len(self.entries)


class Child(Struct, frozen=True):
    """A row of an inner node: the child for a range of values of the next byte."""

    low: int
    high: int
    names: int
    """How many names are below, at any depth."""
    sha256: str


class Inner(Struct, frozen=True):
    """Everything below ``prefix``, if that is more than one leaf can have."""

    prefix: bytes
    children: tuple[Child, ...]
    """Sorted by range; the ranges are disjoint."""
    lows: bytes
    """The first value of each child's range, for binary search."""

    @classmethod
    def of(cls, prefix: bytes, children: Iterable[Child]) -> Inner:
        """Create a node with these rows, sorted by range."""
        rows = tuple(children)
        return cls(prefix, rows, bytes(row.low for row in rows))

    @property
    def names(self) -> int:
        """How many names are below, at any depth."""
        return sum(child.names for child in self.children)


Node = Leaf | Inner


def hash_of(name: str) -> bytes:
    """Return a name's key in the map: its SHA-256."""
    return hashlib.sha256(name.encode()).digest()


def node_path(sha256: str) -> str:
    """Return a node's path, relative to the registry's address."""
    return f"map/{sha256}"


def encode_node(node: Node) -> bytes:
    """Write a node in its only spelling."""
    prefix = node.prefix.hex() or "-"
    if isinstance(node, Leaf):
        rows = sorted(f"{entry.name} {entry.sha256} {entry.size}\n" for entry in node.entries.values())
        return f"{TITLE} leaf {prefix} {node.low:02x}-{node.high:02x}\n{''.join(rows)}".encode("ascii")
    text = "".join(f"{row.low:02x}-{row.high:02x} {row.names} {row.sha256}\n" for row in node.children)
    return f"{TITLE} inner {prefix}\n{text}".encode("ascii")


def decode_node(data: bytes) -> Node:
    """Read a node.

    Raises NameMapError ``map-malformed`` for everything that :func:`encode_node` does not write for a tree.
    """
    if len(data) > MAX_NODE_BYTES:
        raise malformed(f"it is larger than {MAX_NODE_BYTES:,} bytes")
    try:
        text = data.decode("ascii")
    except UnicodeDecodeError as error:
        raise malformed("it is not ASCII") from error
    first, newline, rest = text.partition("\n")
    match = _header().fullmatch(first)
    if match is None or not newline or not (rest == "" or rest.endswith("\n")):
        raise malformed("its first line is not a node's, or its last line does not end with LF")
    rows = rest[:-1].split("\n") if rest else []
    if match["inner"] is not None:
        return _inner(_prefix(match["inner"]), rows)
    return _leaf(_prefix(match["leaf"]), int(match["low"], 16), int(match["high"], 16), rows)


def is_range(low: int, high: int) -> bool:
    """Whether repeated halving of ``00-ff`` gives this range."""
    size = high - low + 1
    return size > 0 and size & (size - 1) == 0 and low % size == 0


def malformed(reason: str) -> NameMapError:
    """The error for bytes that are not a node."""
    return NameMapError("map-malformed", f"A node of the registry's name map is malformed: {reason}.", _DAMAGED)


def wrong_hash(sha256: str) -> NameMapError:
    """The error for a node whose content does not have the hash in its name."""
    message = f"The node /map/{sha256} of the registry's name map does not have the hash in its name."
    return NameMapError("map-hash", message, _DAMAGED)


def misplaced(sha256: str, reason: str) -> NameMapError:
    """The error for a node that is not in the right place."""
    message = f"The node /map/{sha256} of the registry's name map is in the wrong place: {reason}."
    return NameMapError("map-place", message, _DAMAGED)


@cache
def _header() -> re.Pattern[str]:
    prefix = r"-|(?:[0-9a-f]{2}){1,31}"
    leaf = rf"leaf (?P<leaf>{prefix}) (?P<low>[0-9a-f]{{2}})-(?P<high>[0-9a-f]{{2}})"
    return re.compile(rf"{re.escape(TITLE)} (?:inner (?P<inner>{prefix})|{leaf})")


@cache
def _leaf_row() -> re.Pattern[str]:
    # What `read_identity` and `read_namespace` accept, in one expression: a client reads tens of thousands of these lines.
    name = rf"([a-z]+):((?!root[/ ]){SEGMENT_PATTERN}(?:/{SEGMENT_PATTERN}){{0,{MAX_SEGMENTS - 1}}})"
    return re.compile(rf"({name}) ([0-9a-f]{{64}}) ([1-9][0-9]{{0,15}})")


@cache
def _inner_row() -> re.Pattern[str]:
    return re.compile(r"([0-9a-f]{2})-([0-9a-f]{2}) ([1-9][0-9]{0,15}) ([0-9a-f]{64})")


def _prefix(text: str) -> bytes:
    return b"" if text == "-" else bytes.fromhex(text)


def _leaf(prefix: bytes, low: int, high: int, rows: list[str]) -> Leaf:
    is_whole = (low, high) == (0, 255)
    if not is_range(low, high) or (is_whole and prefix):
        raise malformed(f"{low:02x}-{high:02x} is not a range that a leaf can have")
    if len(rows) > LEAF_NAMES or not (rows or is_whole):
        raise malformed(f"a leaf must have 1 to {LEAF_NAMES} names, but this one has {len(rows)}")
    entries: dict[str, MapEntry] = {}
    before, depth, row = "", len(prefix), _leaf_row().fullmatch
    for line in rows:
        match = row(line)
        if match is None:
            raise malformed(f"the line {line[:80]!r} is not a row")
        name, kind, identifier, sha256, size = match.groups()
        if ("/" in identifier) == (kind == NAMESPACE) or (kind != NAMESPACE and kind not in KINDS):
            raise malformed(f"{name[:80]!r} is not a name")
        if line <= before or name in entries:
            raise malformed(f"it is not sorted, or has a duplicate name, at {line[:80]!r}")
        digest = hash_of(name)
        if not (low <= digest[depth] <= high and digest.startswith(prefix)):
            raise malformed(f"{name[:80]!r} does not belong to it")
        length = int(size)
        if length > MAX_NUMBER:
            raise malformed(f"the size in {line[:80]!r} is too large")
        entries[name] = MapEntry(name, sha256, length)
        before = line
    return Leaf(prefix, low, high, entries)


def _inner(prefix: bytes, rows: list[str]) -> Inner:
    children: list[Child] = []
    row, after = _inner_row(), 0
    for line in rows:
        match = row.fullmatch(line)
        if match is None:
            raise malformed(f"the line {line[:80]!r} is not a row")
        child = Child(int(match[1], 16), int(match[2], 16), int(match[3]), match[4])
        if not is_range(child.low, child.high) or child.low < after:
            raise malformed(f"the range in {line[:80]!r} is invalid, or not after the previous one")
        if child.names > LEAF_NAMES and (child.low != child.high or len(prefix) + 1 == _HASH_BYTES):
            raise malformed(f"the row {line[:80]!r} should have been split")
        after = child.high + 1
        children.append(child)
    _check_split(children)
    return Inner.of(prefix, children)


def _check_split(children: list[Child]) -> None:
    """Rule 2: no row could be part of a larger leaf, and the node is not too small."""
    below = [0] * 257
    for child in children:
        below[child.low + 1] = child.names
    for value in range(256):
        below[value + 1] += below[value]
    if not LEAF_NAMES < below[256] <= MAX_NUMBER:
        raise malformed(f"an inner node must have more than {LEAF_NAMES} names, but this one has {below[256]}")
    for child in children:
        if child.names <= LEAF_NAMES:
            size = 2 * (child.high - child.low + 1)
            start = child.low // size * size
            if size > 256 or below[start + size] - below[start] <= LEAF_NAMES:
                raise malformed(f"the row {child.low:02x}-{child.high:02x} should not have been split off")


def _empty() -> bytes:
    return encode_node(Leaf(b"", 0, 255, {}))


EMPTY_MAP = _empty()
"""The only node of a map without names."""
EMPTY_MAP_SHA256 = hashlib.sha256(EMPTY_MAP).hexdigest()


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
    if place.names > LEAF_NAMES:
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
    places: dict[str, Place] = {}
    for name in names:
        place = find(root, name, nodes)
        if isinstance(place, Place):
            places[place.sha256] = place
    return list(places.values())


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
