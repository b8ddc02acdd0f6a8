"""The right edge of the tree gives the same tiles, roots and proofs as the whole tree (RFC 6962 §2.1, tlog-tiles)."""

from __future__ import annotations

from functools import cache

from hypothesis import given, settings
from hypothesis import strategies as st

from registry_server.sequencer.tree import Edge
from rye.registry.protocol import merkle
from rye.registry.protocol.tiles import Tile, all_tiles
from tests.registry.tile_bytes import tile_bytes


@cache
def leaves() -> list[bytes]:
    return [merkle.leaf_hash(str(number).encode()) for number in range(66_000)]


def _reader(level: int, index: int) -> bytes:
    return merkle.tree_root(leaves()[index << level : (index + 1) << level])


@given(st.lists(st.integers(1, 300), min_size=1, max_size=5))
@settings(max_examples=25, deadline=None)
def test_appending_in_batches_writes_every_tile_of_the_tree(batches: list[int]) -> None:
    edge, written = Edge(0, {}), dict[Tile, bytes]()
    for count in batches:
        edge = Edge(edge.size, edge.partial())  # as after a restart
        for _ in range(count):
            edge.append(leaves()[edge.size])
        written.update(edge.tiles())
        root = merkle.tree_root(leaves()[: edge.size])
        assert edge.range.root() == root
        merkle.verify_inclusion(leaves()[edge.size - 1], edge.size - 1, edge.size, edge.last_proof, root)
    for tile in all_tiles(edge.size):
        assert written[tile] == tile_bytes(tile, _reader)


def test_a_tree_of_three_levels_of_tiles_has_the_right_root_and_proof() -> None:
    edge = Edge(0, {})
    for leaf in leaves()[:65_537]:
        edge.append(leaf)
    again = Edge(edge.size, edge.partial())
    assert again.range == edge.range
    assert {tile.level for tile, _ in again.tiles()} == {0, 2}  # level 1 is full: one entry in level 2, nothing partial
    root = merkle.tree_root(leaves()[:65_537])
    merkle.verify_inclusion(leaves()[65_536], 65_536, 65_537, edge.last_proof, root)
