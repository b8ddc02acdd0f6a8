"""Tiles of the log (C2SP tlog-tiles): coordinates and paths, which tiles a proof needs, entry bundles, authenticity.

Rules:

* A tile at level ``L`` holds up to 256 nodes of tree level ``8 * L``. Only the rightmost tile of a level may be
  partial, with the width that follows from the tree's size. Empty tiles do not exist.
* The partial tiles of a tree are exactly its complete subtrees, so they hash to its root. A full tile hashes to one entry
  of its parent. :class:`VerifiedTiles` checks both first, so a damaged or forged tile is never used or cached.
* Each tile of level 0 has one bundle of entries. Each entry is prefixed with its length as big-endian uint16.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct, field

from rye.errors import RyeError
from rye.registry.protocol import merkle
from rye.registry.protocol.merkle import Node

HEIGHT = 8
WIDTH = 1 << HEIGHT
HASH_BYTES = 32
MAX_ENTRY_BYTES = 0xFFFF


class TileError(RyeError):
    """A tile or bundle that does not match the tree.

    Codes: ``tile-size``, ``tile-missing``, ``tile-root``, ``tile-parent``, ``bundle-malformed``.
    """


class Tile(Struct, frozen=True, order=True):
    """One tile: ``width`` nodes (256 when full) from ``index * 256`` of tree level ``8 * level``."""

    level: int
    index: int
    width: int = WIDTH

    @property
    def path(self) -> str:
        """The path relative to the registry's address, e.g. ``tile/0/x001/234.p/7``."""
        return f"tile/{self.level}/{_index_path(self.index)}{_partial(self.width)}"

    @property
    def entries_path(self) -> str:
        """The path of the bundle of entries for a tile of level 0."""
        return f"tile/entries/{_index_path(self.index)}{_partial(self.width)}"

    @property
    def full(self) -> Tile:
        """The full tile in the same place: the fallback for a partial tile that was removed."""
        return Tile(self.level, self.index)

    @property
    def bytes(self) -> int:
        """The exact size of the file."""
        return self.width * HASH_BYTES


def tile_at(level: int, index: int, size: int) -> Tile:
    """Return the tile at a level and index of a tree of ``size`` leaves.

    Raises TileError (``tile-missing``) if there is none.
    """
    width = min(WIDTH, (size >> (HEIGHT * level)) - index * WIDTH)
    if width <= 0:
        raise TileError("tile-missing", f"A tree of {size} leaves has no tile {level}/{index}.")
    return Tile(level, index, width)


def tile_of_node(node: Node, size: int) -> Tile:
    """Return the tile, in a tree of ``size`` leaves, from which a complete subtree's hash can be computed."""
    level, index = node
    return tile_at(level // HEIGHT, index >> (HEIGHT - level % HEIGHT), size)


def partial_tiles(size: int) -> list[Tile]:
    """Return the partial tiles of a tree, lowest level first. The root can be computed from these alone."""
    found, level = [], 0
    while size >> (HEIGHT * level):
        count = size >> (HEIGHT * level)
        if count % WIDTH:
            found.append(Tile(level, count // WIDTH, count % WIDTH))
        level += 1
    return found


def all_tiles(size: int) -> list[Tile]:
    """Return every tile of a tree, lowest level first."""
    found, level = [], 0
    while count := size >> (HEIGHT * level):
        found += [Tile(level, index) for index in range(count // WIDTH)]
        if count % WIDTH:
            found.append(Tile(level, count // WIDTH, count % WIDTH))
        level += 1
    return found


def with_parents(tiles: Iterable[Tile], size: int) -> list[Tile]:
    """Return these tiles, the tree's partial tiles and every parent between, sorted: what :class:`VerifiedTiles`
    needs to trust them.
    """
    needed = set(partial_tiles(size))
    for tile in tiles:
        current = tile
        while current not in needed:
            needed.add(current)
            current = parent(current, size)
    return sorted(needed)


def parent(tile: Tile, size: int) -> Tile:
    """Return the tile of the level above that contains a full tile's hash."""
    return tile_at(tile.level + 1, tile.index // WIDTH, size)


def inclusion_tiles(indexes: Iterable[int], size: int) -> list[Tile]:
    """Return all tiles needed to prove, with verified tiles, that these leaves are in a tree of ``size``."""
    wanted: set[Tile] = set()
    for index in indexes:
        nodes = merkle.nodes_read(lambda read, index=index: merkle.inclusion_proof(index, size, read))  # type: ignore[misc]
        wanted.update(tile_of_node(node, size) for node in [(0, index), *nodes])
    return with_parents(wanted, size)


def consistency_tiles(old: int, new: int) -> list[Tile]:
    """Return all tiles of the larger tree needed to prove, with verified tiles, that it contains the smaller one."""
    nodes = merkle.nodes_read(lambda read: merkle.consistency_proof(old, new, read))
    return with_parents({tile_of_node(node, new) for node in nodes}, new)


def clip(tile: Tile, data: bytes) -> bytes:
    """Return a partial tile's content from the full tile that replaced it.

    Raises TileError (``tile-size``) for other sizes.
    """
    if len(data) not in (tile.bytes, tile.full.bytes):
        raise TileError("tile-size", f"The tile {tile.path} has {len(data)} bytes instead of {tile.bytes}.")
    return data[: tile.bytes]


class VerifiedTiles(Struct, frozen=True):
    """A reader of nodes over tiles that were checked against a tree's root.

    ``tiles`` must contain ``with_parents(…, size)`` of everything that will be read. Raises TileError: ``tile-size``,
    ``tile-missing``, ``tile-root`` (the partial tiles belong to another tree), ``tile-parent`` (one tile was changed).
    """

    tiles: Mapping[Tile, bytes]
    size: int
    root: bytes
    _nodes: dict[Node, bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for tile, data in self.tiles.items():
            if len(data) != tile.bytes:
                raise TileError("tile-size", f"The tile {tile.path} has {len(data)} bytes instead of {tile.bytes}.")
            if tile != tile_at(tile.level, tile.index, self.size):
                raise TileError("tile-size", f"A tree of {self.size} leaves has no tile {tile.path}.")
        if merkle.root_at(self.size, self._read_unchecked) != self.root:
            raise TileError("tile-root", f"The tiles do not lead to the root of the tree of {self.size} leaves.")
        for tile in sorted(self.tiles, reverse=True):  # parents first, so that each is compared with a verified one
            if tile.width == WIDTH:
                above = parent(tile, self.size)
                if above not in self.tiles:
                    raise TileError("tile-missing", f"The tile {above.path} is needed to check {tile.path}.")
                if self._read_unchecked(HEIGHT * (tile.level + 1), tile.index) != self._tile_root(tile):
                    raise TileError("tile-parent", f"The tile {tile.path} does not belong to the tree: it was changed.")

    def __call__(self, level: int, index: int) -> bytes:
        """Return the hash of a complete subtree (a :data:`rye.registry.protocol.merkle.HashReader`)."""
        return self._read_unchecked(level, index)

    def _read_unchecked(self, level: int, index: int) -> bytes:
        node = (level, index)
        found = self._nodes.get(node)
        if found is None:
            tile = tile_of_node(node, self.size)
            data = self.tiles.get(tile)
            if data is None:
                raise TileError("tile-missing", f"The tile {tile.path} is needed and was not fetched.")
            span = 1 << (level % HEIGHT)
            start = index * span % WIDTH
            if start + span > tile.width:
                raise TileError("tile-missing", f"A tree of {self.size} leaves has no node {level}/{index}.")
            found = self._nodes[node] = merkle.tree_root(
                data[at * HASH_BYTES : (at + 1) * HASH_BYTES] for at in range(start, start + span)
            )
        return found

    def _tile_root(self, tile: Tile) -> bytes:
        data = self.tiles[tile]
        return merkle.tree_root(data[at : at + HASH_BYTES] for at in range(0, len(data), HASH_BYTES))


def encode_bundle(entries: Iterable[bytes]) -> bytes:
    """Encode entries as a bundle (tlog-tiles, Log entries). Raises TileError if one is too long for its uint16."""
    return b"".join(map(encode_entry, entries))


def encode_entry(entry: bytes) -> bytes:
    """Encode one entry as a part of a bundle. Raises TileError if it is too long for its uint16."""
    if len(entry) > MAX_ENTRY_BYTES:
        raise TileError("bundle-malformed", f"An entry of {len(entry)} bytes does not fit into a bundle.")
    return len(entry).to_bytes(2, "big") + entry


def decode_bundle(data: bytes, width: int) -> list[bytes]:
    """Decode exactly ``width`` entries, with nothing after them. Raises TileError (``bundle-malformed``)."""
    entries: list[bytes] = []
    at = 0
    while at < len(data) and len(entries) < width:
        end = at + 2 + int.from_bytes(data[at : at + 2], "big")
        if end > len(data):  # also if the length itself is truncated
            raise TileError("bundle-malformed", "A bundle of entries ends inside an entry.")
        entries.append(data[at + 2 : end])
        at = end
    if len(entries) != width or at != len(data):
        raise TileError("bundle-malformed", f"A bundle does not contain exactly {width} entries.")
    return entries


def _index_path(index: int) -> str:
    digits = f"{index:03d}"
    digits = digits.zfill((len(digits) + 2) // 3 * 3)
    groups = [digits[at : at + 3] for at in range(0, len(digits), 3)]
    return "/".join([*(f"x{group}" for group in groups[:-1]), groups[-1]])


def _partial(width: int) -> str:
    return "" if width == WIDTH else f".p/{width}"
