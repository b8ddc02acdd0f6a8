"""Results of checks, remembered so that the same bytes are not verified again.

Rules:

* A verdict is the result of a pure function that accepted its arguments. Its key is a hash of everything that the function reads:
  the bytes, the keys they were checked against, and the code that checked them (:mod:`rye.storage.running_code`). Refusals are
  never remembered.
* Verdicts are stored next to the trusted state, in the user's own data folder, never in the cache, because a cache can be shared
  or restored by a build server. Whoever can write verdicts could also replace the trusted keys. A file that another user owns or
  can write, or a link, is not read but replaced.
* Anything that must hold now (the head's age and growth, inclusion in the log, hashes of the bytes, keysets and recoveries,
  policy) is not a verdict and is checked each time. That a head's signatures are valid under a root is one.
* None of this is necessary. A damaged row is a miss, a damaged or foreign file is replaced, one that grew too large starts over,
  and one that cannot be used (locked by another program, on a full or read-only disk) is ignored for the rest of the run.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from rye.storage.running_code import running_code
from rye.storage.unusable import UnusableError

if TYPE_CHECKING:
    from rye.storage.verdict_file import VerdictFile

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
            from rye.storage.verdict_file import VerdictFile  # SQLite, which is slow to import

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
