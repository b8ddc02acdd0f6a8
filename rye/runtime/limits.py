"""How much a run may use: the minimum over all levels of its chain and all policies.

=============  ======================================================  ==================================
limit          counts                                                  written as
=============  ======================================================  ==================================
turns, tokens  answers of a model, and the tokens its provider bills   ``<limits>``, ``<cost><context>``
spend          dollars                                                 ``<limits>``, ``<cost><spend>``
duration       seconds since the start                                 ``<limits>``, ``<cost><duration>``
depth          nested directives                                       ``<limits>``
spawns         directives that were started                            ``<limits>``
calls          calls of the five tools, including refused ones,        ``<limits>``
               except the one that returns
tool_seconds   seconds that tools ran, added up                        ``<limits>``
=============  ======================================================  ==================================

Reaching a limit is allowed, exceeding it is not. A level's limits count from when it joined the chain. What a host's own
model uses cannot be counted here, so a server reports that it does not enforce :data:`UNCOUNTED_UNDER_MCP`.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

if TYPE_CHECKING:
    from rye.items.directive.model import Directive

LIMITS = ("turns", "tokens", "spend", "duration", "depth", "spawns", "calls", "tool_seconds")
SUMMED = ("turns", "tokens", "spend", "spawns", "calls", "tool_seconds")
"""What adds up over a run and its children. Time and depth do not: the children of a run run concurrently."""
UNCOUNTED_UNDER_MCP = ("turns", "tokens", "spend")
"""Under MCP the host owns the model."""
Number = int | float | Decimal


class Limits(Struct, frozen=True, kw_only=True):
    """The maximum of each; None: no limit."""

    turns: int | None = None
    tokens: int | None = None
    spend: Decimal | None = None
    """Dollars."""
    duration: int | None = None
    """Seconds."""
    depth: int | None = None
    spawns: int | None = None
    calls: int | None = None
    tool_seconds: int | None = None

    def as_json(self) -> dict[str, object]:
        """Return the limits that are set; spend as text, so that no reader rounds it."""
        found = ((name, getattr(self, name)) for name in LIMITS)
        return {name: str(value) if isinstance(value, Decimal) else value for name, value in found if value is not None}


class Used(Struct, frozen=True, kw_only=True):
    """How much was used, in each limit's unit."""

    turns: int = 0
    tokens: int = 0
    spend: Decimal = Decimal(0)
    duration: float = 0.0
    depth: int = 0
    spawns: int = 0
    calls: int = 0
    tool_seconds: float = 0.0

    def plus(self, other: Used) -> Used:
        """Add what adds up; time and depth stay as they are here."""
        return replace(self, **{name: getattr(self, name) + getattr(other, name) for name in SUMMED})

    def minus(self, other: Used) -> Used:
        """Return what :meth:`plus` would add to ``other`` to get this; negative where ``other`` used more."""
        return replace(self, **{name: getattr(self, name) - getattr(other, name) for name in SUMMED})


class Crossing(Struct, frozen=True):
    """A limit that was exceeded."""

    limit: str
    current: Number
    maximum: Number

    def as_json(self) -> dict[str, object]:
        """``{"limit", "current", "maximum"}``; dollars as text."""
        return {"limit": self.limit, "current": _plain(self.current), "maximum": _plain(self.maximum)}


class Bound(Struct, frozen=True):
    """The limits of one level or policy, and what had been used when they started to count."""

    limits: Limits
    since: Used = Used()

    def counted(self, used: Used, name: str) -> Number:
        """Return how much counts against one limit."""
        current: Number = getattr(used, name) - getattr(self.since, name)
        return current


def of_directive(directive: Directive) -> Limits:
    """Return the limits in a directive's ``<limits>`` and ``<cost>``; the smaller where both set one."""
    return Limits(**directive.maximums)  # type: ignore[arg-type]  # each value is of its field's type


def minimum(all_limits: Iterable[Limits]) -> Limits:
    """Return the smallest of each limit."""
    given = tuple(all_limits)
    least: dict[str, Number] = {}
    for name in LIMITS:
        values = [value for each in given if (value := getattr(each, name)) is not None]
        if values:
            least[name] = min(values)
    return Limits(**least)  # type: ignore[arg-type]  # each value came out of a field of the same name


def crossed(bounds: Iterable[Bound], used: Used, names: Iterable[str] = LIMITS) -> Crossing | None:
    """Return the first limit that ``used`` exceeds, in the order of ``names``; the lowest if several bounds set it."""
    given = tuple(bounds)
    for name in names:
        found = None
        for bound in given:
            maximum: Number | None = getattr(bound.limits, name)
            if maximum is None:
                continue
            current = bound.counted(used, name)
            if current > maximum and (found is None or maximum < found.maximum):
                found = Crossing(name, current, maximum)
        if found is not None:
            return found
    return None


def left(bounds: Iterable[Bound], used: Used, name: str) -> Number | None:
    """Return how much of one limit is left, at least 0; None if there is no such limit."""
    rest: list[Number] = [
        maximum - bound.counted(used, name) for bound in bounds if (maximum := getattr(bound.limits, name)) is not None
    ]
    return max(min(rest), type(rest[0])(0)) if rest else None


def remaining(bounds: Iterable[Bound], used: Used) -> Limits:
    """Return what is left of every limit, which is what a child run may use. Fractions of a second count as used."""
    given = tuple(bounds)
    rest = {name: left(given, used, name) for name in LIMITS}
    whole = {name: int(rest[name] or 0) for name in ("duration", "tool_seconds") if rest[name] is not None}
    return replace(Limits(), **{name: value for name, value in {**rest, **whole}.items() if value is not None})


def most(limits: Limits) -> Used:
    """Return the most that a run with these limits can use of each total; 0 where there is no limit."""
    return Used(
        turns=limits.turns or 0,
        tokens=limits.tokens or 0,
        spend=limits.spend or Decimal(0),
        spawns=limits.spawns or 0,
        calls=limits.calls or 0,
        tool_seconds=float(limits.tool_seconds or 0),
    )


def _plain(value: Number) -> int | float | str:
    return str(value) if isinstance(value, Decimal) else round(value, 3) if isinstance(value, float) else value
