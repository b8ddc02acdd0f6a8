"""Whether this machine's clock can be believed: nothing is signed unless the other witnesses of time agree with it.

A head dated in the future stops every client until that time has come, so one wrong clock must not be enough.

Rules:

1. Between batches, the wall clock and the steady clock, which nobody can set, run alike.
2. The database's clock (PostgreSQL) and the store's (a bucket) agree with the wall clock.
3. Without either of these, nothing witnesses the time at a start. So a process that finds the newest head more than 36
   hours old, or in the future, signs nothing until an operator says that the clock is right (``--accept-clock``).
4. The newest head is not in the future: everything after it would be as well.

"Agree" means within the setting ``clock_skew_seconds``. Breaking rules 1 to 3 is ``clock-jumped``, rule 4
``clock-ahead``. Nothing is remembered about a clock that was wrong: when it is right again, signing continues.

Reading goes on meanwhile. A token, a session, a link or a stage ends by the latest of these times, and its span is counted from
the earliest: a wrong clock can shorten it, and never makes it longer.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from registry_server.settings import Settings
from rye.errors import RyeError
from rye.registry.protocol.lines import write_time

CLOCK_ERRORS = frozenset({"clock-ahead", "clock-jumped"})
REST_SECONDS = 36 * 3600
"""A running registry signs every day, so a head this old means that it was off."""
_ANCHOR_SECONDS = 3600.0
"""How long the wall clock is compared with the steady clock's start. Small corrections add up over months."""


def steady_seconds() -> float:
    """Return the seconds since the machine started, including the time that it was suspended, where it can tell."""
    boot = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if boot is None else time.clock_gettime(boot)


class Told(NamedTuple):
    """The time that a clock told."""

    seconds: float
    """Since 1970."""
    steady: float
    """The steady clock at that moment."""


class Believed(NamedTuple):
    """What a clock is compared with: another process of this machine can continue with it."""

    anchor: Told | None
    told: dict[str, Told]
    accepted: bool


class Clock:
    """The wall clock and its witnesses. One thread signs; others may call :meth:`refuse` and read :attr:`drifts`."""

    def __init__(
        self,
        settings: Settings,
        wall: Callable[[], datetime] = lambda: datetime.now(UTC),
        steady: Callable[[], float] | None = None,
        store: Callable[[], float | None] = lambda: None,
    ) -> None:
        """``steady``: None for a clock that has no witnesses, as in a test with a time of its own.

        ``store``: asks the store for its time, in seconds since 1970; None if it has none.
        """
        self._skew = settings.clock_skew_seconds
        self._wall = wall
        self._steady = steady
        self._store = store
        self._anchor: Told | None = None
        """When the wall clock was believed."""
        self._told: dict[str, Told] = {}  # replaced, never changed: requests read it on other threads
        self.accepted = False
        """Whether the operator vouches for the clock at this start."""
        self.drifts: dict[str, float] = {}
        """By how many seconds the wall clock was ahead of each witness, when they were last compared."""

    def now(self) -> datetime:
        """The wall clock's time."""
        return self._wall()

    def latest(self) -> datetime:
        """The latest time that the wall clock or a witness tells. Of two clocks that contradict each other, nobody knows which is
        right; what ends at a time has ended if one of them says so."""
        return max(self._times())

    def earliest(self) -> datetime:
        """The earliest time that the wall clock or a witness tells: what lasts for some time is counted from it."""
        return min(self._times())

    def _times(self) -> list[datetime]:
        now = self._wall()
        if self._steady is None:
            return [now]
        steady = self._steady()
        told = [*self._told.values(), *(() if self._anchor is None else (self._anchor,))]
        return [now, *(datetime.fromtimestamp(one.seconds + steady - one.steady, UTC) for one in told)]

    def believed(self) -> Believed:
        """Return what the clock is compared with."""
        return Believed(self._anchor, dict(self._told), self.accepted)

    def adopt(self, other: Believed) -> None:
        """Compare the clock with what another process of this machine believed, where that is newer."""
        if self._steady is None:
            return
        told = {
            who: other.told[who]
            for who in other.told
            if who not in self._told or other.told[who].steady > self._told[who].steady
        }
        self._told = {**self._told, **told}
        if other.anchor is not None and (self._anchor is None or other.anchor.steady > self._anchor.steady):
            self._anchor = other.anchor
        self.accepted = self.accepted or other.accepted

    def ask_store(self) -> None:
        """Ask the store for its time. It may take as long as a request to the store."""
        if self._steady is None:
            return
        seconds = self._store()
        if seconds is not None:
            self._told = {**self._told, "store": Told(seconds, self._steady())}

    def refuse(self, database: float | None = None) -> datetime:
        """Rules 1 and 2; returns the time. ``database``: its clock now, in seconds since 1970; None: as it was told last.

        Raises RyeError ``clock-jumped``.
        """
        now = self._wall()
        if self._steady is None:
            return now
        steady = self._steady()
        if database is not None:
            self._told = {**self._told, "database": Told(database, steady)}
        drifts = {who: now.timestamp() - told.seconds - (steady - told.steady) for who, told in self._told.items()}
        if self._anchor is not None:
            drifts["steady"] = now.timestamp() - self._anchor.seconds - (steady - self._anchor.steady)
        self.drifts = drifts
        for witness, drift in drifts.items():
            if abs(drift) > self._skew:
                raise _jumped(witness, drift, now)
        return now

    def check(self, newest: datetime | None, database: float | None = None) -> None:
        """Check all rules before something is signed. ``newest``: the time of the newest head; None: there is none yet.

        Raises RyeError ``clock-jumped``, ``clock-ahead``.
        """
        now = self.refuse(database)
        is_alone = self._steady is not None and self._anchor is None and not self._told
        if is_alone and newest is not None and not self.accepted:
            _check_rest(now, newest, self._skew)
        if newest is not None:
            check_not_ahead(now, newest, self._skew)
        self._believe(now)

    def check_step(self, database: float | None = None) -> datetime:
        """Check rules 1 and 2 before the owners' step back in time; returns the time. They vouch for the rest.

        Raises RyeError ``clock-jumped``.
        """
        now = self.refuse(database)
        self._believe(now)
        return now

    def needs_operator(self, error: RyeError) -> bool:
        """Whether the error says that nothing witnesses the time at this start, so that waiting does not help."""
        return error.code == "clock-jumped" and self._anchor is None and not self._told

    def check_shown(self, newest: datetime, database: float | None = None) -> None:
        """Check rules 1, 2 and 4 for someone who only looks. Raises RyeError ``clock-jumped``, ``clock-ahead``."""
        check_not_ahead(self.refuse(database), newest, self._skew)

    def _believe(self, now: datetime) -> None:
        """Measure from now on how far the wall clock runs from the steady one."""
        if self._steady is None:
            return
        steady = self._steady()
        if self._anchor is None or steady - self._anchor.steady > _ANCHOR_SECONDS:
            self._anchor = Told(now.timestamp(), steady)


def check_not_ahead(now: datetime, newest: datetime, skew_seconds: float) -> None:
    """Rule 4. Raises RyeError ``clock-ahead``."""
    if newest > now + timedelta(seconds=skew_seconds):
        raise RyeError(
            "clock-ahead",
            f"The newest head is dated {write_time(newest)}, but it is {_time(now)}: a clock was ahead when it was signed.",
            f"Clients refuse it until then. If this machine's clock is right, the owners can sign the way back: {_BACK}",
        )


_BACK = "rye-registry clock back --reason TEXT"


def _check_rest(now: datetime, newest: datetime, skew_seconds: float) -> None:
    """Rule 3. Raises RyeError ``clock-jumped``."""
    away = (now - newest).total_seconds()
    if away > REST_SECONDS:
        raise RyeError(
            "clock-jumped",
            f"The newest head is dated {write_time(newest)}, {_span(away)} before this machine's clock ({_time(now)}). Either "
            "the registry was off that long, or the clock is wrong.",
            "Compare the clock with another one. If it is right, start once with: rye-registry serve --accept-clock",
        )
    if away < -skew_seconds:
        raise RyeError(
            "clock-jumped",
            f"The newest head is dated {write_time(newest)}, {_span(-away)} after this machine's clock ({_time(now)}).",
            f"Set the clock. If it is right, the log is in the future, and the owners sign the way back: {_BACK}",
        )


def _jumped(witness: str, drift: float, now: datetime) -> RyeError:
    side = "ahead of" if drift > 0 else "behind"
    whose = {
        "steady": "where it should be by the time that has passed since it was last checked",
        "database": "the database's clock",
        "store": "the store's clock",
    }[witness]
    return RyeError(
        "clock-jumped",
        f"The server's clock says {_time(now)}, which is {_span(abs(drift))} {side} {whose}. Nothing is signed with it.",
        "Publish again later. The operator sets the clock; the server continues by itself once it is right again.",
    )


def _time(now: datetime) -> str:
    return write_time(now.astimezone(UTC).replace(microsecond=0))


_UNITS: Sequence[tuple[str, int]] = (("days", 86_400), ("hours", 3600), ("minutes", 60), ("seconds", 1))


def _span(seconds: float) -> str:
    """A length of time in words, in the largest unit that gives at least two."""
    for unit, size in _UNITS:
        if seconds >= 2 * size or size == 1:
            return f"{seconds / size:.0f} {unit}"
    return ""
