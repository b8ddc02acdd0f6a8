"""The user's pins: which registry is at which address. Reading them does not need the trust code."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import msgspec

from rye.storage.private_files import make_folder, read_trusted, write

_NAME = "addresses.json"
_REMOVED = "removed-pin"


def addresses_path(folder: Path) -> Path:
    """Return the file of the addresses in the folder of the trusted states."""
    return folder / _NAME


def read_addresses(folder: Path) -> dict[str, str]:
    """Return address → origin; empty if none is pinned. Raises OSError and msgspec.MsgspecError."""
    try:
        return msgspec.json.decode(read_trusted(addresses_path(folder)), type=dict[str, str])
    except FileNotFoundError:
        return {}


def state_path(folder: Path, origin: str) -> Path:
    """Return the file of one registry's trusted state."""
    return folder / hashlib.sha256(origin.encode()).hexdigest()[:32] / "state.json"


def remember_removal(folder: Path, origin: str) -> None:
    """Make everything that was verified under the registry's pin count no more, even if it is pinned again. Raises OSError."""
    path = state_path(folder, origin).with_name(_REMOVED)
    make_folder(path.parent)
    write(path, os.urandom(16).hex())


def last_removal(folder: Path, origin: str) -> str:
    """Return a text that changes with :func:`remember_removal`: ``""`` at first, and a new one each time if it cannot be read."""
    try:
        return read_trusted(state_path(folder, origin).with_name(_REMOVED)).hex()
    except FileNotFoundError:
        return ""
    except OSError:
        return os.urandom(16).hex()
