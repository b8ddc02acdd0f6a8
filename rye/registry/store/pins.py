"""What the user pinned: which registry is at which address, and by which root. Read without the code that trusts."""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec

from rye.storage.private_files import read_trusted

_NAME = "addresses.json"


def addresses_path(folder: Path) -> Path:
    """The file in the folder of the trusted states."""
    return folder / _NAME


def read_addresses(folder: Path) -> dict[str, str]:
    """Address → origin; nothing where none was pinned. Raises OSError and msgspec.MsgspecError."""
    try:
        return msgspec.json.decode(read_trusted(addresses_path(folder)), type=dict[str, str])
    except FileNotFoundError:
        return {}


def state_path(folder: Path, origin: str) -> Path:
    """The file of one registry's trusted state."""
    return folder / hashlib.sha256(origin.encode()).hexdigest()[:32] / "state.json"


def pinned_fingerprint(folder: Path, origin: str) -> str | None:
    """What the user pinned of a registry: the SHA-256 of the text of its first root; None where it is not pinned, or its state
    cannot be read (which :class:`rye.registry.store.state.StateStore` explains)."""
    try:
        roots = msgspec.json.decode(read_trusted(state_path(folder, origin)), type=_Roots)
    except (OSError, msgspec.MsgspecError):
        return None
    if roots.origin != origin or not roots.roots:
        return None
    note = roots.roots[0]
    return hashlib.sha256((note[: note.rfind("\n\n") + 1] or note).encode()).hexdigest()


class _Roots(msgspec.Struct, frozen=True):
    """As much of a trusted state as names the pin."""

    origin: str
    roots: list[str]
