"""rye.toml with the targets that a person chose."""

from __future__ import annotations

from collections.abc import Sequence

from rye.project.layout import Project
from rye.project.manifest_edit import set_deploy_targets
from rye.workspace.installing.project_state import manifest_text_of


def manifest_with_targets(project: Project, targets: Sequence[str]) -> bytes:
    """The new bytes of rye.toml; only the targets change."""
    return set_deploy_targets(manifest_text_of(project), targets).encode()
