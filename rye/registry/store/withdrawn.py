"""Releases that a registry's owners took down, as far as this machine saw it: a file beside the registry's trusted state.

A takedown is a statement about one release, so no keyset tells of it. What is listed here never comes back: takedowns are final.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from rye.registry.store.pins import state_path
from rye.storage.private_files import make_folder, read_trusted, write

_NAME = "withdrawn.json"
_UNKNOWN = frozenset({"?"})
"""What a file that cannot be read says: nothing that was remembered while it could be read holds."""


def read_withdrawn(folder: Path, origin: str) -> frozenset[str]:
    """``kind:id version`` of each release; nothing where there is no file. ``folder``: that of the trusted states."""
    try:
        return frozenset(msgspec.json.decode(read_trusted(_path(folder, origin)), type=list[str]))
    except FileNotFoundError:
        return frozenset()
    except (OSError, msgspec.MsgspecError):
        return _UNKNOWN


def remember_withdrawn(folder: Path, origin: str, releases: Iterable[str]) -> None:
    """Add releases. Raises OSError."""
    known = read_withdrawn(folder, origin) - _UNKNOWN
    every = known | frozenset(releases)
    if every != known:
        path = _path(folder, origin)
        make_folder(path.parent)
        write(path, msgspec.json.encode(sorted(every)).decode())


def _path(folder: Path, origin: str) -> Path:
    return state_path(folder, origin).with_name(_NAME)
