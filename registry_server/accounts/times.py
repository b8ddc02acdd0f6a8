"""Times and durations as the accounts' tables store them: ``YYYY-MM-DDTHH:MM:SSZ``, which sorts chronologically."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from rye.errors import RyeError
from rye.registry.protocol.lines import write_time

_SPAN = re.compile(r"([1-9][0-9]{0,5})([smhdw])")
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_MOST_DAYS = 3660


def now_text() -> str:
    """The current time."""
    return write_time(datetime.now(UTC))


def after(now: str, seconds: float) -> str:
    """The time a number of seconds after another."""
    return write_time(_read(now) + timedelta(seconds=seconds))


def seconds_between(earlier: str, later: str) -> float:
    """The seconds from one time to another."""
    return (_read(later) - _read(earlier)).total_seconds()


def _read(time: str) -> datetime:
    return datetime.strptime(time, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)


def read_span(text: str) -> int | None:
    """Seconds of ``30m``, ``12h``, ``7d``, ``4w``; None for ``never``. Raises RyeError ``invalid-value``."""
    if text == "never":
        return None
    match = _SPAN.fullmatch(text)
    seconds = int(match[1]) * _UNITS[match[2]] if match else 0
    if not 0 < seconds <= _MOST_DAYS * 86_400:
        raise RyeError(
            "invalid-value",
            f"{text[:80]!r} is not a duration.",
            "Use a form such as 12h, 7d or 4w; or never.",
            what="time span",
        )
    return seconds
