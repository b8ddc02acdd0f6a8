"""Whether the disk of the data folder has room for more than a few small files."""

from __future__ import annotations

import shutil

from registry_server.settings import Settings

ROOM_BYTES = 1_000_000
"""With less, the next batch fails, although a head could still be written."""


def has_room(settings: Settings) -> bool:
    """Whether the disk has room for a batch. True if it cannot be asked: then writing tells."""
    try:
        return shutil.disk_usage(settings.data).free >= ROOM_BYTES
    except OSError:
        return True
