"""The basis for checking rows of ``[sources]`` on this machine: the user's trust store, which says whose signatures count."""

from __future__ import annotations

import hashlib

from rye.storage.folders import config_dir

_STORE = "trusted-keys.toml"


def source_grounds(origin: str, basis: str) -> str:
    """The basis of a remembered row: its origin and whose signatures count. Same as ``SourceBook.grounds``."""
    return f"{origin} {basis}"


def source_basis() -> str:
    """A digest of the current trust store. If its keys change, every row is checked again."""
    try:
        data = (config_dir() / _STORE).read_bytes()
    except OSError:
        data = b""
    return hashlib.sha256(data).hexdigest()
