"""What a user agreed to in one project, on disk: one file per project in the user's folder, one approval per line.

Nothing in a project can write there. A file that is not this user's own, or that others can write, counts for nothing, and
so does one that cannot be read: then everything is asked about again.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from rye.consent.ask import Ask, is_plain
from rye.errors import RyeError
from rye.storage import private_files
from rye.storage.safe_files import LockTimeout, file_lock
from rye.text.lazy import lazy_module

if TYPE_CHECKING:
    import json
else:
    json = lazy_module("json")  # only for text with unusual characters

LOCK_SECONDS = 60.0
"""How long a run waits for another one that stores an approval."""


class Memory(Struct, frozen=True):
    """One project's file. It is named by the project's real path, which is also its first line."""

    folder: Path
    """The user's folder for such files."""
    root: Path
    """The project."""

    @property
    def path(self) -> Path:
        """The file."""
        return self.folder / hashlib.sha256(self._named.encode()).hexdigest()[:32]

    @property
    def _named(self) -> str:
        path = os.path.realpath(self.root)
        return f'"{path}"' if is_plain(path) else json.dumps(path)

    def lines(self) -> frozenset[str]:
        """The approvals. Empty if others can write the file or it cannot be read, so that Rye asks again."""
        try:
            descriptor = os.open(self.path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        except OSError:
            return frozenset()
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or (
                os.name == "posix" and (status.st_uid != os.geteuid() or status.st_mode & 0o022)
            ):
                return frozenset()
            with os.fdopen(descriptor, "rb", closefd=False) as stream:
                return frozenset(stream.read().decode("utf-8").removesuffix("\n").split("\n")[1:])
        except (OSError, UnicodeDecodeError):
            return frozenset()
        finally:
            os.close(descriptor)

    def add(self, asks: Iterable[Ask]) -> None:
        """Store these as well. Keeps what another run stores at the same time. Raises RyeError
        ``in-use``."""
        path = self.path
        added = {ask.line for ask in asks}
        if added <= self.lines():
            return
        private_files.make_folder(path.parent)
        with self._alone():
            lines = self.lines() | added
            private_files.write(path, "\n".join([self._named, *sorted(lines)]) + "\n")

    def remove(self) -> bool:
        """Forget everything, also what another run is adding to. Return whether there was anything. Raises RyeError
        ``in-use``."""
        if not os.path.lexists(self.path):
            return False
        with self._alone():
            self.path.unlink(missing_ok=True)
        return True

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
