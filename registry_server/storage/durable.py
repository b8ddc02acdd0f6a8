"""Writing many files so that all are durable: used for what one batch of the log leaves in a folder.

A file is written under a temporary name and then renamed, so a reader sees the old file or the new one. When ``write``
returns, contents and names are durable. There are two ways to get there:

* ``syncfs``: one call after all renames. It is the cheapest way where it reports failed writes, which is Linux from 5.8
  on. It also waits for what other programs write to the same file system; when that takes long, threads are used for a
  while. A power cut before the call can leave a file with arbitrary bytes, so a writer must not announce a file before
  it, and must compare bytes before it trusts an existing file.
* threads: ``fsync`` for each file, then for each folder, many at once, because the file system merges waiting requests.
"""

from __future__ import annotations

import ctypes
import os
import secrets
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

_T = TypeVar("_T")
THREADS = 16
FEW = 3
"""At most this many files and folders are synced one by one: ``syncfs`` would not pay off."""
SLOW_SECONDS = 0.03
"""A ``syncfs`` that takes longer is waiting for other programs' writes."""
AVOID_SECONDS = 10.0
"""How long threads are used after that."""
_FIRST_LINUX = (5, 8)


class Durable:
    """Writes below one folder. Safe to use from several threads."""

    def __init__(self, root: Path, syncfs: Callable[[int], None] | None = None, folder_mode: int = 0o755) -> None:
        """``syncfs``: makes the file system of an open folder durable, or raises OSError; None: use threads."""
        self._root = str(root)
        self._folder_mode = folder_mode
        self._syncfs = syncfs
        self._avoid_until = 0.0
        self._pool: ThreadPoolExecutor | None = None
        self._lock = threading.Lock()
        self._changed: set[str] = set()
        """Folders with new names that are not durable yet."""
        self._ready: dict[str, tuple[bytes, str]] = {}
        """Prepared for `replace`: path → content, and the durable temporary file that contains it."""

    def write(
        self,
        files: Sequence[tuple[str, bytes]],
        named: Iterable[str] = (),
        ahead: Sequence[tuple[str, bytes]] = (),
    ) -> None:
        """Write each file at its relative path, replacing an older one; all are durable at the end. Raises OSError.

        ``named``: files that already have the right bytes and become durable with the others. ``ahead``: files that a
        later ``replace`` will write; their bytes become durable now, so that ``replace`` need not wait for the disk.
        """
        places = [(f"{self._root}/{path}", content) for path, content in files]
        present = [f"{self._root}/{path}" for path in named]
        later = [(f"{self._root}/{path}", content) for path, content in ahead]
        folders = {os.path.dirname(place) for place, _ in places}
        with self._lock:
            changed, self._changed = self._changed, set()
        try:
            to_sync = (
                folders | _make(folders, self._folder_mode) | {os.path.dirname(place) for place in present} | changed
            )
            self._write(places, present, later, to_sync)
        except BaseException:
            with self._lock:
                self._changed |= changed
            raise

    def _write(
        self,
        places: Sequence[tuple[str, bytes]],
        present: Sequence[str],
        later: Sequence[tuple[str, bytes]],
        to_sync: set[str],
    ) -> None:
        waiting = [(_beside(place), place) for place, _ in (*places, *later)]
        contents = [content for _, content in (*places, *later)]
        try:
            use_syncfs = len(contents) + len(present) + len(to_sync) > FEW and self._may_syncfs()
            if use_syncfs:
                for (temporary, _), content in zip(waiting, contents, strict=True):
                    _fill(temporary, content, sync=False)
            else:
                self._each(lambda at: _fill(waiting[at][0], contents[at], sync=True), range(len(waiting)))
                self._each(_sync_file, present)
            for temporary, place in waiting[: len(places)]:
                os.replace(temporary, place)
            if use_syncfs:
                self._sync_all()
            else:
                self._each(sync_folder, sorted(to_sync))
        except BaseException:
            for temporary, _ in waiting:
                _remove(temporary)
            raise
        for (temporary, place), content in zip(waiting[len(places) :], contents[len(places) :], strict=True):
            older = self._ready.get(place)
            self._ready[place] = (content, temporary)
            if older is not None:
                _remove(older[1])

    def replace(self, path: str, content: bytes) -> None:
        """Write one file whose folder exists.

        After a power cut it can be the previous version, whole. Raises OSError.
        """
        place = f"{self._root}/{path}"
        prepared, temporary = self._ready.pop(place, (b"", ""))
        try:
            if temporary and prepared == content:
                with suppress(FileNotFoundError):  # the prepared file was cleaned up
                    os.replace(temporary, place)
                    return
            if temporary:
                _remove(temporary)
            temporary = _beside(place)
            _fill(temporary, content, sync=True)
            os.replace(temporary, place)
        except BaseException:
            _remove(temporary)
            raise

    def put_soon(self, path: str, content: bytes) -> None:
        """Write one file that need not be durable before :meth:`settle`. Raises OSError."""
        place = f"{self._root}/{path}"
        _make([os.path.dirname(place)], self._folder_mode)
        temporary = _beside(place)
        try:
            _fill(temporary, content, sync=False)
            os.replace(temporary, place)
        except BaseException:
            _remove(temporary)
            raise

    def settle(self, paths: Iterable[str]) -> None:
        """Make these files and their names durable; a missing one is skipped. Raises OSError."""
        places = [f"{self._root}/{path}" for path in paths]
        if len(places) > 1 and self._may_syncfs():
            self._sync_all()
        elif places:
            self._each(_sync_file, places)
            self._each(sync_folder, sorted({os.path.dirname(place) for place in places}))

    def link(self, source: str, path: str) -> bool:
        """Hard-link the durable file at the absolute path ``source`` to ``path``; durable with the next ``write``.

        Returns False if that is impossible: the file is missing, the name is taken, or the file systems differ.
        """
        place = f"{self._root}/{path}"
        folder = os.path.dirname(place)
        folders = _make([folder], self._folder_mode)
        try:
            os.link(source, place)
        except OSError:
            return False
        finally:
            with self._lock:
                self._changed |= {folder, *folders}
        return True

    def remove(self, paths: Iterable[str]) -> None:
        """Remove files. Not made durable: a file that returns after a power cut is removed again, or does no harm."""
        for path in paths:
            _remove(f"{self._root}/{path}")

    def _may_syncfs(self) -> bool:
        return self._syncfs is not None and time.monotonic() >= self._avoid_until

    def _sync_all(self) -> None:
        assert self._syncfs is not None
        started = time.monotonic()
        descriptor = os.open(self._root, os.O_RDONLY)
        try:
            self._syncfs(descriptor)
        finally:
            os.close(descriptor)
        ended = time.monotonic()
        if ended - started > SLOW_SECONDS:
            self._avoid_until = ended + AVOID_SECONDS

    def _each(self, work: Callable[[_T], None], values: Sequence[_T]) -> None:
        if len(values) <= 1:
            for value in values:
                work(value)
            return
        with self._lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(THREADS, "durable")
        every = [self._pool.submit(work, value) for value in values]
        wait(every)  # so that no thread still runs when the caller cleans up after an error
        for done in every:
            done.result()


def sync_folder(folder: str) -> None:
    """Make a folder's entries durable. Raises OSError."""
    if os.name == "nt":
        return  # folders cannot be opened for syncing there
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sync_file(place: str) -> None:
    """Make the bytes of a file durable, if it exists. Raises OSError."""
    try:
        descriptor = os.open(place, os.O_RDWR | getattr(os, "O_BINARY", 0))
    except FileNotFoundError:
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def system_syncfs() -> Callable[[int], None] | None:
    """Return the system's ``syncfs``; None if there is none that reports failed writes."""
    if not sys.platform.startswith("linux"):
        return None
    numbers = os.uname().release.split(".", 2)
    try:
        version = (int(numbers[0]), int(numbers[1].partition("-")[0]))
        call = ctypes.CDLL(None, use_errno=True).syncfs
    except (ValueError, IndexError, OSError, AttributeError):
        return None
    if version < _FIRST_LINUX:
        return None

    def syncfs(descriptor: int) -> None:
        if call(descriptor) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))

    return syncfs


def _make(folders: Iterable[str], mode: int) -> set[str]:
    """``mkdir -p``; returns the folders that have new entries."""
    changed: set[str] = set()
    for folder in folders:
        missing = []
        while not os.path.isdir(folder):
            missing.append(folder)
            folder = os.path.dirname(folder)
        for place in reversed(missing):
            try:
                os.mkdir(place, mode)
            except FileExistsError:
                if not os.path.isdir(place):
                    raise
            changed.add(os.path.dirname(place))
    return changed


def _beside(place: str) -> str:
    folder, name = os.path.split(place)
    return os.path.join(folder, f".{name}.{secrets.token_hex(6)}.tmp")


def _fill(place: str, content: bytes, *, sync: bool) -> None:
    descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o644)
    try:
        rest = memoryview(content)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        if sync:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _remove(place: str) -> None:
    try:
        os.unlink(place)
    except FileNotFoundError:
        return
