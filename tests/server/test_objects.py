"""Stores: objects are complete or absent, never partial; a folder behaves the same whatever happened before."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from registry_server.storage.objects import Folder


def test_what_was_put_is_read_back_and_listed(tmp_path: Path) -> None:
    store = Folder(tmp_path / "public")
    store.put("head", b"one")
    store.put("head", b"two")
    store.put_all([("tile/0/000", b"x" * 32), ("tile/0/000.p/7", b"y")])
    assert store.get("head") == b"two"
    assert store.get("tile/0/000.p/7") == b"y"
    assert sorted((path, size) for path, size, _ in store.listing()) == [
        ("head", 3),
        ("tile/0/000", 32),
        ("tile/0/000.p/7", 1),
    ]


@pytest.mark.parametrize("path", ["nothing", "folder", "folder/file/below"])
def test_what_is_not_an_object_reads_as_none(tmp_path: Path, path: str) -> None:
    store = Folder(tmp_path)
    store.put("folder/file", b"x")
    assert store.get(path) is None


def test_an_object_that_is_there_is_left_alone_and_one_with_other_bytes_is_replaced(tmp_path: Path) -> None:
    store = Folder(tmp_path)
    store.put_all([("a", b"whole")])
    before = os.stat(tmp_path / "a").st_ino
    store.put_all([("a", b"whole")])
    assert os.stat(tmp_path / "a").st_ino == before
    for damaged in (b"who", b"other"):
        (tmp_path / "a").write_bytes(damaged)
        store.put_all([("a", b"whole")])
        assert store.get("a") == b"whole"


def test_leftovers_of_a_killed_process_go_and_nothing_else(tmp_path: Path) -> None:
    store = Folder(tmp_path)
    store.put("map/aa", b"x")
    (tmp_path / "map" / ".aa.123.tmp").write_bytes(b"half")
    store.remove_leftovers(older_than_seconds=-1)
    assert [path for path, _, _ in store.listing()] == ["map/aa"]


def test_a_young_leftover_stays_as_a_process_may_be_writing_it(tmp_path: Path) -> None:
    store = Folder(tmp_path)
    store.put("map/aa", b"x")
    (tmp_path / "map" / ".aa.123.tmp").write_bytes(b"half")
    store.remove_leftovers()
    assert sorted(path for path, _, _ in store.listing()) == ["map/.aa.123.tmp", "map/aa"]


def test_looking_for_leftovers_asks_nothing_about_other_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A large registry has hundreds of thousands of them."""
    store = Folder(tmp_path)
    store.put_all([(f"map/{number}", b"x") for number in range(20)])
    (tmp_path / "map" / ".aa.123.tmp").write_bytes(b"half")
    asked: list[str] = []
    whole = os.stat

    def stat(path: str, **options: bool) -> os.stat_result:
        asked.append(os.path.basename(path))
        return whole(path, **options)

    monkeypatch.setattr(os, "stat", stat)
    store.remove_leftovers()
    assert asked == [".aa.123.tmp"]


def test_a_deleted_object_may_be_deleted_again(tmp_path: Path) -> None:
    store = Folder(tmp_path)
    store.put("a", b"x")
    store.delete("a")
    store.delete("a")
    assert store.get("a") is None
