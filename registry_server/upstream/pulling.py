"""How the files of another registry are fetched: within limits of this server's own, or not at all.

What is here is answered by threads that never wait for the other registry. They run inside :func:`without_pulling`, where a file
that is not here, or a lock that a waiting thread holds, raises :class:`PullNeeded`; other threads then do the same work again,
and wait. So a registry that stalls holds up nobody who asks for what was verified before.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from msgspec import Struct
from msgspec.structs import replace

from rye.limits import REGISTRY
from rye.registry.transport.factory import open_transport
from rye.registry.transport.seam import Fetched, NoAnswer, Request

LIMITS = replace(
    REGISTRY, answer_seconds=10.0, file_seconds=30.0, total_seconds=60.0, retries=1, head_stop_seconds=3650 * 86400
)
"""How long this server waits. Heads of any age are accepted here: clients have limits of their own."""
_LOCK_SECONDS = 0.25
"""How long a thread that pulls nothing waits for others like it."""
_here = threading.local()


class PullNeeded(Exception):
    """A file is not here, and this thread must not wait for the other registry."""


@contextmanager
def without_pulling() -> Iterator[None]:
    """A block in which this thread fetches nothing."""
    _here.only = True
    try:
        yield
    finally:
        _here.only = False


@contextmanager
def holding(lock: threading.Lock) -> Iterator[None]:
    """A block that holds a lock under which files are pulled. Raises PullNeeded where this thread must not wait for that."""
    if not lock.acquire(timeout=_LOCK_SECONDS if getattr(_here, "only", False) else -1):
        raise PullNeeded
    try:
        yield
    finally:
        lock.release()


class Pulling(Struct, frozen=True):
    """Fetches files of the other registry, each wave with connections and a time limit of its own."""

    address: str

    def fetch_many(self, requests: Sequence[Request]) -> list[Fetched]:
        """Fetch all of these files (:class:`rye.registry.transport.seam.Transport`)."""
        if not requests:
            return []
        if getattr(_here, "only", False):
            raise PullNeeded
        transport = open_transport(self.address, LIMITS)
        try:
            return transport.fetch_many(requests)
        finally:
            transport.close()

    def close(self) -> None:
        """Do nothing: nothing is open between waves."""


class Following(Struct):
    """Fetches like :class:`Pulling`, but gives a head that one of this registry's servers verified. After the first file that the
    other registry does not answer for, it is asked for nothing more."""

    pulling: Pulling
    head: bytes
    reason: NoAnswer | None = None

    def fetch_many(self, requests: Sequence[Request]) -> list[Fetched]:
        """Fetch all of these files (:class:`rye.registry.transport.seam.Transport`)."""
        asked = [request for request in requests if request.path != "head"]
        if self.reason is not None:
            others: list[Fetched] = [self.reason for _ in asked]
        else:
            others = self.pulling.fetch_many(asked) if asked else []
            self.reason = next((one for one in others if isinstance(one, NoAnswer)), None)
        left = iter(others)
        return [self.head if request.path == "head" else next(left) for request in requests]

    def close(self) -> None:
        """Do nothing: nothing is open between waves."""
