"""What is done in an opened folder happens there, whatever takes its place meanwhile (docs/reference/attacks-repositories.md)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rye.errors import RyeError
from rye.storage.opened_folder import OpenedFolder, opened_folder
from rye.storage.safe_files import LockTimeout, file_lock


def tree(folder: Path) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder that nothing may touch, with the names that the tests use."""
    made = tmp_path / "outside"
    (made / "inner").mkdir(parents=True)
    for name in ("file", "lock", "inner/file"):
        (made / name).write_text("theirs")
    return made


@pytest.fixture
def swapped(tmp_path: Path, outside: Path) -> Iterator[OpenedFolder]:
    """An opened folder, whose place a link to the other one took."""
    (tmp_path / "root/work/inner").mkdir(parents=True)
    (tmp_path / "root/work/file").write_text("ours")
    (tmp_path / "root/work/inner/file").write_text("ours")
    with opened_folder(tmp_path / "root", "work") as folder:
        (tmp_path / "root/work").rename(tmp_path / "moved")
        (tmp_path / "root/work").symlink_to(outside)
        yield folder


def _create(folder: OpenedFolder) -> None:
    with folder.create("new") as stream:
        stream.write(b"new")


def _move(folder: OpenedFolder) -> None:
    with folder.around("inner/file") as (inner, name):
        inner.move(name, folder, "file")


def _lock(folder: OpenedFolder) -> None:
    with folder.locked("lock", 0):
        pass


def _empty(folder: OpenedFolder) -> None:
    with folder.emptied("inner") as inner:
        inner.replace("other", b"new")


@pytest.mark.parametrize(
    ("act", "after"),
    [
        (_create, {"file": "ours", "inner/file": "ours", "new": "new"}),
        (lambda folder: folder.replace("file", b"new"), {"file": "new", "inner/file": "ours"}),
        (_move, {"file": "ours"}),
        (lambda folder: folder.unlink("file"), {"inner/file": "ours"}),
        (lambda folder: folder.remove("inner"), {"file": "ours"}),
        (lambda folder: folder.remove("nothing"), {"file": "ours", "inner/file": "ours"}),
        (_empty, {"file": "ours", "inner/other": "new"}),
        (_lock, {"file": "ours", "inner/file": "ours", "lock": ""}),
        (lambda folder: folder.sync(), {"file": "ours", "inner/file": "ours"}),
    ],
)
def test_a_link_in_the_place_of_an_opened_folder_leads_nothing_elsewhere(
    swapped: OpenedFolder, outside: Path, tmp_path: Path, act: Callable[[OpenedFolder], None], after: dict[str, str]
) -> None:
    act(swapped)
    assert tree(tmp_path / "moved") == after
    assert tree(outside) == {"file": "theirs", "lock": "theirs", "inner/file": "theirs"}


def test_what_is_looked_at_is_in_the_opened_folder(swapped: OpenedFolder) -> None:
    assert sorted(swapped.names()) == ["file", "inner"]
    assert not swapped.holds("lock")
    assert swapped.has("file", b"ours")
    assert not swapped.has("file", b"our")
    assert not swapped.has("file", None)
    assert swapped.has("lock", None)
    assert not swapped.has("inner", None)
    assert swapped.has_folder("inner")
    assert not swapped.has_folder("file")
    assert swapped.status("nothing") is None


@pytest.mark.parametrize("make", [True, False])
def test_no_folder_is_reached_through_a_link(tmp_path: Path, outside: Path, make: bool) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "root/link").symlink_to(outside)
    with pytest.raises(RyeError) as raised, opened_folder(tmp_path / "root", "link/inner", make=make):
        pass
    assert raised.value.code == "symlink-in-the-way"


@pytest.mark.parametrize("folder", ["..", "work/../../outside", "./work"])
def test_no_name_leads_out_of_the_folder(tmp_path: Path, outside: Path, folder: str) -> None:
    (tmp_path / "root").mkdir()
    with pytest.raises(RyeError) as raised, opened_folder(tmp_path / "root", folder, make=True):
        pass
    assert raised.value.code == "unsafe-path"
    assert not list((tmp_path / "root").iterdir())


def test_folders_are_made_only_if_asked(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), opened_folder(tmp_path, "a/b"):
        pass
    with opened_folder(tmp_path, "a/b", make=True) as made:
        made.replace("file", b"new", mode=0o600)
    assert tree(tmp_path) == {"a/b/file": "new"}
    assert (tmp_path / "a/b/file").stat().st_mode & 0o777 == 0o600


def test_an_error_names_the_whole_path(tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/b/file").write_text("there")
    with (
        pytest.raises(FileExistsError) as inner,
        opened_folder(tmp_path, "a") as folder,
        folder.around("b/file") as (below, name),
    ):
        below.create(name)
    assert inner.value.filename == str(tmp_path / "a/b/file")
    with pytest.raises(FileNotFoundError) as moved, opened_folder(tmp_path) as root, root.below("a") as below:
        below.move("gone", root, "new")
    assert (moved.value.filename, moved.value.filename2) == (str(tmp_path / "a/gone"), str(tmp_path / "new"))
    with pytest.raises(FileNotFoundError) as missing, opened_folder(tmp_path, "a/c"):
        pass
    assert missing.value.filename == str(tmp_path / "a/c")


def test_only_empty_folders_are_removed_and_none_behind_a_link(tmp_path: Path, outside: Path) -> None:
    (tmp_path / "root/full/empty").mkdir(parents=True)
    (outside / "empty").mkdir()
    (tmp_path / "root/link").symlink_to(outside)
    with opened_folder(tmp_path / "root") as root:
        assert not root.remove_empty("full")
        assert root.remove_empty("full/empty")
        assert root.remove_empty("full")
        assert not root.remove_empty("full")
        assert not root.remove_empty("link/empty")
        assert not root.remove_empty("../outside/empty")
    assert (outside / "empty").is_dir()


def test_the_lock_shuts_out_programs_that_lock_the_path(tmp_path: Path) -> None:
    with opened_folder(tmp_path) as folder:
        with folder.locked("lock", 0), pytest.raises(LockTimeout), file_lock(tmp_path / "lock", 0):
            pass
        with file_lock(tmp_path / "lock", 0), pytest.raises(LockTimeout), folder.locked("lock", 0.01):
            pass
        with folder.locked("lock", 0):
            pass


def test_what_is_kept_takes_the_first_free_name_and_waits_for_nobody(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "gone")
    with opened_folder(tmp_path) as folder, opened_folder(tmp_path) as other, other.alone(0):
        with pytest.raises(LockTimeout), folder.alone(0):
            pass
        assert [folder.keep("a", data) for data in (b"1", b"2")] == ["a.1", "a.2"]
        assert folder.keep("b", b"3", mode=0o640) == "b"
    assert tree(tmp_path) == {"a.1": "1", "a.2": "2", "b": "3"}
    assert (tmp_path / "b").stat().st_mode & 0o777 == 0o640
    assert not (tmp_path / "gone").exists()


def test_a_link_in_the_place_of_a_lock_is_neither_followed_nor_emptied(tmp_path: Path, outside: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "root/lock").symlink_to(outside / "file")
    with (
        opened_folder(tmp_path / "root") as folder,
        pytest.raises(OSError, match="symbolic links"),
        folder.locked("lock", 0),
    ):
        pass
    assert (outside / "file").read_text() == "theirs"


def test_a_named_pipe_in_the_place_of_a_file_blocks_nothing(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with opened_folder(tmp_path) as folder:
        assert not folder.has("pipe", b"")
        with pytest.raises(OSError, match="not a regular file"):
            folder.open("pipe")
        folder.remove("pipe")
    assert not (tmp_path / "pipe").exists()
