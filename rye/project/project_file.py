"""Reading a project file, which anyone with commit access can write: a regular file of limited size, or an error."""

from __future__ import annotations

from pathlib import Path

from rye.errors import RyeError
from rye.storage.safe_files import read_bytes


def read_project_file(path: Path, limit: int) -> bytes | None:
    """Return the file's bytes; None if it does not exist. Raises RyeError ``not-a-file``, ``unreadable`` or ``file-too-large``.

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
            "Rye never writes a file this large. Restore it from version control.",
        )
    return data
