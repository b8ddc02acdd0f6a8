"""Combines the policies of project, user and organization for a run. Combining them can only make them stricter.

An ``allow`` in ``[policy.approval]`` removes a question. In a project's rye.toml it therefore has no effect until this user
accepts the project: anyone who can commit can write it (DESIGN 6.1).
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import cast

from rye.installation.environment import policy_in_force
from rye.installation.policy_files import read_other_policies
from rye.project.layout import Project
from rye.project.manifest import Manifest, PolicyTable
from rye.runtime.approvals import Answer
from rye.runtime.limits import Limits, minimum
from rye.runtime.rules import Rules
from rye.workspace.context import Context
from rye.workspace.trusting.grants import approval_in_force


def rules_in_force(context: Context, project: Project, manifest: Manifest) -> Rules:
    """Read and combine policies, approvals and limits. Raises RyeError for a file that cannot be read."""
    others = read_other_policies(context.home)
    own = approval_in_force(context, project, manifest)
    tables = [cast("Mapping[str, Answer]", table) for table in (own, *(each.approval for each in others.tables))]
    return Rules(
        policy_in_force(manifest, others),
        tuple(table for table in tables if table),
        minimum(limits_of(table) for table in (manifest.policy, *others.tables)),
    )


def limits_of(table: PolicyTable) -> Limits:
    """Convert one ``[policy.limits]`` table."""
    given = table.limits
    whole = {name: int(value) for name, value in given.items() if name != "spend"}
    return Limits(**whole, spend=Decimal(given["spend"]) if "spend" in given else None)
