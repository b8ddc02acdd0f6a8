"""How dangerous a capability is: safe < write < elevated < unrestricted (DESIGN §7).

There is one table of patterns, most specific first; the first row that matches an action gives its tier. A capability
has the tier of the worst action that it can reach, computed on automata, so that no spelling hides what it grants
(``sh[e]ll``, ``s?ell``, ``rye.e*``). Two rules also consider the form of a capability, if no row except the last,
``rye.execute.*``, covers it:

* with a wildcard it is elevated, because it also covers future items with a matching name;
* if it contains every action of ``rye.execute.*`` it is unrestricted, however it is written.

A capability that reaches no real action is elevated, because its purpose is unknown. One that is too complex to compare
is unrestricted. A policy's rows take precedence over the built-in ones.

The tools of an agent program that an item names have tiers, too (DESIGN 7.1).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from functools import lru_cache

from msgspec import Struct

from rye.items.agent_tools import BASH, EVERY, AgentTools, named
from rye.limits import PERMISSIONS
from rye.permissions.containment import Budget, TooComplex, contained, find, is_action
from rye.permissions.patterns import glob_matches, has_wildcards


class Tier(IntEnum):
    """Ordered by risk."""

    SAFE = 0
    WRITE = 1
    ELEVATED = 2
    UNRESTRICTED = 3

    def __str__(self) -> str:
        return self.name.lower()

    @classmethod
    def named(cls, name: str) -> Tier:
        """Return the tier of this lower-case name. Raises ValueError."""
        for tier in cls:
            if str(tier) == name:
                return tier
        raise ValueError(f"{name!r} is not a tier; tiers are {', '.join(map(str, cls))}")


class RiskRow(Struct, frozen=True):
    """One row of a risk table: actions that match ``pattern`` have ``tier``."""

    pattern: str
    tier: Tier


NAMED_FOR: tuple[tuple[str, frozenset[str]], ...] = (
    (
        "running programs",
        frozenset(
            (
                *("shell", "bash", "sh", "zsh", "powershell", "cmd", "terminal"),
                *("process", "subprocess", "exec", "eval", "sudo"),
            )
        ),
    ),
    ("reaching other machines", frozenset(("network", "http", "https", "ssh", "socket"))),
    ("calling MCP servers", frozenset(("mcp",))),
    ("publishing", frozenset(("registry",))),
)
"""What an item is named for if its id has one of these segments."""
ELEVATED_SEGMENTS = tuple(sorted(segment for _, segments in NAMED_FOR for segment in segments))
"""An item whose id has one of these segments runs programs, connects to other machines or publishes."""
FILE_SYSTEM = "rye.file-system."
"""The beginning of the ids of tools that work with files, with dots."""

EXECUTE = "rye.execute.*"

_FIRST_ROWS = (
    RiskRow(f"rye.execute.tool.{FILE_SYSTEM}*", Tier.WRITE),
    RiskRow("rye.search.*", Tier.SAFE),
    RiskRow("rye.load.*", Tier.SAFE),
    RiskRow("rye.sign.*", Tier.WRITE),
)
_SEGMENT_ROWS = tuple(
    RiskRow(f"{EXECUTE}.{segment}{end}", Tier.ELEVATED) for segment in ELEVATED_SEGMENTS for end in ("", ".*")
)
TABLE = (*_FIRST_ROWS, *_SEGMENT_ROWS, RiskRow(EXECUTE, Tier.WRITE))
"""The built-in table, most specific first."""


def rows(table: Mapping[str, str]) -> tuple[RiskRow, ...]:
    """Return a policy's table of ``pattern = tier``, most specific first: a row comes before every row that contains
    it; of other rows the higher tier comes first. Rows too complex to compare count as containing nothing. Raises
    ValueError for an unknown tier.
    """
    given = [RiskRow(pattern, Tier.named(name)) for pattern, name in table.items()]
    budget = Budget()

    def place(row: RiskRow) -> tuple[int, int, str]:
        wider = sum(contained(row.pattern, [other.pattern], budget) for other in given)
        return -wider, -row.tier, row.pattern

    return tuple(sorted(given, key=place))


@lru_cache(maxsize=4096)
def tier(capability: str, overrides: tuple[RiskRow, ...] = ()) -> Tier:
    """Return the tier of one capability; ``overrides`` are a policy's rows in the order of :func:`rows`."""
    return _within(capability, overrides, Budget())


def _within(capability: str, overrides: tuple[RiskRow, ...], budget: Budget) -> Tier:
    if not has_wildcards(capability):
        return _of_action(capability, (*overrides, *TABLE))
    try:
        return _of_pattern(capability, (*overrides, *_FIRST_ROWS), budget)
    except TooComplex:
        return Tier.UNRESTRICTED


def tiers(capabilities: Iterable[str], overrides: tuple[RiskRow, ...] = ()) -> dict[str, Tier]:
    """Return the tier of each member of a set, like :func:`tier`.

    The members share a budget for comparisons, because authors may be hostile and a set may be long: once it is spent,
    every further pattern counts as unrestricted.
    """
    given = tuple(sorted(set(capabilities)))
    return dict(zip(given, _tiers(given, overrides), strict=True))


@lru_cache(maxsize=1024)
def _tiers(capabilities: tuple[str, ...], overrides: tuple[RiskRow, ...]) -> tuple[Tier, ...]:
    steps = PERMISSIONS.containment_steps + PERMISSIONS.tier_steps * len(capabilities)
    budget = Budget(min(steps, PERMISSIONS.tiers_steps))
    return tuple(_within(capability, overrides, budget) for capability in capabilities)


def highest(capabilities: Iterable[str], overrides: tuple[RiskRow, ...] = ()) -> Tier:
    """Return the tier of a set: the highest of its members, and unrestricted if together they grant every execute
    action.
    """
    granted = list(capabilities)
    found = max(tiers(granted, overrides).values(), default=Tier.SAFE)
    if found is Tier.ELEVATED and _contains_all_execution(granted, [row.pattern for row in overrides]):
        return Tier.UNRESTRICTED
    return found


def by_tier(capabilities: Iterable[str], overrides: tuple[RiskRow, ...] = ()) -> dict[Tier, tuple[str, ...]]:
    """Group capabilities for display: highest tier first, sorted inside, without empty tiers."""
    groups: dict[Tier, list[str]] = {}
    for capability, level in tiers(capabilities, overrides).items():
        groups.setdefault(level, []).append(capability)
    return {group: tuple(groups[group]) for group in sorted(groups, reverse=True)}


def _of_action(action: str, table: Sequence[RiskRow]) -> Tier:
    if not is_action(action):
        return Tier.ELEVATED
    return next((row.tier for row in table if glob_matches(action, row.pattern)), Tier.ELEVATED)


def _of_pattern(capability: str, table: Sequence[RiskRow], budget: Budget) -> Tier:
    reached: list[Tier] = []
    spoken_for: list[str] = []
    for row in table:
        if find([capability, row.pattern], spoken_for, budget, real_actions=True) is not None:
            reached.append(row.tier)
        spoken_for.append(row.pattern)
    if find([capability, EXECUTE], spoken_for, budget, real_actions=True) is not None:
        if find([EXECUTE], [capability], budget, real_actions=True) is None:
            return Tier.UNRESTRICTED
        reached.append(Tier.ELEVATED)
    return max(reached, default=Tier.ELEVATED)


def _contains_all_execution(capabilities: Sequence[str], spoken_for: Sequence[str]) -> bool:
    try:
        budget = Budget()
        return (
            find([EXECUTE], capabilities, budget, real_actions=True) is None
            and find([EXECUTE], spoken_for, budget, real_actions=True) is not None
        )
    except TooComplex:
        return True


_SAFE = frozenset(("Read", "Glob", "Grep", "LS", "NotebookRead", "TodoWrite"))
_WRITE = frozenset(("Write", "Edit", "MultiEdit", "NotebookEdit"))


def tools_tier(tools: AgentTools | None) -> Tier | None:
    """Return the tier of the worst tool; None if there are no tools.

    Anything that can run any command is unrestricted. Reading is safe, editing is write. Everything else is elevated,
    including filtered commands, the network and unknown tools.
    """
    if tools is None or not tools.names:
        return None
    if tools.any_command:
        return Tier.UNRESTRICTED
    return max(tool_tier(name, tools) for name in tools.names)


def tool_tier(name: str, tools: AgentTools) -> Tier:
    """Return the tier of one of the names of ``tools``."""
    bare, _ = named(name)
    if tools.any_command and (bare == BASH or name == EVERY):
        return Tier.UNRESTRICTED
    return Tier.SAFE if bare in _SAFE else Tier.WRITE if bare in _WRITE else Tier.ELEVATED
