"""Running a deploy that has work to do, and checking what is deployed."""

from __future__ import annotations

from rye.cli.deploy.shown import show_checked, show_deployed
from rye.cli.options import Session
from rye.deployment.deploying import WriteTargets, summary
from rye.deployment.deploying import check as check_deployed
from rye.deployment.deploying import deploy as deploy_items
from rye.deployment.request import DeployRequest
from rye.deployment.targets.protocol import target
from rye.project.layout import Project


def deploy(session: Session, project: Project, request: DeployRequest) -> int:
    """Deploy, show what was done, and return the exit code.

    The one question is about a line of rye.toml, which says where to deploy; it approves nothing.
    """

    def choose(found: tuple[str, ...]) -> WriteTargets | None:
        listed = ", ".join(target(name).title for name in found)
        if not session.console.confirm(f"Deploy to {listed}, and record that in rye.toml?"):
            return None
        from rye.workspace.installing.deploy_targets import (
            manifest_with_targets,  # loads a TOML editor, needed only for this answer
        )

        return manifest_with_targets

    done = deploy_items(session, project, request, choose)
    show_deployed(session, done)
    session.console.answer(done.as_json(), summary(done))
    return 1 if done.refused else 0


def check(session: Session, project: Project, request: DeployRequest, *, only_check: bool) -> int:
    """Compare each deployed file with what it should be, and return the exit code. Unless ``only_check``, list them all."""
    found = check_deployed(session, project, request)
    show_checked(session, found, with_targets=not only_check)
    return 1 if only_check and any(one.state != "ok" for one in found.files) else 0
