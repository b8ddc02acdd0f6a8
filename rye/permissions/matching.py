"""Whether an action is allowed (DESIGN §7; DECISIONS Directives 16).

* A capability allows what :func:`fnmatch.fnmatchcase` matches over the whole string. If nothing is declared, everything is
  denied. There are no exempt prefixes, and ``-`` and ``_`` are different characters.
* A call chain is a conjunction: each level, from the root to the caller, must allow the action.
* A search without an id can show anything of its type. It is allowed if one capability contains every
  ``rye.search.<type>.…``, or is ``rye.search.<type>``. A capability for some of the items is not enough.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from msgspec import Struct

from rye.items.capabilities import required_capability
from rye.permissions.containment import contained


class CheckAnswer(Struct, frozen=True):
    """The answer of ``rye permissions check``."""

    allowed: bool
    required: str
    """The capability string that the action requires."""
    by: str | None
    """The caller's capability that allowed it; None if it was denied."""
    levels: tuple[str | None, ...] = ()
    """For each level from the root to the caller, its first capability that allows the action; None if the level denies it."""

    def as_json(self) -> dict[str, object]:
        """The stable JSON of ``rye permissions check`` (DESIGN §9), with ``levels``."""
        return {"allowed": self.allowed, "required": self.required, "by": self.by, "levels": list(self.levels)}


def allowed_by(capabilities: Iterable[str], required: str) -> str | None:
    """Return the first capability that matches the string ``required``; None if none does."""
    return next((capability for capability in capabilities if fnmatchcase(required, capability)), None)


def search_allowed_by(capabilities: Iterable[str], item_type: str) -> str | None:
    """Return the first capability that allows a search of ``item_type`` without an id; None if none does."""
    alone = f"rye.search.{item_type}"
    for capability in capabilities:
        if contained(f"{alone}.*", [capability]):
            return capability
        if fnmatchcase(alone, capability) and contained(capability, [alone]):
            return capability
    return None


def check(chain: Sequence[Sequence[str]], primary: str, item_type: str, item_id: str | None = None) -> CheckAnswer:
    """Decide one action for a chain of callers, each given as its capabilities, root first.

    An empty chain denies. Raises UsageError for an unknown primary or item type, and for a malformed or missing id.
    """
    required = required_capability(primary, item_type, item_id)
    if item_id is None:
        levels = tuple(search_allowed_by(capabilities, item_type) for capabilities in chain)
    else:
        levels = tuple(allowed_by(capabilities, required) for capabilities in chain)
    allowed = bool(levels) and None not in levels
    return CheckAnswer(allowed, required, levels[-1] if allowed else None, levels)
