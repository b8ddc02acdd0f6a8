"""All doors of a server: their threads, one pull for many who ask, and what operators see of them."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from typing import Any, TypeVar, cast

from msgspec import Struct

from registry_server.settings import Settings
from registry_server.storage.bounded_threads import BoundedThreads
from registry_server.storage.objects import Objects
from registry_server.upstream.door import Door
from registry_server.upstream.kept_files import Room
from registry_server.upstream.pulling import PullNeeded, without_pulling
from rye.errors import RyeError
from rye.registry.protocol.doors import Upstream, Upstreams
from rye.registry.transport.seam import NoAnswer

_log = logging.getLogger("rye.registry")
HEAD_SECONDS = 1.0
"""How long a reader of the head waits for a newer one: clients wait for 1.8 seconds."""
_BACKGROUND_SECONDS = 600.0
"""How often the newest head is read even if nobody asks, so that the last one is recent when the other registry goes down."""
_T = TypeVar("_T")


class DoorState(Struct, frozen=True):
    """What operators see of a door."""

    name: str
    """The other registry's origin, or its address while that is not known."""
    age: float | None
    """Seconds since the head that is shown was signed; None: none is shown."""
    trouble: str
    """The code of why the newest head could not be read; empty: it was."""


class Doors:
    """The doors of one server. Thread-safe. ``origin``: this registry's own."""

    def __init__(self, settings: Settings, store: Objects, origin: str, is_own: Callable[[str], bool]) -> None:
        self._settings = settings
        self._origin = origin
        self.room = Room(store, settings.upstream_bytes)
        self.all = [Door(rules, self.room, settings, is_own) for rules in settings.upstream]
        self._is_own = is_own
        self._here = {door.rules.address: self._bounded("rye-upstream-here") for door in self.all}
        self._pulling = {door.rules.address: self._bounded("rye-upstream-pull") for door in self.all}
        self._heads = {door.rules.address: self._bounded("rye-upstream-head") for door in self.all}
        self._running: dict[Hashable, Future[Any]] = {}
        self._lock = threading.Lock()
        self._stopping = threading.Event()

    def start(self) -> None:
        """Read the newest heads, now and from time to time."""
        if self.all:
            threading.Thread(target=self._keep_reading, name="rye-upstreams", daemon=True).start()

    def stop(self) -> None:
        """Accept no more work."""
        self._stopping.set()
        for threads in (*self._here.values(), *self._pulling.values(), *self._heads.values()):
            threads.close()

    def find(self, path: str) -> tuple[Door, str] | None:
        """Return the door that a request's path belongs to, and the path below it; None if it belongs to none."""
        for door in self._served():
            beginning = f"/upstream/{door.origin}/"
            if path.startswith(beginning):
                return door, path.removeprefix(beginning)
        return None

    def _served(self) -> list[Door]:
        """The doors whose place nobody else has. Another registry chooses its own origin, so it could be called like this one, or
        lead into the files of a third one (``registry.example/blobs``): then the first one in the settings keeps the place.
        """
        served: list[Door] = []
        for door in self.all:
            if door.origin not in (None, self._origin) and not any(_overlap(door, other) for other in served):
                served.append(door)
        return served

    async def newest_head(self, door: Door) -> None:
        """Look for a newer head, but wait only briefly for the other registry. What another server shows is shown here, too."""
        await self.ask(door, "follow", door.follow)
        if door.is_stale:
            future = self._once((door.rules.address, "head"), self._heads[door.rules.address], door.refresh)
            await asyncio.wait(
                {asyncio.ensure_future(asyncio.shield(asyncio.wrap_future(future)))}, timeout=HEAD_SECONDS
            )

    async def ask(self, door: Door, what: Hashable, work: Callable[[], _T]) -> _T:
        """Run ``work`` in one of the door's threads; whoever asks for the same meanwhile gets the same result. It waits for the
        other registry only where something is not here. Raises RyeError ``busy``, and what ``work`` raises."""
        address = door.rules.address

        def look() -> _T:
            with without_pulling():
                return work()

        try:
            return await _result(self._once((address, "here", what), self._here[address], look))
        except PullNeeded:
            return await _result(self._once((address, what), self._pulling[address], work))

    def offered(self) -> Upstreams:
        """Return what clients can agree to read through this registry: what was verified, and is not this registry's own."""
        return Upstreams(
            [
                Upstream(str(door.origin), door.rules.fingerprint, names)
                for door in self._served()
                if (names := [name for name in door.rules.namespaces if not self._is_own(name)])
            ]
        )

    def states(self) -> list[DoorState]:
        """Return what operators see."""
        states = []
        for door in self.all:
            age, trouble = door.head_age(), door.trouble
            seconds = age.total_seconds() if age is not None else None
            states.append(DoorState(door.origin or door.rules.address, seconds, trouble.code if trouble else ""))
        return states

    def warnings(self) -> list[str]:
        """Return sentences about what does not work. This registry is ready all the same."""
        served = self._served()
        warnings = [
            f"The upstream at {door.rules.address} calls itself {door.origin}, a name that is taken here. It is not served."[
                :500
            ]
            for door in self.all
            if door.origin is not None and door not in served
        ]
        for door, state in zip(self.all, self.states(), strict=True):
            if door.trouble is not None:
                shown = (
                    "nothing of it is shown"
                    if state.age is None
                    else f"its last head is shown, {state.age / 3600:.1f} hours old"
                )
                kind = "does not answer" if isinstance(door.trouble, NoAnswer) else "is refused"
                warnings.append(f"The upstream {state.name} {kind} ({door.trouble.code}); {shown}."[:500])
            warnings += [
                f"The namespace {name} of the upstream {state.name} is not served: this registry has one of that name."
                for name in door.rules.namespaces
                if self._is_own(name)
            ][:3]
        return warnings[:10]

    def _once(self, key: Hashable, threads: BoundedThreads, work: Callable[[], _T]) -> Future[_T]:
        with self._lock:
            running = self._running.get(key)
            if running is not None and not running.done():
                return cast("Future[_T]", running)
            future = threads.submit(work)
            self._running[key] = future
        future.add_done_callback(lambda done: self._forget(key, done))
        return future

    def _forget(self, key: Hashable, done: Future[Any]) -> None:
        with self._lock:
            if self._running.get(key) is done:
                del self._running[key]

    def _bounded(self, name: str) -> BoundedThreads:
        settings = self._settings
        threads = 1 if name.endswith("head") else settings.upstream_threads
        return BoundedThreads(
            name, threads, settings.upstream_waiting, "Too many files of other registries are fetched."
        )

    def _keep_reading(self) -> None:
        while True:
            for door in self.all:
                try:
                    door.refresh()
                except RyeError as error:  # of the store: the next attempt may succeed
                    _log.warning("the upstream %s: %s (%s)", door.rules.address, error.message, error.code)
                except Exception:
                    _log.exception("the upstream %s", door.rules.address)
            if self._stopping.wait(_BACKGROUND_SECONDS if all(door.view for door in self.all) else 5.0):
                return


def _overlap(one: Door, other: Door) -> bool:
    """Whether the files of one door are below the other's, or both have one place."""
    names = f"{one.origin}/", f"{other.origin}/"
    return names[0].startswith(names[1]) or names[1].startswith(names[0])


async def _result(future: Future[_T]) -> _T:
    return await asyncio.shield(asyncio.wrap_future(future))
