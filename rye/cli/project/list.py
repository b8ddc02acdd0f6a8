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
from rye.cli.project.installing import install_options, nothing_yet
from rye.items.kinds import KINDS
from rye.project.layout import find_project
from rye.workspace.installing.item_listing import SPACES, ItemRow, item_rows
from rye.workspace.trusting.acceptance import trusts_lock

if TYPE_CHECKING:
    from rye.layout import Cell

_SHORT_FINGERPRINT = 16
_SHORT_COMMIT = 8
_SHORT_SOURCE = len("none (git commit )") + _SHORT_COMMIT
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
        session.console.say(f"{nothing_yet(session, 'No items')} `rye search WORDS` finds more.")


def _with_words(row: ItemRow) -> ItemRow:
    """With words in place of a tier and a signer that an item has not."""
    unsigned = "not signed" if row.signature == "unsigned" else row.signature
    undeclared = "undeclared" if KINDS[row.kind].limited == "by its tools" else None
    return replace(row, signer=row.signer or unsigned, tier=row.tier or undeclared)


def _short_commit(row: ItemRow) -> str:
    """The signer, with a commit in the digits that its version has as well; ``rye info`` shows all."""
    signer = str(row.signer or "-")
    commit = str((row.source or {}).get("commit") or "")
    return signer.replace(commit, commit[:_SHORT_COMMIT]) if commit else signer


def _show(session: Session, rows: Sequence[ItemRow]) -> None:
    """Print the table for people: states before signers, which are cut on narrow terminals, and counts at the end. A space that
    all items are in is said once."""
    from rye.layout import Column  # only terminals have columns

    table: list[list[Cell]] = []
    spaces = {row.space for row in rows}
    least = _SHORT_FINGERPRINT
    for row in rows:
        row = _with_words(row)
        signer, tier, state = _short_commit(row), str(row.tier or "-"), str(row.state)
        unsigned = signer.startswith("none (")
        least = max(least, min(len(signer), _SHORT_SOURCE)) if unsigned else least
        table.append(
            [
                f"{row.kind}:{row.id}",
                str(row.version or "-"),
                (tier, TIER_STYLE.get(tier, "dim")),
                (state, "dim" if state == "ok" else "warning" if state in _CAUTIONS else "removed"),
                *([str(row.space)] if len(spaces) > 1 else []),
                (signer, "removed" if unsigned else "dim"),
            ]
        )
    header = ["ITEM", "VERSION", "TIER", "STATE", *(["SPACE"] if len(spaces) > 1 else [])]
    session.console.table(table, [*header, Column("SIGNER", least=least)])
    if rows:
        states = Counter(str(row.state) for row in rows if row.state != "ok")
        said = counted(len(rows), f"{rows[0].space} item" if len(spaces) == 1 else "item")
        if states:
            said += ": " + ", ".join(f"{number} {state}" for state, number in sorted(states.items()))
        session.console.say(f"{said}; `rye audit` says what is wrong" if set(states) - _CAUTIONS else said)
