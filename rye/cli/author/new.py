"""``rye new``: write a new valid item, and show the next command."""

from __future__ import annotations

import click

from rye.cli.kind_choice import KindChoice
from rye.cli.options import Session, command
from rye.items.kinds import KINDS
from rye.workspace.authoring.new_item import NewItem, write_new_item

_ROWS = [(f"{kind.name} {'CATEGORY/NAME' if kind.nested else 'NAME'}", kind.summary) for kind in KINDS.values()]


@command("new", listed=("KIND and ID", _ROWS))
@click.argument("kind", type=KindChoice(), metavar="KIND")
@click.argument("identifier", metavar="ID")
@click.pass_obj
def new(session: Session, kind: str, identifier: str) -> None:
    """Write a new item below .ai/ that passes `rye validate --strict`."""
    shown = write_new_item(session, NewItem(kind, identifier)).shown
    if session.json:
        session.console.document({"kind": kind, "id": identifier, "path": shown})
        return
    session.console.data(f"created {shown}")
    session.console.say(f"Fill it in; `rye validate {shown}` checks it, `rye sign {shown}` signs it.", "hint")
