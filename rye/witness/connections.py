"""Which connections a witness holds, and which it ends: those that last too long, and one for each newcomer when it has enough.

Nobody who holds many connections keeps others out: the address with most of them loses the one that has waited longest. Nothing
here opens or closes anything; times are seconds of one clock that nobody sets.
"""

from __future__ import annotations

import ipaddress
from collections import Counter
from typing import Generic, TypeVar

from msgspec import Struct

from rye.limits import WITNESS, WitnessLimits

_T = TypeVar("_T")


class Held(Struct):
    """A connection: whose it is, since when, and until when its present request may take."""

    network: str
    opened: float
    until: float
    is_answered: bool = False
    """Whether its request is complete, and its answer is being made or sent."""


class Connections(Generic[_T]):
    """The connections of one server, by what carries them. Not thread-safe."""

    def __init__(self, limits: WitnessLimits = WITNESS) -> None:
        self._limits = limits
        self._held: dict[_T, Held] = {}

    def open(self, connection: _T, address: str, now: float) -> _T | None:
        """Take a connection. Return the one that ends for it; None: there is room."""
        ending = self._most_dispensable() if len(self._held) >= self._limits.connections else None
        if ending is not None:
            del self._held[ending]
        self._held[connection] = Held(network_of(address), now, now + self._limits.request_seconds)
        return ending

    def begin(self, connection: _T, now: float) -> bool:
        """Wait for a connection's next request. False if the connection has lasted long enough, or was ended."""
        held = self._held.get(connection)
        if held is None or now >= held.opened + self._limits.connection_seconds:
            return False
        held.until, held.is_answered = now + self._limits.request_seconds, False
        return True

    def answer(self, connection: _T) -> None:
        """Note that the request of a connection is complete."""
        held = self._held.get(connection)
        if held is not None:
            held.is_answered = True

    def close(self, connection: _T) -> None:
        """Forget a connection."""
        self._held.pop(connection, None)

    def overdue(self, now: float) -> list[_T]:
        """Return the connections whose request has taken too long."""
        return [connection for connection, held in self._held.items() if now >= held.until]

    def _most_dispensable(self) -> _T:
        counts = Counter(held.network for held in self._held.values())
        most = max(counts.values())
        candidates = (one for one, held in self._held.items() if counts[held.network] == most)
        return min(candidates, key=lambda one: (self._held[one].is_answered, self._held[one].until))


def network_of(address: str) -> str:
    """What counts as one client: an IPv4 address, and the /64 of an IPv6 address, of which one client has as many as it likes."""
    try:
        read = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(read, ipaddress.IPv4Address):
        return str(read)
    return str(read.ipv4_mapped or ipaddress.ip_network((read, 64), strict=False))
