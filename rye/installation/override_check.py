"""What the project's overrides say to the versions that are about to be installed (asked before anything is switched)."""

from __future__ import annotations

from rye.installation.install import Prepared
from rye.project.layout import Project


def override_findings(project: Project, prepared: Prepared) -> list[str]:
    """A line for each finding about an override of an item that changes; nothing where there are no overrides."""
    if not project.overrides.is_dir():
        return []
    from rye.customization.recheck import findings

    said = []
    for change in prepared.plan.changes:
        item = prepared.items.get(change.identity)
        if change.action == "keep" or item is None:
            continue
        for finding in findings(project, change.identity, item.data.decode("utf-8")):
            if finding.severity in ("error", "warning"):
                said.append(f"override of {change.identity.id}: {finding.message}")
    return said
