"""The work of ``rye deploy``: deploying, checking what is deployed, and exporting."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rye.cli.deploy.shown import show_checked, show_deployed, show_recorded
from rye.cli.options import Session
from rye.deployment.deploying import check as check_deployed
from rye.deployment.deploying import deploy as deploy_items
from rye.deployment.deploying import summary
from rye.deployment.request import DeployRequest
from rye.deployment.targets.protocol import target
from rye.project.layout import Project
from rye.workspace.items.absences import warn_of_absent

if TYPE_CHECKING:
    from rye.deployment.exporting import Form


def deploy(session: Session, project: Project, request: DeployRequest) -> int:
    """Deploy, show what was done, and return the exit code.

    The one question is about a line of rye.toml, which says where to deploy; it approves nothing.
    """

    def choose(found: tuple[str, ...]) -> bool:
        listed = ", ".join(target(name).title for name in found)
        return session.console.confirm(f"Deploy to {listed}, and record that in rye.toml?")

    done = deploy_items(session, project, request, choose)
    show_deployed(session, done)
    warn_of_absent(session, project)
    session.console.answer(done.as_json(), summary(done))
    show_recorded(session, done.recorded, done.unrecorded, deploys=bool(done.changes), dry_run=done.dry_run)
    return 1 if done.failed else 0


def check(session: Session, project: Project, request: DeployRequest, *, only_check: bool) -> int:
    """Compare each deployed file with what it should be, and return the exit code. Unless ``only_check``, list them all."""
    found = check_deployed(session, project, request)
    show_checked(session, found, with_targets=not only_check)
    return 1 if only_check and any(one.state != "ok" for one in found.files) else 0


def export(session: Session, project: Project, form: Form, folder: Path) -> int:
    """Write the items as a marketplace or an index of skills, report what is missing from it, and return the exit code."""
    from rye.deployment.exporting import export as export_items  # asks registries, which a deploy does not

    done = export_items(session, project, form, folder)
    for item, why in done.left_out.items():
        session.console.warn(f"{item} is not in the export: {why}.")
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
