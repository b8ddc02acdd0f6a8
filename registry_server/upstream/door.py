"""The door to one other registry: its static files, below this registry's own address.

Rules:

* Everything goes through the client's own trust core (:class:`rye.registry.client.RegistryClient`): pin, roots, rollback, fork,
  the name map, releases, their place in the log. There is no second verifier, and clients verify it all again.
* A new head is shown once everything is here that people need of the items that were asked for so far, and to get from the heads
  that were shown before to it. If the other registry does not answer then, or never again, the last head stays, and with it
  everything that was verified once. How old a head may be is for the clients to decide.
* The servers of a registry share the head, the names and the files. A head only replaces the one that it was verified against, so
  no server shows an older one than another did.
* Index files are served if they are a beginning of what the head proves; bytes if a release that is not held back names them
  (:mod:`registry_server.upstream.holding`). What the other registry's owners took down is not served, and not kept either.
* A namespace that this registry has itself is not served from another one.

All calls block; :mod:`registry_server.upstream.doors` runs them in threads.
"""

from __future__ import annotations

import hashlib
import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TypeVar

import msgspec
from msgspec import Struct

from registry_server.settings import Settings
from registry_server.storage.store_seam import ABSENT, ChangedError
from registry_server.upstream.holding import Examiner, file_sizes, held_releases, with_seen
from registry_server.upstream.kept_files import YOUNG_SECONDS, KeptFiles, Room
from registry_server.upstream.pulling import LIMITS, Following, Pulling, PullNeeded, holding
from registry_server.upstream.view import GivenState, View
from registry_server.upstream_settings import Upstream
from rye.errors import RyeError
from rye.items.identity import Identity
from rye.registry.client import RegistryClient
from rye.registry.mirroring import check_entry_bundle
from rye.registry.protocol import name_map, tiles, wire
from rye.registry.protocol.doors import HeldRelease
from rye.registry.protocol.lines import StatementError, read_identity
from rye.registry.protocol.name_map import NameMapError
from rye.registry.store.state import decode, encode
from rye.registry.transport.seam import Fetched, FetchError, NoAnswer, Request, Transport
from rye.registry.trust.head_times import CLOCK
from rye.registry.trust.namespace_proofs import owners_path
from rye.registry.trust.records import ReleaseRecord
from rye.registry.trust.trust_error import TrustError
from rye.registry.trust.trusted import TrustedState, read_line
from rye.registry.waves import Waves, or_raise
from rye.storage.safe_files import file_lock
from rye.text.json_reading import UNDECODABLE

_log = logging.getLogger("rye.registry")
_T = TypeVar("_T")
_TRIES = 3
_LOOK_SECONDS = 1.0
"""How often names that other servers noted are looked for."""


class _Shown(Struct, frozen=True, forbid_unknown_fields=True):
    """What the servers of this registry share."""

    state: str
    """The trusted state (:func:`rye.registry.store.state.encode`)."""
    seen: list[tuple[int, int]]
    """:data:`registry_server.upstream.holding.Seen`."""


class Door:
    """Serves one other registry. ``is_own``: whether this registry has a namespace itself."""

    def __init__(
        self,
        rules: Upstream,
        room: Room,
        settings: Settings,
        is_own: Callable[[str], bool],
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.rules = rules
        self.trouble: RyeError | None = None
        """Why the newest head could not be read; None: it was."""
        self._now = now
        self._settings = settings
        self._is_own = is_own
        self._pulling = Pulling(rules.address)
        self._files = KeptFiles.of(room, rules.fingerprint[:32])
        self._objects = room.store
        self._place = f"{rules.fingerprint[:32]}/lasting"
        self._checking = threading.Lock()
        self._following = threading.Lock()
        self._followed = ""
        """The tag of what the servers shared last."""
        self._showing_one = threading.Lock()
        self._checked = -1e9
        self._looked = -1e9
        self._confirmed: tuple[int, int] | None = None
        """The size of the head that is shown, and when the other registry last answered with it."""
        self._noted: dict[str, float] = {}
        self._stated: dict[str, float] = {}
        """When the owners of a namespace were asked what they state."""
        self._examiner = Examiner(Waves(self._pulling, self._files), rules.facts)
        self.view: View | None = None
        """None: nothing was verified so far."""

    @property
    def origin(self) -> str | None:
        """The other registry's origin; None if it is not known yet."""
        return self.view.state.origin if self.view is not None else None

    @property
    def is_stale(self) -> bool:
        """Whether the newest head should be looked for."""
        return time.monotonic() - self._checked > self._settings.upstream_check_seconds

    # -- the head ---------------------------------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Show the newest head, if it verifies and everything for it is here. What fails is in ``trouble``."""
        with self._checking:
            if not self.is_stale:
                return
            try:
                if self.view is None:
                    self.follow()
                self._advance()
                self.trouble = None
            except RyeError as error:
                if self.trouble is None or self.trouble.code != error.code:
                    _log.warning("the registry at %s: %s (%s)", self.rules.address, error.message, error.code)
                self.trouble = error
            self._checked = time.monotonic()

    def _advance(self) -> None:
        for _ in range(_TRIES):
            shown, tag = self._shared()
            before = self._newest(shown)
            seen = list(shown.seen) if shown is not None else []
            client = self._client(before, self._pulling)
            client.refresh(self.rules.fingerprint, before.origin if before is not None else None)
            state = client.state
            size, time_now = client.head.checkpoint.size, int(self._now().timestamp())
            if self.view is not None and state.head == self.view.state.head and not self.view.is_followed:
                self._confirmed = size, time_now
                return
            for head in filter(None, (self._confirmed, (size, time_now))):
                seen = with_seen(seen, *head)
            view = View(client, state, seen, self._settings.upstream_names * 2, is_followed=False)
            self._prepare(view)
            data = msgspec.json.encode(_Shown(encode(client.state).decode(), seen))
            try:
                if tag == ABSENT:  # whose files these are, for people; it makes the folder as well
                    self._objects.put(f"{self._place}/origin", f"{state.origin}\n".encode())
                with file_lock(self._settings.data / "upstream.lock", LIMITS.total_seconds):  # for a store in a folder
                    self._objects.replace(f"{self._place}/state", data, tag)
            except ChangedError:
                continue  # another server was faster: continue from what it shows
            view.state = client.state
            self._show(view)
            return

    def follow(self) -> bool:
        """Show the head that another server of this registry shows, or that this one showed before its start; return whether that
        is a newer one. The other registry need not answer."""
        with holding(self._following):
            try:
                shown, tag = self._shared()
                if shown is None or tag == self._followed:
                    return False
                state = decode(shown.state.encode())
                is_newer = self.view is None or _size(state) > _size(self.view.state)
                if is_newer:
                    client = self._client(state, Following(self._pulling, (state.head or "").encode()))
                    client.refresh(self.rules.fingerprint, state.origin)
                    view = View(client, state, list(shown.seen), self._settings.upstream_names * 2, is_followed=True)
                    self._prepare(view)
                    self._show(view)
                self._followed = tag
            except RyeError as error:
                _log.warning("a head of %s cannot be shown: %s (%s)", self.rules.address, error.message, error.code)
                return False
            return is_newer

    def _show(self, view: View) -> None:
        with self._showing_one:
            if self.view is None or _size(view.state) >= _size(self.view.state):
                self.view = view

    def _prepare(self, view: View) -> None:
        """Have everything here for the items that were asked for, and for clients that know an earlier head."""
        size = view.client.head.checkpoint.size
        wanted = {tile for old, _ in view.seen if 0 < old < size for tile in tiles.consistency_tiles(old, size)}
        try:
            view.client.read_tiles(wanted)
        except (FetchError, PullNeeded):
            if not view.is_followed:
                raise
        for identity in self._names():
            try:
                view.history(identity)
            except PullNeeded:  # another server showed this head without it
                continue
            except RyeError as error:
                if self.view is not None and identity in self.view.histories:
                    raise  # it was good under the head before: that one stays
                _log.warning("%s of %s: %s (%s)", identity, self.rules.address, error.message, error.code)
        self._files.forget(view.taken_down() - (self.view.taken_down() if self.view is not None else set()))

    def _client(self, state: TrustedState | None, transport: Transport) -> RegistryClient:
        store = GivenState(self._settings.data / "registries", state)  # next to it, ``evidence/`` is written
        return RegistryClient(self.rules.address, transport, store, self._files, limits=LIMITS, now=self._now)

    def _shared(self) -> tuple[_Shown | None, str]:
        data, tag = self._objects.get_tagged(f"{self._place}/state")
        try:
            return (None if data is None else msgspec.json.decode(data, type=_Shown)), tag
        except UNDECODABLE as error:
            raise RyeError(
                "state-damaged",
                f"What this registry knows of {self.rules.address} is damaged: {str(error)[:200]}.",
                f"Delete {self._place}/state in the store `upstream`: the next contact counts as the first.",
            ) from error

    def _newest(self, shown: _Shown | None) -> TrustedState | None:
        """The state with the largest head of what the servers share and what this one has shown."""
        known = [decode(shown.state.encode())] if shown is not None else []
        known += [self.view.state] if self.view is not None else []
        return max(known, key=_size, default=None)

    # -- names ------------------------------------------------------------------------------------------------------------

    def _names(self) -> list[Identity]:
        """The items that were asked for, those last asked for first; what is beyond the limit is forgotten."""
        listed = sorted(((at, path) for path, _, at in self._objects.listing(f"{self._place}/names")), reverse=True)
        most = self._settings.upstream_names
        self._objects.delete_all([path for _, path in listed[most:]])
        found = self._objects.get_all([path for _, path in listed[:most]])
        identities = []
        for data in (data for data in found if data is not None):
            with suppress(StatementError):  # damaged: it is noted again when somebody asks for it
                identities.append(read_identity(data.decode("utf-8", "replace")))
        return [identity for identity in identities if identity.namespace in self.rules.namespaces]

    def _note(self, identity: Identity) -> None:
        name = str(identity)
        if time.monotonic() - self._noted.get(name, -1e9) > YOUNG_SECONDS / 2:
            path = f"{self._place}/names/{hashlib.sha256(name.encode()).hexdigest()}"
            self._objects.put_soon(path, name.encode())
            if len(self._noted) > self._settings.upstream_names:
                self._noted.clear()
            self._noted[name] = time.monotonic()

    # -- files ------------------------------------------------------------------------------------------------------------

    def file(self, path: str) -> bytes:
        """Return a file, except bytes of items. Raises RyeError ``not-found``, and what fails."""
        return self._followed_by(lambda view: self._file(view, path))

    def _followed_by(self, work: Callable[[View], _T]) -> _T:
        """Call ``work`` again if a file is missing and another server shows a newer head, which may lead to it."""
        try:
            return work(self._showing())
        except RyeError as error:
            if error.code not in ("not-found", "fetch-not-found") or not self.follow():
                raise
        return work(self._showing())

    def _file(self, view: View, path: str) -> bytes:
        top, _, rest = path.partition("/")
        if path == "head":
            return view.head
        if path == "checkpoint":
            return wire.decode_head(view.head).checkpoint.encode()
        if path == "config.json":
            return wire.encode_config(wire.Config(wire.PROTOCOL_VERSION, view.state.origin, None))
        if path == CLOCK:
            return self._pull(Request(CLOCK, LIMITS.index_bytes))
        if top == "root" and int(rest) <= len(view.state.roots):
            return view.state.roots[int(rest) - 1].encode()
        if top == "tile":
            return self._tile(view, path)
        if top == "map":
            return self._node(rest)
        if top == "index":
            return self._index(view, rest)[1]
        if top == "owners" and rest in self.rules.namespaces:
            self._refuse_own(rest)
            return self._owners(view, rest)
        raise absent(path)

    def held(self, sha256: str) -> list[HeldRelease]:
        """Return what is held back of an item's index file."""
        return self._followed_by(lambda view: self._held_of(view, self._index(view, sha256)[0]))

    def blob(self, sha256: str, may_read: Callable[[str], bool]) -> bytes:
        """Return a file of a release that is not held back, in a namespace that the caller may read.

        Raises RyeError ``not-found``, ``release-held``, ``taken-down``, ``namespace-conflict``, and what fails.
        """
        view = self._showing()
        if sha256 not in view.files:
            self._look_for_names(view)
        records = [record for record in view.files.get(sha256, []) if may_read(record.identity.namespace)]
        if not records:
            raise absent(f"blobs/{sha256}")
        refusals = [
            _taken_down(record) for record in records if record.takedown is not None and sha256 in record.takedown.files
        ]
        for record in records if not refusals else ():
            refusal = self._refusal(view, record)
            if refusal is None:
                return Waves(self._pulling, self._files).blobs([(sha256, file_sizes(record)[sha256])])[sha256]
            refusals.append(refusal)
        raise refusals[0]

    def _refusal(self, view: View, record: ReleaseRecord) -> RyeError | None:
        try:
            self._refuse_own(record.identity.namespace)
        except RyeError as error:
            return error
        if record.takedown is not None:
            return _taken_down(record)
        subject = f"{record.identity} {record.version}"
        for held in self._held(view, record.identity):
            if held.version == record.version:
                until = f" until {held.until}" if held.until is not None else ""
                hint = "The operator of this registry decides that: [[upstream]] in registry.toml."
                return RyeError("release-held", f"{subject} is held back: {held.why}{until}.", hint)
        return None

    def _held_of(self, view: View, name: str) -> list[HeldRelease]:
        return [] if name.startswith(f"{wire.NAMESPACE}:") else self._held(view, read_identity(name))

    def _held(self, view: View, identity: Identity) -> list[HeldRelease]:
        history = view.history(identity)
        if history is None:
            return []
        return held_releases(history, self.rules, view.seen, self._now(), self._examiner.examine)

    def _tile(self, view: View, path: str) -> bytes:
        level, index, width, is_bundle = _coordinates(path)
        size = view.client.head.checkpoint.size
        if index * tiles.WIDTH + width > size >> (tiles.HEIGHT * level):
            raise absent(path)
        tile = tiles.tile_at(level, index, size)
        data = view.read_tile(tile)
        if not is_bundle:
            return data[: width * tiles.HASH_BYTES]
        kept = self._files.get_file(tile.entries_path)
        if kept is not None:
            try:
                entries = check_entry_bundle(tile, tiles.decode_bundle(kept, tile.width), data)
                return tiles.encode_bundle(entries[:width])
            except RyeError:
                kept = None
        pulled = self._pull(Request(tile.entries_path, tile.width * (2 + tiles.MAX_ENTRY_BYTES)))
        entries = check_entry_bundle(tile, tiles.decode_bundle(pulled, tile.width), data)
        self._files.put_file(tile.entries_path, pulled)
        return tiles.encode_bundle(entries[:width])

    def _node(self, sha256: str) -> bytes:
        data = self._files.get(sha256)
        if data is None:
            data = self._pull(Request(name_map.node_path(sha256), LIMITS.map_node_bytes))
            _check_hash(data, sha256)
        try:
            name_map.decode_node(data)  # nothing else is passed on under this path
        except NameMapError as error:
            raise absent(f"map/{sha256}") from error
        self._files.put(data)
        return data

    def _index(self, view: View, sha256: str) -> tuple[str, bytes]:
        """Return the name of an index file and its content."""
        data = self._files.get(sha256)
        if data is None:
            data = self._pull(Request(f"index/{sha256}", LIMITS.index_bytes))
            _check_hash(data, sha256)
        lines = wire.decode_index(data)
        statement = read_line(lines[0], f"index/{sha256}").statement if lines else None
        namespace = getattr(statement, "namespace", None)
        identity = getattr(statement, "identity", None)
        name = str(identity) if isinstance(identity, Identity) else wire.namespace_name(str(namespace))
        owner = identity.namespace if isinstance(identity, Identity) else namespace
        if owner not in self.rules.namespaces:
            raise absent(f"index/{sha256}")
        self._refuse_own(str(owner))
        current = view.index(name)
        if current is None or current[: len(lines)] != lines:
            raise absent(f"index/{sha256}")
        self._files.put(data)
        if isinstance(identity, Identity) and view.history(identity) is not None:
            self._note(identity)
        return name, data

    def _owners(self, view: View, namespace: str) -> bytes:
        """What the owners of a namespace stated about themselves; the last answer if the other registry gives none."""
        path = owners_path(namespace)
        kept = self._files.get_file(path)
        is_new = time.monotonic() - self._stated.get(namespace, -1e9) < self._settings.upstream_check_seconds
        fetched: Fetched | None = kept if is_new or isinstance(self.trouble, NoAnswer) else None
        if fetched is None:
            fetched = self._pulling.fetch_many([Request(path, LIMITS.owners_bytes)])[0]
            self._stated[namespace] = time.monotonic()
        if isinstance(fetched, FetchError) and fetched.code != "fetch-not-found":
            if kept is None:
                raise fetched
            fetched = kept
        size = view.client.head.checkpoint.size
        stated = wire.decode_index(fetched if isinstance(fetched, bytes) else b"")
        lines = [line for line in stated if line.log < size]
        view.check_lines(lines)
        checked = wire.encode_index(lines)
        if checked != kept:
            self._files.put_file(path, checked)
        return checked

    def _look_for_names(self, view: View) -> None:
        """Other servers of this registry may have been asked for items that this one was not."""
        if time.monotonic() - self._looked > _LOOK_SECONDS:
            self._looked = time.monotonic()
            for identity in self._names():
                if identity not in view.histories:
                    view.history(identity)

    def _refuse_own(self, namespace: str) -> None:
        if self._is_own(namespace):
            raise RyeError(
                "namespace-conflict",
                f"This registry has a namespace {namespace!r} of its own, so it serves none of that name from {self.origin}.",
                "Take it out of `namespaces` under [[upstream]] in registry.toml.",
            )

    def _showing(self) -> View:
        if self.view is None:
            raise self.trouble or NoAnswer(
                "fetch-unreachable", f"Nothing of the registry at {self.rules.address} was verified yet.", "Try again."
            )
        return self.view

    def _pull(self, request: Request) -> bytes:
        return or_raise(self._pulling.fetch_many([request])[0])

    def head_age(self) -> timedelta | None:
        """How long ago the head that is shown was signed; None: none is shown."""
        return self._now() - self.view.time if self.view is not None else None


def _taken_down(record: ReleaseRecord) -> RyeError:
    reason = record.takedown.reason if record.takedown is not None else ""
    return RyeError("taken-down", f"{record.identity} {record.version} was taken down: {reason}", None)


def absent(path: str) -> RyeError:
    """Return the error for a file that does not exist, or that this registry does not serve."""
    return RyeError(
        "not-found", f"There is nothing at {path[:200]}.", "Only the namespaces that the operator allows are served."
    )


def _check_hash(data: bytes, sha256: str) -> None:
    found = hashlib.sha256(data).hexdigest()
    if found != sha256:
        raise TrustError("index-hash", f"The other registry gave a file with the hash {found} for {sha256}.")


def _coordinates(path: str) -> tuple[int, int, int, bool]:
    """The level, index and width of a tile's path, and whether it is a bundle of entries. The path's form was checked."""
    _, level, place = path.split("/", 2)
    place, _, width = place.partition(".p/")
    index = int(place.replace("x", "").replace("/", ""))
    is_bundle = level == "entries"
    return (0 if is_bundle else int(level)), index, int(width or tiles.WIDTH), is_bundle


def _size(state: TrustedState) -> int:
    checkpoint = state.checkpoint
    return -1 if checkpoint is None else checkpoint.size
