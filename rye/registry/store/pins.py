"""Which registry the user pinned at which address: a file beside the trusted states, read without anything that trusts."""

from __future__ import annotations

from pathlib import Path

import msgspec

_NAME = "addresses.json"


def addresses_path(folder: Path) -> Path:
    """The file in the folder of the trusted states."""
    return folder / _NAME


def read_addresses(folder: Path) -> dict[str, str]:
    """Address → origin; nothing where none was pinned. Raises OSError and msgspec.MsgspecError."""
    try:
        return msgspec.json.decode(addresses_path(folder).read_bytes(), type=dict[str, str])
    except FileNotFoundError:
        return {}
