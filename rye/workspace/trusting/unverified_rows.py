"""The error for rows of rye.lock that were not verified on this machine (DESIGN 6.1, Verified here)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rye.errors import RyeError

if TYPE_CHECKING:
    from rye.project.lock import LockedItem

_LISTED = 3
"""How many rows the message names."""


def unverified(items: Sequence[LockedItem], why: str, hint: str | None = None, cause: str | None = None) -> RyeError:
    """The error. ``why``: what stopped the check. ``cause``: the code of that error."""
    names = ", ".join(f"{item.identity} {item.version}" for item in items[:_LISTED])
    more = f" and {len(items) - _LISTED} more" if len(items) > _LISTED else ""
    them = "it" if len(items) == 1 else "them"
    return RyeError(
        "unverified-item",
        f"{names}{more}: rye.lock names {them}, but rye has not verified {them} on this machine: {why}",
        hint or "Run `rye install` with a network to verify what rye.lock names.",
        details={"items": [str(item.identity) for item in items], "cause": cause},
    )
