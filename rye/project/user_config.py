"""The user's own settings and credentials, in their configuration folder.

``config.toml``: settings that commands fall back to. ``credentials.toml`` (readable by the user alone): a token for each registry
address that they logged in to. Both are read strictly, and a token is never printed.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from rye.errors import RyeError, UsageError
from rye.storage.folders import config_dir

SETTINGS: dict[str, tuple[type, str]] = {
    # name: (type, what it is for)
    "registry": (str, "address of the registry that is used when nothing else names one"),
    "color": (str, "auto, always or never"),
    "progress": (bool, "show progress bars"),
    "offline": (bool, "use no network"),
}


_NAMES = {str: "text", bool: "true or false"}
_COLORS = ("auto", "always", "never")


class Credential(Struct, frozen=True):
    """A token for one registry address."""

    registry: str
    token: str
    name: str
    """Whose token it is, as the registry said when it was stored."""


def config_path() -> Path:
    return config_dir() / "config.toml"


def credentials_path() -> Path:
    return config_dir() / "credentials.toml"


def read_settings() -> dict[str, Any]:
    """The user's settings. Raises RyeError ``bad-config`` for what is unknown or of another type."""
    table = _read(config_path())
    for name, value in table.items():
        known = SETTINGS.get(name)
        if known is None:
            raise RyeError(
                "bad-config", f"{config_path()}: unknown setting {name!r}.", f"Settings: {', '.join(SETTINGS)}."
            )
        if type(value) is not known[0]:
            raise RyeError(
                "bad-config",
                f"{config_path()}: {name!r} must be {_NAMES[known[0]]}.",
                f"`rye config set {name} VALUE` writes it.",
            )
        if name == "color" and value not in _COLORS:
            raise RyeError("bad-config", f"{config_path()}: color is {value!r}.", f"It is {', '.join(_COLORS)}.")
    return table


def set_setting(name: str, text: str | None) -> object:
    """Set one setting from its text, or unset it with None. Returns the value. Raises UsageError for an unknown name or value."""
    if name not in SETTINGS:
        import difflib

        near = difflib.get_close_matches(name, SETTINGS, n=1)
        raise UsageError(
            "unknown-setting",
            f"There is no setting {name!r}.",
            f"Did you mean {near[0]!r}?" if near else f"Settings: {', '.join(SETTINGS)}.",
        )
    import tomlkit

    path = config_path()
    _read(path)  # says in words what is wrong with a file that does not parse
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
            raise UsageError("bad-setting", f"{name} is true or false, not {text!r}.", "Choose one of them.")
        return text.lower() == "true"
    if name == "color" and text not in _COLORS:
        raise UsageError("bad-setting", f"color is auto, always or never, not {text!r}.", "Choose one of them.")
    if name == "registry":
        from rye.project.registries import normal_address  # every command reads settings, few write them

        return normal_address(text, Path.cwd())  # a folder's path would mean another one from another folder
    return text


def credential(registry: str, named: str | None = None) -> Credential | None:
    """The stored token for this address. ``RYE_TOKEN`` goes before it, for the registry that the user named themselves only.

    ``named``: what ``--registry``, ``RYE_REGISTRY`` or the command's argument said; else the user's own ``registry`` setting. So
    a project's ``rye.toml`` cannot lead the variable's token elsewhere.
    """
    given = os.environ.get("RYE_TOKEN")
    if given:
        own = named or read_settings().get("registry")
        if own is not None and own.rstrip("/") == registry.rstrip("/"):
            return Credential(registry, given, "RYE_TOKEN")
    row = _credentials().get(registry.rstrip("/"))
    if row is None:
        return None
    return Credential(registry, row["token"], row.get("name", ""))


def store_credential(found: Credential) -> None:
    rows = dict(_credentials())
    rows[found.registry.rstrip("/")] = {"token": found.token, "name": found.name}
    _write_credentials(rows)


def forget_credential(registry: str) -> bool:
    """Remove the token for this address; whether there was one."""
    rows = dict(_credentials())
    if rows.pop(registry.rstrip("/"), None) is None:
        return False
    _write_credentials(rows)
    return True


def _credentials() -> Mapping[str, dict[str, str]]:
    path = credentials_path()
    table = _read(path)
    for row in table.values():
        if not isinstance(row, dict) or not isinstance(row.get("token"), str):
            raise RyeError("bad-config", f"{path} is damaged.", "Remove it and run `rye login` again.")
    return table


def _write_credentials(rows: Mapping[str, Mapping[str, str]]) -> None:
    import tomlkit

    _write(credentials_path(), tomlkit.dumps(rows), private=True)


def _read(path: Path) -> dict[str, Any]:
    try:
        path.stat()
    except FileNotFoundError:
        return {}
    import tomllib  # most commands find no settings

    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RyeError("bad-config", f"{path} is not valid TOML: {error}", "Mend it, or remove it.") from None


def _write(path: Path, text: str, *, private: bool) -> None:
    from rye.storage.atomic import replace_file

    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if private and not path.exists():
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
    if private:
        path.chmod(0o600)
    replace_file(path, text.encode())
