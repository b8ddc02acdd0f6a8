"""``rye list``: the items that this project can use, by space. Installed items come from the lock."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from operator import attrgetter
from typing import TYPE_CHECKING

import click
from msgspec.structs import asdict, replace

from rye.cli.console import TIER_STYLE, counted
from rye.cli.kind_choice import kind_option
from rye.cli.options import Session, command
from rye.cli.project.installing import install_options
from rye.items.kinds import KINDS
from rye.project.layout import find_project
from rye.workspace.installing.item_listing import SPACES, ItemRow, item_rows
from rye.workspace.trusting.acceptance import trusts_lock

if TYPE_CHECKING:
    from rye.layout import Cell

_SHORT_FINGERPRINT = 16
_CAUTIONS = frozenset({"unverified", "editable"})
"""States that are not problems of the item itself; all others but ``ok`` are."""
_COLUMNS = ("kind", "id", "version", "tier", "signer", "space", "state")
_plain = attrgetter(*_COLUMNS)


@command("list")
@kind_option()
@click.option("--space", type=click.Choice(SPACES), help="Show only this space.")
@install_options("member")
@click.pass_obj
def list_items(session: Session, kind: str | None, space: str | None, member: str | None) -> None:
    """List installed items with version, tier and signer, and the items of the other spaces."""
    if session.environment.get("RYE_PINS"):
        from rye.workspace.registries.project_registries import (
            refuse_other_pins,  # slow to import, and only build servers set it
        )

        refuse_other_pins(session)
    rows = item_rows(session.home, session.cwd, kind, space, member, trusts_lock=trusts_lock(session))
    if session.json:
        session.console.document({"items": [asdict(row) for row in rows]})
        return
    if session.console.on_terminal:
        _show(session, rows)
    else:
        session.console.table(
            [["-" if value is None else str(value) for value in _plain(_with_words(row))] for row in rows],
            _COLUMNS,
        )
    if not rows and find_project(session.cwd) is None:
        session.console.say(
            "This folder has no project. `rye init` creates one, and `rye search WORDS` finds items for it."
        )
    elif not rows:
        session.console.say("No items. `rye add [KIND:]ID` adds an item, and `rye search WORDS` finds one.")


def _with_words(row: ItemRow) -> ItemRow:
    """With words in place of a tier and a signer that an item has not."""
    unsigned = "not signed" if row.signature == "unsigned" else row.signature
    undeclared = "undeclared" if KINDS[row.kind].limited == "by its tools" else None
    return replace(row, signer=row.signer or unsigned, tier=row.tier or undeclared)


def _show(session: Session, rows: Sequence[ItemRow]) -> None:
    """Print the table for people: states before signers, fingerprints cut on narrow terminals, and counts at the end."""
    from rye.layout import Column  # only terminals have columns

    table: list[list[Cell]] = []
    for row in rows:
        row = _with_words(row)
        signer, tier, state = str(row.signer or "-"), str(row.tier or "-"), str(row.state)
        table.append(
            [
                f"{row.kind}:{row.id}",
                str(row.version or "-"),
                (tier, TIER_STYLE.get(tier, "dim")),
                (state, "dim" if state == "ok" else "warning" if state in _CAUTIONS else "removed"),
                str(row.space),
                (signer, "removed" if signer.startswith("none (") else "dim"),
            ]
        )
    session.console.table(
        table, ["ITEM", "VERSION", "TIER", "STATE", "SPACE", Column("SIGNER", least=_SHORT_FINGERPRINT)]
    )
    if rows:
        states = Counter(str(row.state) for row in rows if row.state != "ok")
        said = counted(len(rows), "item")
        if states:
            said += ": " + ", ".join(f"{number} {state}" for state, number in sorted(states.items()))
        session.console.say(f"{said}; `rye audit` says what is wrong" if set(states) - _CAUTIONS else said)
