"""What a tile holds, computed from a reader of nodes: the slow way, to compare with."""

from __future__ import annotations

from rye.registry.protocol import merkle
from rye.registry.protocol.tiles import HEIGHT, WIDTH, Tile


def tile_bytes(tile: Tile, read: merkle.HashReader) -> bytes:
    """A tile's content."""
    first = tile.index * WIDTH
    return b"".join(read(tile.level * HEIGHT, first + offset) for offset in range(tile.width))
