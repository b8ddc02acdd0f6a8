"""The user's settings, as ``rye config`` shows and changes them."""

from __future__ import annotations

from msgspec import Struct

from rye.errors import RyeError
from rye.project.user_config import SETTINGS, read_settings
from rye.storage.home import Home


class Setting(Struct, frozen=True):
    """One setting; ``value`` None: not set. ``purpose``: what it is for."""

    name: str
    value: str | bool | None
    purpose: str


def all_settings(home: Home) -> list[Setting]:
    """All settings, including those not set. Raises RyeError ``bad-config``."""
    found = read_settings(home)
    return [Setting(name, found.get(name), purpose) for name, (_, purpose) in SETTINGS.items()]


def setting(home: Home, name: str) -> str | bool:
    """The value of one setting. Raises RyeError ``not-set``."""
    found: str | bool | None = read_settings(home).get(name)
    if found is None:
        raise RyeError("not-set", f"{name!r} is not set.", "`rye config list` shows all settings.")
    return found


def change_setting(home: Home, name: str, value: str | None) -> object:
    """Set one setting, or unset it with None. Return the stored value. Raises RyeError for an invalid value."""
    from rye.project.user_config_writing import set_setting  # needs a TOML editor

    return set_setting(home, name, value)
