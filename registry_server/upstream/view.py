"""One head of another registry, and what was read under it with the client's own trust core."""

from __future__ import annotations

import threading
from datetime import datetime

from registry_server.upstream.pulling import holding
from rye.items.identity import Identity
from rye.registry.client import RegistryClient
from rye.registry.protocol import notes, wire
from rye.registry.protocol.statements import Snapshot
from rye.registry.protocol.tiles import Tile
from rye.registry.store.state import StateStore
from rye.registry.trust.records import ItemHistory, ReleaseRecord, release_files
from rye.registry.trust.trust_error import TrustError
from rye.registry.trust.trusted import TrustedState

_TRIES = 3
"""Recoveries of one namespace that can have come at once."""


class GivenState(StateStore, frozen=True):
    """The trusted state that a client starts with. Nothing is stored but evidence: heads that contradict each other."""

    state: TrustedState | None

    def load(self, origin: str) -> TrustedState | None:
        """Return the state, if it is that registry's."""
        return self.state if self.state is not None and self.state.origin == origin else None

    def origin_at(self, address: str) -> str | None:
        """Return the origin of the state; None at the first contact."""
        del address
        return self.state.origin if self.state is not None else None

    def is_pinned(self, origin: str) -> bool:
        """Whether the state is that registry's."""
        return self.load(origin) is not None


class View:
    """One head of the other registry, and the items that were asked for. Thread-safe."""

    def __init__(
        self,
        client: RegistryClient,
        state: TrustedState,
        seen: list[tuple[int, int]],
        most_items: int,
        *,
        is_followed: bool,
    ) -> None:
        self.client = client
        self._most = most_items
        self.state = state
        self.seen = seen
        self.is_followed = is_followed
        """Whether another server, or this one before its start, read the head
        (:class:`registry_server.upstream.pulling.Following`)."""
        self._lock = threading.Lock()
        """For the client, except where it reads only its head."""
        self._indexes: dict[str, tuple[wire.IndexLine, ...]] = {}
        self.histories: dict[Identity, ItemHistory] = {}
        self.files: dict[str, list[ReleaseRecord]] = {}
        """The releases that name a file, by its hash."""

    @property
    def head(self) -> bytes:
        """The signed head as the other registry wrote it."""
        return (self.state.head or "").encode()

    @property
    def time(self) -> datetime:
        """When the head was signed, by its own word."""
        return Snapshot.parse(notes.parse(wire.decode_head(self.head).snapshot).text).time

    def history(self, identity: Identity) -> ItemHistory | None:
        """Return what the log says about an item, verified with its place in the log; None if it does not exist."""
        found = self.histories.get(identity)
        if found is not None:
            return found
        with holding(self._lock):
            if identity in self.histories:
                return self.histories[identity]
            found = self._read(identity)
            if found is None:
                return None
            self.client.check_logged(found.records)
            if len(self.histories) >= self._most:
                self.files, self.histories, self._indexes = {}, {}, {}
            names = [str(identity), wire.namespace_name(identity.namespace)]
            self._indexes.update(self.client.index_files(names))
            self.histories[identity] = found
            for record in found.records:
                for sha256 in release_files(record.release):
                    self.files.setdefault(sha256, []).append(record)
            return found

    def taken_down(self) -> set[str]:
        """Return the hashes of the files of releases that the other registry's owners took down, as far as they were asked for.
        A file that another release has counts only if the owners named it."""
        records = [record for history in list(self.histories.values()) for record in history.records]
        named, whole, standing = set[str](), set[str](), set[str]()
        for record in records:
            if record.takedown is None:
                standing.update(release_files(record.release))
            else:
                named.update(record.takedown.files)
                whole.update(release_files(record.release))
        return named | (whole - standing)

    def index(self, name: str) -> tuple[wire.IndexLine, ...] | None:
        """Return the lines of an index file; None if the name does not exist."""
        lines = self._indexes.get(name)
        if lines is not None:
            return lines
        with holding(self._lock):
            return self.client.index_files([name]).get(name)

    def read_tile(self, tile: Tile) -> bytes:
        """Return a tile of the log, verified."""
        return self.client.read_tiles([tile])[tile]

    def check_lines(self, lines: list[wire.IndexLine]) -> None:
        """Check that these lines are in the log. Raises TrustError ``leaf-mismatch``."""
        self.client.check_lines(lines)

    def _read(self, identity: Identity) -> ItemHistory | None:
        for _ in range(_TRIES):
            try:
                return self.client.histories([identity]).get(identity)
            except TrustError as error:
                if error.code != "recovery-unaccepted":
                    raise
                # Whether a namespace's new keys are accepted is for each client to decide; here they only date its releases.
                self.client.accept_recovery(str((error.details or {})["statement"]))
        return None
