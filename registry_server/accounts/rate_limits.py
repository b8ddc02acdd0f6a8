"""Rate limits: attempts per minute, by address or by account, so that guessing is slow.

Each key has a token bucket that refills evenly; attempts beyond it are refused (``too-many-requests``, 429). Addresses of one
IPv6 /64 network count as one, because a single machine can have them all. Counts are per process and not persisted.
"""

from __future__ import annotations

import ipaddress
import threading
import time
from collections import OrderedDict
from collections.abc import Callable

from rye.errors import RyeError

_KEYS = 20_000
"""Number of keys remembered; beyond it, the least recently seen is forgotten."""


class RateLimit:
    """At most ``a_minute`` attempts of one key per minute on average. Thread-safe."""

    def __init__(self, a_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = float(max(a_minute, 1))
        self._clock = clock
        self._lock = threading.Lock()
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()
        """Key → attempts left, and when that was computed."""

    def take(self, key: str) -> None:
        """Count one attempt. Raises RyeError ``too-many-requests``."""
        now = self._clock()
        with self._lock:
            left, then = self._left.pop(key, (self._most, now))
            left = min(left + (now - then) * self._most / 60.0, self._most)
            self._left[key] = (max(left - 1.0, 0.0) if left >= 1.0 else left, now)
            if len(self._left) > _KEYS:
                self._left.popitem(last=False)
        if left < 1.0:
            raise RyeError(
                "too-many-requests",
                f"There were more than {self._most:g} attempts in a minute.",
                "Wait a minute, then try again.",
            )


def address_key(address: str) -> str:
    """What counts as one address: an IPv4 address, or an IPv6 network of 64 bits."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return f"address {address}"
    if isinstance(parsed, ipaddress.IPv6Address):
        if parsed.ipv4_mapped is not None:
            return f"address {parsed.ipv4_mapped}"
        return f"address {ipaddress.ip_network((parsed, 64), strict=False)}"
    return f"address {parsed}"
