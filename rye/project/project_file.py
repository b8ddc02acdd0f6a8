"""Reading a file that anyone who can commit may have written: a regular file of bounded size, or an error."""

from __future__ import annotations

from pathlib import Path

from rye.errors import RyeError
from rye.project.bounded_file import read_bytes


def read_project_file(path: Path, limit: int) -> bytes | None:
    """The file's bytes; None where there is none. Raises RyeError ``not-a-file``, ``unreadable`` or ``file-too-large``.

    A link is followed, since people link rye.toml; a device or pipe at its end is refused.
    """
    try:
        data = read_bytes(path, limit)
    except RyeError as error:
        if error.code == "no-such-file":
            return None
        raise
    if len(data) > limit:
        raise RyeError(
            "file-too-large",
            f"{str(path)!r} is larger than {limit:,} bytes.",
            "Rye writes no such file: restore it from version control.",
        )
    return data
