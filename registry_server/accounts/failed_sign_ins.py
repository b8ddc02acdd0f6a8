"""Sign-ins that failed, as audit events: the first few of every ten minutes one by one, the others as a count.

Whoever floods the registry with attempts adds a bounded number of events. Each process counts by itself.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence

import sqlalchemy as sa
from msgspec import Struct

from registry_server.accounts import audit_events

SINGLE = 10
"""Failures of one window that are events of their own."""
WINDOW_SECONDS = 600.0


class FailedSignIn(Struct, frozen=True, kw_only=True):
    """One failure, or several of one kind. ``way``: as in :meth:`registry_server.api.metrics.Metrics.signed_in`."""

    time: str
    way: str
    code: str
    address: str = ""
    """Of the client; empty for several."""
    count: int = 1


class FailedSignIns:
    """What is not recorded yet. Thread-safe; takes a bounded amount of memory."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._begun = clock()
        self._singles = 0
        self._waiting: list[FailedSignIn] = []
        self._counted: Counter[tuple[str, str]] = Counter()

    def note(self, way: str, code: str, address: str, now: str) -> None:
        """Note a failure."""
        with self._lock:
            self._end_window(now)
            if self._singles < SINGLE:
                self._singles += 1
                self._waiting.append(FailedSignIn(time=now, way=way, code=code, address=address))
            else:
                self._counted[way, code] += 1

    def take(self, now: str, *, is_last: bool = False) -> list[FailedSignIn]:
        """What is to be recorded now. ``is_last``: also what the window has counted so far."""
        with self._lock:
            self._end_window(now, is_last=is_last)
            taken, self._waiting = self._waiting, []
            return taken

    def keep(self, taken: Sequence[FailedSignIn]) -> None:
        """Keep for the next time what could not be recorded."""
        with self._lock:
            self._waiting[:0] = taken

    def _end_window(self, now: str, *, is_last: bool = False) -> None:
        if not is_last and self._clock() < self._begun + WINDOW_SECONDS:
            return
        self._waiting += [
            FailedSignIn(time=now, way=way, code=code, count=count)
            for (way, code), count in sorted(self._counted.items())
        ]
        self._counted.clear()
        self._singles, self._begun = 0, self._clock()


def record(connection: sa.Connection, failed: Sequence[FailedSignIn]) -> None:
    """Append the events."""
    for each in failed:
        audit_events.record(
            connection,
            each.time,
            "sign-in.refused",
            f"sign-in:{each.way}",
            actor="registry",
            address=each.address,
            detail={"code": each.code, "count": each.count},
        )
