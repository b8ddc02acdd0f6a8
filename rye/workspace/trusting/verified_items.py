"""Rows of rye.lock that count on this machine (DESIGN 6.1, Verified here).

Anyone who can commit can write a row. It counts once rye has verified the release in full for this user.

Every use case that returns an installed item's content, or reports it as installed, checks here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rye.verified.rows import check_words, remembered_rows
from rye.workspace.installing.project_state import bytes_of, joined_manifests
from rye.workspace.registries.project_registries import user_basis, user_verdicts, whole_lock_key
from rye.workspace.trusting.unverified_rows import unverified

if TYPE_CHECKING:
    from rye.items.identity import Identity
    from rye.items.signed_release import SignedRelease
    from rye.project.layout import Project
    from rye.project.lock import LockedItem
    from rye.workspace.context import Context


def whole_before(project: Project, items: Sequence[LockedItem]) -> bool:
    """Whether exactly this lock was verified and complete with the current manifest and pins."""
    lock, manifest_text = bytes_of(project.lock_path), joined_manifests(project)
    verdicts = user_verdicts()
    try:
        key = whole_lock_key(verdicts, lock or b"", manifest_text, items)
        return key in verdicts.get([key])
    finally:
        verdicts.close()


def verified_before(items: Sequence[LockedItem]) -> dict[Identity, SignedRelease]:
    """The signed releases of these rows that rye verified before for this user. Nothing is fetched."""
    verdicts = user_verdicts()
    try:
        return remembered_rows(verdicts, items, user_basis())
    finally:
        verdicts.close()


def require_verified(
    context: Context, project: Project, items: Sequence[LockedItem], *, fetch: bool = True
) -> Mapping[Identity, SignedRelease]:
    """The verified signed releases of these rows: verified before, or now from trusted state and cache or the registries.
    Without ``fetch``, only earlier verifications count.

    Raises RyeError ``unverified-item`` if a row cannot be verified, and ``lock-mismatch`` or TrustError if it does not match
    its release.
    """
    signed = verified_before(items)
    unknown = [item for item in items if item.identity not in signed]
    if unknown and not fetch:
        raise unverified(unknown, "no registry was asked.")
    if unknown:
        from rye.workspace.trusting.row_verification import (
            verify_rows,  # loads the registry's client, which a known row never needs
        )

        signed.update(verify_rows(context, project, unknown))
    check_words(items, signed)
    return signed
