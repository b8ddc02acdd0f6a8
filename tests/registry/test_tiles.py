"""Tiles: coordinates and paths as in C2SP tlog-tiles, proofs from tiles alone, forged tiles, entry bundles."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rye.registry.protocol import merkle, tiles
from rye.registry.protocol.tiles import Tile, TileError, VerifiedTiles
from tests.registry.tile_bytes import tile_bytes

VECTORS = json.loads((Path(__file__).parents[1] / "vectors/merkle/tiles.json").read_text("ascii"))
LEAVES = 70_000


@cache
def nodes() -> dict[merkle.Node, bytes]:
    found: dict[merkle.Node, bytes] = {}
    tree = merkle.CompactRange()
    for number in range(LEAVES):
        tree, completed = tree.append(merkle.leaf_hash(str(number).encode()))
        found.update(completed)
    return found


def read(level: int, index: int) -> bytes:
    return nodes()[(level, index)]


def fetched(wanted: list[Tile]) -> dict[Tile, bytes]:
    return {tile: tile_bytes(tile, read) for tile in wanted}


def test_the_path_of_the_specifications_example() -> None:
    assert Tile(0, 1_234_067).path == "tile/0/x001/x234/067"
    assert Tile(0, 1_234_067, 7).entries_path == "tile/entries/x001/x234/067.p/7"
    assert [Tile(1, index).path for index in (0, 999, 1_000, 999_999)] == [
        "tile/1/000",
        "tile/1/999",
        "tile/1/x001/000",
        "tile/1/x999/999",
    ]


def test_the_tiles_of_the_specifications_example_of_70000_leaves() -> None:
    found = tiles.all_tiles(70_000)
    assert sum(tile.level == 0 and tile.width == 256 for tile in found) == 273
    assert [tile for tile in found if tile.width != 256] == [Tile(0, 273, 112), Tile(1, 1, 17), Tile(2, 0, 1)]
    assert tiles.partial_tiles(70_000) == [Tile(0, 273, 112), Tile(1, 1, 17), Tile(2, 0, 1)]
    assert tiles.all_tiles(256) == [Tile(0, 0), Tile(1, 0, 1)]
    assert tiles.all_tiles(0) == []


def test_golden_tiles() -> None:
    for size, expected in VECTORS["roots"].items():
        assert merkle.root_at(int(size), read).hex() == expected
    for size, contents in VECTORS["tiles"].items():
        by_path = {tile.path: tile for tile in tiles.all_tiles(int(size))}
        for path, expected in contents.items():
            tile = by_path[path]
            assert hashlib.sha256(tile_bytes(tile, read)).hexdigest() == expected


@pytest.mark.parametrize("size", [1, 2, 100, 255, 256, 257, 300, 511, 512, 65_535, 65_536, 65_537, 70_000])
def test_inclusion_and_consistency_are_proved_from_their_tiles_alone(size: int) -> None:
    root = merkle.root_at(size, read)
    for index in sorted({0, 1 % size, size // 2, size - 1, (size - 1) & ~255}):
        reader = VerifiedTiles(fetched(tiles.inclusion_tiles([index], size)), size, root)
        assert reader(0, index) == read(0, index)
        proof = merkle.inclusion_proof(index, size, reader)
        merkle.verify_inclusion(read(0, index), index, size, proof, root)
    for old in sorted({1, size // 3, size // 2, size & ~255, size - 1, size}):
        reader = VerifiedTiles(fetched(tiles.consistency_tiles(old, size)), size, root)
        assert merkle.consistency_proof(old, size, reader) == merkle.consistency_proof(old, size, read)


@settings(max_examples=60)
@given(st.data())
def test_any_changed_tile_is_found_before_it_is_read_hypothesis(data: st.DataObject) -> None:
    size = data.draw(st.integers(1, LEAVES))
    index = data.draw(st.integers(0, size - 1))
    found = fetched(tiles.inclusion_tiles([index], size))
    victim = data.draw(st.sampled_from(sorted(found)))
    content = bytearray(found[victim])
    content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    with pytest.raises(TileError) as raised:
        VerifiedTiles({**found, victim: bytes(content)}, size, merkle.root_at(size, read))
    assert raised.value.code in ("tile-root", "tile-parent")


def test_a_tile_of_another_size_or_place_is_refused() -> None:
    size = 300
    root = merkle.root_at(size, read)
    found = fetched(tiles.inclusion_tiles([10], size))
    partial = Tile(0, 1, 44)
    for other in (found[partial] + bytes(32), found[partial][:-32], found[partial][:-1], b""):
        with pytest.raises(TileError) as raised:
            VerifiedTiles({**found, partial: other}, size, root)
        assert raised.value.code == "tile-size"
    for misplaced in (Tile(0, 1, 43), Tile(0, 1)):
        with pytest.raises(TileError) as raised:
            VerifiedTiles({**found, misplaced: bytes(misplaced.bytes)}, size, root)
        assert raised.value.code == "tile-size"


def test_a_missing_tile_or_parent_is_named() -> None:
    size = 70_000
    root = merkle.root_at(size, read)
    found = fetched(tiles.inclusion_tiles([10], size))
    for victim in found:
        with pytest.raises(TileError) as raised:
            VerifiedTiles({tile: data for tile, data in found.items() if tile != victim}, size, root)(0, 10)
        assert raised.value.code == "tile-missing"


def test_a_full_tile_without_the_parent_that_vouches_for_it_is_refused() -> None:
    size = 70_000
    found = fetched([*tiles.partial_tiles(size), Tile(0, 0)])
    with pytest.raises(TileError) as raised:
        VerifiedTiles(found, size, merkle.root_at(size, read))
    assert raised.value.code == "tile-missing"
    assert raised.value.message == "The tile tile/1/000 is needed to check tile/0/000."


def test_of_two_changed_tiles_the_upper_is_named() -> None:
    """A tile is compared with a parent that has already been checked."""
    size = 70_000
    found = fetched(tiles.inclusion_tiles([10], size))
    for tile in (Tile(0, 0), Tile(1, 0)):
        found[tile] = bytes(tile.bytes)
    with pytest.raises(TileError) as raised:
        VerifiedTiles(found, size, merkle.root_at(size, read))
    assert raised.value.code == "tile-parent"
    assert "tile/1/000" in raised.value.message


def test_an_empty_tree_has_the_root_of_nothing_and_no_other() -> None:
    VerifiedTiles({}, 0, merkle.EMPTY_ROOT)
    with pytest.raises(TileError) as raised:
        VerifiedTiles({}, 0, bytes(32))
    assert raised.value.code == "tile-root"


def test_a_tree_has_tiles_up_to_its_last_leaf() -> None:
    assert tiles.tile_at(0, 0, 1) == Tile(0, 0, 1)
    assert tiles.tile_at(0, 0, 256) == Tile(0, 0)
    assert tiles.tile_at(0, 1, 257) == Tile(0, 1, 1)
    assert tiles.tile_at(1, 0, 256) == Tile(1, 0, 1)
    for level, index, size in ((0, 0, 0), (0, 1, 256), (0, 3, 256), (1, 0, 255), (1, 1, 65_536)):
        with pytest.raises(TileError) as raised:
            tiles.tile_at(level, index, size)
        assert raised.value.code == "tile-missing"
        assert raised.value.message == f"A tree of {size} leaves has no tile {level}/{index}."


def test_tiles_are_wanted_with_their_parents_and_the_right_edge_in_order() -> None:
    edge = [Tile(0, 273, 112), Tile(1, 1, 17), Tile(2, 0, 1)]
    assert tiles.with_parents([], 70_000) == edge
    assert tiles.with_parents([Tile(0, 5), Tile(0, 3)], 70_000) == [
        Tile(0, 3),
        Tile(0, 5),
        edge[0],
        Tile(1, 0),
        *edge[1:],
    ]
    assert tiles.with_parents([Tile(0, 260)], 70_000) == [Tile(0, 260), *edge]
    assert tiles.parent(Tile(0, 255), 70_000) == Tile(1, 0)
    assert tiles.parent(Tile(0, 256), 70_000) == Tile(1, 1, 17)
    assert tiles.parent(Tile(1, 0), 70_000) == Tile(2, 0, 1)
    assert tiles.inclusion_tiles([10], 70_000) == [Tile(0, 0), edge[0], Tile(1, 0), *edge[1:]]


def test_a_node_that_the_tree_does_not_have_is_not_read() -> None:
    reader = VerifiedTiles(fetched(tiles.all_tiles(300)), 300, merkle.root_at(300, read))
    for level, index in ((0, 300), (1, 150), (8, 1), (9, 0)):
        with pytest.raises(TileError) as raised:
            reader(level, index)
        assert raised.value.code == "tile-missing"


def test_a_partial_tile_may_be_cut_from_the_full_one_that_replaced_it() -> None:
    full, partial = tile_bytes(Tile(0, 0), read), Tile(0, 0, 44)
    assert tiles.clip(partial, full) == tile_bytes(partial, read)
    assert tiles.clip(partial, full[: 44 * 32]) == full[: 44 * 32]
    with pytest.raises(TileError) as raised:
        tiles.clip(partial, full[: 45 * 32])
    assert raised.value.code == "tile-size"


@given(st.lists(st.binary(max_size=300), max_size=256))
def test_bundles_are_read_back_hypothesis(entries: list[bytes]) -> None:
    assert tiles.decode_bundle(tiles.encode_bundle(entries), len(entries)) == entries


def test_bundles_that_end_early_or_late_are_refused() -> None:
    data = tiles.encode_bundle([b"one", b"", b"three"])
    for other, width in (
        (data, 2),
        (data, 4),
        (data[:-1], 3),
        (data + b"\0", 3),
        (data + b"\0\0", 3),
        (b"\0", 1),
        (b"", 1),
    ):
        with pytest.raises(TileError) as raised:
            tiles.decode_bundle(other, width)
        assert raised.value.code == "bundle-malformed"
    assert tiles.decode_bundle(tiles.encode_bundle([b"x" * 65_535]), 1) == [b"x" * 65_535]
    with pytest.raises(TileError) as raised:
        tiles.encode_bundle([b"x" * 65_536])
    assert raised.value.code == "bundle-malformed"


@pytest.mark.parametrize(
    ("data", "width", "message"),
    [
        (b"", 1, "A bundle does not contain exactly 1 entries."),
        (b"\0\1a", 2, "A bundle does not contain exactly 2 entries."),
        (b"\0\1a", 0, "A bundle does not contain exactly 0 entries."),
        (b"\0\1a\0", 1, "A bundle does not contain exactly 1 entries."),
        (b"\0\1a\0", 2, "A bundle of entries ends inside an entry."),
        (b"\0\1a\0\2b", 2, "A bundle of entries ends inside an entry."),
        (b"\0", 1, "A bundle of entries ends inside an entry."),
        (b"\1\0" + b"a" * 255, 1, "A bundle of entries ends inside an entry."),
    ],
)
def test_a_bundle_ends_inside_an_entry_or_holds_another_number(data: bytes, width: int, message: str) -> None:
    """Bytes after the last entry are not read."""
    with pytest.raises(TileError) as raised:
        tiles.decode_bundle(data, width)
    assert raised.value.message == message
