"""Changing the user's settings. It is separate from :mod:`rye.workspace.settings` because it needs a TOML editor."""

from __future__ import annotations

from rye.project.user_config_writing import set_setting


def change_setting(name: str, value: str | None) -> object:
    """Set or, with None, unset one setting; the value that is stored. Raises RyeError for what it cannot be."""
    return set_setting(name, value)
