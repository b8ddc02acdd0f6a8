"""Changing the user's settings: beside :mod:`rye.workspace.settings`, since it needs an editor of TOML."""

from __future__ import annotations

from rye.project.user_config_writing import set_setting


def change_setting(name: str, value: str | None) -> object:
    """Set or, with None, unset one setting; the value that is stored. Raises RyeError for what it cannot be."""
    return set_setting(name, value)
