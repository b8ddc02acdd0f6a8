"""What ``rye add`` does besides installing: it makes deploying part of the first question, and its last line says which agent
programs read the new items now, or what deploys them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rye.cli.console import one_line
from rye.cli.options import Session
from rye.cli.project.installing import ProposedDeploy, deploy_after, deployed_by, show_outcome
from rye.cli.project.proposed_deploy import programs_here, titles
from rye.project.context import load_manifest

if TYPE_CHECKING:
    from rye.deployment.deploying import Deployed
    from rye.project.layout import Project
    from rye.workspace.context import Context
    from rye.workspace.installing.install_outcome import InstallOutcome
    from rye.workspace.installing.install_request import Follow, Followed


def proposed_deploy(session: Session, project: Project, *, dry_run: bool) -> ProposedDeploy:
    """What to propose: only to a person who is asked, in a project that has no item yet and whose rye.toml does not say where to
    deploy. Later, `rye deploy` asks."""
    if dry_run or session.yes or not session.interactive or project.lock_path.exists() or project.has_deployed:
        return ProposedDeploy()
    table = load_manifest(project).deploy
    if table.targets or not table.after_install:
        return ProposedDeploy()
    return ProposedDeploy(programs_here(project.root))


def following(proposed: ProposedDeploy) -> Follow:
    """What runs once the items are in place: the deploy that a person agreed to, or else one to rye.toml's targets."""

    def follow(context: Context, project: Project) -> Followed | None:
        if not proposed.agreed:
            return deploy_after(context, project)
        from rye.deployment.deploying import following as deploy  # loads adapters, needed only after this yes

        return deploy(context, project, proposed.names)

    return follow


def show_added(
    session: Session,
    project: Project,
    outcome: InstallOutcome,
    proposed: ProposedDeploy,
    *,
    command: str,
    dry_run: bool,
) -> int:
    """Show the outcome. The last line says which programs read the new items now, or what deploys them. Return the exit code."""
    code = show_outcome(
        session, outcome, dry_run=dry_run, brief=proposed.agreed and not session.verbose, command=command
    )
    if session.json or outcome.result != "installed":
        return code
    deployed, added = (
        deployed_by(outcome),
        [str(change.identity) for change in outcome.changes if change.new is not None],
    )
    if deployed is not None:
        _show_readers(session, deployed, added)
    elif added and not project.has_deployed:
        here = programs_here(project.root) if session.console.on_terminal and not proposed.names else proposed.names
        them = "it" if len(added) == 1 else "them"
        if here:
            session.console.next_step(f"`rye deploy` writes {them} where {titles(here)} can read {them}.")
        else:
            session.console.next_step(
                f"`rye deploy --target claude` writes {them} where Claude Code reads {them}; or another program."
            )
    return code


def _show_readers(session: Session, deployed: Deployed, added: list[str]) -> None:
    """Say which items each group of programs reads now."""
    refused = {(row.item, row.target) for row in deployed.refused}
    written = {change.item for change in deployed.changes if change.change != "remove"}
    readers: dict[tuple[str, ...], list[str]] = {}
    for item in added:
        names = tuple(name for name in deployed.targets if (item, name) not in refused)
        if item in written and names:
            readers.setdefault(names, []).append(item)
    for names, items in readers.items():
        what = f"{one_line(items[0])} now" if len(items) == 1 else f"these {len(items)} items now"
        verb = "reads" if len(names) == 1 else "read"
        session.console.say(f"{titles(names)} {verb} {what}.", "ok")
