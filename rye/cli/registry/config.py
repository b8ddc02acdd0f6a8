"""``rye config``: the user's settings."""

from __future__ import annotations

import click

from rye.cli.main import family
from rye.cli.options import Session, command
from rye.errors import RyeError
from rye.project.user_config import SETTINGS, config_path, read_settings


@command("list")
@click.pass_obj
def list_settings(session: Session) -> None:
    """Show all settings, those that are not set as -."""
    found = read_settings()
    if session.json:
        session.console.document({"path": str(config_path()), "settings": found})
        return
    session.console.table(
        [[name, str(found.get(name, "-")).lower() if kind is bool else str(found.get(name, "-")), purpose]
         for name, (kind, purpose) in SETTINGS.items()],
        ["NAME", "VALUE", "WHAT"],
    )  # fmt: skip


@command("get")
@click.argument("name")
@click.pass_obj
def get(session: Session, name: str) -> None:
    """Print one setting."""
    found = read_settings().get(name)
    if found is None:
        raise RyeError("not-set", f"{name!r} is not set.", "`rye config list` shows all settings.")
    if session.json:
        session.console.document({"name": name, "value": found})
    else:
        session.console.data(str(found).lower() if isinstance(found, bool) else str(found))


@command("set")
@click.argument("name")
@click.argument("value")
@click.pass_obj
def set_(session: Session, name: str, value: str) -> None:
    """Set one setting."""
    from rye.project.user_config_writing import set_setting  # an editor of TOML, which reading settings never needs

    stored = set_setting(name, value)
    if session.json:
        session.console.document({"name": name, "value": stored})


@command("unset")
@click.argument("name")
@click.pass_obj
def unset(session: Session, name: str) -> None:
    """Go back to a setting's default."""
    from rye.project.user_config_writing import set_setting

    set_setting(name, None)
    if session.json:
        session.console.document({"name": name, "value": None})


config = family(
    "config",
    "Your settings.",
    {
        "list": ("rye.cli.registry.config:list_settings", "Show all settings."),
        "get": ("rye.cli.registry.config:get", "Print one setting."),
        "set": ("rye.cli.registry.config:set_", "Set one setting."),
        "unset": ("rye.cli.registry.config:unset", "Go back to a default."),
    },
)
