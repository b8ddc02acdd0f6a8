"""The registry client that the rest of the program uses: names go in, verified records and bytes come out.

It is a thin shell around :mod:`rye.registry.trust.trusted`. It fetches in waves, caches what it verified, and returns
only verified content. It never decides to trust a registry: for one that is not pinned, it returns a proposal
(:class:`~rye.registry.first_contact.PinProposal`).

Nothing is remembered until :meth:`RegistryClient.commit`. Used as a context manager, the client commits when the block
ends without an error. After an error it keeps what protects this user (:meth:`RegistryClient.keep`), whatever the error was,
so that nobody can take it back by silencing the registry before the next run; nothing else of a failed run is remembered. Who
follows the policy of a registry's owners commits as soon as a new one arrives (:attr:`RegistryClient.took_policy`): what fails
under the old one may be allowed now.

A registry that does not answer is an error. With ``survives_outages``, the client falls back to the last verified head
while that is recent enough, and sends the registry no further requests in that run. One that shows a head and then falls silent
is an error here, since answers under two heads must not be mixed. A caller that can go on without it opens it again with that
``silence``. Heads are requested by tag, so an unchanged head costs an empty answer.

The waves: the head (with the newest root, if the registry is new); tiles that prove the head; nodes of the name map,
one wave per level; index files with the keysets of their namespaces; blobs; tiles that prove the releases. Cached
files are not fetched again, so only the nodes of the map that changed are. Offline, everything comes from the cache.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from types import TracebackType
from typing import TYPE_CHECKING, Required, Self, TypedDict

from msgspec.structs import replace

from rye.errors import RyeError
from rye.items.identity import Identity
from rye.items.kinds import KINDS
from rye.limits import REGISTRY, RegistryLimits
from rye.registry.first_contact import AcceptRoot, first_contact, offered
from rye.registry.head_request import HeadRequest
from rye.registry.judgements import Judgements
from rye.registry.protocol import merkle, notes, tiles, wire
from rye.registry.protocol.doors import (
    MAX_UPSTREAMS_BYTES,
    UPSTREAMS_PATH,
    Upstream,
    door_host,
)
from rye.registry.protocol.name_map import Node
from rye.registry.protocol.notes import SignedNote
from rye.registry.protocol.statements import AttachedFile, Checkpoint, FileEntry
from rye.registry.protocol.tiles import Tile
from rye.registry.protocol.wire import Config
from rye.registry.proved_names import ProvedNames
from rye.registry.released import ItemFiles, Proofs
from rye.registry.store.cache import Cache
from rye.registry.store.pins import (
    Pinned,
    demanded_witnesses,
    last_removal,
    make_pinned,
    policy_witnesses,
    witnesses_path,
)
from rye.registry.store.state import StateStore
from rye.registry.transport.factory import open_transport
from rye.registry.transport.seam import (
    FetchError,
    NoAnswer,
    OfflineTransport,
    Request,
    Transport,
)
from rye.registry.trust.keysets import KeysetChain, log_keys
from rye.registry.trust.namespace_proofs import NamespaceOwners, judge_owners, owners_path
from rye.registry.trust.records import (
    PERMANENT,
    ItemHistory,
    ReleaseRecord,
    check_installable,
    judge,
    with_held,
    without_distrusted,
)
from rye.registry.trust.trust_error import TrustError
from rye.registry.trust.trusted import TrustedHead, TrustedState
from rye.registry.waves import Waves
from rye.registry.withheld import HeldBack, SeenInRun
from rye.storage.verdicts import Verdicts
from rye.text.lazy import lazy_module

if TYPE_CHECKING:
    from typing import Unpack

    from rye.registry.store import witness_demands
    from rye.registry.trust import cosigned, policies
    from rye.registry.trust.cosigned import CosignedHead, Waiting, WitnessDemand
else:  # most users demand no witnesses
    cosigned = lazy_module("rye.registry.trust.cosigned")
    policies = lazy_module("rye.registry.trust.policies")
    witness_demands = lazy_module("rye.registry.store.witness_demands")


class Options(TypedDict, total=False):
    """How a client is opened."""

    store: Required[StateStore]
    cache: Required[Cache]
    offline: bool
    survives_outages: bool
    """Use the last verified head for up to ``outage_seconds`` if the registry does not answer."""
    patient: bool
    """Wait for an answer as long as without that fallback."""
    silence: NoAnswer | None
    """Why the registry was silent when this command tried before: it is not asked again."""
    verdicts: Verdicts | None
    distrusted: frozenset[str]
    """The fingerprints of keys that this user revoked; what they signed counts as revoked."""
    witnesses: WitnessDemand | None
    """What the user demands of the registry's witnesses from now on; None: what they demanded before, if anything."""
    writes: bool
    """Read the newest head all the same, to continue from it."""
    joins: bool
    """Follow the policy of the registry's owners from now on; who does so already, does."""


class RegistryClient:
    """One registry during one run."""

    def __init__(
        self,
        address: str,
        transport: Transport,
        store: StateStore,
        cache: Cache,
        *,
        limits: RegistryLimits = REGISTRY,
        offline: bool = False,
        survives_outages: bool = False,
        patient: bool = False,
        silence: NoAnswer | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        verdicts: Verdicts | None = None,
        distrusted: frozenset[str] = frozenset(),
        witnesses: WitnessDemand | None = None,
        is_carried: bool = False,
        writes: bool = False,
        joins: bool = False,
    ):
        """Use :meth:`open`; this is for tests that bring their own transport. ``is_carried``: the files come from a
        copy that was carried here, so its cosignatures may be as old as its head."""
        self.address = address.rstrip("/")
        self.distrusted = distrusted
        """The fingerprints of the keys that this user revoked."""
        self._store = store
        self._cache = cache
        self._waves = Waves(OfflineTransport() if offline else transport, cache)
        self._limits = limits
        self._offline = offline
        self._now = now
        self._heads = HeadRequest(
            self.address,
            self._waves,
            store.folder,
            limits,
            survives=survives_outages,
            patient=patient,
            now=now,
            silence=silence,
        )
        self._judgements = Judgements(verdicts or Verdicts(None), limits.index_bytes)
        self._loaded: TrustedState | None = None
        """The stored state, if the registry is pinned at this address."""
        self._state: TrustedState | None = None
        self._head: TrustedHead | None = None
        self._config: Config | None = None
        self._nodes: dict[str, Node] = {}
        self._found: ProvedNames | None = None
        self._chains: dict[str, KeysetChain] = {}
        self._seen = SeenInRun(store.folder)
        self._held = HeldBack(self.address, store.folder, self._waves)
        self._given = witnesses
        self._demand: WitnessDemand | None = None
        self._waiting: Waiting | None = None
        self._cosigned: CosignedHead | None = None
        self._removal = self._witnesses = ""
        """What the pin's files said when the head was accepted: another program may change them during this run."""
        self._carried = offline or is_carried
        self._writes = writes
        self._joins = joins

    @classmethod
    def open(
        cls,
        address: str,
        *,
        accept_root: AcceptRoot = None,
        origin: str | None = None,
        allow_http: bool = False,
        token: str | Callable[[], str | None] | None = None,
        **options: Unpack[Options],
    ) -> RegistryClient:
        """Return a client with a fresh, verified head. ``origin``: the registry that the project or lock expects there.

        Raises TrustError, FetchError, StateError and RyeError ``registry-unpinned``.
        """
        client = cls.unasked(address, allow_http=allow_http, token=token, **options)
        return client.opened(accept_root, origin)

    @classmethod
    def unasked(
        cls,
        address: str,
        *,
        limits: RegistryLimits = REGISTRY,
        allow_http: bool = False,
        token: str | Callable[[], str | None] | None = None,
        **options: Unpack[Options],
    ) -> RegistryClient:
        """Return a client that was not opened yet. Raises UsageError ``bad-argument``."""
        transport: Transport = OfflineTransport()
        if not options.get("offline", False):
            transport = open_transport(address, limits, allow_http=allow_http, token=token)
        return cls(address, transport, limits=limits, **options)

    def opened(self, accept_root: AcceptRoot = None, origin: str | None = None) -> Self:
        """Accept the newest head and return the client, which is closed if that fails. Raises as :meth:`open` does."""
        try:
            self.refresh(accept_root, origin)
        except BaseException:
            self.close()
            raise
        return self

    def ask_ahead(self) -> None:
        """Send the request for the head of a pinned registry now; :meth:`opened` waits for the answer."""
        known = None if self._offline else self._store.origin_at(self.address)
        state = self._store.load(known) if known is not None and self._store.is_pinned(known) else None
        if state is not None and state.head is not None:
            self._heads.begin(state.head)

    def __enter__(self) -> RegistryClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self.commit()
            else:
                self.keep(error)
        finally:
            self.close()

    def close(self) -> None:
        """Close the connections."""
        self._waves.transport.close()

    @property
    def state(self) -> TrustedState:
        """The current trusted state, committed or not."""
        if self._state is None:
            raise RuntimeError("refresh() comes first")
        return self._state

    @property
    def head(self) -> TrustedHead:
        """The accepted head, on which every answer of this run is based."""
        if self._head is None:
            raise RuntimeError("refresh() comes first")
        return self._head

    @property
    def _names(self) -> ProvedNames:
        if self._found is None:
            raise RuntimeError("refresh() comes first")
        return self._found

    @property
    def origin(self) -> str:
        """The registry's origin."""
        return self.state.origin

    @property
    def pinned(self) -> Pinned:
        """What releases are checked against in this run: pin and witnesses as they were when the head was accepted, and what
        was seen since then."""
        keysets = {name: head.sha256 for name, head in self.state.keysets.items()}
        found = make_pinned(self._store.folder, self.origin, self.state.fingerprint, keysets, self._seen.withdrawn)
        return replace(found, removal=self._removal, witnesses=self._witnesses)

    @property
    def document(self) -> str:
        """The whole accepted head: with a policy of witnesses, the cosigned one with its cosignatures."""
        return (self.state.head if self._demand is None else self.state.cosigned) or ""

    @property
    def as_copied(self) -> TrustedState:
        """The state whose head others read from a copy: the accepted head. An older, cosigned head in it is left out, because its
        files are not copied; so whoever copies for people who demand witnesses, demands them as well."""
        head = wire.decode_head(self.document.encode())
        roots = self.state.roots[: self.head.snapshot.root]
        return replace(self.state, head=wire.encode_head(head.alone).decode(), roots=roots, cosigned=None)

    @property
    def demand(self) -> WitnessDemand | None:
        """What the user demands of the registry's witnesses; None: nothing."""
        return self._demand

    @property
    def cosigned(self) -> CosignedHead | None:
        """The accepted head with the cosignatures that count; None if the user demands no witnesses."""
        return self._cosigned

    @property
    def suggested_policy(self) -> str | None:
        """The policy that the registry suggests, if this is the first contact with it. It is not checked in any way."""
        return None if self._config is None else self._config.witness_policy

    def upstreams(self) -> tuple[Upstream, ...]:
        """Return the registries of others that this one says it serves. That is for a person to decide on. Raises WireError."""
        return offered(self._waves.fetch([Request(UPSTREAMS_PATH, MAX_UPSTREAMS_BYTES)])[0])

    @property
    def waiting(self) -> Waiting | None:
        """The entries that wait for witnesses; None if there are none, or if the user demands no witnesses."""
        return self._waiting

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about the head for a person, e.g. that it is older than 72 hours."""
        return self.head.warnings

    @property
    def as_last_seen(self) -> str:
        """``, as last seen on 2026-11-28 09:15 UTC`` if what the registry has is only remembered; otherwise empty. It ends a
        sentence about what the registry lacks."""
        if not self._offline and self.outage is None:
            return ""
        return f", as last seen on {self.head.snapshot.time:%Y-%m-%d %H:%M} UTC"

    @property
    def outage(self) -> NoAnswer | None:
        """Why the head is only the last verified one; None if the registry answered, or was not asked."""
        return self._heads.outage

    @property
    def silence(self) -> NoAnswer | None:
        """Why this registry was silent in this run, from the beginning or after it had shown its head; None if it was not."""
        return self.outage or self._waves.silence

    @property
    def fell_silent(self) -> NoAnswer | None:
        """The same, only if it had shown its head."""
        return self._waves.silence if self.outage is None else None

    @property
    def api(self) -> str | None:
        """The address of the API, on the registry's own host; None for a read-only registry."""
        if self._config is None:
            self._config = self._fetch_config()
        return wire.api_address(self._config, self.address)

    def refresh(self, accept_root: AcceptRoot = None, origin: str | None = None) -> None:
        """Accept the newest head (offline: the cached one), after the roots that lead to it. Two signed heads that contradict
        each other are kept as evidence."""
        try:
            self._refresh(accept_root, origin)
        except TrustError as error:
            witness_demands.keep_evidence_of(self._store.folder, error, self.address, self._now())
            raise

    def _refresh(self, accept_root: AcceptRoot, origin: str | None) -> None:
        known = self._store.origin_at(self.address)
        if known is not None and origin not in (None, known):
            raise TrustError("root-origin", f"{self.address} is pinned as {known}, but {origin} is expected there.")
        pinned = known or origin
        state = self._store.load(pinned) if pinned and self._store.is_pinned(pinned) else None
        self._loaded = state if known is not None else None
        if isinstance(accept_root, str) and state is not None and state.fingerprint != accept_root:
            message = f"{state.origin} is pinned with the fingerprint {state.fingerprint}, not {accept_root}."
            raise TrustError("root-fingerprint", message, pinned=state.fingerprint, found=accept_root)
        if self._offline:
            if state is None or state.head is None:
                message = f"Nothing from the registry {self.address} is cached."
                raise FetchError("fetch-offline", message, "Run the command once without --offline.")
            data = state.head.encode()
        elif state is None:
            state, data, self._config = first_contact(
                self.address, accept_root, origin, self._waves.transport, self._store, self._limits
            )
        else:
            data = self._heads.newest(state.head)
        state = self._heads.follow_roots(state, state.root_hint(data))
        signed = self._judgements.is_signed(data, state)
        opened = self._heads.opened(state, data, signed_before=signed, asks=not self._offline)
        if not signed:
            self._judgements.remember_signed(data, state)
        size, root_hash = opened.checkpoint.size, opened.checkpoint.root_hash
        self._removal = last_removal(self._store.folder, state.origin)
        # A run that could not meet its witnesses brought this policy. The next one may have corrected them.
        is_open = self.was_asked and state.policy is not None and state.policy.log >= state.policy_size
        self._set_demand(replace(state, policy=None) if is_open else state)
        needed = opened.tiles_needed()
        found = None
        if self._demand is not None:
            found = cosigned.open_cosigned(state, opened, self._demand, self._now(), self._limits)
            needed = list(dict.fromkeys([*needed, *cosigned.tiles_needed(state, opened, found)]))
        fetched = self._waves.tiles(state.origin, needed, size, root_hash)
        before = state
        self._state, self._head = state.accept_head(opened, fetched)
        self._cosigned = found
        if found is not None:
            proving = cosigned.tiles_needed(before, opened, found)
            tiles_read = {tile: fetched[tile] for tile in proving}
            self._state, self._head, self._waiting = cosigned.accept_cosigned(self._state, opened, found, tiles_read)
        if (self._follow_policy() or is_open) and self._set_demand(self._state) and self._demand is not None:
            found = self._cosigned = cosigned.open_cosigned(before, opened, self._demand, self._now(), self._limits)
            proving = cosigned.tiles_needed(before, opened, found)
            tiles_read = self._waves.tiles(state.origin, proving, size, root_hash)
            self._state, self._head, self._waiting = cosigned.accept_cosigned(self._state, opened, found, tiles_read)
        self._found = ProvedNames(self.head, self._waves, self._cache, self._limits, self._nodes)
        self._chains = {}

    def _follow_policy(self) -> bool:
        """Accept the newest policy of the registry's owners, for a user who joined them; return whether it is another one.

        It is asked for once under each head. Offline, and in an outage, the last one stays."""
        state, head = self.state, self.head
        if not (self._joins or state.policy is not None) or not self.was_asked:
            return False
        size = head.checkpoint.size
        if state.policy is not None and state.policy_size == size and not self._joins:
            return False
        (fetched,) = self._waves.fetch([Request(policies.POLICY, self._limits.index_bytes)])
        if isinstance(fetched, FetchError) and fetched.code != "fetch-not-found":
            raise fetched
        line = policies.another_line(state, size, None if isinstance(fetched, FetchError) else fetched)
        if line is not None:
            self._state = policies.accept_organization_policy(state, head, line, self._tiles_of([line]))
            self._keep_policy(line)
        self._state = replace(self.state, policy_size=size)
        return self._state.policy != state.policy

    def _keep_policy(self, line: wire.IndexLine) -> None:
        """Save a newer policy for who follows one already, also if this run fails: without the witnesses that it requires, say.
        Otherwise whoever silences the registry before the next run could bring back the policy before it. Until a run succeeds,
        it is a policy of which ``policy_size`` does not know. One that came with a new root is saved with the head that proves
        it: only that head says from which entry on the new owners count."""
        loaded = self._loaded
        if loaded is None or loaded.policy is None:
            return
        if loaded.roots == self.state.roots:
            self._store.save(replace(loaded, policy=line))
        else:
            self._store.save(replace(self.state, policy=line), self._reconcile)

    def _set_demand(self, state: TrustedState) -> bool:
        """Take what this user and the policy of this state demand of witnesses; return whether that changed."""
        before, folder = self._demand, self._store.folder
        note = state.policy.note if state.policy is not None else None
        self._witnesses = demanded_witnesses(folder, state.origin) + policy_witnesses(note)
        self._demand = self._demanded(state)
        return self._demand != before

    def commit(self) -> None:
        """Save what was accepted, merged with what other programs accepted meanwhile. Only a first contact pins, after what is
        demanded of witnesses is there: a pin that the user removed meanwhile stays removed."""
        pins = self._loaded is None
        if self.state != self._loaded:
            self._state = self._loaded = self._store.save(self.state, self._reconcile)
        if self._given is not None:
            witness_demands.write_demand(self._store.folder, self.origin, self._given)
        if pins:
            self._store.remember_address(self.address, self.origin)
        self._heads.remember_tag()
        self._seen.remember(self.origin, self.head.checkpoint.size)

    def keep(self, error: BaseException | None) -> None:
        """Save what protects this user although this error ends the run, or this registry fell silent in it: the takedowns and
        advisories that it saw; and the whole head, so that later runs see the same, if that takes down a release or revokes a
        key. A head is not kept if files of it did not arrive, or if something was not as it was
        signed. Nothing is kept of a registry that was not pinned before, nor what was agreed to in this run. An error here is not
        worth the one that ended the run."""
        loaded, state = self._loaded, self._state
        if loaded is None or state is None or self._head is None:
            return
        is_caught = isinstance(error, TrustError) and error.code not in PERMANENT
        with contextlib.suppress(RyeError, OSError):
            if not is_caught and self.silence is None and self._withdraws(loaded, state):
                kept = replace(state, accepted_recoveries=loaded.accepted_recoveries)
                joined = loaded.policy is not None
                self._store.save(kept if joined else replace(kept, policy=None, policy_size=0), self._reconcile)
            self._seen.remember(self.origin, self.head.checkpoint.size)

    def _withdraws(self, loaded: TrustedState, state: TrustedState) -> bool:
        """Whether this run saw that something no longer counts which did so far."""
        for name, chain in self._chains.items():
            now = chain.current(self.head.snapshot.time)
            if now is not None and now.keyset.revoked and state.keysets.get(name) != loaded.keysets.get(name):
                return True
        return self._seen.has_new_takedowns(self.origin)

    def histories(self, identities: Iterable[Identity]) -> dict[Identity, ItemHistory]:
        """Return all statements about these identities. Identities that do not exist are omitted."""
        wanted = list(dict.fromkeys(identities))
        spaces = dict.fromkeys(wire.namespace_name(identity.namespace) for identity in wanted)
        self._names.load_paths([*map(str, wanted), *spaces])
        found = self._judgements.before(wanted, self.state, self.head, self._names.entry)
        self._names.load_indexes([*spaces, *(str(identity) for identity in wanted if identity not in found)])
        for identity in wanted:
            chain = self._chain(identity.namespace)  # its pinned keyset and recoveries are checked in every run
            entries = None if identity in found else self._names.index(str(identity))
            if entries is not None:
                history = judge(identity, entries, chain, self.state.owners, self.head.snapshot.time)
                self._judgements.remember(history, entries, chain, self.state, self.head, self._names.entry)
                found[identity] = history
        waits = self._waiting is not None
        seen = self._seen.take(self.origin, found, was_asked=self.was_asked, waits=waits)
        self._held.look_up(self.origin, found, self._index_of, is_silent=not self.was_asked)
        return {
            identity: with_held(
                without_distrusted(found[identity], self.distrusted),
                {**self._held.of(identity), **seen.get(identity, {})},
            )
            for identity in wanted
            if identity in found
        }

    @property
    def is_through_a_door(self) -> bool:
        """Whether another registry serves this one's files, which may hold releases back from one moment to the next."""
        return door_host(self.address, self.origin) is not None

    def _index_of(self, name: str) -> str | None:
        entry = self._names.entry(name)
        return None if entry is None else entry.sha256

    def index_files(self, names: Iterable[str]) -> dict[str, tuple[wire.IndexLine, ...]]:
        """Return the lines of the index files of these names (:func:`rye.registry.protocol.wire.index_name`), as the accepted
        head proves them; nothing for a name that does not exist."""
        wanted = list(names)
        self._names.load_indexes(wanted)
        entries = {name: self._names.index(name) for name in wanted}
        return {name: tuple(one.line for one in found) for name, found in entries.items() if found is not None}

    def check_lines(self, lines: Iterable[wire.IndexLine]) -> None:
        """Check that these lines are in the log. Raises TrustError (``leaf-mismatch``) and TileError."""
        found = list(lines)
        if found:
            self.head.check_logged(found, self._tiles_of(found))

    def read_tiles(self, wanted: Iterable[Tile]) -> dict[Tile, bytes]:
        """Return tiles of the accepted head's tree with all that prove them, verified. Raises TileError."""
        size, root_hash = self.head.checkpoint.size, self.head.checkpoint.root_hash
        return self._waves.tiles(self.origin, tiles.with_parents(wanted, size), size, root_hash)

    def releases(self, identities: Iterable[Identity]) -> dict[Identity, tuple[ReleaseRecord, ...]]:
        """Return the releases of these identities, in the log's order; none for an identity that does not exist."""
        wanted = list(dict.fromkeys(identities))
        histories = self.histories(wanted)
        return {identity: histories[identity].records if identity in histories else () for identity in wanted}

    def kinds_of(
        self, ids: Iterable[str], among: Mapping[str, Collection[str]] | None = None
    ) -> dict[str, tuple[str, ...]]:
        """Return the kinds under which each qualified id exists, in the order of the table of kinds. ``among``: of some ids, the
        only kinds to look for."""
        asked = {one: [kind for kind in KINDS if kind in (among or {}).get(one, KINDS)] for one in ids}
        self._names.load_paths(f"{kind}:{identifier}" for identifier, kinds in asked.items() for kind in kinds)
        return {
            identifier: tuple(kind for kind in kinds if self._names.entry(f"{kind}:{identifier}") is not None)
            for identifier, kinds in asked.items()
        }

    def names(self, *, suggests: bool = False) -> tuple[Identity, ...] | None:
        """Return every item, sorted, from the whole name map; None if there are more than ``listed_names``. ``suggests``: they
        are only for a hint, which is worth less: None if there are more than ``suggested_names``."""
        every = self.every_name(self._limits.suggested_names if suggests else self._limits.listed_names)
        if every is None:
            return None
        pairs = (name.split(":", 1) for name in every)
        return tuple(sorted(Identity(kind, identifier) for kind, identifier in pairs if kind in KINDS))

    def every_name(self, most: int) -> frozenset[str] | None:
        """Return every name (:func:`rye.registry.protocol.wire.index_name`) of the whole name map; None if there are more than
        ``most``."""
        return self._names.every(most)

    def existing(self, names: Iterable[str]) -> frozenset[str]:
        """Return which of these names exist."""
        wanted = frozenset(names)
        self._names.load_paths(wanted)
        return frozenset(name for name in wanted if self._names.entry(name) is not None)

    def keysets(self, namespaces: Iterable[str]) -> dict[str, KeysetChain]:
        """Return the keyset chains of these namespaces; an unclaimed one has an empty chain."""
        wanted = list(dict.fromkeys(namespaces))
        self._names.load_indexes([wire.namespace_name(namespace) for namespace in wanted])
        return {namespace: self._chain(namespace) for namespace in wanted}

    def owners(self, namespaces: Iterable[str]) -> dict[str, NamespaceOwners]:
        """Return what the owners of these namespaces stated about themselves, each line proved to be in the log. A registry
        that has no such file, or that was not asked, says nothing."""
        chains = self.keysets(namespaces)
        requests = [Request(owners_path(namespace), self._limits.owners_bytes) for namespace in chains]
        lines: dict[str, tuple[wire.IndexLine, ...]] = {}
        for namespace, fetched in zip(chains, self._waves.fetch(requests), strict=True):
            if isinstance(fetched, FetchError) and self.was_asked and fetched.code != "fetch-not-found":
                raise fetched
            data = b"" if isinstance(fetched, FetchError) else fetched
            # The file may be newer than the head.
            listed = wire.decode_index(data)
            lines[namespace] = tuple(line for line in listed if line.log < self.head.checkpoint.size)
        self.check_lines(line for some in lines.values() for line in some)
        time = self.head.snapshot.time
        return {namespace: judge_owners(chain, lines[namespace], time) for namespace, chain in chains.items()}

    def fetch_blobs(self, blobs: Iterable[tuple[str, int]]) -> dict[str, bytes]:
        """Return content by (SHA-256, size), from the cache or in one wave, all verified. Raises the first error."""
        return self._waves.blobs(blobs)

    def fetch_items(self, records: Sequence[ReleaseRecord]) -> list[ItemFiles]:
        """Return the files of releases with everything attached, fetched in one wave, in the order of ``records``."""
        for record in records:
            check_installable(record, limits=self._limits)
        blobs: dict[str, int] = {}
        for record in records:
            files: list[FileEntry | AttachedFile] = [record.release.file, *record.release.attached]
            for file in files:
                if blobs.setdefault(file.sha256, file.size) != file.size:
                    raise TrustError("blob-size", f"Two statements name different sizes of the file {file.sha256}.")
        found = self._waves.blobs(blobs.items())
        return [
            ItemFiles(
                record,
                found[record.release.file.sha256],
                {entry.path: found[entry.sha256] for entry in record.release.attached},
            )
            for record in records
        ]

    def check_logged(self, records: Iterable[ReleaseRecord]) -> None:
        """Check that these releases, and the keysets of their namespaces, are in the log: all tiles in one wave.

        Raises TrustError (``leaf-mismatch`` for a line that is not in the log) and TileError.
        """
        lines = self._lines_behind(records)
        self.head.check_logged(lines, self._tiles_of(lines))

    def prove(self, records: Iterable[ReleaseRecord]) -> Proofs:
        """Check like :meth:`check_logged`, and return proofs that others can verify."""
        lines = self._lines_behind(records)
        paths = self.head.prove(lines, self._tiles_of(lines))
        return Proofs(self.document, lines, {position: tuple(path) for position, path in paths.items()})

    def require_cosigned(self, position: int, what: str) -> None:
        """Raise TrustError ``not-cosigned`` if the entry at this position of the log waits for witnesses. ``what``: the entry."""
        size = self.head.checkpoint.size
        if self._waiting is not None and size <= position < size + self._waiting.entries:
            message = (
                f"{what} is entry {position} of the log, and enough witnesses have cosigned only {size} entries so far."
            )
            raise TrustError("not-cosigned", message)

    @property
    def took_policy(self) -> bool:
        """Whether this run accepted another policy of the registry's owners than was known before."""
        return self._loaded is not None and self._loaded.policy is not None and self.state.policy != self._loaded.policy

    @property
    def was_asked(self) -> bool:
        """Whether the registry itself, or a copy of it, showed the head in this run; not if it is the last verified one."""
        return not self._offline and self.outage is None

    def signed_checkpoint(self) -> str:
        """Return the accepted checkpoint as the log signed it, without cosignatures. What continues it later is remembered to."""
        note = notes.parse(wire.decode_head(self.document.encode()).checkpoint)
        keys = {(key.name, key.key_id) for root in self.state.all_roots for key in log_keys(root)}
        own = tuple(line for line in note.signatures if (line.name, line.key_id) in keys)
        checkpoint = SignedNote(note.text, own).encode()
        self.require_extends(checkpoint, "this run")
        return checkpoint

    def require_extends(self, checkpoint: str, where: str) -> None:
        """Prove that the accepted head continues a signed checkpoint that was written down elsewhere. ``where``: its place, in
        words.

        One that was proved before costs nothing. Raises TrustError ``head-fork`` or ``head-rollback`` with both heads as
        evidence, ``checkpoint-origin``, and NoteError or StatementError for a checkpoint that the registry's log did not sign.
        """
        try:
            self._extends(checkpoint, where)
        except TrustError as error:
            witness_demands.keep_evidence_of(self._store.folder, error, self.address, self._now())
            raise

    def _extends(self, checkpoint: str, where: str) -> None:
        note = notes.parse(checkpoint)
        old, new = Checkpoint.parse(note.text), self.head.checkpoint
        if old.origin != self.origin:
            raise TrustError("checkpoint-origin", f"The head in {where} is of {old.origin}, not of {self.origin}.")
        known = self._judgements.is_extended(note.text, self.state, self._removal)
        if known and old.size <= new.size:
            return
        notes.verify(note, [key for root in self.state.all_roots for key in log_keys(root)])
        offered = wire.decode_head(self.document.encode()).checkpoint
        evidence = {"trusted": checkpoint, "offered": offered}
        if self._waiting is not None and new.size < old.size <= new.size + self._waiting.entries:
            self.require_cosigned(old.size - 1, f"The last entry that {where} counts")
        if old.size > new.size:
            message = f"{self.origin} has signed {old.size} entries, as {where} shows, and now shows {new.size}."
            raise TrustError("head-rollback", message, evidence=evidence)
        if old.size == new.size and old.root_hash != new.root_hash:
            message = f"{self.origin} shows another history of {old.size} entries than the one in {where}."
            raise TrustError("head-fork", message, evidence=evidence)
        if old.size < new.size:
            try:
                self._waves.check_continues(self.origin, old, new)
            except merkle.ProofError as error:
                message = f"{self.origin} cannot prove that its {new.size} entries continue the {old.size} in {where}."
                raise TrustError("head-fork", message, evidence=evidence, cause=error.code) from error
        self._judgements.remember_extended(note.text, self.state, self._removal)

    def accept_recovery(self, sha256: str) -> None:
        """Record that the user accepted the recovery that ``recovery-unaccepted`` named."""
        self._state = self.state.accept_recovery(sha256)
        self._chains = {}

    def _demanded(self, state: TrustedState) -> WitnessDemand | None:
        """What the user demands of the registry's witnesses: what they gave for this run, or before; and whom the organization
        that they joined requires. A policy that demands nothing is none."""
        found, origin = self._given, state.origin
        if found is None and os.path.lexists(witnesses_path(self._store.folder, origin)):
            found = witness_demands.read_demand(self._store.folder, origin)
        if state.policy is not None and policy_witnesses(state.policy.note):
            found = policies.with_required_witnesses(found, state.policy)
        if found is None or not found.demands or self._writes:
            return None
        if self._carried:  # as old as the head itself may be: nobody can get younger ones
            return replace(found, max_age_seconds=max(found.max_age_seconds, self._limits.head_stop_seconds))
        return found

    def _reconcile(self, smaller: TrustedState, larger: TrustedState) -> None:
        """Two programs accepted different heads: check that the larger contains the smaller."""
        old, new = smaller.checkpoint, larger.checkpoint
        if old is None or new is None:
            return
        try:
            self._waves.check_continues(larger.origin, old, new)
        except merkle.ProofError as error:
            evidence = {
                name: wire.decode_head((state.head or "").encode()).checkpoint
                for name, state in (("trusted", smaller), ("offered", larger))
            }
            message = f"Two programs were shown logs of {old.size} and {new.size} entries with different histories."
            raise TrustError("head-inconsistent", message, evidence=evidence, cause=error.code) from error

    def _fetch_config(self) -> Config:
        config = wire.decode_config(self._waves.one(Request("config.json", self._limits.config_bytes)))
        if config.origin != self.origin:
            raise TrustError("root-origin", f"config.json says {config.origin}; the registry is {self.origin}.")
        return config

    def _chain(self, namespace: str) -> KeysetChain:
        found = self._chains.get(namespace)
        if found is None:
            name = wire.namespace_name(namespace)
            self._names.load_indexes([name])
            self._state, found = self.state.accept_namespace(self.head, namespace, self._names.index(name))
            self._chains[namespace] = found
        return found

    def _lines_behind(self, records: Iterable[ReleaseRecord]) -> tuple[wire.IndexLine, ...]:
        """The statements that these releases depend on: themselves and their namespaces' keysets, by position."""
        records = list(records)
        lines = {record.line.log: record.line for record in records}
        for namespace in {record.identity.namespace for record in records}:
            self._chain(namespace)
            for entry in self._names.index(wire.namespace_name(namespace)) or ():
                lines[entry.line.log] = entry.line
        return tuple(lines[position] for position in sorted(lines))

    def _tiles_of(self, lines: Iterable[wire.IndexLine]) -> dict[Tile, bytes]:
        checkpoint = self.head.checkpoint
        needed = self.head.tiles_needed(line.log for line in lines)
        return self._waves.tiles(self.origin, needed, checkpoint.size, checkpoint.root_hash)
