"""The user's settings, as ``rye config`` shows and changes them."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from rye.errors import RyeError
from rye.project.user_config import SETTINGS, config_path, read_settings


class Setting(Struct, frozen=True):
    """One setting; ``value`` None: not set. ``purpose``: what it is for."""

    name: str
    value: str | bool | None
    purpose: str


def settings_path() -> Path:
    """The user's configuration file, which may not exist."""
    return config_path()


def all_settings() -> list[Setting]:
    """All settings, including those not set. Raises RyeError ``bad-config``."""
    found = read_settings()
    return [Setting(name, found.get(name), purpose) for name, (_, purpose) in SETTINGS.items()]


def setting(name: str) -> str | bool:
    """The value of one setting. Raises RyeError ``not-set``."""
    found: str | bool | None = read_settings().get(name)
    if found is None:
        raise RyeError("not-set", f"{name!r} is not set.", "`rye config list` shows all settings.")
    return found
