"""What keeps a release from being installed although its index says nothing of it: a takedown that this machine saw, and what a
registry in front of its own holds back.

What one run saw of takedowns and advisories counts from then on, whatever the registry shows or withholds later
(docs/explanation/security.md). A registry that serves another one's files to its members may hold some back, by a policy of its
own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from rye.items.identity import Identity
from rye.registry.protocol.doors import MAX_HELD_BYTES, decode_held, door_host, held_path
from rye.registry.store.pins import read_held, read_withdrawn, remember_held, remember_withdrawn
from rye.registry.store.seen_advisories import remember_advisories
from rye.registry.transport.seam import FetchError, Request
from rye.registry.trust.records import ItemHistory
from rye.registry.trust.trust_error import TrustError
from rye.registry.waves import Waves

_SEEN = "because this machine saw a takedown of it"


class SeenInRun:
    """``folder``: that of the trusted states."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.withdrawn: set[str] = set()
        """``kind:id version`` of each release that was taken down."""
        self._advised: dict[Identity, ItemHistory] = {}
        """Histories in which there are advisories, or were."""

    def take(
        self, origin: str, histories: Mapping[Identity, ItemHistory], *, was_asked: bool, waits: bool
    ) -> dict[Identity, dict[str, str]]:
        """Take what these histories say. Return what must be held back of them, by version: releases whose takedown was seen
        under a newer head, which a failed run did not keep. ``was_asked``: the registry showed the head in this run. ``waits``:
        entries of the log wait for witnesses.

        Raises TrustError ``takedown-vanished``, ``not-cosigned``."""
        self._advised.update((name, each) for name, each in histories.items() if each.advisories or each.disowned)
        known = read_withdrawn(self._folder, origin)
        held: dict[Identity, dict[str, str]] = {}
        for record in (record for history in histories.values() for record in history.records):
            release = f"{record.identity} {record.version}"
            if record.takedown is not None:
                self.withdrawn.add(release)
            elif release not in known:
                continue
            elif not was_asked:
                held.setdefault(record.identity, {})[record.version] = _SEEN
            else:
                was = f"{release} was taken down when this machine last saw it, but"
                if waits:  # seen in a head that witnesses have not cosigned yet
                    raise TrustError("not-cosigned", f"{was} enough witnesses have not cosigned that so far.")
                raise TrustError("takedown-vanished", f"{was} {origin} no longer shows that.")
        return held

    def has_new_takedowns(self, origin: str) -> bool:
        """Whether this run saw a takedown that no run before had seen."""
        return not self.withdrawn <= read_withdrawn(self._folder, origin)

    def remember(self, origin: str, size: int) -> None:
        """Write it down. ``size``: of the log that was seen. Raises OSError, RyeError."""
        if self.withdrawn:
            remember_withdrawn(self._folder, origin, self.withdrawn)
        if self._advised:
            remember_advisories(self._folder, origin, size, self._advised.values())


class HeldBack:
    """What is held back of the items that one run asked about: why, in words, by version. ``folder``: of the trusted states."""

    def __init__(self, address: str, folder: Path, waves: Waves) -> None:
        self._address, self._folder, self._waves = address, folder, waves
        self._found: dict[Identity, dict[str, str]] = {}

    def of(self, identity: Identity) -> Mapping[str, str]:
        """What is held back of an item that was asked about."""
        return self._found.get(identity, {})

    def look_up(
        self,
        origin: str,
        histories: Mapping[Identity, ItemHistory],
        index_of: Callable[[str], str | None],
        *,
        is_silent: bool,
    ) -> None:
        """Ask about the items that were not asked about yet. ``index_of``: the hash of a name's index file. ``is_silent``: the
        registry is not asked, so what it said last holds: of versions that exist, so that it cannot fill the disk with others.

        Raises FetchError, WireError."""
        host = door_host(self._address, origin)
        new = [identity for identity in histories if identity not in self._found]
        if host is None or not new:
            return
        policy = f"by policy of {urlsplit(host).netloc}"
        if is_silent:
            told = read_held(self._folder, origin, self._address)
            for identity in new:
                self._take(identity, told.get(str(identity), {}), policy)
            return
        hashes = {identity: found for identity in new if (found := index_of(str(identity))) is not None}
        requests = [Request(held_path(sha256), MAX_HELD_BYTES) for sha256 in hashes.values()]
        answers: dict[str, dict[str, str]] = {}
        for identity, fetched in zip(hashes, self._waves.fetch(requests), strict=True):
            if isinstance(fetched, FetchError):
                if fetched.code != "fetch-not-found":
                    raise fetched
                self._found[identity] = {}  # a copy of the files in a folder: it holds nothing back
                continue
            exist = {record.version for record in histories[identity].records}
            words = {version: said for version, said in decode_held(fetched).items() if version in exist}
            answers[str(identity)] = words
            self._take(identity, words, policy)
        remember_held(self._folder, origin, self._address, answers)

    def _take(self, identity: Identity, words: Mapping[str, str], policy: str) -> None:
        self._found[identity] = {version: f"{policy}: {said}" for version, said in words.items()}
