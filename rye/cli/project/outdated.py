"""``rye outdated``: items with newer versions. Always exits 0: a newer or refused release is not a failure."""

from __future__ import annotations

import click

from rye.cli.console import one_line
from rye.cli.options import Session, command
from rye.cli.project.install_options import install_options
from rye.workspace.installing.outdated import OutdatedItem
from rye.workspace.installing.outdated import outdated as outdated_items
from rye.workspace.projects import project_of


@command("outdated")
@install_options("member")
@click.pass_obj
def outdated(session: Session, member: str | None) -> None:
    """Show items with newer versions: current, wanted (the newest that rye.toml allows) and latest. Exits 0 in any case.

    A locked release that can no longer be installed is shown with the reason: a revoked key, or the policy.
    """
    items = outdated_items(session, project_of(session), member)
    if session.json:
        session.console.document({"outdated": [_as_json(item) for item in items]})
        return
    rows = [item.newer for item in items]
    header = ["ITEM", "CURRENT", "WANTED", "LATEST"]
    table = [[str(row.identity), row.current, row.wanted or "-", row.latest or "-"] for row in rows]
    if any(row.refused or row.forced for row in rows):
        header.append("NOTE")
        for cells, row in zip(table, rows, strict=True):
            forced = f"forced by [overrides]: {one_line(row.forced)}" if row.forced else None
            refused = f"refused: {row.refused}" if row.refused else None
            cells.append("; ".join(said for said in (refused, forced) if said))
    session.console.table(table, header)
    if not rows:
        session.console.say("Everything is at its newest version.")


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
