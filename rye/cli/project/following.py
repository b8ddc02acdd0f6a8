"""What an installation ends with: the deploy of what it put in place (docs/agents.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rye.project.context import load_manifest

if TYPE_CHECKING:
    from rye.installation.transaction import Round
    from rye.project.layout import Project
    from rye.workspace.context import Context


def deploy_after(context: Context, project: Project) -> tuple[Round, object] | None:
    """A :data:`rye.workspace.installing.install_request.Follow`; a project without targets pays for nothing."""
    table = load_manifest(project).deploy
    if not table.targets or not table.after_install:
        return None
    from rye.deployment.deploying import following  # adapters and every kind's reader: only where there are targets

    return following(context, project)
