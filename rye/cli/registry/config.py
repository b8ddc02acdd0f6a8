"""``rye config``: the user's settings."""

from __future__ import annotations

import click

from rye.cli.main import family
from rye.cli.options import Session, command
from rye.layout import Column
from rye.workspace.settings import all_settings, setting


@command("list")
@click.pass_obj
def list_settings(session: Session) -> None:
    """Show all settings; - means not set."""
    found = all_settings(session.home)
    if session.json:
        stored = {one.name: one.value for one in found if one.value is not None}
        session.console.document({"path": str(session.home.settings_file), "settings": stored})
        return
    session.console.table(
        [[one.name, _text(one.value), one.purpose] for one in found],
        ["NAME", "VALUE", Column("WHAT", prose=True, lines=9)],
    )


def _text(value: object) -> str:
    if value is None:
        return "-"
    return str(value).lower() if isinstance(value, bool) else str(value)


@command("get")
@click.argument("name")
@click.pass_obj
def get(session: Session, name: str) -> None:
    """Print one setting."""
    found = setting(session.home, name)
    if session.json:
        session.console.document({"name": name, "value": found})
    else:
        session.console.data(_text(found))


@command("set")
@click.argument("name")
@click.argument("value")
@click.pass_obj
def set_(session: Session, name: str, value: str) -> None:
    """Set one setting."""
    from rye.workspace.settings import change_setting  # loads a TOML editor, which reading settings never needs

    stored = change_setting(session.home, name, value)
    if session.json:
        session.console.document({"name": name, "value": stored})


@command("unset")
@click.argument("name")
@click.pass_obj
def unset(session: Session, name: str) -> None:
    """Restore a setting's default."""
    from rye.workspace.settings import change_setting

    change_setting(session.home, name, None)
    if session.json:
        session.console.document({"name": name, "value": None})


config = family(
    "config",
    "Show or change your settings.",
    {
        "list": ("rye.cli.registry.config:list_settings", "Show all settings."),
        "get": ("rye.cli.registry.config:get", "Print one setting."),
        "set": ("rye.cli.registry.config:set_", "Set one setting."),
        "unset": ("rye.cli.registry.config:unset", "Restore a default."),
    },
)
