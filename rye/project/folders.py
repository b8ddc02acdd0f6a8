"""The user's own folders: configuration (keys, trust), data (the user space) and cache.

``RYE_CONFIG_DIR``, ``RYE_DATA_DIR`` and ``RYE_CACHE_DIR`` override the platform's places; they are read at each call, an empty
value counts as unset, ``~`` is the home folder and a relative path starts at the current folder. Nothing is created here.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False  # typing itself is too slow for who asks here first
if TYPE_CHECKING:
    from pathlib import Path


def config_dir() -> Path:
    """Keys, trust store, user settings and customizations."""
    return _path("config")


def data_dir() -> Path:
    """Items of the user's space, the registries that they trust, and what was found of their items."""
    return _path("data")


def cache_dir() -> Path:
    """What can be fetched again."""
    return _path("cache")


def place_of(which: str) -> str:
    """The ``config``, ``data`` or ``cache`` folder as text, without importing what paths need."""
    value = os.environ.get(f"RYE_{which.upper()}_DIR")
    if value:
        return os.path.abspath(os.path.expanduser(value))
    import platformdirs

    dirs = platformdirs.PlatformDirs("rye", appauthor=False)
    return {"config": dirs.user_config_dir, "data": dirs.user_data_dir, "cache": dirs.user_cache_dir}[which]


def _path(which: str) -> Path:
    from pathlib import Path

    return Path(place_of(which))
