"""What every page is made for: the registry with its head, a reader, and an hour. Pure."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from registry_server.pages.operator import Operator, Way, ways


class Head(Struct, frozen=True):
    """The newest head, as the foot of every page shows it."""

    size: int
    """The size of the log."""
    time: datetime
    """The time of its snapshot."""
    tag: str
    """A text that is different for every head."""


class Site(Struct, frozen=True):
    """What every page says about the registry."""

    origin: str
    fingerprint: str
    """SHA-256 of root 1: what clients pin."""
    address: str
    """The registry's address, without a trailing slash."""
    head: Head | None = None
    """Only the foot of a page shows it. None: no head is known, or the site belongs to a view of the registry."""
    operator: Operator = Operator()
    """Who is responsible for it."""

    def ways(self, kind: str, identifier: str, version: str) -> tuple[Way, ...]:
        """Return the programs other than rye that can install an item from here."""
        return ways(self.address, self.origin, self.operator.offers, kind, identifier, version)


class Reader(Struct, frozen=True):
    """The properties of a reader that pages depend on."""

    namespaces: tuple[str, ...] | None = None
    """The namespaces whose items the reader may see, sorted; None: all."""
    is_private: bool = False
    """Whether the registry is not public: shared caches must not store its pages."""

    def may_read(self, namespace: str) -> bool:
        """Whether the reader may see a namespace's items."""
        return self.namespaces is None or namespace in self.namespaces


class Now(Struct, frozen=True):
    """The hour for which a page is made, so that ages are the same for everyone who gets it."""

    hour: datetime

    def age(self, then: datetime) -> str:
        """Return how long ago ``then`` is, in words: the largest unit that gives at least two."""
        hours = int((self.hour - then).total_seconds() // 3600)
        for unit, size in (("years", 8_760), ("months", 730), ("days", 24), ("hours", 1)):
            if hours >= 2 * size:
                return f"{hours // size} {unit} ago"
        if hours < -1:
            return "dated in the future"
        return "today" if then.date() >= self.hour.date() else "yesterday"

    def is_past(self, then: datetime) -> bool:
        """Whether ``then`` is past."""
        return then <= self.hour
