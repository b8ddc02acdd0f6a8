"""One row for each item that a project can use: what is installed according to the lock, and what is on disk elsewhere.

:mod:`rye.workspace.installing.item_rows` lists them, and imports this only if there is an item.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from functools import cache

from msgspec import Struct

from rye.errors import RyeError
from rye.installation.completeness import reached
from rye.installation.shadows import CODE, shadow_of
from rye.items.agent_tools import AgentTools
from rye.items.identity import Identity
from rye.permissions.risk import Tier, highest, tools_tier
from rye.project.item_file import load_item
from rye.project.layout import Project
from rye.project.lock import Lock, LockedItem
from rye.project.manifest import Manifest
from rye.project.spaces import Entry
from rye.storage.home import Home
from rye.verified.memory import check_words, distrusted_keys, policies_hash, user_memory
from rye.verified.on_disk import find_drift
from rye.verified.require import verified_before
from rye.workspace.installing.project_state import bytes_of, joined_manifests

_WORST_FIRST = ("revoked", "changed", "unverified", "missing", "wrong-flag")


class ItemRow(Struct, frozen=True, kw_only=True):
    """One item."""

    kind: str
    id: str
    version: str | None
    tier: str | None
    """The worst tier of its rights and agent tools; None if it has neither."""
    signer: str | None
    """Fingerprint; None if not installed."""
    space: str
    state: str
    """``ok``. For an installed item also ``revoked`` (by this user: ``rye trust revoke``), ``changed``, ``missing``,
    ``wrong-flag``, ``unverified`` (a row of rye.lock that this user's rye has not verified), or ``editable`` (read from its
    folder in place). For others ``invalid`` (unreadable), or ``shadows-installed`` (an own item with an installed item's id,
    which cannot be used by id)."""
    registry: str | None
    groups: tuple[str, ...]
    capabilities: tuple[str, ...]
    source: dict[str, object] | None = None
    """The source of an item of ``[sources]``, whose ``signer`` can be ``none (git commit …)``."""


def installed_rows(home: Home, project: Project, lock: Lock, kind: str | None = None) -> list[ItemRow]:
    """The installed items, of one kind or of all, in the lock's order."""
    items = with_found_signers(home, lock.items)
    verified = verified_here(home, project, items)
    distrusted: frozenset[str] = frozenset()
    with contextlib.suppress(RyeError):  # with a trust store that cannot be read, nothing counts as verified
        distrusted = distrusted_keys(home)
    drifted: dict[Identity, set[str]] = {}
    for entry in find_drift(project, items):
        if entry.item is not None:
            drifted.setdefault(entry.item.identity, set()).add(entry.state)
    rows = []
    for item in items:
        if kind in (None, item.kind):
            if item.is_editable:
                rows.append(_locked(item, "editable"))
                continue
            identity = item.identity
            if identity in verified and identity not in drifted and item.signer not in distrusted:
                rows.append(_locked(item, "ok"))
                continue
            states = drifted.get(identity, set()) | ({"unverified"} if identity not in verified else set())
            if item.signer in distrusted:
                states = states | {"revoked"}
            rows.append(_locked(item, next(state for state in _WORST_FIRST if state in states)))
    return rows


def with_found_signers(home: Home, items: tuple[LockedItem, ...]) -> tuple[LockedItem, ...]:
    """Rows of sources with the signers found when they were verified here, because the lock has none."""
    given = [item for item in items if item.source is not None]
    if not given:
        return items
    known = verified_before(home, given)
    return tuple(item.with_signer(known[item.identity].signed_by) if item.identity in known else item for item in items)


def verified_here(home: Home, project: Project, items: Sequence[LockedItem]) -> set[Identity]:
    """The rows that were verified here and match their releases. Fetches nothing."""
    lock, manifests = bytes_of(project.lock_path) or b"", joined_manifests(project)
    with user_memory(home) as memory:
        if memory.knows_whole(lock, manifests, policies_hash(home), items):
            return {item.identity for item in items}
        signed = memory.known(items)
    verified = set()
    for item in items:
        if item.identity in signed:
            with contextlib.suppress(RyeError):
                check_words([item], signed)
                verified.add(item.identity)
    return verified


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


def needed_rows(rows: Sequence[ItemRow], lock: Lock, asking: Manifest) -> list[ItemRow]:
    """The installed items among ``rows`` that this manifest needs."""
    needed = {(identity.kind, identity.id) for identity in reached(lock, asking)}
    return [row for row in rows if (row.kind, row.id) in needed]


def own_row(entry: Entry, project: Project | None, locked: Sequence[LockedItem]) -> ItemRow:
    """An item that is not installed from the lock."""
    metadata = load_item(entry.path, kind=entry.location.kind).reading.metadata
    capabilities = metadata.capabilities if metadata is not None else ()
    shadow = shadow_of(entry, locked, project.root) if project is not None else None
    return ItemRow(
        kind=entry.location.kind,
        id=entry.id,
        version=metadata.version if metadata is not None else None,
        tier=_tier(capabilities, metadata.agent_tools if metadata is not None else None),
        signer=None,
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
