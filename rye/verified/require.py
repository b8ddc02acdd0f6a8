"""Rows of rye.lock that count on this machine (DESIGN 6.1, Verified here).

Anyone who can commit can write a row. It counts once rye has verified the release in full for this user.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from rye.errors import RyeError
from rye.storage.home import Home
from rye.verified.memory import check_words, distrusted_keys, user_memory

if TYPE_CHECKING:
    from rye.items.identity import Identity
    from rye.items.signed_release import SignedRelease
    from rye.project.lock import LockedItem

_LISTED = 3
"""How many rows a message names."""


def verified_before(home: Home, items: Sequence[LockedItem]) -> dict[Identity, SignedRelease]:
    """The signed releases of these rows that rye verified before for this user. Nothing is fetched."""
    with user_memory(home) as memory:
        return memory.known(items)


def require(
    home: Home,
    items: Sequence[LockedItem],
    verify: Callable[[Sequence[LockedItem]], Mapping[Identity, SignedRelease]] | None,
) -> Mapping[Identity, SignedRelease]:
    """The signed releases of these rows: verified before, or now by ``verify``; None: only earlier verifications count.

    Raises RyeError ``signer-revoked`` for a key that this user revoked, ``unverified-item`` if a row cannot be verified,
    ``lock-mismatch`` if it does not match its release, and what ``verify`` raises.
    """
    signed = verified_before(home, items)
    unknown = [item for item in items if item.identity not in signed]
    if unknown:
        refuse_distrusted(home, unknown)
        if verify is None:
            raise unverified(unknown, "no registry was asked.")
        signed.update(verify(unknown))
    check_words(items, signed)
    return signed


def refuse_distrusted(home: Home, items: Sequence[LockedItem]) -> None:
    """Raise RyeError ``signer-revoked`` for a row whose key this user revoked, whether or not a registry can be asked."""
    distrusted = distrusted_keys(home)
    for item in items:
        if item.signer in distrusted:
            raise RyeError(
                "signer-revoked",
                f"{item.identity} {item.version} is signed with a key that you revoked: {item.signer}.",
                "Choose a release that another key signed: `rye info ID` lists them. `rye trust list` shows your keys.",
            )


def unverified(items: Sequence[LockedItem], why: str, hint: str | None = None, cause: str | None = None) -> RyeError:
    """The error for rows that were not verified on this machine. ``why``: what stopped the check. ``cause``: the code of that
    error."""
    names = ", ".join(f"{item.identity} {item.version}" for item in items[:_LISTED])
    more = f" and {len(items) - _LISTED} more" if len(items) > _LISTED else ""
    them = "it" if len(items) == 1 else "them"
    return RyeError(
        "unverified-item",
        f"{names}{more}: rye.lock names {them}, but rye has not verified {them} on this machine: {why}",
        hint or "Run `rye install` with a network to verify what rye.lock names.",
        details={"items": [str(item.identity) for item in items], "cause": cause},
    )
