"""The contents of a tile, computed the slow way from a node reader, for comparison."""

from __future__ import annotations

from rye.registry.protocol import merkle
from rye.registry.protocol.tiles import HEIGHT, WIDTH, Tile


def tile_bytes(tile: Tile, read: merkle.HashReader) -> bytes:
    """The contents of a tile."""
    first = tile.index * WIDTH
    return b"".join(read(tile.level * HEIGHT, first + offset) for offset in range(tile.width))
