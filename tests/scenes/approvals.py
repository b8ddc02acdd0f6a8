"""Rows of rye.lock with other approvals, where a test changes some and keeps the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from msgspec.structs import replace

from rye.consent.approved import Approved
from rye.project.lock import LockedItem


def but(*, rules: int | None = None, signer: object = ..., **given: Iterable[Any]) -> Callable[[Approved], Approved]:
    """A change of what a row approves, for :func:`changed`; whatever is not named stays."""

    def change(approved: Approved) -> Approved:
        other = approved.but(**given)
        words: dict[str, Any] = {"rules": rules} if rules is not None else {}
        return replace(other, **words, **({"signer": signer} if signer is not ... else {}))

    return change


def changed(item: LockedItem, **words: Any) -> LockedItem:
    """The row with other values. ``approved``: a value, or a change made by :func:`but`."""
    approved = words.pop("approved", item.approved)
    return replace(item, **words, approved=approved(item.approved) if callable(approved) else approved)
