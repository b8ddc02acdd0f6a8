"""What the project's overrides say to the versions that are about to be installed (asked before anything is switched)."""

from __future__ import annotations

from datetime import date

from rye.customization.places import rye_places
from rye.installation.install import Prepared
from rye.project.layout import Project


def override_findings(project: Project, prepared: Prepared) -> list[str]:
    """A line for each finding about an override, the user's or the project's, of an item that changes."""
    if not any(folder.path.is_dir() for folder in rye_places(project).overrides):
        return []
    from rye.customization.recheck import findings
    from rye.installation.policy_files import override_widening_allowed
    from rye.items.reading import ReadOptions
    from rye.project.context import load_manifest

    manifest = load_manifest(project)

    said: list[str] = []
    for change in prepared.plan.changes:
        item = prepared.items.get(change.identity)
        if change.action == "keep" or item is None:
            continue
        found = findings(
            project,
            change.identity,
            item.data.decode("utf-8"),
            version=item.locked.version,
            today=date.today(),
            widening_allowed=override_widening_allowed(manifest),
            options=ReadOptions(tools=manifest.tools),
        )
        said.extend(f"override of {change.identity.id}: {finding.message}" for finding in found)
    return said
