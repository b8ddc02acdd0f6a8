"""Results of checks, remembered so that the same bytes are not verified again.

Rules:

* A verdict is the result of a pure function that accepted its arguments. Its key is a hash of everything that the function reads:
  the bytes, the keys they were checked against, and the code that checked them (:func:`running_code`). Refusals are
  never remembered.
* Verdicts are stored next to the trusted state, in the user's own data folder, never in the cache, because a cache can be shared
  or restored by a build server. Whoever can write verdicts could also replace the trusted keys. A file that another user owns or
  can write, or a link, is not read but replaced.
* Anything that must hold now (the head's age and growth, inclusion in the log, hashes of the bytes, keysets and recoveries,
  policy) is not a verdict and is checked each time. That a head's signatures are valid under a root is one.
* None of this is necessary. A damaged row is a miss, a damaged or foreign file is replaced, one that grew too large starts over,
  and one that cannot be used (locked by another program, on a full or read-only disk) is ignored for the rest of the run.

They are rows of a SQLite file. :func:`running_code` is also for other results that hold only until the code that computed them
changes.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

import rye


class UnusableError(Exception):
    """``damaged``: the file itself is bad, so that a new one can replace it."""

    def __init__(self, reason: str, *, damaged: bool) -> None:
        super().__init__(reason)
        self.damaged = damaged


VERDICTS = "verdicts.sqlite"
"""The file's name in the user's data folder."""
_MOST_BYTES = 256 * 1024 * 1024
_MOST_NEW_BYTES = 64 * 1024 * 1024
"""How many verdicts one run remembers at most."""
_CHECK_BYTES = 8


class Verdicts:
    """Verdicts in a file, opened on first use. New ones are written by :meth:`flush`."""

    def __init__(self, path: Path | None, code: bytes | None = None) -> None:
        """``path`` None: nothing is remembered. ``code``: identifies the checking code; tests pass their own."""
        self._path = path
        self._code = code
        self._file: VerdictFile | None = None
        self._new: dict[bytes, bytes] = {}
        self._new_bytes = 0

    @property
    def remembers(self) -> bool:
        """Whether there is a file and it has been usable so far."""
        return self._path is not None

    def key(self, function: str, *arguments: bytes | str) -> bytes:
        """Return the key of one call; 32 bytes."""
        if self._code is None:
            self._code = running_code()
        digest = hashlib.sha256()
        for argument in (self._code, function, *arguments):
            data = argument.encode() if isinstance(argument, str) else argument
            digest.update(len(data).to_bytes(8, "big"))
            digest.update(data)
        return digest.digest()

    def get(self, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        """Return the remembered results by key, including this run's. Unknown keys are left out."""
        asked = list(keys)
        found = {key: self._new[key] for key in asked if key in self._new}
        wanted = [key for key in asked if key not in found]
        with self._forgiving():
            file = self._open(create=False) if wanted else None
            if file is not None:
                for key, value in file.rows(wanted):
                    if _check(key, value[_CHECK_BYTES:]) == value[:_CHECK_BYTES]:
                        found[key] = value[_CHECK_BYTES:]
        return found

    def put(self, verdicts: Mapping[bytes, bytes]) -> None:
        """Remember results by key."""
        size = sum(map(len, verdicts.values()))
        if self._path is not None and self._new_bytes + size <= _MOST_NEW_BYTES:
            self._new.update(verdicts)
            self._new_bytes += size

    def flush(self) -> None:
        """Write the new results. A full or read-only disk, or a locked file, only costs speed."""
        if self._new:
            with self._forgiving():
                if self._path is not None and self._path.exists() and self._path.stat().st_size > _MOST_BYTES:
                    self.forget()
                file = self._open(create=True)
                if file is not None:
                    file.write([(key, _check(key, value) + value) for key, value in self._new.items()])
        self._drop_new()

    def close(self) -> None:
        """Close the file. Results that were not flushed are lost."""
        self._drop_new()
        if self._file is not None:
            self._file.close()
            self._file = None

    def forget(self) -> None:
        """Delete everything that is remembered."""
        if self._file is not None:
            self._file.close()
            self._file = None
        if self._path is not None:
            for suffix in ("", "-journal"):
                with contextlib.suppress(OSError):
                    os.unlink(f"{self._path}{suffix}")

    def _drop_new(self) -> None:
        self._new.clear()
        self._new_bytes = 0

    def _open(self, *, create: bool) -> VerdictFile | None:
        """The file; None if it does not exist and is not to be created. Raises UnusableError, OSError, ImportError."""
        if self._file is None and self._path is not None and self._prepare(self._path, create):
            self._file = VerdictFile(self._path)
        return self._file

    def _prepare(self, path: Path, create: bool) -> bool:
        """Whether there is a file that only the user can write. Raises OSError if a bad one cannot be replaced."""
        if os.path.lexists(path) and not _is_own(path):
            self.forget()
        if not os.path.lexists(path):
            if not create:
                return False
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with contextlib.suppress(FileExistsError):  # another program has just created it
                os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        if not _is_own(path):
            raise PermissionError(f"{path} is not the user's own file")
        return True

    @contextlib.contextmanager
    def _forgiving(self) -> Iterator[None]:
        """If anything goes wrong with the file, replace it or ignore it from now on."""
        try:
            yield
        except (OSError, ImportError):
            self._leave_alone()
        except UnusableError as error:
            if error.damaged:
                self.forget()
            else:
                self._leave_alone()

    def _leave_alone(self) -> None:
        self.close()
        self._path = None


def _is_own(path: Path) -> bool:
    """Whether it is a regular file that only the user owns and can write."""
    status = path.lstat()
    if os.name == "nt":
        return stat.S_ISREG(status.st_mode)
    return stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o022


def _check(key: bytes, value: bytes) -> bytes:
    return hashlib.sha256(key + value).digest()[:_CHECK_BYTES]


_CHUNK = 500
"""How many keys one query asks for."""
_WAIT_SECONDS = 1.0
"""How long to wait for another program that writes, once per run."""
_PASSING = {"BUSY", "LOCKED", "NOMEM", "READONLY", "INTERRUPT", "IOERR", "FULL", "CANTOPEN", "PROTOCOL", "PERM", "AUTH"}
"""SQLite errors that do not mean that the file is damaged."""


class VerdictFile:
    """Rows of key and value, both bytes. Every method raises UnusableError if SQLite fails."""

    def __init__(self, path: Path) -> None:
        import sqlite3  # slow, and most commands have no verdicts

        with _explained():
            self._database = sqlite3.connect(path, timeout=_WAIT_SECONDS)
            try:
                # Losing verdicts in a power cut does no harm; each row has a check that shows whether it is complete.
                self._database.execute("PRAGMA synchronous=OFF")
                self._database.execute("CREATE TABLE IF NOT EXISTS verdict (key BLOB PRIMARY KEY, value BLOB NOT NULL)")
            except BaseException:
                self._database.close()
                raise

    def rows(self, keys: Sequence[bytes]) -> Iterator[tuple[bytes, bytes]]:
        """Yield the existing rows for these keys."""
        with _explained():
            for start in range(0, len(keys), _CHUNK):
                chunk = keys[start : start + _CHUNK]
                places = ",".join("?" * len(chunk))
                for key, value in self._database.execute(
                    f"SELECT key, value FROM verdict WHERE key IN ({places})", chunk
                ):
                    if not isinstance(key, bytes) or not isinstance(value, bytes):
                        raise UnusableError("a row is not bytes", damaged=True)
                    yield key, value

    def write(self, rows: Iterable[tuple[bytes, bytes]]) -> None:
        """Add rows, all or none. A row replaces one with the same key."""
        with _explained(), self._database:
            self._database.executemany("INSERT OR REPLACE INTO verdict VALUES (?, ?)", rows)

    def close(self) -> None:
        """Close the file."""
        self._database.close()


@contextlib.contextmanager
def _explained() -> Iterator[None]:
    import sqlite3

    try:
        yield
    except (sqlite3.Error, UnicodeError) as error:  # UnicodeError: SQLite's messages quote damaged text
        # The name is absent if the library itself refuses, e.g. text that is not UTF-8.
        name = getattr(error, "sqlite_errorname", "")
        damaged = name.removeprefix("SQLITE_").split("_")[0] not in _PASSING
        raise UnusableError(str(error), damaged=damaged) from error


FACES = frozenset(("api", "cli", "deployment", "lsp", "mcp", "runtime", "schemas"))
"""The rooms above the use cases. What checks a release, an item or a lock cannot import them (``tests/house/test_rooms.py``), and
their files are a third of the program's."""


@cache
def running_code(*, faces: bool = False) -> bytes:
    """The identity of this process's code, computed once: a program replaced while it runs still runs the old code.

    ``faces``: with the rooms above the use cases, for a verdict that comes from one of them.
    """
    return code_identity() if faces else code_identity(FACES)


def code_identity(without: Collection[str] = ()) -> bytes:
    """A hash that changes with the checking code: Python, every importable distribution, and the names, sizes and times of this
    package's files. It does not try to know which distributions matter; a change in any of them costs a few verdicts.

    ``without``: rooms that the checking code cannot import. If the hash cannot be determined, e.g. inside an archive, it is
    different each time.
    """
    found = [f"{rye.__version__}\0{sys.version}"]
    for folder in sys.path:
        with contextlib.suppress(OSError):
            names = os.listdir(folder or os.curdir)
            found.extend(sorted(name for name in names if name.endswith((".dist-info", ".egg-info"))))
    try:
        files = list(_files_below(os.path.dirname(os.path.abspath(rye.__file__)), without))
    except OSError:
        files = []
    if not files:
        return os.urandom(32)
    return hashlib.sha256("\0".join([*found, *files]).encode("utf-8", "surrogateescape")).digest()


def _files_below(folder: str, skipped: Collection[str]) -> Iterator[str]:
    """Path, size and time of every file below a folder, except compiled Python files and the folders ``skipped`` directly in
    it."""
    left_out = {f"{folder}{os.sep}{name}" for name in skipped}
    waiting = [folder]
    while waiting:
        here, inside = waiting.pop(), []
        with os.scandir(here) as entries:
            for entry in entries:
                if not entry.is_dir():
                    status = entry.stat()
                    inside.append(f"{entry.name}\0{status.st_size}\0{status.st_mtime_ns}")
                elif entry.name != "__pycache__" and entry.path not in left_out:
                    waiting.append(entry.path)
        inside.sort()
        waiting.sort()
        if inside:
            yield here
            yield from inside
