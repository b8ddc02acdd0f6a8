"""``[overrides]`` in rye.toml: versions forced for the whole dependency graph.

The rules of this file:

1. An override replaces every range that rye.toml and other items have for that item with an exact version or a
   range (npm syntax, as everywhere in rye.toml). Like uv's ``override-dependencies`` and npm's ``overrides``, it adds
   no item to the graph. An override that matches nothing is reported.
2. An override only replaces ranges. Everything else that rules out a release still does: a yank, a takedown, a revoked
   key, a minimum age, a required signer, ``conflicts_with``, a missing feature, the policy.
3. A key without a kind means every item with that id. A key with a kind means only that one. An id cannot have both.
4. Only the root of a workspace has overrides.
5. rye.lock records what each item was forced to, so that reviewers see it. The lock is stale when that changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from rye.items.identity import Identity


class ForcedVersion(Struct, frozen=True):
    """One line of ``[overrides]``."""

    id: str
    kind: str | None
    """None: every kind that has this id."""
    range: str

    @property
    def key(self) -> str:
        """The key in the manifest: ``[kind:]id``."""
        return f"{self.kind}:{self.id}" if self.kind else self.id

    @property
    def unused(self) -> tuple[str, str]:
        """The warning and hint for an override that has no effect."""
        return (
            f"[overrides] {self.key} in rye.toml has no effect: that item is not in the dependency graph.",
            "Check the spelling with `rye tree`, or remove the line.",
        )

    def means(self, identity: Identity) -> bool:
        """Whether the override applies to this item (rule 3)."""
        return self.id == identity.id and self.kind in (None, identity.kind)


def forced_range(overrides: Sequence[ForcedVersion], identity: Identity) -> str | None:
    """Return the range that the item is forced to, or None."""
    return next((override.range for override in overrides if override.means(identity)), None)


def unused(overrides: Sequence[ForcedVersion], identities: Iterable[Identity]) -> list[ForcedVersion]:
    """Return the overrides that apply to none of these items."""
    if not overrides:
        return []
    known = list(identities)
    return [override for override in overrides if not any(map(override.means, known))]


def contradicting(overrides: Iterable[ForcedVersion]) -> str | None:
    """Return an id that is overridden both with and without a kind (rule 3), or None."""
    kinds: dict[str, set[str | None]] = {}
    for override in overrides:
        kinds.setdefault(override.id, set()).add(override.kind)
    return next((identifier for identifier, named in sorted(kinds.items()) if None in named and len(named) > 1), None)
