"""What the policies of project, user and organization say of a run. Joining them only ever tightens.

A row ``allow`` of ``[policy.approval]`` takes a question away, so that of a project's rye.toml counts only once this user
accepted the project: whoever can commit can write it (DESIGN 6.1).
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import cast

from rye.installation.policy_files import read_other_policies
from rye.installation.policy_in_force import policy_in_force
from rye.project.layout import Project
from rye.project.manifest import Manifest, PolicyTable
from rye.runtime.approvals import Answer
from rye.runtime.limits import Limits, minimum
from rye.runtime.rules import Rules
from rye.workspace.context import Context
from rye.workspace.trusting.grants import approval_in_force


def rules_in_force(context: Context, project: Project, manifest: Manifest) -> Rules:
    """Policies, approvals and limits. Raises RyeError for a file that cannot be read."""
    others = read_other_policies()
    own = approval_in_force(context, project, manifest)
    tables = [cast("Mapping[str, Answer]", table) for table in (own, *(each.approval for each in others.tables))]
    return Rules(
        policy_in_force(manifest, others),
        tuple(table for table in tables if table),
        minimum(limits_of(table) for table in (manifest.policy, *others.tables)),
    )


def limits_of(table: PolicyTable) -> Limits:
    """What one ``[policy.limits]`` means."""
    given = table.limits
    whole = {name: int(value) for name, value in given.items() if name != "spend"}
    return Limits(**whole, spend=Decimal(given["spend"]) if "spend" in given else None)
