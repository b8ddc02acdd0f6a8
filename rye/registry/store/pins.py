"""The user's pins: which registry is at which address, and its root. Reading them does not need the trust code."""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec

from rye.registry.protocol.note_text import note_text
from rye.storage.private_files import read_trusted

_NAME = "addresses.json"


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


class PinnedState(msgspec.Struct, frozen=True):
    """The part of a trusted state that releases are checked against."""

    fingerprint: str
    """SHA-256 of the text of the registry's first root, which the user pinned."""
    keysets: dict[str, str]
    """Namespace → SHA-256 of its newest keyset that was seen."""


def pinned_state(folder: Path, origin: str) -> PinnedState | None:
    """Return the user's pin of a registry and its keysets; None if it is not pinned, or its state cannot be read
    (:class:`rye.registry.store.state.StateStore` reports why).
    """
    try:
        state = msgspec.json.decode(read_trusted(state_path(folder, origin)), type=_State)
    except (OSError, msgspec.MsgspecError):
        return None
    if state.origin != origin or not state.roots:
        return None
    note = state.roots[0]
    fingerprint = hashlib.sha256(note_text(note).encode()).hexdigest()
    return PinnedState(fingerprint, {name: keyset.sha256 for name, keyset in state.keysets.items()})


class _Keyset(msgspec.Struct, frozen=True):
    sha256: str


class _State(msgspec.Struct, frozen=True):
    origin: str
    roots: list[str]
    keysets: dict[str, _Keyset] = {}
