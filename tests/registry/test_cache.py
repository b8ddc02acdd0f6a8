"""The shared cache: entries are verified when read, complete or absent, and safe for concurrent programs."""

from __future__ import annotations

import hashlib
import os
import stat
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from rye.registry.protocol.tiles import Tile
from rye.registry.store.cache import Cache, Packs

pytestmark = pytest.mark.processes


def test_content_is_found_by_its_hash(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    sha256 = hashlib.sha256(b"text").hexdigest()
    assert cache.get(sha256) is None
    assert cache.put(b"text") == sha256
    assert cache.get(sha256) == b"text"
    with pytest.raises(ValueError, match="not a hash"):
        cache.get("../" + sha256)


def test_a_damaged_object_is_missed_and_deleted(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    sha256 = cache.put(b"text")
    path = next(path for path in (tmp_path / "objects").rglob("*") if path.is_file())
    path.write_bytes(b"Text")
    assert cache.get(sha256) is None
    assert not path.exists()


def test_tiles_are_kept_by_registry(tmp_path: Path) -> None:
    cache, tile = Cache(tmp_path), Tile(0, 1_234, 7)
    cache.put_tile("one.example", tile, b"1" * 224)
    assert cache.get_tile("one.example", tile) == b"1" * 224
    assert cache.get_tile("two.example", tile) is None
    cache.drop_tiles("one.example")
    assert cache.get_tile("one.example", tile) is None


def test_info_clean_and_prune(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    assert cache.info().bytes == 0
    old, new = cache.put(b"old"), cache.put(b"newer")
    cache.put_tile("one.example", Tile(0, 0, 1), b"x" * 32)
    assert (cache.info().objects, cache.info().tiles, cache.info().bytes) == (2, 1, 40)
    path = tmp_path / "cache" / "objects" / old[:2] / old
    os.utime(path, (time.time() - 1_000, time.time() - 1_000))
    assert (cache.prune(500).objects, cache.prune(500).objects) == (1, 0)
    assert cache.get(old) is None
    assert cache.get(new) == b"newer"
    assert cache.clean().objects == 1
    assert cache.info().bytes == 0


def test_a_program_that_died_leaves_nothing_that_is_read(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    (tmp_path / "temporary").mkdir()
    orphan = tmp_path / "temporary" / "1-a"
    orphan.write_bytes(b"half")
    os.utime(orphan, (1, 1))
    cache.prune(0)
    assert not orphan.exists()


def _fill(folder: str, count: int) -> bool:
    cache = Cache(Path(folder))
    for number in range(count):
        data = str(number).encode() * 100
        sha256 = cache.put(data)
        if cache.get(sha256) not in (data, None):
            return False
        cache.put_tile("one.example", Tile(0, number), data)
        if cache.get_tile("one.example", Tile(0, number)) != data:
            return False
    return True


def test_many_programs_write_the_same_files_at_once(tmp_path: Path) -> None:
    with ProcessPoolExecutor(4) as pool:
        assert all(pool.map(_fill, [str(tmp_path)] * 4, [100] * 4))
    assert Cache(tmp_path).info().objects == 100
    assert list((tmp_path / "temporary").iterdir()) == []


def test_a_file_where_the_folder_should_be_costs_nothing_but_speed(tmp_path: Path) -> None:
    (tmp_path / "cache").write_bytes(b"")
    cache = Cache(tmp_path / "cache")
    assert cache.get(cache.put(b"text")) is None


@pytest.mark.skipif(os.name == "nt", reason="Windows has no modes")
def test_other_users_read_nothing_from_a_new_cache_and_a_shared_one_stays_shared(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        Cache(tmp_path / "loose").put(b"a private item")
        Packs(tmp_path / "packed" / "packs").put({hashlib.sha256(b"x").hexdigest(): b"x"})
        (tmp_path / "shared").mkdir(mode=0o755)
        Cache(tmp_path / "shared").put(b"a private item")
    finally:
        os.umask(before)
    modes = {name: stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("loose", "packed", "shared")}
    assert modes == {"loose": 0o700, "packed": 0o700, "shared": 0o755}


def test_a_named_pipe_in_the_cache_holds_nobody(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    sha256 = cache.put(b"text")
    path = next(path for path in (tmp_path / "objects").rglob("*") if path.is_file())
    path.unlink()
    os.mkfifo(path)
    (tmp_path / "packs").mkdir(exist_ok=True)
    os.mkfifo(tmp_path / "packs" / "x.pack")
    assert cache.get(sha256) is None
    assert cache.info().objects >= 0
