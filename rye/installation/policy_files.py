"""The policy in force: the project's ``[policy]``, tightened by the user's and the organization's file.

A file ``policy.toml`` in the user's configuration folder, and the one that ``RYE_POLICY`` names (else ``/etc/rye/policy.toml``),
hold a ``[policy]`` table like the manifest's. Joining policies only ever tightens (:func:`rye.permissions.policy.combined`).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from rye.errors import RyeError
from rye.project.manifest import Manifest, PolicyTable, parse_manifest
from rye.storage.folders import config_dir

if TYPE_CHECKING:
    from rye.permissions.policy import Policy


def policy_of(table: PolicyTable) -> Policy:
    """What one ``[policy]`` table means."""
    from rye.permissions.policy import Policy
    from rye.permissions.risk import Tier, rows

    return Policy(
        allowed=(table.allow,) if table.allow is not None else (),
        forbidden=table.forbid,
        maximum_tier=Tier.named(table.max_tier) if table.max_tier else Tier.UNRESTRICTED,
        signers=(frozenset(table.required_signers),) if table.required_signers else (),
        minimum_release_age=int(table.minimum_release_age.total_seconds()) if table.minimum_release_age else 0,
        facts=frozenset(table.forbidden_facts),
        tables=(rows(table.risk),) if table.risk else (),
    )


def policy_in_force(manifest: Manifest) -> Policy:
    """The project's, the user's and the organization's policies at once. Raises RyeError for a file that cannot be read."""
    from rye.permissions.policy import combined

    return combined([policy_of(table) for table in (manifest.policy, *_others())])


def any_policy(manifest: Manifest) -> bool:
    """Whether anybody restricts anything. Cheap: imports nothing of the policy's machinery."""
    return any(table != PolicyTable() for table in (manifest.policy, *_others()))


def override_widening_allowed(manifest: Manifest) -> bool:
    """Whether an override may give a directive more rights: only when the project's policy and every other say so.

    The project's alone is not enough: whoever commits the override can commit that, too.
    """
    others = _others()
    return bool(others) and all(table.allow_override_widening for table in (manifest.policy, *others))


def _others() -> list[PolicyTable]:
    files = [config_dir() / "policy.toml", Path(os.environ.get("RYE_POLICY") or "/etc/rye/policy.toml")]
    tables = []
    for file in files:
        try:
            text = file.read_text(encoding="utf-8")
        except FileNotFoundError:
            if str(file) == os.environ.get("RYE_POLICY"):
                raise RyeError("no-policy", f"RYE_POLICY names {str(file)!r}, which is not there.") from None
            continue
        tables.append(parse_manifest(text, str(file)).policy)
    return tables
