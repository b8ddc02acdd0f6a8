"""What an installation ends with: the deploy of what it put in place (docs/how-to/agents.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rye.project.context import load_manifest

if TYPE_CHECKING:
    from rye.project.layout import Project
    from rye.workspace.context import Context
    from rye.workspace.installing.install_request import Followed


def deploy_after(context: Context, project: Project) -> Followed | None:
    """A :data:`rye.workspace.installing.install_request.Follow`; a project without targets pays for nothing."""
    table = load_manifest(project).deploy
    if not table.targets or not table.after_install:
        return None
    from rye.deployment.recall import recall  # nothing of it is needed without targets
    from rye.deployment.request import DeployRequest, words_of
    from rye.workspace.trusting.acceptance import trusts_lock

    words = words_of(DeployRequest(), trusts_lock=trusts_lock(context))
    if words is not None and recall(project, project.root, words) is not None:
        return None
    from rye.deployment.deploying import following  # adapters and every kind's reader: only where there are targets

    return following(context, project)
