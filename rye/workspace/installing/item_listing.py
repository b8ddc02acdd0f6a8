"""The items that a project can use, one row each, by space. Installed items come from the lock."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from rye.installation.shadows import CODE, shadow_of
from rye.items.agent_tools import AgentTools
from rye.permissions.risk import Tier, highest, tools_tier
from rye.project.context import load_manifest
from rye.project.item_file import load_item
from rye.project.layout import Project, find_project
from rye.project.lock import Lock, LockedItem
from rye.project.lock_file import read_lock
from rye.project.manifest import Manifest
from rye.project.members import selected
from rye.project.spaces import SPACES as LOOKED_UP
from rye.project.spaces import Entry, entries_of
from rye.storage.home import Home
from rye.text.lazy import lazy_module

if TYPE_CHECKING:
    from rye.signing import verification
    from rye.workspace.trusting import project_changes, trusted_keys
    from rye.workspace.trusting.trusted_keys import Trusted
else:
    verification = lazy_module("rye.signing.verification")  # for own items only
    trusted_keys = lazy_module("rye.workspace.trusting.trusted_keys")
    project_changes = lazy_module("rye.workspace.trusting.project_changes")  # hashing, for projects with items only

SPACES = LOOKED_UP
"""The spaces, in lookup order."""


class ItemRow(Struct, frozen=True, kw_only=True):
    """One item."""

    kind: str
    id: str
    version: str | None
    tier: str | None
    """The worst tier of its rights and agent tools; None if it has neither."""
    signer: str | None
    """Fingerprint; of an item that is not installed only if the signature is valid."""
    space: str
    state: str
    """``ok``. For an installed item also ``revoked`` (by this user: ``rye trust revoke``), ``changed``, ``missing``,
    ``wrong-flag``, ``unverified`` (a row of rye.lock that this user's rye has not verified), or ``editable`` (read from its
    folder in place). For others ``invalid`` (unreadable), or ``shadows-installed`` (an own item with an installed item's id,
    which cannot be used by id). For both ``not-agreed``: a customization of the project changes it, and this user has not agreed
    to that."""
    registry: str | None
    groups: tuple[str, ...]
    capabilities: tuple[str, ...]
    source: dict[str, object] | None = None
    """The source of an item of ``[sources]``, whose ``signer`` can be ``none (git commit …)``."""
    signature: str | None = None
    """What ``rye verify`` says of an item that is not installed."""


def item_rows(
    home: Home,
    folder: Path,
    kind: str | None = None,
    space: str | None = None,
    member: str | None = None,
    *,
    trusts_lock: bool = False,
) -> list[ItemRow]:
    """The usable items in ``folder``, by space, kind and id. ``member``: only items installed for this member of the
    workspace, by folder or name. ``trusts_lock``: whether this run accepts what the repository brings. Raises UsageError
    ``unknown-name``."""
    project = find_project(folder)
    manifest = load_manifest(project) if project is not None else Manifest()
    asking = selected(manifest, member)
    lock = read_lock(project) if project is not None else Lock()
    others = [name for name in SPACES if name != "installed" and space in (None, name)]  # installed: from the lock
    found = [
        entry
        for name in (others if member is None or project is None else ())
        for entry in entries_of(home, name, project, manifest.namespace)
        if kind in (None, entry.location.kind)
    ]
    is_asked = project is not None and space in (None, "installed")
    rows = _installed_rows(home, project, lock, kind) if project is not None and is_asked and lock.items else []
    if member is not None and project is not None:
        rows = _needed(rows, lock, asking)
    by_space = {name: trusted_keys.trusted_keys(home, (), _asked(project, name)) for name in others if found}
    rows.extend(_own_row(entry, project, lock.items, by_space[entry.space]) for entry in found)
    if project is not None and rows:
        waiting = {
            one.item
            for _, one in project_changes.not_agreed(home, project, manifest, lock.items, trusts_lock=trusts_lock)
        }
        rows = [replace(row, state="not-agreed") if _waits(row, waiting) else row for row in rows]
    return sorted(rows, key=lambda row: (SPACES.index(row.space), row.kind, row.id))


def _asked(project: Project | None, space: str) -> Project | None:
    """The project whose own keys count in a space."""
    return project if space == "project" else None


def _waits(row: ItemRow, waiting: set[str]) -> bool:
    """Whether only an agreement to its customizations is missing."""
    return row.state in ("ok", "editable") and f"{row.kind}:{row.id}" in waiting


def _installed_rows(home: Home, project: Project, lock: Lock, kind: str | None) -> list[ItemRow]:
    """The installed items, of one kind or of all, in the lock's order."""
    from rye.workspace.installing.verified_rows import (
        states_of,
        with_found_signers,
    )  # loads what hashes and remembers, which a project without installed items never needs

    items = with_found_signers(home, lock.items)
    states = states_of(home, project, items)
    return [_locked(item, states[item.identity]) for item in items if kind in (None, item.kind)]


def _locked(item: LockedItem, state: str) -> ItemRow:
    return ItemRow(
        kind=item.kind,
        id=item.id,
        version=item.version,
        tier=_tier(item.capabilities, item.tools),
        signer=item.signed_by,
        space="installed",
        state=state,
        registry=item.registry,
        groups=item.groups,
        capabilities=item.capabilities,
        source=item.source.as_json() if item.source is not None else None,
    )


def _needed(rows: Sequence[ItemRow], lock: Lock, asking: Manifest) -> list[ItemRow]:
    """The installed items among ``rows`` that this manifest needs."""
    from rye.installation.completeness import reached  # hashes, and only a workspace's member asks

    needed = {(identity.kind, identity.id) for identity in reached(lock, asking)}
    return [row for row in rows if (row.kind, row.id) in needed]


def _own_row(entry: Entry, project: Project | None, locked: Sequence[LockedItem], keys: Trusted) -> ItemRow:
    """An item that is not installed from the lock."""
    item = load_item(entry.path, kind=entry.location.kind)
    metadata = item.reading.metadata
    judged = verification.verify(item.data, item.kind.name, item.path.name, keys.keys, keys.revoked)
    capabilities = metadata.capabilities if metadata is not None else ()
    shadow = shadow_of(entry, locked, project.root) if project is not None else None
    return ItemRow(
        kind=entry.location.kind,
        id=entry.id,
        version=metadata.version if metadata is not None else None,
        tier=_tier(capabilities, metadata.agent_tools if metadata is not None else None),
        signer=judged.key.fingerprint if judged.ok and judged.key is not None else None,
        signature=judged.verdict,
        space=entry.space,
        state=CODE if shadow is not None else "ok" if metadata is not None else "invalid",
        registry=None,
        groups=(),
        capabilities=capabilities,
    )


def _tier(capabilities: tuple[str, ...], tools: AgentTools | None) -> str | None:
    found = [_highest(capabilities)] if capabilities else []
    worst = tools_tier(tools)
    return str(max([*found, worst] if worst is not None else found)) if found or worst is not None else None


@cache
def _highest(capabilities: tuple[str, ...]) -> Tier:
    """Cached, because many items have the same few rights."""
    return highest(capabilities)
