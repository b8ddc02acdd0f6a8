"""What rows of ``[sources]`` are judged by on this machine: the user's trust store, whose keys make a signature count."""

from __future__ import annotations

import hashlib

from rye.project.declared_sources import FOLDER_PREFIXES, GIT_PREFIX
from rye.storage.folders import config_dir

_STORE = "trusted-keys.toml"


def is_source(origin: str) -> bool:
    """Whether an origin is a source's and no registry's: no registry is called like one."""
    return origin.startswith((GIT_PREFIX, *FOLDER_PREFIXES))


def source_grounds(origin: str, basis: str) -> str:
    """What a remembered row rests on: its place, and whose signatures count (``SourceBook.grounds`` says the same)."""
    return f"{origin} {basis}"


def source_basis() -> str:
    """A digest of the trust store as it is. Another key, and every row is judged again."""
    try:
        data = (config_dir() / _STORE).read_bytes()
    except OSError:
        data = b""
    return hashlib.sha256(data).hexdigest()
