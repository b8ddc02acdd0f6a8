"""Whether a disk has room for more than a few small files."""

from __future__ import annotations

import shutil
from pathlib import Path

from registry_server.settings import Settings

ROOM_BYTES = 1_000_000
"""With less, the next batch fails, although a head could still be written."""


def has_room(settings: Settings) -> bool:
    """Whether the data folder's disk has room for a batch. True if it cannot be asked: then writing tells."""
    return has_room_in(settings.data)


def has_room_in(folder: Path, beside: int = 0) -> bool:
    """Whether this folder's disk has room for a batch beside so many bytes of something else; True as above."""
    try:
        return shutil.disk_usage(folder).free >= ROOM_BYTES + beside
    except OSError:
        return True
