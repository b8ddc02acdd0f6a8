"""The user's own folders: configuration (keys, trust), data (the user space) and cache.

``RYE_CONFIG_DIR``, ``RYE_DATA_DIR`` and ``RYE_CACHE_DIR`` override the platform's places; they are read at each call, an empty
value counts as unset, ``~`` is the home folder and a relative path starts at the current folder. Nothing is created here.
"""

from __future__ import annotations

import os
from pathlib import Path


def config_dir() -> Path:
    """Keys, trust store, user settings and customizations."""
    return _overridden("RYE_CONFIG_DIR") or _platform("config")


def data_dir() -> Path:
    """Items of the user's space."""
    return _overridden("RYE_DATA_DIR") or _platform("data")


def cache_dir() -> Path:
    """What can be fetched again."""
    return _overridden("RYE_CACHE_DIR") or _platform("cache")


def _overridden(variable: str) -> Path | None:
    value = os.environ.get(variable)
    return Path(value).expanduser().absolute() if value else None


def _platform(which: str) -> Path:
    import platformdirs

    dirs = platformdirs.PlatformDirs("rye", appauthor=False)
    return {"config": dirs.user_config_path, "data": dirs.user_data_path, "cache": dirs.user_cache_path}[which]
