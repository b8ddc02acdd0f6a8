"""The room for files of other registries: bounded, and never taken apart under somebody's hands."""

from __future__ import annotations

import os
from pathlib import Path

from registry_server.storage.objects import Folder
from registry_server.upstream.kept_files import YOUNG_SECONDS, KeptFiles, Room

NOW = 2_000_000_000.0


def room(folder: Path, most: int, now: float = NOW) -> Room:
    return Room(Folder(folder, private=True), most, lambda: now)


def age(folder: Path, files: KeptFiles, sha256: str, seconds: float) -> None:
    path = folder / str(files.folder) / "objects" / sha256[:2] / sha256
    os.utime(path, (NOW - seconds, NOW - seconds))


def test_what_was_not_used_for_longest_makes_way(tmp_path: Path) -> None:
    files = KeptFiles.of(room(tmp_path, 3_000), "other")
    old, older, young = (files.put(bytes([number]) * 1_000) for number in range(3))
    age(tmp_path, files, old, YOUNG_SECONDS * 2)
    age(tmp_path, files, older, YOUNG_SECONDS * 3)
    age(tmp_path, files, young, 10)
    new = files.put(b"n" * 1_000)
    assert [files.get(one) is not None for one in (old, older, young, new)] == [True, False, True, True]


def test_what_was_just_used_stays_and_the_new_file_is_not_kept(tmp_path: Path) -> None:
    files = KeptFiles.of(room(tmp_path, 2_500), "other")
    first, second = (files.put(bytes([number]) * 1_000) for number in range(2))
    for one in (first, second):
        age(tmp_path, files, one, 10)
    assert files.get(files.put(b"n" * 1_000)) is None
    assert files.get(first) is not None
    assert files.get(second) is not None
    assert sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file()) <= 2_500


def test_reading_counts_as_use(tmp_path: Path) -> None:
    before = KeptFiles.of(room(tmp_path, 2_500), "other")
    read, unread = (before.put(bytes([number]) * 1_000) for number in range(2))
    for one in (read, unread):
        age(tmp_path, before, one, YOUNG_SECONDS * 2)
    os.utime(tmp_path, (NOW, NOW))
    files = KeptFiles.of(room(tmp_path, 2_500), "other")  # after a restart
    assert files.get(read) is not None
    assert (tmp_path / "other/objects" / read[:2] / read).stat().st_mtime != NOW - YOUNG_SECONDS * 2
    assert (tmp_path / "other/objects" / unread[:2] / unread).stat().st_mtime == NOW - YOUNG_SECONDS * 2


def test_what_all_servers_need_to_continue_is_never_deleted(tmp_path: Path) -> None:
    lasting = room(tmp_path, 1_500)
    lasting.put("other/lasting/state", b"s" * 1_000)
    os.utime(tmp_path / "other/lasting/state", (0, 0))
    assert not lasting.put("other/objects/aa/a", b"a" * 1_000)
    assert (tmp_path / "other/lasting/state").exists()


def test_a_damaged_file_is_none(tmp_path: Path) -> None:
    files = KeptFiles.of(room(tmp_path, 10_000), "other")
    sha256 = files.put(b"right")
    path = tmp_path / "other/objects" / sha256[:2] / sha256
    path.write_bytes(b"wrong")
    assert files.get(sha256) is None
    assert not path.exists()
