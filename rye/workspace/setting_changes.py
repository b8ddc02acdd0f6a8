"""Change the user's settings. Separate from :mod:`rye.workspace.settings` because it needs a TOML editor."""

from __future__ import annotations

from rye.project.user_config_writing import set_setting
from rye.storage.home import Home


def change_setting(home: Home, name: str, value: str | None) -> object:
    """Set one setting, or unset it with None. Return the stored value. Raises RyeError for an invalid value."""
    return set_setting(home, name, value)
