"""The right edge of the log's tree: all that the sequencer needs to append, whatever the tree's size.

The edge of a tree is its partial tiles (at most 255 hashes per level). Appending a leaf adds to them; a full tile is
set aside to be written, and its level starts again. Pure: values in, values out (tlog-tiles, Merkle Tree; RFC 6962
§2.1).
"""

from __future__ import annotations

from collections.abc import Mapping

from rye.registry.protocol import merkle
from rye.registry.protocol.merkle import CompactRange
from rye.registry.protocol.tiles import HASH_BYTES, HEIGHT, WIDTH, Tile, partial_tiles


class Edge:
    """A growing tree. ``partial`` maps a tile level to the bytes of its partial tile at ``size`` leaves."""

    def __init__(self, size: int, partial: Mapping[int, bytes]) -> None:
        self._partial = {level: bytearray(data) for level, data in partial.items()}
        self.range = CompactRange.read(size, self._read)
        self.full: list[tuple[Tile, bytes]] = []
        """Tiles that filled up since then, in order."""
        self.last_proof: tuple[bytes, ...] = ()
        """Inclusion proof of the last appended leaf in the tree that it completes."""

    @property
    def size(self) -> int:
        """The number of leaves."""
        return self.range.size

    def append(self, leaf_hash: bytes) -> int:
        """Add a leaf; returns its position."""
        position = self.size
        # Everything left of the last leaf is complete subtrees. They are its proof, smallest first.
        self.last_proof = tuple(reversed(self.range.hashes))
        self.range, completed = self.range.append(leaf_hash)
        for (level, index), node in completed:
            if level % HEIGHT == 0:
                tile = self._partial.setdefault(level // HEIGHT, bytearray())
                tile += node
                if len(tile) == WIDTH * HASH_BYTES:
                    self.full.append((Tile(level // HEIGHT, index // WIDTH), bytes(tile)))
                    tile.clear()
        return position

    def partial(self) -> dict[int, bytes]:
        """Return the bytes of the partial tiles by level, without empty ones: the start of the next batch."""
        return {level: bytes(data) for level, data in self._partial.items() if data}

    def tiles(self) -> list[tuple[Tile, bytes]]:
        """Return the tiles that a checkpoint of this size needs and that may not be written yet: the newly full, and
        the partial ones.
        """
        return [*self.full, *((tile, bytes(self._partial[tile.level])) for tile in partial_tiles(self.size))]

    def _read(self, level: int, index: int) -> bytes:
        tile = self._partial[level // HEIGHT]
        span = 1 << (level % HEIGHT)
        start = index * span % WIDTH
        return merkle.tree_root(
            bytes(tile[at * HASH_BYTES : (at + 1) * HASH_BYTES]) for at in range(start, start + span)
        )
