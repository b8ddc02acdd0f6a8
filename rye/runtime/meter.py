"""How much of its limits one run has used, what is left, and which limit it exceeded.

Once a limit is crossed it stays crossed: every later call is refused.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from threading import RLock

from msgspec.structs import replace

from rye.runtime.calls import CallError
from rye.runtime.effects import Clock
from rye.runtime.limits import Bound, Crossing, Limits, Number, Used, crossed, left, minimum, remaining

_COUNTED_AT_CALLS = ("duration", "calls", "tool_seconds")
_COUNTED_AT_TURNS = ("turns", "tokens", "spend", "duration")


class Meter:
    """Counts for one run. Thread-safe. ``policy``: the limits of policies; ``depth``: the depth of the chain at the start."""

    def __init__(self, policy: Limits, bounds: Iterable[Bound], clock: Clock, depth: int, lock: RLock):
        self.crossing: Crossing | None = None
        """The limit that was exceeded, if any."""
        self._bounds = [Bound(policy), *bounds]
        self._used = Used(depth=depth)
        self._model = Used()
        self._clock = clock
        self._started = clock.monotonic()
        self._lock = lock

    @property
    def limits(self) -> Limits:
        """The most that the run may use in total."""
        return minimum(bound.limits for bound in self._bounds)

    def renew(self, policy: Limits) -> None:
        """Replace the limits of policies. What was used so far counts against them."""
        with self._lock:
            self._bounds[0] = Bound(policy)

    @property
    def limits_tools(self) -> bool:
        """Whether tool seconds are limited."""
        return any(bound.limits.tool_seconds is not None for bound in self._bounds)

    def used_now(self) -> Used:
        """Return what has been used so far."""
        with self._lock:
            return replace(self._used, duration=self._clock.monotonic() - self._started)

    def model_use(self) -> dict[str, object] | None:
        """What this run's own model used, without that of its children, for its log; None: nothing. Dollars as text."""
        with self._lock:
            used = self._model
        found = {"turns": used.turns, "tokens": used.tokens, "spend": str(used.spend)}
        return found if used.turns or used.tokens or used.spend else None

    def remaining(self, more: Limits) -> Limits:
        """Return what is left of every limit; ``more``: limits that start to count now."""
        with self._lock:
            used = self.used_now()
            return remaining([*self._bounds, Bound(more, used)], used)

    def left(self, name: str) -> Number | None:
        """Return what is left of one limit, at least 0; None if the run has no such limit."""
        with self._lock:
            return left(self._bounds, self.used_now(), name)

    def seconds_left(self) -> float | None:
        """Return the seconds until the run's time is up; None if it has no limit."""
        found = self.left("duration")
        return float(found) if found is not None else None

    def tool_seconds_left(self) -> float | None:
        """Return the seconds that a tool starting now may take; None if there is no limit."""
        with self._lock:
            given = (self.left("tool_seconds"), self.left("duration"))
        return min((float(seconds) for seconds in given if seconds is not None), default=None)

    def count_calls(self, calls: int, *, beyond: bool = False) -> None:
        """Count calls. Raises CallError ``limit-exceeded`` if a limit is exceeded, unless ``beyond`` allows it."""
        with self._lock:
            if self.crossing is None:
                self._used = self.used_now().plus(Used(calls=calls))
                self.crossing = crossed(self._bounds, self._used, _COUNTED_AT_CALLS)
            if self.crossing is not None and not beyond:
                raise exceeded(self.crossing)

    def count_model(self, *, turns: int = 0, tokens: int = 0, spend: Decimal = Decimal(0)) -> Crossing | None:
        """Count what a model used, and return the limit that was exceeded, if any. For a front end that runs the model."""
        with self._lock:
            more = Used(turns=turns, tokens=tokens, spend=spend)
            self._used, self._model = self.used_now().plus(more), self._model.plus(more)
            if self.crossing is None:
                self.crossing = crossed(self._bounds, self._used, _COUNTED_AT_TURNS)
            return self.crossing

    def check(self) -> Crossing | None:
        """Return the limit that was exceeded, including the time limit, or None."""
        return self.count_model()

    def count_tool(self, seconds: float, given: float | None, *, ended_by_limit: bool) -> None:
        """Count a tool's seconds. Raises CallError ``limit-exceeded`` if it ran out of the seconds it was ``given``."""
        with self._lock:
            self._used = self.used_now().plus(Used(tool_seconds=seconds))
            if ended_by_limit:
                over = crossed(self._bounds, self._used, ("tool_seconds", "duration"))
                self.crossing = self.crossing or over or Crossing("tool_seconds", seconds, given or 0)
                raise exceeded(self.crossing)

    def count_directive(self, depth: int, joins: Limits | None = None) -> None:
        """Count a directive that starts ``depth`` levels below the root. ``joins``: its limits if it joins this run; they
        count from now on. Raises CallError ``limit-exceeded``."""
        with self._lock:
            now = self.used_now()
            used = replace(now.plus(Used(spawns=1)), depth=depth)
            crossing = crossed(self._bounds, used, ("depth", "spawns"))
            if crossing is not None:
                self.crossing = crossing
                raise exceeded(crossing)
            if joins is not None:
                self._used = used
                self._bounds.append(Bound(joins, used))
            else:
                self._used = replace(used, depth=now.depth)

    def charge(self, used: Used) -> None:
        """Count what a child run used. Before it starts it is charged its maximum; afterwards ``used`` returns the rest as
        negative numbers. A child that never reports back has therefore used it all."""
        with self._lock:
            self._used = self.used_now().plus(used)


def exceeded(crossing: Crossing) -> CallError:
    """Return the refusal of a call that exceeds a limit."""
    shown = crossing.as_json()
    message = f"This run exceeded its limit of {shown['maximum']} {crossing.limit}: {shown['current']}."
    hint = "Every later call of this run is refused, including rye_return. Say what is done and what is not."
    return CallError("limit-exceeded", message, hint, details=shown)
