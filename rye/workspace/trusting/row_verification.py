"""Verify rows of rye.lock in full: release in the log, signer in the keyset, in-file signature, bytes."""

from __future__ import annotations

from collections.abc import Sequence

from rye.errors import RyeError
from rye.installation.install import check_rows, verify_chosen
from rye.installation.resolving import Chosen, locked_choice
from rye.installation.sources import Sources
from rye.items.identity import Identity
from rye.items.signed_release import SignedRelease
from rye.project.context import load_manifest
from rye.project.layout import Project
from rye.project.lock import Lock, LockedItem
from rye.project.lock_file import Unlock
from rye.registry.trust.records import PERMANENT
from rye.registry.trust.trust_error import TrustError
from rye.verified.require import unverified
from rye.workspace.context import Context
from rye.workspace.registries.registry_access import project_sources

_SAID = ("lock-mismatch", "source-changed", "source-forged", "commit-vanished")
"""Errors in a row itself, not caused by a missing network."""


def verify_rows(context: Context, project: Project, items: Sequence[LockedItem]) -> dict[Identity, SignedRelease]:
    """Verify these rows and remember the result. Return their signed releases.

    Trusted state and cache are tried first, then the registries. Never asks to pin a registry.
    Raises RyeError ``unverified-item``, ``lock-mismatch``, TrustError.
    """
    manifest = load_manifest(project)
    try:
        with project_sources(context, manifest, project.root, offline=True, asks=False) as sources:
            return verify_rows_from(items, sources)
    except RyeError as error:
        if error.code in PERMANENT:  # asking the registry cannot change it
            raise
        if context.offline:
            raise _unverified(items, error) from error
    try:
        with project_sources(context, manifest, project.root, asks=False) as sources:
            return verify_rows_from(items, sources)
    except TrustError:
        raise
    except RyeError as error:
        if error.code in _SAID:
            raise
        raise _unverified(items, error) from error


def verify_rows_from(items: Sequence[LockedItem], sources: Sources) -> dict[Identity, SignedRelease]:
    """Verify rows from open registries, as :func:`verify_rows` does. Raises RyeError."""
    sources.use_locked(Lock({}, tuple(items)), Unlock.nothing())
    histories = sources.histories(item.identity for item in items)
    chosen: dict[Identity, Chosen] = {}
    for item in items:
        record = locked_choice(item, histories.get(item.identity), sources)
        chosen[item.identity] = Chosen(record, item.dependencies, item.groups, item.forced)
    verified = verify_chosen(chosen, sources)
    check_rows(items, verified)
    return {identity: found.signed for identity, found in verified.items()}


def verify_each(
    items: Sequence[LockedItem], sources: Sources
) -> tuple[dict[Identity, SignedRelease], list[tuple[LockedItem, RyeError]]]:
    """Verify rows as :func:`verify_rows_from` does: the releases of those that hold, and the others with their errors.

    Rows of one origin together, because each call reads their bytes in one wave; half by half where one is refused.
    """
    signed: dict[Identity, SignedRelease] = {}
    refused: list[tuple[LockedItem, RyeError]] = []
    groups: dict[str | None, list[LockedItem]] = {}
    for item in items:
        groups.setdefault(None if item.source is None else item.identity.namespace, []).append(item)
    for group in groups.values():
        refused += _halved(group, sources, signed)
    return signed, refused


def _halved(
    items: Sequence[LockedItem], sources: Sources, signed: dict[Identity, SignedRelease]
) -> list[tuple[LockedItem, RyeError]]:
    """The refused of these rows. ``signed`` receives the others' releases."""
    try:
        signed.update(verify_rows_from(items, sources))
    except RyeError as error:
        if len(items) == 1:
            return [(items[0], error)]
        half = len(items) // 2
        return [*_halved(items[:half], sources, signed), *_halved(items[half:], sources, signed)]
    return []


def _unverified(items: Sequence[LockedItem], why: RyeError) -> RyeError:
    return unverified(items, why.message, why.hint if why.code == "registry-unpinned" else None, why.code)
