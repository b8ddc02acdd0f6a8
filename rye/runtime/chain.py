"""The chain of callers of a call: every level must allow it (DESIGN 7; docs/explanation/runtime.md).

* A level is one item whose text steers the model: the directive that a run was started for, then each directive started
  inline. Its rights are those that this user agreed to, never those that its text merely asks for.
* An action is allowed if every level allows it by itself. Patterns are never combined.
* A chain only grows. A directive that runs inline stays in the model's context, so its level stays in the chain:
  :meth:`Chain.push` returns a longer chain, and nothing returns a shorter one. Only a separate run gets rights back.
* A search without an id finds what the chain may search: all items of a kind, or the ids that every level names. A level
  without any right to search the kind denies it.
"""

from __future__ import annotations

from functools import lru_cache

from msgspec import Struct, field
from msgspec.structs import replace

from rye.items.capabilities import PRIMARIES
from rye.items.consented import HookAction
from rye.items.identity import is_id
from rye.items.kinds import KINDS
from rye.permissions.containment import TooComplex, find
from rye.permissions.matching import allowed_by, search_allowed_by
from rye.runtime.limits import Limits

READ_ONLY_RIGHTS = ("rye.load.*", "rye.search.*")
"""The rights of a run that was started without an item: search and load, but execute nothing."""


class Level(Struct, frozen=True, kw_only=True):
    """One item of the chain, as it was when it was read."""

    id: str
    kind: str
    version: str | None
    sha256: str
    """The hash of the bytes that were read, verified and used."""
    rights: tuple[str, ...]
    """The capability patterns in force here."""
    hooks: tuple[HookAction, ...] = ()
    """The hooks that were approved here."""
    limits: Limits = field(default_factory=Limits)

    @property
    def label(self) -> str:
        """``kind:id@version``, as errors and the log name it."""
        return f"{self.kind}:{self.id}@{self.version}" if self.version else f"{self.kind}:{self.id}"


READ_ONLY = Level(id="read-only", kind="operator", version=None, sha256="0" * 64, rights=READ_ONLY_RIGHTS)
"""The root of a run that was started without an item."""


class LevelDecision(Struct, frozen=True):
    """One level's decision."""

    id: str
    """The level's label."""
    by: str | None
    """The first of its rights that allows the action; None if the level denies it."""

    def as_json(self) -> dict[str, object]:
        """``{"id", "by"}``, as refusals and dry runs show it."""
        return {"id": self.id, "by": self.by}


class Decision(Struct, frozen=True):
    """A chain's decision about one action."""

    allowed: bool
    required: str
    """The capability that the action needs."""
    levels: tuple[LevelDecision, ...]
    """From the root to the caller."""

    @property
    def by(self) -> str | None:
        """The caller's right that allowed the action; None if it was denied."""
        return self.levels[-1].by if self.allowed else None

    @property
    def denied_by(self) -> str | None:
        """The first level that denies the action; None if all allow it."""
        return next((level.id for level in self.levels if level.by is None), None)


class Chain(Struct, frozen=True):
    """Levels from the root to the caller; at least one."""

    levels: tuple[Level, ...]

    @property
    def root(self) -> Level:
        """The level that the run was started with."""
        return self.levels[0]

    @property
    def caller(self) -> Level:
        """The innermost level: the item that makes the calls now."""
        return self.levels[-1]

    @property
    def depth(self) -> int:
        """The number of levels below the root."""
        return len(self.levels) - 1

    def push(self, level: Level) -> Chain:
        """Return the chain with one more caller. A level is never removed again."""
        return replace(self, levels=(*self.levels, level))


def capability_of(primary: str, kind: str, item_id: str | None = None) -> str:
    """Return ``rye.{primary}.{kind}.{id}``. Only a search can be without an id.

    Raises ValueError for an unknown primary or kind, and for an id that breaks the name grammar.
    """
    if primary not in PRIMARIES:
        raise ValueError(f"{primary!r} is not one of {', '.join(PRIMARIES)}")
    if kind not in KINDS:
        raise ValueError(f"{kind[:80]!r} is not one of {', '.join(KINDS)}")
    if item_id is None:
        if primary != "search":
            raise ValueError("only a search can be without an id")
        return f"rye.search.{kind}"
    if not is_id(item_id):
        raise ValueError(f"{item_id[:80]!r} is not an id")
    return f"rye.{primary}.{kind}.{item_id.replace('/', '.')}"


def decide(chain: Chain, capability: str) -> Decision:
    """Whether every level allows the action that ``capability`` names. An empty chain denies.

    ``rye.search.<kind>`` is a search without an id: a level allows it with a right to search anything of the kind.
    """
    kind = _kind_of_search(capability)
    levels = tuple(
        LevelDecision(
            level.label,
            _may_search_some(level.rights, kind) if kind is not None else allowed_by(level.rights, capability),
        )
        for level in chain.levels
    )
    return Decision(bool(levels) and all(level.by is not None for level in levels), capability, levels)


def allows(chain: Chain, primary: str, kind: str, item_id: str) -> bool:
    """Whether every level allows the action: :func:`decide` without the reasons. A right to search a whole kind
    (``rye.search.tool``) includes finding each of its items."""
    capability = capability_of(primary, kind, item_id)
    return bool(chain.levels) and all(
        allowed_by(level.rights, capability) is not None
        or (primary == "search" and _searches_all(level.rights, kind) is not None)
        for level in chain.levels
    )


def _kind_of_search(capability: str) -> str | None:
    """The kind of a search without an id; None for any other action."""
    parts = capability.split(".")
    return parts[2] if len(parts) == 3 and parts[:2] == ["rye", "search"] else None


@lru_cache(maxsize=256)
def _searches_all(rights: tuple[str, ...], kind: str) -> str | None:
    return search_allowed_by(rights, kind)


@lru_cache(maxsize=256)
def _may_search_some(rights: tuple[str, ...], kind: str) -> str | None:
    return _searches_all(rights, kind) or _reaches(rights, f"rye.search.{kind}.*")


@lru_cache(maxsize=1024)
def _reaches(rights: tuple[str, ...], pattern: str) -> str | None:
    """Return the first right that overlaps with ``pattern``; a right too complex to compare counts as not overlapping."""
    for right in rights:
        try:
            if find([right, pattern], [], real_actions=False) is not None:
                return right
        except TooComplex:
            continue
    return None
