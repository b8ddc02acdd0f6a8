"""What a user agreed to in one checkout, on disk: one file per checkout in the user's folder, one approval per line.

A checkout is told from another one by its mark, a random text in ``.ai/.rye/accepted``, which version control ignores. The
user's file is named by the mark's hash, and its first line says where the mark was last seen and when it was written, to the
nanosecond. So agreement goes with a folder that is moved, and with nothing else:

* No mark, or one that this user's Rye did not write here or there: nothing is agreed to, and a yes makes a new mark. A mark that
  came with a repository is never taken over, and knowing one is not enough, since git does not bring its time. An archive that
  keeps times to the nanosecond moves a folder like anything else that does.
* A mark that the recorded folder still has was copied: this checkout is another one. If that cannot be looked at, it counts as
  still there.
* A mark behind a symbolic link, and one that belongs to another user, counts as none.

Nothing in a project can write to the user's folder. A file there that is not this user's own, or that others can write, counts
for nothing, and so does one that cannot be read: then everything is asked about again.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from rye.consent.ask import Ask, is_plain
from rye.consent.sorts import is_last
from rye.errors import RyeError
from rye.storage import private_files
from rye.storage.safe_files import LockTimeout, file_lock, first_link
from rye.text.lazy import lazy_module

if TYPE_CHECKING:
    import json
else:
    json = lazy_module("json")  # only for a checkout that was moved, and text with unusual characters

LOCK_SECONDS = 60.0
"""How long a run waits for another one that stores an approval."""
MARK = ".ai/.rye/accepted"
"""The mark of a checkout, relative to its root."""
_MARK_BYTES = 64
_READING = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)


class Mark(Struct, frozen=True):
    """The mark of a checkout."""

    text: str
    """64 random hex digits."""
    written: int
    """When its file was written, in ns. A clone does not bring it."""


def read_mark(root: Path) -> Mark | None:
    """The mark in this folder; None if there is none, it is behind a link, or it is not this user's own file."""
    place = root / MARK
    try:
        if first_link(root, place) is not None:
            return None
        descriptor = os.open(place, _READING | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        return None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or (os.name == "posix" and status.st_uid != os.geteuid()):
            return None
        data = os.read(descriptor, _MARK_BYTES + 1)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    if len(data) != _MARK_BYTES or data.strip(b"0123456789abcdef"):
        return None
    return Mark(data.decode("ascii"), status.st_mtime_ns)


def _still_has(folder: str, mark: Mark) -> bool:
    """Whether a folder has this mark, or may have it: it cannot be looked at."""
    try:
        descriptor = os.open(f"{folder}/{MARK}", _READING)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError):
        return True
    try:
        return os.read(descriptor, _MARK_BYTES + 1) == mark.text.encode()
    except OSError:
        return True
    finally:
        os.close(descriptor)


class _Found(Struct, frozen=True):
    """The agreement that belongs to a checkout."""

    mark: Mark
    is_recorded_here: bool
    """Whether its first line names this folder."""
    lines: frozenset[str]


@lru_cache(maxsize=2)
def _parsed(text: str) -> tuple[str, frozenset[str]]:
    """The first line of a file and the others. The same text is parsed once, for callers who look at many items."""
    first, *lines = text.removesuffix("\n").split("\n")
    return first, frozenset(lines)


class Memory(Struct, frozen=True):
    """What a user agreed to in the checkout at ``root``."""

    folder: Path
    """The user's folder for such files."""
    root: Path
    """The project."""

    @property
    def path(self) -> Path | None:
        """The file; None if the checkout has no mark."""
        mark = read_mark(self.root)
        return self._place(mark) if mark is not None else None

    def lines(self) -> frozenset[str]:
        """The approvals. Empty if the mark or the file cannot be relied on, so that Rye asks again.

        If the checkout was moved here, its new place is recorded first, so that a later copy of it counts as another one.
        """
        found = self._find()
        if found is None:
            return frozenset()
        if not found.is_recorded_here:
            try:
                with self._alone():
                    found = self._find()
                    if found is not None:
                        self._write(found.mark, found.lines)
            except (OSError, RyeError):
                return frozenset()
        return found.lines if found is not None else frozenset()

    def add(self, asks: Iterable[Ask], write_mark: Callable[[str], None]) -> bool:
        """Store these as well; one of a sort of which only the last counts takes the place of the earlier one of its item. Keeps
        what another run stores at the same time. Return False, and store nothing, if the checkout cannot be given a mark.

        ``write_mark``: writes this text as the checkout's mark, or raises OSError or RyeError. Raises RyeError ``in-use``.
        """
        given = tuple(asks)
        added = {ask.line for ask in given}
        if added <= self.lines():
            return True
        private_files.make_folder(self.folder)
        with self._alone():
            found = self._find()
            mark = found.mark if found is not None else self._marked(write_mark)
            if mark is None:
                return False
            replaced = tuple(ask.start for ask in given if is_last(ask.sort))
            kept = (line for line in (found.lines if found is not None else ()) if not line.startswith(replaced))
            self._write(mark, added.union(kept))
            self._before_marks.unlink(missing_ok=True)
        return True

    def remove(self) -> bool:
        """Forget everything, also what another run is adding to. Return whether there was anything. Raises RyeError
        ``in-use``."""
        if self._find() is None:
            return False
        with self._alone():
            found = self._find()
            if found is not None:
                self._place(found.mark).unlink(missing_ok=True)
        return True

    def _place(self, mark: Mark) -> Path:
        return self.folder / hashlib.sha256(mark.text.encode()).hexdigest()[:32]

    @property
    def _before_marks(self) -> Path:
        """The file of earlier versions. It counts for nothing."""
        return named_by_path(self.folder, self.root)

    def _find(self) -> _Found | None:
        """The agreement of this checkout; None: nothing was agreed to in it."""
        mark = read_mark(self.root)
        if mark is None:
            return None
        text = self._read(self._place(mark))
        if text is None:
            return None
        first, lines = _parsed(text)
        here = first == self._first_line(mark)
        if not here and not self._was_moved(first, mark):
            return None
        return _Found(mark, here, lines)

    def _was_moved(self, first: str, mark: Mark) -> bool:
        """Whether a first line is about this very mark, and the folder that it names no longer has it."""
        try:
            folder, written = json.loads(first)
        except (ValueError, TypeError, RecursionError):
            return False
        if not isinstance(folder, str) or written != mark.written:
            return False
        with suppress(OSError, ValueError):
            if os.path.samefile(folder, self.root):  # mounted in two places, or written in another case
                return True
        return not _still_has(folder, mark)

    def _first_line(self, mark: Mark) -> str:
        return f"[{_quoted(os.path.realpath(self.root))}, {mark.written}]"

    @staticmethod
    def _read(place: Path) -> str | None:
        try:
            descriptor = os.open(place, _READING | getattr(os, "O_NOFOLLOW", 0))
        except OSError:
            return None
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or (
                os.name == "posix" and (status.st_uid != os.geteuid() or status.st_mode & 0o022)
            ):
                return None
            with os.fdopen(descriptor, "rb", closefd=False) as stream:
                return stream.read().decode("utf-8")
        except (OSError, UnicodeDecodeError):
            return None
        finally:
            os.close(descriptor)

    def _write(self, mark: Mark, lines: Iterable[str]) -> None:
        private_files.write(self._place(mark), "\n".join([self._first_line(mark), *sorted(lines)]) + "\n")

    def _marked(self, write_mark: Callable[[str], None]) -> Mark | None:
        """A new mark for the checkout, which replaces any other; None if it cannot be written or is not read as written."""
        text = os.urandom(_MARK_BYTES // 2).hex()
        try:
            write_mark(text)
        except (OSError, RyeError):
            return None
        mark = read_mark(self.root)
        return mark if mark is not None and mark.text == text else None

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """The only run that writes. Raises RyeError ``in-use``."""
        try:
            with file_lock(self.folder.with_suffix(".lock"), LOCK_SECONDS):
                yield
        except LockTimeout:
            raise RyeError(
                "in-use",
                "Another rye process is saving what you agreed to in this project.",
                "Wait for it to finish or stop it, then run the command again.",
                what="project",
            ) from None


def named_by_path(folder: Path, root: Path) -> Path:
    """A file of the user's about whatever is at a project's real path."""
    return folder / hashlib.sha256(_quoted(os.path.realpath(root)).encode()).hexdigest()[:32]


def _quoted(text: str) -> str:
    return f'"{text}"' if is_plain(text) else json.dumps(text)
