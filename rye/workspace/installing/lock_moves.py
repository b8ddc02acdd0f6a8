"""The differences between an old and a new lock. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

from rye.items.identity import Identity
from rye.project.lock import Lock, LockedItem
from rye.resolution.versions import Version


class Moved(Struct, frozen=True):
    """One item whose version differs between two locks; None if it is not in that lock."""

    identity: Identity
    before: str | None
    after: str | None

    @property
    def action(self) -> Literal["add", "remove", "update", "downgrade", "replace"]:
        """The action as in plans; ``replace``: the same version, from elsewhere or with other bytes."""
        if self.before is None:
            return "add"
        if self.after is None:
            return "remove"
        if self.before == self.after:
            return "replace"
        return "update" if Version.parse(self.before) < Version.parse(self.after) else "downgrade"

    def as_json(self) -> dict[str, object]:
        """The first fields of an installation's change document."""
        return {
            "action": self.action,
            "kind": self.identity.kind,
            "id": self.identity.id,
            "from": self.before,
            "to": self.after,
        }


def lock_moves(before: Lock, after: Iterable[LockedItem]) -> tuple[Moved, ...]:
    """The items whose release differs between two locks."""
    old, new = before.by_identity(), {item.identity: item for item in after}
    moves = []
    for identity in sorted({*old, *new}):
        was, now = old.get(identity), new.get(identity)
        if (
            was is None
            or now is None
            or (was.version, was.sha256, was.registry) != (now.version, now.sha256, now.registry)
        ):
            moves.append(Moved(identity, was.version if was else None, now.version if now else None))
    return tuple(moves)
