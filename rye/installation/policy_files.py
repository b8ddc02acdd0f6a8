"""Where policies come from: the project's ``[policy]``, tightened by the user's and the organization's files.

``policy.toml`` in the user's configuration folder, and the file that ``RYE_POLICY`` names (default
``/etc/rye/policy.toml``), hold a ``[policy]`` table like the manifest's. Combining policies only tightens them
(:func:`rye.permissions.policy.combined`).
"""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from rye.errors import RyeError
from rye.project.manifest import Manifest, PolicyTable, parse_manifest
from rye.storage.home import Home


class OtherPolicies(Struct, frozen=True):
    """The user's and the organization's tables, read once, so that all decisions of a run use the same policy."""

    tables: tuple[PolicyTable, ...] = ()

    def restrict(self, manifest: Manifest) -> bool:
        """Whether any policy, including the project's, restricts anything. Cheap: it does not import the policy code."""
        return any(table != PolicyTable() for table in (manifest.policy, *self.tables))

    def allow_override_widening(self, manifest: Manifest) -> bool:
        """Whether an override may give a directive more rights: only if the project's policy and every other policy allow it.

        The project's policy is not enough: anyone who can commit an override can commit that policy too.
        """
        return bool(self.tables) and all(table.allow_override_widening for table in (manifest.policy, *self.tables))


def read_other_policies(home: Home) -> OtherPolicies:
    """Read the two files. Raises RyeError if one cannot be read."""
    return OtherPolicies(tuple(_other_tables(home)))


def other_files(home: Home) -> tuple[Path, Path]:
    """Return the paths of the user's and the organization's file, whether or not they exist."""
    return home.policy_file, home.organization_policy


def _other_tables(home: Home) -> list[PolicyTable]:
    """Return the user's and the organization's tables. Raises RyeError if a file cannot be read."""
    tables = []
    for file in other_files(home):
        try:
            text = file.read_text(encoding="utf-8")
        except FileNotFoundError:
            if file == home.named_policy:
                raise RyeError("no-policy", f"RYE_POLICY names {str(file)!r}, which does not exist.") from None
            continue
        tables.append(parse_manifest(text, str(file)).policy)
    return tables
