"""Releases that a registry's owners are known here to have taken down: a file next to the registry's trusted
state.

A takedown is a statement about one release, so no keyset records it. Entries are never removed: takedowns are
permanent.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from rye.registry.store.pins import state_path
from rye.storage.private_files import make_folder, read_trusted, write
from rye.storage.safe_files import file_lock

_NAME = "withdrawn.json"
_LOCK_SECONDS = 60.0
_UNKNOWN = frozenset({"?"})
"""The content of an unreadable file: it makes every earlier verdict invalid."""


def read_withdrawn(folder: Path, origin: str) -> frozenset[str]:
    """Return ``kind:id version`` of each release; empty if there is no file. ``folder``: that of the trusted states."""
    try:
        return frozenset(msgspec.json.decode(read_trusted(_path(folder, origin)), type=list[str]))
    except FileNotFoundError:
        return frozenset()
    except (OSError, msgspec.MsgspecError):
        return _UNKNOWN


def remember_withdrawn(folder: Path, origin: str, releases: Iterable[str]) -> None:
    """Add releases; entries that another program adds at the same time are kept. Raises OSError."""
    path, added = _path(folder, origin), frozenset(releases)
    if added <= read_withdrawn(folder, origin) - _UNKNOWN:
        return
    make_folder(path.parent)
    with file_lock(path.with_name(f"{_NAME}.lock"), _LOCK_SECONDS):
        known = read_withdrawn(folder, origin) - _UNKNOWN
        write(path, msgspec.json.encode(sorted(known | added)).decode())


def _path(folder: Path, origin: str) -> Path:
    return state_path(folder, origin).with_name(_NAME)
