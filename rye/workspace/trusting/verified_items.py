"""Require that rows of rye.lock were verified for this user, and verify them now if not (DESIGN 6.1, Verified here).

Every use case that returns an installed item's content, or reports it as installed, checks here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rye.text.lazy import lazy_module
from rye.verified.require import require
from rye.workspace.registries.project_registries import refuse_other_pins

if TYPE_CHECKING:
    from rye.items.identity import Identity
    from rye.items.signed_release import SignedRelease
    from rye.project.layout import Project
    from rye.project.lock import LockedItem
    from rye.workspace.context import Context
    from rye.workspace.trusting import row_verification
else:  # loads the registry's client, which a known row never needs
    row_verification = lazy_module("rye.workspace.trusting.row_verification")


def require_verified(
    context: Context, project: Project, items: Sequence[LockedItem], *, fetch: bool = True
) -> Mapping[Identity, SignedRelease]:
    """The signed releases of these rows: verified before, or now from trusted state and cache or the registries.
    Without ``fetch``, only earlier verifications count.

    Raises RyeError ``unverified-item`` if a row cannot be verified, ``lock-mismatch`` or TrustError if it does not match its
    release, and what :func:`rye.workspace.registries.project_registries.given_pins` raises.
    """

    refuse_other_pins(context)

    def verify(unknown: Sequence[LockedItem]) -> Mapping[Identity, SignedRelease]:
        return row_verification.verify_rows(context, project, unknown)

    return require(context.home, items, verify if fetch else None)
