"""Files that are durable when ``write`` returns, and nothing half-written when it fails."""

from __future__ import annotations

import errno
import os
import time
from pathlib import Path

import pytest

from registry_server.storage import durable
from registry_server.storage.durable import Durable
from registry_server.storage.objects import Folder
from registry_server.storage.store_seam import ABSENT


def test_a_failed_write_leaves_no_temporary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One thread meets a full disk while the others still write: files they finish afterwards are also cleaned up."""
    fill, finished = durable._fill, list[bytes]()

    def full_for_one(place: str, content: bytes, *, sync: bool) -> None:
        if not place.startswith(str(tmp_path)):  # a server of another test, whose worker still writes
            fill(place, content, sync=sync)
            return
        if content == b"0":
            raise OSError(errno.ENOSPC, "full")
        time.sleep(0.05)
        fill(place, content, sync=sync)
        finished.append(content)

    monkeypatch.setattr(durable, "_fill", full_for_one)
    with pytest.raises(OSError, match="full"):
        Durable(tmp_path).write([(f"{number}", b"%d" % number) for number in range(4)])
    assert sorted(finished) == [b"1", b"2", b"3"], "no thread still writes"
    assert list(tmp_path.iterdir()) == []


class Syncs:
    """Counts the syncs, file by file; ``at_once`` counts whole file systems."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.synced: list[str] = []
        self.at_once = 0
        fsync = os.fsync

        def counted(descriptor: int) -> None:
            self.synced.append(os.readlink(f"/proc/self/fd/{descriptor}"))
            fsync(descriptor)

        monkeypatch.setattr(os, "fsync", counted)

    def syncfs(self, _descriptor: int) -> None:
        self.at_once += 1


on_linux = pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="names of open files come from /proc")


@on_linux
def test_a_batch_is_made_durable_by_one_call_and_its_head_waits_for_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    syncs = Syncs(monkeypatch)
    durable_folder = Durable(tmp_path, syncs.syncfs)
    durable_folder.write([(f"tile/{number}", b"x") for number in range(9)], ahead=[("head", b"new")])
    assert (syncs.at_once, syncs.synced) == (1, [])
    assert not (tmp_path / "head").exists()
    durable_folder.replace("head", b"new")
    assert (tmp_path / "head").read_bytes() == b"new"
    assert (syncs.at_once, syncs.synced) == (1, [])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["head", "tile"]


@on_linux
def test_without_syncfs_every_file_and_folder_is_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    syncs = Syncs(monkeypatch)
    Durable(tmp_path).write([("a/one", b"1"), ("b/two", b"2")], ahead=[("head", b"new")])
    folders = {str(tmp_path), str(tmp_path / "a"), str(tmp_path / "b")}
    files = [path for path in syncs.synced if path not in folders]
    assert folders <= set(syncs.synced)
    assert sorted(os.path.basename(path).split(".")[1] for path in files) == ["head", "one", "two"]


@on_linux
def test_a_file_that_reads_the_same_is_synced_too_since_a_killed_process_may_have_left_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tile").write_bytes(b"x")
    syncs = Syncs(monkeypatch)
    store = Folder(tmp_path)
    monkeypatch.setattr(store, "_durable", Durable(tmp_path))
    store.put_all([("tile", b"x")])
    assert syncs.synced == [str(tmp_path / "tile"), str(tmp_path)]


@pytest.mark.parametrize(("tidied", "content"), [(True, b"prepared"), (False, b"newer"), (False, b"prepared")])
def test_a_head_prepared_earlier_is_used_only_where_it_is_there_and_the_same(
    tmp_path: Path, tidied: bool, content: bytes
) -> None:
    store = Folder(tmp_path)
    store.put_all([], [("head", b"prepared")])
    if tidied:
        for temporary in tmp_path.iterdir():
            temporary.unlink()
    tag = store.replace("head", content, ABSENT)
    assert store.get_tagged("head") == (content, tag)
    assert [path.name for path in tmp_path.iterdir()] == ["head"]


@on_linux
def test_an_upload_is_durable_once_it_is_settled_and_gets_its_public_name_without_being_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    uploads, public = Folder(tmp_path / "uploads"), Folder(tmp_path / "public")
    syncs = Syncs(monkeypatch)
    uploads.put_soon("one", b"1")
    assert syncs.synced == []
    uploads.settle(["one"])
    assert syncs.synced == [str(tmp_path / "uploads" / "one"), str(tmp_path / "uploads")]
    uploads.settle(["gone"])
    public.put("blobs/taken", b"2")
    moves = [("one", "blobs/1/one"), ("gone", "blobs/gone"), ("one", "blobs/taken")]
    assert public.take_all(uploads, moves) == moves[1:]
    public.put_all([("index", b"3")])
    uploads.delete("one")
    assert public.get("blobs/1/one") == b"1"
    assert public.get("blobs/taken") == b"2"


def test_folders_of_new_names_are_synced_with_the_next_write_even_after_one_that_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "upload").write_bytes(b"1")
    folder = Durable(tmp_path)
    assert folder.link(str(tmp_path / "upload"), "blobs/ab/one")
    synced: list[str] = []

    def fail(place: str) -> None:
        raise OSError(errno.EIO, place)

    monkeypatch.setattr(durable, "sync_folder", fail)
    with pytest.raises(OSError, match="Errno"):
        folder.write([])
    monkeypatch.setattr(durable, "sync_folder", synced.append)
    folder.write([])
    assert synced == [str(tmp_path), str(tmp_path / "blobs"), str(tmp_path / "blobs" / "ab")]
    synced.clear()
    folder.write([])
    assert synced == []
