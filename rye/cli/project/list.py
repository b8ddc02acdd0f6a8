"""``rye list``: the items that this project can use, by space. Installed items come from the lock."""

from __future__ import annotations

import click
from msgspec.structs import asdict

from rye.cli.console import printable
from rye.cli.kind_choice import kind_option
from rye.cli.options import Session, command
from rye.cli.project.install_options import install_options
from rye.project.layout import find_project
from rye.workspace.installing.item_rows import SPACES, item_rows

_COLUMNS = ("kind", "id", "version", "tier", "signer", "space", "state")


@command("list")
@kind_option()
@click.option("--space", type=click.Choice(SPACES), help="Show only this space.")
@install_options("member")
@click.pass_obj
def list_items(session: Session, kind: str | None, space: str | None, member: str | None) -> None:
    """List installed items with version, tier and signer, and the items of the other spaces."""
    rows = [asdict(row) for row in item_rows(session.cwd, kind, space, member)]
    if session.json:
        session.console.document({"items": rows})
        return
    session.console.table(
        [[printable(str(row[name] if row[name] is not None else "-")) for name in _COLUMNS] for row in rows],
        [name.upper() for name in _COLUMNS],
        ["removed" if str(row["signer"]).startswith("none (") else None for row in rows],
    )
    if not rows and find_project(session.cwd) is None:
        session.console.say(
            "This folder has no project. `rye init` creates one, and `rye search WORDS` finds items for it."
        )
    elif not rows:
        session.console.say("No items. `rye add [KIND:]ID` adds an item, and `rye search WORDS` finds one.")
