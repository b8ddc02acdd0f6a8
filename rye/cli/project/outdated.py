"""``rye outdated``: items with newer versions. Always exits 0: a newer or refused release is not a failure."""

from __future__ import annotations

import click

from rye.cli.console import counted, one_line
from rye.cli.options import Session, command
from rye.cli.project.installing import install_options
from rye.layout import Cell, Column
from rye.project.context import require_project
from rye.workspace.installing.outdated import OutdatedItem
from rye.workspace.installing.outdated import outdated as outdated_items


@command("outdated")
@install_options("member")
@click.pass_obj
def outdated(session: Session, member: str | None) -> None:
    """Show items with newer versions: current, wanted (the newest that rye.toml allows) and latest. Exits 0 in any case.

    A locked release that can no longer be installed is shown with the reason: a revoked key, or the policy.
    """
    items = outdated_items(session, require_project(session.cwd), member)
    if session.json:
        session.console.document({"outdated": [_as_json(item) for item in items]})
        return
    rows = [item.newer for item in items]
    header: list[str | Column] = ["ITEM", "CURRENT", "WANTED", "LATEST"]
    table: list[list[Cell]] = [
        [
            str(row.identity),
            row.current,
            (row.wanted or "-", None if row.wanted in (None, row.current) else "ok"),
            (row.latest or "-", None if row.latest in (None, row.wanted) else "info"),
        ]
        for row in rows
    ]
    if any(row.refused or row.forced for row in rows):
        header.append(Column("NOTE", prose=True, lines=9))
        for cells, row in zip(table, rows, strict=True):
            forced = f"forced by [overrides]: {one_line(row.forced)}" if row.forced else None
            refused = f"refused: {row.refused}" if row.refused else None
            cells.append(("; ".join(said for said in (refused, forced) if said), "removed" if refused else "warning"))
    session.console.table(table, header)
    if not rows:
        session.console.say("Everything is at its newest version.")
        return
    within = sum(row.wanted not in (None, row.current) for row in rows)
    beyond = sum(row.latest not in (None, row.wanted) for row in rows)
    told = [f"{counted(len(rows), 'item')} out of date."]
    one = len(rows) == 1
    if within:
        told.append(f"`rye update` updates {'it' if one else within}.")
    if beyond:
        which = "its latest version" if one else f"the latest version of {beyond}"
        told.append(f"For {which}, change the range: `rye add ID@RANGE`.")
    session.console.say(" ".join(told))


def _as_json(item: OutdatedItem) -> dict[str, object]:
    row = item.newer
    return {
        "kind": row.identity.kind,
        "id": row.identity.id,
        "current": row.current,
        "wanted": row.wanted,
        "latest": row.latest,
        "direct": item.direct,
        "refused": row.refused,
        "forced": row.forced,
    }
