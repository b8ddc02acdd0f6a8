"""What checks found, remembered, so that the same bytes are not judged twice.

Rules:

* A verdict is the result of a pure function that accepted its arguments. Its key is a hash of everything that the function
  reads: the bytes, the keys that they were judged against, and the code that judged (:func:`code_identity`). A refusal is
  never remembered.
* Verdicts lie beside the trusted state, in the user's own data folder, and never in the cache: a cache may be shared, or
  restored from somewhere by a build server. Whoever can write verdicts can as well replace the keys that are trusted.
* What must hold today (head, freshness, inclusion in the log, hashes of the bytes, revocations, policy) is no verdict; it is
  checked each time.
* Nothing here is needed. A damaged row is a miss, a damaged file is deleted, one that grew too large begins anew.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import rye

if TYPE_CHECKING:
    import sqlite3

_JUDGES = ("items", "permissions", "registry", "registry/statements", "resolution", "signing", "installation", ".")
"""The folders of this package whose code decides what is accepted."""
VERDICTS = "verdicts.sqlite"
"""Their file in the user's data folder."""
_MOST_BYTES = 256 * 1024 * 1024
_CHUNK = 500
"""Keys asked for at once."""
_CHECK_BYTES = 8


class Verdicts:
    """Verdicts in a file, opened when it is first needed. What is put in is written by :meth:`flush`."""

    def __init__(self, path: Path | None, code: bytes | None = None) -> None:
        """``path`` None: nothing is remembered. ``code``: what judges; tests give another."""
        self._path = path
        self._code = code
        self._database: sqlite3.Connection | None = None
        self._new: dict[bytes, bytes] = {}

    def key(self, function: str, *arguments: bytes | str) -> bytes:
        """The key of one call; 32 bytes."""
        if self._code is None:
            self._code = code_identity()
        digest = hashlib.sha256(self._code)
        for argument in (function, *arguments):
            data = argument.encode() if isinstance(argument, str) else argument
            digest.update(len(data).to_bytes(8, "big"))
            digest.update(data)
        return digest.digest()

    def get(self, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        """The remembered results by key; keys that are not known are left out."""
        wanted = list(keys)
        found: dict[bytes, bytes] = {}
        if self._path is None or not wanted or (self._database is None and not self._path.exists()):
            return found
        with self._forgiving():
            database = self._open(self._path)
            for start in range(0, len(wanted), _CHUNK):
                chunk = wanted[start : start + _CHUNK]
                marks = ",".join("?" * len(chunk))
                for key, value in database.execute(f"SELECT key, value FROM verdict WHERE key IN ({marks})", chunk):
                    if _check(key, value[_CHECK_BYTES:]) == value[:_CHECK_BYTES]:
                        found[key] = value[_CHECK_BYTES:]
        return found

    def put(self, verdicts: Mapping[bytes, bytes]) -> None:
        """Remember results, by key."""
        if self._path is not None:
            self._new.update(verdicts)

    def flush(self) -> None:
        """Write what is new. A full or read-only disk, or a program that holds the file, costs speed and nothing else."""
        if self._path is not None and self._new:
            with self._forgiving():
                if self._path.exists() and self._path.stat().st_size > _MOST_BYTES:
                    self.forget()
                database = self._open(self._path)
                rows = [(key, _check(key, value) + value) for key, value in self._new.items()]
                with database:
                    database.executemany("INSERT OR REPLACE INTO verdict VALUES (?, ?)", rows)
        self._new.clear()

    def close(self) -> None:
        """Give the file back; what was not flushed is not remembered."""
        self._new.clear()
        if self._database is not None:
            self._database.close()
            self._database = None

    def forget(self) -> None:
        """Delete everything that is remembered."""
        if self._database is not None:
            self._database.close()
            self._database = None
        if self._path is not None:
            for suffix in ("", "-journal"):
                with contextlib.suppress(OSError):
                    os.unlink(f"{self._path}{suffix}")

    def _open(self, path: Path) -> sqlite3.Connection:
        import sqlite3

        if self._database is None:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._database = sqlite3.connect(path, timeout=1)
            # Losing verdicts in a power cut is nothing; each row says by its check whether it is whole.
            self._database.execute("PRAGMA synchronous=OFF")
            self._database.execute("CREATE TABLE IF NOT EXISTS verdict (key BLOB PRIMARY KEY, value BLOB NOT NULL)")
        return self._database

    @contextlib.contextmanager
    def _forgiving(self) -> Iterator[None]:
        import sqlite3

        try:
            yield
        except sqlite3.OperationalError:  # busy, read-only, full: not damaged
            return
        except (sqlite3.DatabaseError, TypeError):
            self.forget()
        except OSError:
            return


def code_identity() -> bytes:
    """A hash that changes with the code that judges: names, sizes and times of this package's files."""
    digest = hashlib.sha256(rye.__version__.encode())
    package = os.path.dirname(os.path.abspath(rye.__file__))
    for folder in _JUDGES:
        with os.scandir(os.path.join(package, folder)) as entries:
            for entry in sorted(entries, key=lambda entry: entry.name):
                if entry.name.endswith(".py"):
                    status = entry.stat()
                    digest.update(f"\0{folder}/{entry.name}\0{status.st_size}\0{status.st_mtime_ns}".encode())
    return digest.digest()


def _check(key: bytes, value: bytes) -> bytes:
    return hashlib.sha256(key + value).digest()[:_CHECK_BYTES]
