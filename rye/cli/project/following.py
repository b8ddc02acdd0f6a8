"""What follows an installation: the deploy of the installed items (docs/how-to/agents.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rye.project.context import load_manifest

if TYPE_CHECKING:
    from rye.project.layout import Project
    from rye.workspace.context import Context
    from rye.workspace.installing.install_request import Followed


def deploy_after(context: Context, project: Project) -> Followed | None:
    """A :data:`rye.workspace.installing.install_request.Follow`. Without targets, nothing is loaded for it."""
    table = load_manifest(project).deploy
    if not table.targets or not table.after_install:
        return None
    from rye.deployment.recall import recall  # not needed without targets
    from rye.deployment.request import DeployRequest, words_of
    from rye.workspace.trusting.acceptance import trusts_lock

    words = words_of(DeployRequest(), trusts_lock=trusts_lock(context))
    if words is not None and recall(project, project.root, words) is not None:
        return None
    from rye.deployment.deploying import following  # loads adapters and every kind's reader, needed only with targets

    return following(context, project)
