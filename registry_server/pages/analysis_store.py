"""Stored analyses of releases, so that the first view of a page need not read the release's bytes.

Rules:

* An analysis depends only on the signed note, its keyset, the bytes and the code
  (:mod:`registry_server.pages.release_analysis`). Its key is a hash of note and keyset. A file that other code wrote is
  deleted, not read.
* The file is in the server's data folder, next to the database, and is trusted as much: anyone who can write one can
  write the other. It is not part of a backup. Only pages for people read it; clients check the bytes themselves.
* The file is only a cache. A damaged row is a miss, a damaged file starts over, and a file that cannot be written is
  left alone. A file whose writer was killed during a change starts over too, because its index may miss rows.
* Removing must not fail silently: removed rows are overwritten, and if that fails, the whole file is deleted, even if
  another file has replaced this server's.
* The file is bounded. The oldest rows are deleted first.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from registry_server.pages import page_layout
from registry_server.pages.limits import PAGES
from registry_server.pages.lru_cache import LruCache
from registry_server.pages.release_analysis import Analysis, decode, encode
from rye.registry.trust.records import ReleaseRecord, release_files
from rye.storage.verdicts import running_code

T = TypeVar("T")
FILE = "analyses.sqlite"
"""The file's name in the data folder."""
_log = logging.getLogger("rye.registry")
_CHECK_BYTES = 8
_WAIT_SECONDS = 0.1
"""How long to wait for another process that writes the file."""
_READ = "SELECT value FROM analysis WHERE key = ?"
_TABLES = (
    (
        "CREATE TABLE state (one INTEGER PRIMARY KEY CHECK (one = 1), code BLOB NOT NULL, entries INTEGER, "
        "is_whole INTEGER NOT NULL)"
    ),
    "CREATE TABLE analysis (key BLOB PRIMARY KEY, release TEXT NOT NULL, value BLOB NOT NULL)",
    "CREATE INDEX analysis_release ON analysis (release)",
)
_SETTINGS = (
    "synchronous=OFF",  # losing analyses in a power cut does no harm
    "journal_mode=MEMORY",  # no second file that could retain removed rows; `is_whole` reveals an unfinished change
    "secure_delete=ON",
)


class Waiting(Struct, frozen=True):
    """An analysis that has not been written yet."""

    key: bytes
    release: str
    """``kind:id@version``."""
    files: frozenset[str]
    """The SHA-256 of each of the release's files."""
    value: bytes


class AnalysisStore:
    """The stored analyses of one server. Thread-safe."""

    def __init__(self, path: Path | None, code: bytes | None = None) -> None:
        """``path`` None: nothing is stored. ``code``: identifies the code; tests pass their own."""
        self._path = path
        self._is_usable = path is not None
        self._code = code
        self._database: sqlite3.Connection | None = None
        self._opened: tuple[int, int] | None = None
        """The open file's device and number."""
        self._lock = threading.Lock()
        self._kept: LruCache[bytes, Analysis] = LruCache(PAGES.analyses_kept_bytes)
        self._waiting: dict[bytes, Waiting] = {}
        self._waiting_bytes = 0
        self.asked_for = 0
        """How many analyses were made because a page needed them."""

    @property
    def is_stored(self) -> bool:
        """Whether analyses are stored in a file."""
        return self._is_usable

    @property
    def is_waiting(self) -> bool:
        """Whether :meth:`write` has something to write."""
        return bool(self._waiting)

    # -- one analysis ----------------------------------------------------------------------------------------------------

    def get(self, record: ReleaseRecord) -> Analysis | None:
        """Return the stored analysis of a release, or None."""
        key = _key(record)
        known = self._kept.get(key)
        if known is not None:
            return known
        row = self._with(lambda database: database.execute(_READ, (key,)).fetchone(), None)
        if row is None:
            return None
        try:
            found, size = decode(_whole(key, row[0]))
        except ValueError:
            return None
        self._kept.put(key, found, 2 * size)
        return found

    def has(self, record: ReleaseRecord) -> bool:
        """Whether the file has a row for a release, even a damaged one."""
        return self._with(lambda database: database.execute(_READ, (_key(record),)).fetchone() is not None, False)

    def put(self, record: ReleaseRecord, analysis: Analysis, *, is_asked_for: bool = True) -> None:
        """Queue an analysis for :meth:`write`. ``is_asked_for``: a page needs it now, so it is also cached in
        memory."""
        key, (value, size) = _key(record), encode(analysis)
        if is_asked_for:
            self.asked_for += 1
            self._kept.put(key, analysis, 2 * size)
        if size > PAGES.analysis_bytes or not self._is_usable:
            return
        with self._lock:
            if self._waiting_bytes + len(value) > PAGES.analyses_waiting_bytes:
                return
            if key not in self._waiting:
                self._waiting_bytes += len(value)
                self._waiting[key] = Waiting(key, _name(record), release_files(record.release), value)

    # -- the file --------------------------------------------------------------------------------------------------------

    def take_waiting(self) -> tuple[Waiting, ...]:
        """Take the queued analyses. The caller passes those that may still be stored to :meth:`write`."""
        with self._lock:
            taken = tuple(self._waiting.values())
            self._waiting.clear()
            self._waiting_bytes = 0
        return taken

    def write(self, rows: Iterable[Waiting]) -> None:
        """Write rows, and make room for them."""
        given = [(row.key, row.release, _check(row.key, row.value) + row.value) for row in rows]

        def write(database: sqlite3.Connection) -> None:
            with _change(database):
                database.executemany("INSERT OR REPLACE INTO analysis VALUES (?, ?, ?)", given)
                _make_room(database)

        self._with(write, None)

    def remove(self, release: str) -> bool:
        """Remove everything about ``kind:id@version``, and overwrite it in the file. Return whether it is gone."""
        self._kept.clear()
        with self._lock:
            for key in [key for key, row in self._waiting.items() if row.release == release]:
                self._waiting_bytes -= len(self._waiting.pop(key).value)

        def remove(database: sqlite3.Connection) -> bool:
            if database.execute("SELECT 1 FROM analysis WHERE release = ?", (release,)).fetchone() is not None:
                with _change(database):
                    database.execute("DELETE FROM analysis WHERE release = ?", (release,))
            return True

        if self._with(remove, False):
            return True
        with self._lock:
            return self._forget()

    def entries(self) -> int | None:
        """Return how many log entries were analysed ahead of time; None: never started, or damaged."""
        row = self._with(lambda database: database.execute("SELECT entries FROM state").fetchone(), None)
        return row[0] if row is not None and isinstance(row[0], int) and row[0] >= 0 else None

    def set_entries(self, entries: int) -> None:
        """Store how many log entries were analysed ahead of time."""
        self._with(lambda database: database.execute("UPDATE state SET entries = ?", (entries,)), None)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._close()

    def _with(self, work: Callable[[sqlite3.Connection], T], otherwise: T) -> T:
        """Return the result of ``work`` in a transaction, or ``otherwise`` if the file fails.

        A damaged file starts over, and one that cannot be used is left alone.
        """
        with self._lock:
            if self._path is None or not self._is_usable:
                return otherwise
            try:
                with self._open(self._path) as database:
                    return work(database)
            except (sqlite3.Error, OSError, UnicodeError) as error:
                self._judge(error)
                return otherwise

    def _judge(self, error: Exception) -> None:
        name = getattr(error, "sqlite_errorname", "").removeprefix("SQLITE_").partition("_")[0]
        if name in ("BUSY", "LOCKED", "INTERRUPT"):
            return
        if isinstance(error, OSError) or name in ("READONLY", "FULL", "CANTOPEN", "IOERR", "PERM", "AUTH", "NOMEM"):
            _log.warning("analyses of releases are not stored: %s", error)
            self._is_usable = False
            if name == "FULL":
                self._forget()  # the log and the released files need the space
            self._close()
        else:
            _log.warning("the file of stored analyses is damaged and starts over: %s", error)
            self._forget()

    def _open(self, path: Path) -> sqlite3.Connection:
        """Return the connection to the file at ``path``. Raise OSError if another file has replaced the open one."""
        if self._database is not None:
            present = _number(path)
            if present == self._opened:
                return self._database
            self._close()
            if present is not None:
                raise OSError(f"another file has taken the place of {path}")
        if self._code is None:
            self._code = hashlib.sha256(running_code() + page_layout.version().encode()).digest()
        database = _connected(path)
        try:
            if not _is_ours(database, self._code):
                database.close()
                self._forget()
                database = _connected(path)
                with database:
                    for statement in _TABLES:
                        database.execute(statement)
                    database.execute("INSERT INTO state VALUES (1, ?, NULL, 1)", (self._code,))
        except BaseException:  # nothing else would close it
            database.close()
            raise
        self._database, self._opened = database, _number(path)
        return database

    def _close(self) -> None:
        if self._database is not None:
            self._database.close()
            self._database = None

    def _forget(self) -> bool:
        """Delete the file. Return whether it is gone."""
        self._close()
        if self._path is not None:
            try:
                self._path.unlink(missing_ok=True)
            except OSError as error:
                _log.warning("cannot delete %s: %s", self._path, error)
                self._is_usable = False
                return False
        return True


def _connected(path: Path) -> sqlite3.Connection:
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    database = sqlite3.connect(path, timeout=_WAIT_SECONDS, check_same_thread=False)
    try:
        for setting in _SETTINGS:
            database.execute(f"PRAGMA {setting}")
    except BaseException:
        database.close()
        raise
    return database


def _number(path: Path) -> tuple[int, int] | None:
    """Device and inode number of the file at ``path``; None if it does not exist."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _is_ours(database: sqlite3.Connection, code: bytes) -> bool:
    """Whether this code wrote the file, and every change to it was finished."""
    try:
        return database.execute("SELECT code, is_whole FROM state").fetchall() == [(code, 1)]
    except sqlite3.OperationalError as error:
        if "no such" in str(error):
            return False
        raise


@contextlib.contextmanager
def _change(database: sqlite3.Connection) -> Iterator[None]:
    """Mark the file during a change of several pages. No journal could undo half of one.

    Raises sqlite3.DatabaseError if another process left the mark, or is changing the file now.
    """
    if not database.execute("UPDATE state SET is_whole = 0 WHERE is_whole = 1").rowcount:
        raise sqlite3.DatabaseError("a change was not finished")
    database.commit()
    try:
        yield
    except BaseException:
        database.rollback()
        _unmark(database)
        raise
    database.commit()
    _unmark(database)


def _unmark(database: sqlite3.Connection) -> None:
    with contextlib.suppress(sqlite3.Error), database:
        database.execute("UPDATE state SET is_whole = 1")


def _make_room(database: sqlite3.Connection) -> None:
    """Delete the oldest rows of a file that is too large. New rows reuse their space."""
    pages, free, size = (
        database.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
    )
    if (pages - free) * size > PAGES.analyses_bytes:
        count = database.execute("SELECT count(*) FROM analysis").fetchone()[0]
        database.execute(
            "DELETE FROM analysis WHERE rowid IN (SELECT rowid FROM analysis ORDER BY rowid LIMIT ?)",
            (count // 16 + 1,),
        )


def _key(record: ReleaseRecord) -> bytes:
    """Return the key: the signed note determines every byte, and the keyset whose signature counts."""
    return hashlib.sha256(f"{record.link.sha256}\n{record.line.note}".encode()).digest()


def _name(record: ReleaseRecord) -> str:
    return f"{record.identity}@{record.version}"


def _check(key: bytes, value: bytes) -> bytes:
    return hashlib.sha256(key + value).digest()[:_CHECK_BYTES]


def _whole(key: bytes, row: object) -> bytes:
    """Return the value of a row. Raises ValueError if it is damaged."""
    if not isinstance(row, bytes) or _check(key, row[_CHECK_BYTES:]) != row[:_CHECK_BYTES]:
        raise ValueError("a damaged row")
    return row[_CHECK_BYTES:]
