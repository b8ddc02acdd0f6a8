"""``rye deploy export``: write the items as a marketplace, or as an index of skills."""

from __future__ import annotations

from pathlib import Path

from rye.cli.options import Session
from rye.deployment.exporting import Form
from rye.deployment.exporting import export as export_items
from rye.project.layout import Project


def export(session: Session, project: Project, form: Form, folder: Path) -> int:
    """Write the export, report what is missing from it, and return the exit code."""
    done = export_items(session, project, form, folder)
    for item in done.left_out:
        session.console.warn(f"{item} was withdrawn from its registry, so it is not in the export.")
    for row in done.refused:
        session.console.warn(f"{row.code}: {row.item} is not in the export: {row.message}", row.hint)
    count = len(done.items)
    said = f"{count} item{'s' * (count != 1)} in {folder}; {done.changed} files changed"
    session.console.answer(done.as_json(), said)
    if form != "well-known":
        session.console.say(
            "Programs that read the export check no signature, log or revocation; `rye verify` does.", "dim"
        )
    return 1 if done.refused else 0
