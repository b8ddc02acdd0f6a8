"""Objects that are cached together in one file: found like any other object, and never trusted."""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path

import pytest

from rye.registry.protocol.tiles import Tile
from rye.registry.store.cache import Cache, Packs, WriteBehindCache

MANY = [f"object {number}".encode() for number in range(100)]


def names(data: list[bytes]) -> list[str]:
    return [hashlib.sha256(one).hexdigest() for one in data]


def filled(folder: Path) -> Path:
    """A cache with one pack, and the pack."""
    cache = WriteBehindCache.at(folder)
    for data in MANY:
        cache.put(data)
    cache.flush()
    (pack,) = (folder / "packs").iterdir()
    return pack


def test_what_waits_is_readable_at_once_and_nothing_is_on_disk(tmp_path: Path) -> None:
    cache = WriteBehindCache.at(tmp_path)
    sha256 = cache.put(b"text")
    assert cache.get(sha256) == b"text"
    assert Cache(tmp_path).get(sha256) is None
    cache.flush()
    assert Cache(tmp_path).get(sha256) == b"text"


def test_many_objects_become_one_file_that_any_cache_reads(tmp_path: Path) -> None:
    filled(tmp_path)
    assert not (tmp_path / "objects").exists()
    for cache in (Cache(tmp_path), WriteBehindCache.at(tmp_path)):
        assert [cache.get(name) for name in names(MANY)] == MANY
        assert cache.get("0" * 64) is None
    assert Cache(tmp_path).info().objects == len(MANY)


def test_what_is_there_already_is_not_written_again(tmp_path: Path) -> None:
    filled(tmp_path)
    again = WriteBehindCache.at(tmp_path)
    for name, data in zip(names(MANY), MANY, strict=True):
        assert again.get(name) == data
        again.put(data)
    again.flush()
    assert len(list((tmp_path / "packs").iterdir())) == 1
    assert not (tmp_path / "objects").exists()


def test_a_damaged_object_in_a_pack_is_missed_and_can_be_put_again(tmp_path: Path) -> None:
    pack = filled(tmp_path)
    pack.write_bytes(pack.read_bytes().replace(b"object 7o", b"Object 7o"))
    name = names(MANY)[7]
    assert Cache(tmp_path).get(name) is None
    cache = WriteBehindCache.at(tmp_path)
    cache.put(MANY[7])
    cache.flush()
    assert Cache(tmp_path).get(name) == MANY[7]
    assert Cache(tmp_path).get(names(MANY)[8]) == MANY[8]


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"rye-pack 2 3\n{}\n",
        b"rye-pack 1 999999999\n",
        b"rye-pack 1 2\n[]",
        b"rye-pack 1 80\n" + b'{"' + b"0" * 64 + b'": ["x", -1]}',
        b"rye-pack 1 79\n" + b'{"' + b"0" * 64 + b'": [0, 10]}',
        b"\xff" * 4096,
    ],
)
def test_a_pack_that_is_none_has_nothing(tmp_path: Path, damage: bytes) -> None:
    (tmp_path / "packs").mkdir()
    (tmp_path / "packs" / "x.pack").write_bytes(damage)
    assert Packs(tmp_path / "packs").get("0" * 64) is None
    assert Cache(tmp_path).get("0" * 64) is None


def test_an_old_pack_goes_and_a_clean_takes_all(tmp_path: Path) -> None:
    pack = filled(tmp_path)
    assert Cache(tmp_path).prune(500).objects == 0
    os.utime(pack, (time.time() - 1_000, time.time() - 1_000))
    assert Cache(tmp_path).prune(500).objects == len(MANY)
    filled(tmp_path)
    Cache(tmp_path).put_tile("one.example", Tile(0, 0, 1), b"x" * 32)
    assert Cache(tmp_path).clean().objects == len(MANY)
    assert Cache(tmp_path).info().objects == 0


def test_a_disk_that_cannot_be_written_costs_only_speed(tmp_path: Path) -> None:
    (tmp_path / "packs").write_text("a file in the folder's place")
    cache = WriteBehindCache.at(tmp_path)
    for data in MANY:
        cache.put(data)
    cache.flush()
    assert cache.get(names(MANY)[0]) is None
