"""The paths of :mod:`rye.storage.folders` as text, for code that starts so early that it imports neither pathlib nor typing."""

from __future__ import annotations

import os
import sys

TRUSTED_KEYS = "trusted-keys.toml"
"""The trust store's file in the config folder (:mod:`rye.signing.trust_store`)."""
_XDG = {
    "config": ("XDG_CONFIG_HOME", ".config"),
    "data": ("XDG_DATA_HOME", ".local/share"),
    "cache": ("XDG_CACHE_HOME", ".cache"),
}


def place_of(which: str) -> str:
    """The ``config``, ``data`` or ``cache`` folder as text, without importing pathlib."""
    value = os.environ.get(f"RYE_{which.upper()}_DIR")
    if value:
        return os.path.abspath(os.path.expanduser(value))
    plain = _plain_linux(which) if sys.platform == "linux" else None
    if plain is not None:
        return plain
    import platformdirs

    dirs = platformdirs.PlatformDirs("rye", appauthor=False)
    return {"config": dirs.user_config_dir, "data": dirs.user_data_dir, "cache": dirs.user_cache_dir}[which]


def _plain_linux(which: str) -> str | None:
    """The plain case of the XDG base directories. platformdirs handles it as well, but takes longer to import than Python
    itself. None: let platformdirs decide."""
    home = os.environ.get("HOME", "")
    if not os.path.isabs(home) or "ANDROID_DATA" in os.environ:
        return None
    variable, usual = _XDG[which]
    given = os.environ.get(variable, "")
    return os.path.join(given if os.path.isabs(given) else os.path.join(home, usual), "rye")
