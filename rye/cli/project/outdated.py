"""``rye outdated``: what could be newer. Exit 0 whatever it finds: that something is newer, or refused by now, is no failure."""

from __future__ import annotations

import click

from rye.cli.options import Session, command
from rye.cli.project.installing import Run, Told
from rye.project.context import require_project


@command("outdated")
@click.pass_obj
def outdated(session: Session) -> None:
    """Show items with newer versions: current, wanted (what rye.toml allows) and latest. Exits 0 whatever it finds.

    An item whose locked release may not be installed any more is shown with the reason: a revoked key, or the policy.
    """
    from rye.installation.updates import newer_versions

    run = Run(session, require_project(session.cwd), Told("rye outdated"))
    rows = []
    if run.lock.items:
        with run.sources() as sources, session.console.progress("asking the registries"):
            rows = newer_versions(run.manifest, run.lock, sources, run.environment())
    direct = {wanted.id for wanted in run.manifest.dependencies}
    if session.json:
        session.console.document(
            {
                "outdated": [
                    {
                        "kind": row.identity.kind,
                        "id": row.identity.id,
                        "current": row.current,
                        "wanted": row.wanted,
                        "latest": row.latest,
                        "direct": row.identity.id in direct,
                        "refused": row.refused,
                    }
                    for row in rows
                ]
            }
        )
        return
    header = ["ITEM", "CURRENT", "WANTED", "LATEST"]
    table = [[str(row.identity), row.current, row.wanted or "-", row.latest or "-"] for row in rows]
    if any(row.refused for row in rows):
        header.append("NOTE")
        for cells, row in zip(table, rows, strict=True):
            cells.append(f"refused: {row.refused}" if row.refused else "")
    session.console.table(table, header)
    if not rows:
        session.console.say("Everything is at its newest version.")
