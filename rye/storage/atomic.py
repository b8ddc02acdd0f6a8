"""Replace a file so that readers see either the old or the new content, never a mix, and its permissions are kept."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path


def replace_file(path: Path, data: bytes) -> None:
    """Write ``data`` next to ``path`` and rename it into place. A new file gets the user's default permissions."""
    folder = path.parent
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=folder)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(name, _mode(path))
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def replace_files(changes: Sequence[tuple[Path, bytes, bytes]]) -> None:
    """Replace each file (path, old bytes, new bytes). If one cannot be written, restore the old bytes of those before it."""
    for index, (path, _, new) in enumerate(changes):
        try:
            replace_file(path, new)
        except OSError:
            for written, old, _ in changes[:index]:
                replace_file(written, old)
            raise


def _mode(path: Path) -> int:
    try:
        return path.stat().st_mode & 0o7777
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask
