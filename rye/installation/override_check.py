"""Checks the overrides in force against the versions about to be installed, before any file is replaced."""

from __future__ import annotations

from datetime import date

from rye.customization.recheck import findings
from rye.installation.install import Prepared
from rye.project.layout import Project
from rye.project.spaces import user_space


def override_findings(project: Project, prepared: Prepared, today: date, widening_allowed: bool) -> list[str]:
    """Return one line for each finding about an override of an item that changes.

    ``widening_allowed``: as :meth:`rye.installation.policy_files.OtherPolicies.allow_override_widening` says."""
    if not project.overrides.is_dir() and not (user_space() / "overrides").is_dir():
        return []

    said = []
    for change in prepared.plan.changes:
        item = prepared.items.get(change.identity)
        if change.action == "keep" or item is None:
            continue
        for finding in findings(
            project,
            change.identity,
            item.data.decode("utf-8"),
            version=item.locked.version,
            today=today,
            widening_allowed=widening_allowed,
        ):
            if finding.severity in ("error", "warning"):
                said.append(f"override of {change.identity.id}: {finding.message}")
    return said
