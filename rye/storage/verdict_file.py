"""The SQLite file of :mod:`rye.storage.verdicts`, in its own module so that commands without verdicts do not import SQLite."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from rye.storage.unusable import UnusableError

_CHUNK = 500
"""How many keys one query asks for."""
_WAIT_SECONDS = 1.0
"""How long to wait for another program that writes, once per run."""
_PASSING = {"BUSY", "LOCKED", "NOMEM", "READONLY", "INTERRUPT", "IOERR", "FULL", "CANTOPEN", "PROTOCOL", "PERM", "AUTH"}
"""SQLite errors that do not mean that the file is damaged."""


class VerdictFile:
    """Rows of key and value, both bytes. Every method raises UnusableError if SQLite fails."""

    def __init__(self, path: Path) -> None:
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
    try:
        yield
    except (sqlite3.Error, UnicodeError) as error:  # UnicodeError: SQLite's messages quote damaged text
        name = getattr(
            error, "sqlite_errorname", ""
        )  # absent if the library itself refuses, e.g. text that is not UTF-8
        damaged = name.removeprefix("SQLITE_").split("_")[0] not in _PASSING
        raise UnusableError(str(error), damaged=damaged) from error
