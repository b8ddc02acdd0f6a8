"""Changing the user's settings and credentials. Comments and the order of settings are kept (tomlkit)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import tomlkit

from rye.errors import UsageError
from rye.project.registries import normal_address
from rye.project.user_config import (
    COLORS,
    SETTINGS,
    Credential,
    read_table,
    stored_credentials,
)
from rye.storage.atomic import replace_file
from rye.storage.home import Home
from rye.text.spelling import close_words


def set_setting(home: Home, name: str, text: str | None) -> object:
    """Set one setting from its text, or unset it with None. Returns the value. Raises UsageError for an unknown name or value."""
    if name not in SETTINGS:
        near = close_words(name, SETTINGS)
        raise UsageError(
            "unknown-name",
            f"There is no setting {name!r}.",
            f"Did you mean {near[0]!r}?" if near else f"Settings: {', '.join(SETTINGS)}.",
            what="setting",
        )
    path = home.settings_file
    read_table(path)  # raises a readable error if the file is invalid
    document = tomlkit.parse(path.read_text(encoding="utf-8")) if path.exists() else tomlkit.document()
    value: object = None
    if text is None:
        document.pop(name, None)
    else:
        value = _typed(name, text)
        document[name] = value
    _write(path, tomlkit.dumps(document), private=False)
    return value


def _typed(name: str, text: str) -> object:
    if SETTINGS[name][0] is bool:
        if text.lower() not in ("true", "false"):
            raise UsageError(
                "bad-setting",
                f"{name} must be true or false, not {text!r}.",
                f"Run `rye config set {name} true` or `rye config set {name} false`.",
            )
        return text.lower() == "true"
    if name == "color" and text not in COLORS:
        raise UsageError(
            "bad-setting", f"color must be auto, always or never, not {text!r}.", "Run `rye config set color auto`."
        )
    if name == "registry":
        return normal_address(text, Path.cwd())  # a relative path would depend on the current folder
    return text


def store_credential(home: Home, found: Credential) -> None:
    """Store a registry's token, replacing an earlier one for the same address."""
    rows = dict(stored_credentials(home))
    rows[found.registry.rstrip("/")] = {"token": found.token, "name": found.name}
    _write_credentials(home, rows)


def forget_credential(home: Home, registry: str) -> bool:
    """Remove the token for this address. Return whether there was one."""
    rows = dict(stored_credentials(home))
    if rows.pop(registry.rstrip("/"), None) is None:
        return False
    _write_credentials(home, rows)
    return True


def _write_credentials(home: Home, rows: Mapping[str, Mapping[str, str]]) -> None:
    _write(home.credentials_file, tomlkit.dumps(rows), private=True)


def _write(path: Path, text: str, *, private: bool) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if private and not path.exists():
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
    if private:
        path.chmod(0o600)
    replace_file(path, text.encode())
