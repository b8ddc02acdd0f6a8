"""The user's own folders: configuration (keys, trust), data (the user space) and cache.

``RYE_CONFIG_DIR``, ``RYE_DATA_DIR`` and ``RYE_CACHE_DIR`` override the platform's defaults. They are read on each call; an empty
value counts as unset, ``~`` is the home folder, and a relative path starts at the current folder. Nothing is created here.
"""

from __future__ import annotations

from pathlib import Path

from rye.storage.places import place_of


def config_dir() -> Path:
    """The folder for keys, the trust store, user settings and customizations."""
    return _path("config")


def data_dir() -> Path:
    """The folder for items of the user's space, the registries that they trust, and results about their items."""
    return _path("data")


def cache_dir() -> Path:
    """The folder for anything that can be fetched again."""
    return _path("cache")


def _path(which: str) -> Path:
    return Path(place_of(which))
