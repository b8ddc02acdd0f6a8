"""Where tests write their files: in memory, on machines that have enough of it.

A run of all tests writes and removes several hundred thousand small files. On a disk that takes a quarter of the processor's
time, and each process waits for the others' files to be written.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

_PLACE = Path("/dev/shm")
_FREE_BYTES = 4 << 30


def memory_disk() -> Path | None:
    """The folder; None if there is none, if programs cannot run there, or if less than four gibibytes are free."""
    try:
        found = os.statvfs(_PLACE)
    except OSError:
        return None
    runs = not found.f_flag & os.ST_NOEXEC and os.access(_PLACE, os.W_OK | os.X_OK)
    return _PLACE if runs and min(found.f_bavail * found.f_frsize, _free_memory()) >= _FREE_BYTES else None


def _free_memory() -> int:
    """The bytes that programs could still use: the size of the folder is a limit, and no promise."""
    for line in Path("/proc/meminfo").read_text("ascii").splitlines():
        name, _, rest = line.partition(":")
        if name == "MemAvailable":
            return int(rest.split()[0]) << 10
    return 0


def use() -> None:
    """Make it the folder of temporary files for this process and those that it starts, unless ``TMPDIR`` names another."""
    place = memory_disk()
    if place is not None and "TMPDIR" not in os.environ:
        os.environ["TMPDIR"] = tempfile.tempdir = str(place)
