"""Where the items of one run come from: registries, with one client each, opened on first use, and the sources in
rye.toml.

Which of them are silent is decided once, when each is opened: one that did not answer is not asked again in the same run. What
a silent one has locked stays as it is (:func:`rye.installation.resolving.resolve`). Silence is not a wrong answer: a history that
was rolled back, a bad signature or a foreign certificate ends every command (:func:`rye.registry.transport.seam.is_silence`).

How an item of ``[sources]`` is locked, and whether its row in rye.lock still matches, is pure. The bytes were checked
against the commit hash or read from the folder (:mod:`rye.sources`). A row matches if it describes exactly these bytes.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from msgspec.structs import replace

from rye.errors import RyeError
from rye.installation.silence import NotAsked
from rye.items.identity import Identity
from rye.items.signed_release import Mention, SignedRelease
from rye.permissions.policy import Policy, source_refusal
from rye.project.lock import LockedFile, LockedItem, LockedSource
from rye.project.registries import Registries
from rye.registry.client import RegistryClient
from rye.registry.released import ItemFiles
from rye.registry.transport.seam import ASK_AGAIN, NoAnswer, is_silence
from rye.registry.trust.keysets import Link
from rye.registry.trust.records import ItemHistory, ReleaseRecord
from rye.sources.record import SourceHistory, SourceRecord
from rye.storage.verdicts import Verdicts
from rye.verified.memory import Basis, Memory, registry_basis, source_basis
from rye.verified.release import VerifiedItem, signed_words

if TYPE_CHECKING:
    from rye.project.lock import Lock
    from rye.project.lock_file import Unlock
    from rye.registry.trust.cosigned import CosignedHead
    from rye.registry.trust.namespace_proofs import NamespaceOwners
    from rye.sources.book import SourceBook

_N = TypeVar("_N")
Open = Callable[[str], RegistryClient]
Record: TypeAlias = ReleaseRecord | SourceRecord
"""One candidate: a release in a registry, or an item of a source."""
History: TypeAlias = ItemHistory | SourceHistory


class Sources:
    """Answers questions about items by asking the one registry that the project maps their namespace to.

    A context manager: on exit without an error, it stores what the clients came to trust and the results of checks. After an
    error, whatever it was, they keep what protects this user (:meth:`rye.registry.client.RegistryClient.keep`). Otherwise an
    attacker who silences the registry before the next run could have a release installed that this run saw withdrawn.
    """

    def __init__(
        self,
        registries: Registries,
        open_client: Open,
        verdicts: Verdicts,
        finish: Callable[[], None] = lambda: None,
        book: SourceBook | None = None,
        *,
        holds: bool = False,
        ask_ahead: Callable[[Iterable[str]], None] = lambda addresses: None,
    ):
        """``verdicts``: results of earlier checks; ``finish``: always called on exit; ``book``: the project's sources; ``holds``:
        whether rows of the lock stay as they are while nobody answers for them, instead of ending the run; ``ask_ahead``: sends
        the first request to several registries at once, before they are opened."""
        self.book = book
        self.holds = holds
        """Whether a run goes on without those who do not answer."""
        self.verdicts = verdicts
        self.memory = Memory(verdicts, self.basis)
        self._registries = registries
        self._open = open_client
        self._ask_ahead = ask_ahead
        self._finish = finish
        self._clients: dict[str, RegistryClient] = {}
        self._mute: dict[str, RyeError] = {}
        """Why nothing can be told about what is at these addresses, not even from a last verified head."""
        self._foreign: set[str] = set()
        """Namespaces of other registries that the registry which serves them does not have itself."""
        self._locked_heads: Mapping[str, str] = {}

    def __enter__(self) -> Sources:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            for address, client in self._clients.items():
                if kind is None and address not in self._mute and client.fell_silent is None:
                    client.commit()
                else:  # what one accepted before it fell silent needs files that are not here
                    client.keep(error)
            if kind is None:
                self.verdicts.flush()
        finally:
            for client in self._clients.values():
                client.close()
            self.verdicts.close()
            self._finish()

    def client(self, namespace: str) -> RegistryClient:
        """Return the client of the registry that the namespace is mapped to.

        Raises RyeError ``namespace-conflict`` if that registry serves it from another one and has one of that name itself.
        """
        registry = self._registries.behind(namespace)
        if registry is not None and namespace not in self._foreign:
            try:
                refuse_own(self._at(registry), namespace)
            except RyeError as error:
                if is_silence(error):
                    self._fell_silent(registry, error)
                    raise self._mute[registry] from error
                raise
            self._foreign.add(namespace)
        return self._at(self._registries.of(namespace))

    def ask_together(self, namespaces: Iterable[str]) -> None:
        """Ask the registries of these namespaces at once, so that those which are silent cost one time limit together; and so the
        repositories."""
        addresses: dict[str | None, None] = {}
        named = list(namespaces)
        for namespace in named:
            if not self.is_source(namespace):
                with contextlib.suppress(RyeError):  # opening it reports the error
                    addresses |= dict.fromkeys((self._registries.behind(namespace), self._registries.of(namespace)))
        new = [one for one in addresses if one is not None and one not in self._clients and one not in self._mute]
        if len(new) > 1:
            self._ask_ahead(new)
        if self.book is not None:
            self.book.ask_together(named)

    def _at(self, address: str) -> RegistryClient:
        if (why := self._mute.get(address)) is not None:
            raise why.with_traceback(None)
        if address not in self._clients:
            try:
                self._clients[address] = self._open(address)
            except RyeError as error:
                if is_silence(error):
                    self._mute[address] = error
                raise
            self._compare(self._clients[address])
        return self._clients[address]

    def silence(self, namespace: str) -> RyeError | None:
        """Return why nobody answers for a namespace now, in a run that goes on without them; None if somebody does.

        Raises the error of an answer that is wrong."""
        if not self.holds:
            return None
        if self.book is not None and self.book.answers_for(namespace):
            return self.book.silence(namespace)
        behind = self._registries.behind(namespace)
        try:
            outage = self.client(namespace).outage
            return outage if outage is not None or behind is None else self._at(behind).outage
        except RyeError as error:
            if not is_silence(error):
                raise
            return error

    def require_answer(self, namespace: str) -> None:
        """Require somebody who answers for a namespace: what is new is never chosen from memory. Raises RyeError."""
        if (why := self.silence(namespace)) is not None:
            raise why.with_traceback(None)

    def held(self, rows: Sequence[LockedItem]) -> dict[Identity, tuple[LockedItem, RyeError]]:
        """Return those of these rows that nobody answers for, each with the reason."""
        namespaces = sorted({row.identity.namespace for row in rows})
        if self.holds:
            self.ask_together(namespaces)
        reasons = {name: self.silence(name) for name in namespaces}
        return {row.identity: (row, why) for row in rows if (why := reasons[row.identity.namespace]) is not None}

    def tells_of(self, namespace: str) -> bool:
        """Whether there is at least a last verified head to say something about a namespace."""
        return self._mute.keys().isdisjoint(self._places(namespace))

    def require_told(self, rows: Sequence[LockedItem]) -> None:
        """Require a last verified head, at least, to say something about each of these rows. Raises RyeError."""
        for row, why in self.held(rows).values():
            if not self.tells_of(row.identity.namespace):
                raise why.with_traceback(None)

    @property
    def not_asked(self) -> tuple[NotAsked, ...]:
        """All that did not answer so far, by address."""
        silent: dict[str, RyeError] = dict(self.book.silent) if self.book is not None else {}
        silent |= {where: client.outage for where, client in self._clients.items() if client.outage is not None}
        return tuple(NotAsked(where, why) for where, why in sorted({**silent, **self._mute}.items()))

    def heads(self) -> dict[str, str]:
        """Return the signed checkpoint of each registry that was asked, by origin."""
        return {client.origin: client.signed_checkpoint() for client in self._clients.values()}

    def cosigned(self) -> list[tuple[str, CosignedHead]]:
        """Return the accepted head of each registry that was asked and whose witnesses the user demands: address and head."""
        return [(address, client.cosigned) for address, client in sorted(self._clients.items()) if client.cosigned]

    def _compare(self, client: RegistryClient) -> None:
        """Prove that the registry continues the head in the lock, if it was asked now."""
        noted = self._locked_heads.get(client.origin)
        if noted is not None and client.was_asked:
            client.require_extends(noted, "rye.lock")

    def is_source(self, namespace: str) -> bool:
        """Whether a namespace is the name of a source."""
        return self.book is not None and self.book.answers_for(namespace)

    def use_locked(self, lock: Lock, unlock: Unlock, *, exact: bool = False) -> None:
        """Use each source in its locked state, unless ``unlock`` frees one of its items or, without ``exact``, rye.toml asks for
        another one by now. Each registry must continue the head that the lock names.

        Raises TrustError ``head-fork``, ``head-rollback``, ``not-cosigned``, and NoteError for a head that is not signed.
        """
        self._locked_heads = lock.heads
        for client in self._clients.values():
            self._compare(client)
        if self.book is not None:
            self.book.use_locked(lock.items, unlock.frees, exact=exact)

    def histories(self, identities: Iterable[Identity]) -> dict[Identity, History]:
        """Return everything stated about these items, without those that do not exist. One wave of requests per registry."""
        wanted = list(identities)
        by_identity: dict[Identity, History] = {}
        if self.book is not None:
            given = [identity for identity in wanted if self.book.answers_for(identity.namespace)]
            if given:
                by_identity.update(self.book.histories(given, self.kinds_of))
                wanted = [identity for identity in wanted if not self.book.answers_for(identity.namespace)]
        by_identity.update(self.releases(wanted))
        return by_identity

    def told(self, identities: Iterable[Identity]) -> dict[Identity, History]:
        """Return the same, without the items of those who do not answer and of whom too little is remembered."""
        by_identity: dict[Identity, History] = {}
        groups: dict[str, list[Identity]] = {}
        for identity in identities:
            groups.setdefault(self._place(identity.namespace), []).append(identity)
        self.ask_together(group[0].namespace for group in groups.values())
        for place, group in groups.items():
            silent = self.silence(group[0].namespace) is not None
            if silent and (self.is_source(place) or not self.tells_of(group[0].namespace)):
                continue
            try:
                by_identity.update(self.histories(group))
            except RyeError as error:
                if not is_silence(error):
                    raise
                self._fell_silent(place, error)
        return by_identity

    def told_of_rows(self, rows: Sequence[LockedItem]) -> dict[Identity, History]:
        """Return what is told about rows of the lock, before :meth:`held` says which of them nobody answers for: who answers
        a first request and not the next is silent, too. Nothing in a run that ends with the first silence."""
        return self.told(row.identity for row in rows) if self.holds else {}

    def releases_told(self, identities: Iterable[Identity]) -> dict[Identity, ItemHistory]:
        """Return the same, but only for items in registries."""
        found = self.told(identity for identity in identities if not self.is_source(identity.namespace))
        return {identity: history for identity, history in found.items() if isinstance(history, ItemHistory)}

    def _place(self, namespace: str) -> str:
        """The address of its registry, or the name of its source."""
        return namespace if self.is_source(namespace) else self._registries.of(namespace)

    def _places(self, namespace: str) -> tuple[str | None, ...]:
        """The same, with the registry that serves it from another one: who silences that hides that it has one of that name."""
        place = self._place(namespace)
        return (place,) if self.is_source(namespace) else (place, self._registries.behind(namespace))

    def _fell_silent(self, place: str, error: RyeError) -> None:
        client = self._clients.get(place)
        if client is not None:
            error = client.outage or (error.of_registry(place, ASK_AGAIN) if isinstance(error, NoAnswer) else error)
            self._mute[place] = error

    def releases(self, identities: Iterable[Identity]) -> dict[Identity, ItemHistory]:
        """Return the same, but only for items in registries."""
        by_identity: dict[Identity, ItemHistory] = {}
        for client, group in self._by_client(identities, lambda identity: identity.namespace):
            by_identity.update(client.histories(group))
        return by_identity

    def kinds_of(
        self, ids: Iterable[str], among: Mapping[str, Collection[str]] | None = None
    ) -> dict[str, tuple[str, ...]]:
        """Return the kinds under which each qualified id exists. ``among``: of some ids, the only kinds that a registry is asked
        for."""
        kinds: dict[str, tuple[str, ...]] = {}
        if self.book is not None:
            wanted = list(ids)
            kinds.update({one: self.book.kinds_of(one) for one in wanted if self.is_source(one.split("/", 1)[0])})
            ids = [one for one in wanted if one not in kinds]
        for client, group in self._by_client(ids, lambda identifier: identifier.split("/", 1)[0]):
            kinds.update(client.kinds_of(group, among))
        return kinds

    def pending_recoveries(self, namespaces: Iterable[str]) -> list[Link]:
        """Return the published recoveries of these namespaces that have not taken effect at the snapshot's time."""
        recoveries: list[Link] = []
        asked = sorted(name for name in set(namespaces) if not self.is_source(name))
        for client, group in self._by_client(asked, lambda namespace: namespace):
            now = client.head.snapshot.time
            recoveries.extend(
                link for chain in client.keysets(group).values() if (link := chain.pending(now)) is not None
            )
        return recoveries

    def owners(self, namespaces: Iterable[str]) -> dict[str, NamespaceOwners]:
        """Return what the owners of these namespaces, none of which is a source, stated about themselves."""
        stated: dict[str, NamespaceOwners] = {}
        for client, group in self._by_client(namespaces, lambda namespace: namespace):
            stated.update(client.owners(group))
        return stated

    def basis(self, origin: str, namespace: str) -> Basis | None:
        """Return what releases are checked against in this run; None if the registry was not asked."""
        if self.book is not None and self.book.answers_for(namespace):
            return source_basis(self.book.keys) if self.book.has(origin, namespace) else None
        client = next((client for client in self._clients.values() if client.origin == origin), None)
        return registry_basis(client.pinned, namespace, client.distrusted) if client is not None else None

    @property
    def outage(self) -> NoAnswer | None:
        """Why a registry did not answer, so that its last verified head is used; None if all answered."""
        return next((client.outage for client in self._clients.values() if client.outage is not None), None)

    @property
    def fell_silent(self) -> dict[str, NoAnswer]:
        """Registries that showed a head and then fell silent, by address, and why."""
        told = {address: client.fell_silent for address, client in self._clients.items()}
        return {address: why for address, why in told.items() if why is not None}

    def client_of(self, record: ReleaseRecord) -> RegistryClient:
        """Return the client that a record came from."""
        return self.client(record.identity.namespace)

    def _by_client(self, names: Iterable[_N], namespace: Callable[[_N], str]) -> list[tuple[RegistryClient, list[_N]]]:
        groups: dict[int, tuple[RegistryClient, list[_N]]] = {}
        named = list(names)
        self.ask_together(dict.fromkeys(map(namespace, named)))
        for name in named:
            client = self.client(namespace(name))
            groups.setdefault(id(client), (client, []))[1].append(name)
        return list(groups.values())


def refuse_own(registry: RegistryClient, namespace: str) -> None:
    """Require that a registry, whose log says so, has no namespace of its own with the name of one that it serves from another
    registry: nobody could tell which of the two an item is from. Raises RyeError ``namespace-conflict``."""
    if registry.keysets([namespace])[namespace].links:
        raise RyeError(
            "namespace-conflict",
            f"{registry.origin} has a namespace {namespace!r} of its own, and serves one of that name from another registry.",
            f"Run `rye registry add {registry.address}`, which asks what it serves now. Tell its operator.",
        )


def fetch_logged(client: RegistryClient, records: Sequence[ReleaseRecord]) -> list[ItemFiles]:
    """Fetch and verify the bytes of releases while their inclusion in the log is checked, in one wave.

    Raises what :meth:`RegistryClient.fetch_items` and ``check_logged`` raise; if both fail, the error of the proof.
    """
    refused: list[BaseException] = []

    def prove() -> None:
        try:
            client.check_logged(records)
        except BaseException as error:  # raised again in the caller's thread
            refused.append(error)

    proving = threading.Thread(target=prove, name="rye-prove")
    proving.start()
    try:
        files = client.fetch_items(records)
    finally:
        proving.join()
        if refused:
            raise refused[0]
    return files


_FIELDS = ("version", "size", "sha256", "suffix", "attached", "source")


def source_item(
    record: SourceRecord,
    dependencies: tuple[str, ...],
    groups: tuple[str, ...],
    mentions: tuple[Mention, ...] | None,
    forced: str | None = None,
) -> VerifiedItem:
    """Return the item with its row for the lock. ``mentions``: its cautions and alarms; ``forced``: the range that
    ``[overrides]`` forces on it."""
    release, metadata = record.release, record.metadata
    row = LockedItem(
        kind=release.identity.kind,
        id=release.identity.id,
        version=release.version,
        size=release.file.size,
        sha256=release.file.sha256,
        suffix=release.file.suffix,
        registry=release.origin,
        signer=record.signer or release.origin,
        source=record.source,
        attached=tuple(LockedFile(a.path, a.size, a.sha256, a.executable) for a in release.attached),
        dependencies=dependencies,
        capabilities=metadata.capabilities,
        agent_tools=metadata.agent_tools.names if metadata.agent_tools else (),
        agent_limits=metadata.agent_tools.limits if metadata.agent_tools else (),
        runs=record.runs,
        hooks=metadata.hooks,
        groups=groups,
        forced=forced,
    )
    words = signed_words(release, row, mentions)
    return VerifiedItem(row, _signed_by(words, record.signer), metadata, record.data, dict(record.attached))


def locked_source_record(item: LockedItem, history: ItemHistory | SourceHistory | None) -> SourceRecord:
    """Return the item that a row names, from its source in the locked state. Raises RyeError ``source-changed`` if the folder
    has changed, ``lock-mismatch`` if the row contradicts its commit."""
    record = history.records[0] if isinstance(history, SourceHistory) else None
    if record is None:
        raise differs(item, "the item is not there")
    found = source_item(record, (), (), None).locked
    for name in _FIELDS:
        says, true = getattr(item, name), getattr(found, name)
        if says != true and not (name == "attached" and sorted(says) == sorted(true)):
            raise differs(item, _difference(name, says, true))
    return record


def differs(item: LockedItem, what: str) -> RyeError:
    """Return the error for a row that does not match its source."""
    assert item.source is not None
    if item.source.path is not None:
        return RyeError(
            "source-changed",
            f"{item.identity} in the folder {item.source.path} differs from rye.lock: {what}.",
            "`rye install` looks at it again, shows what changed, and writes rye.lock.",
        )
    return RyeError(
        "lock-mismatch",
        f"rye.lock contradicts {item.identity} {item.version} at commit {item.source.commit}: {what}.",
        "Someone changed rye.lock. Restore it from version control, or delete it and run `rye install`, which asks for every "
        "right again.",
    )


def another_place(item: LockedItem) -> RyeError:
    """Return the error for a row whose namespace rye.toml gets from elsewhere."""
    return RyeError(
        "lock-does-not-fit",
        f"rye.lock has {item.identity} from {item.registry}, but rye.toml has another place for {item.identity.namespace!r}.",
        "Run `rye install`, which chooses again and shows what changes.",
    )


def source_refused(policy: Policy, item: LockedItem) -> str | None:
    """Return why the policy refuses the item's source; None if it does not. ``item``: with its signer (:func:`with_signers`)."""
    if item.source is None:
        return None
    return source_refusal(policy.sources, is_git=item.source.git is not None, signed=not item.is_unsigned)


def with_signers(items: Sequence[LockedItem], known: Mapping[Identity, SignedRelease]) -> tuple[LockedItem, ...]:
    """Return the rows with the signers found when they were verified here, because the lock has none for items of sources."""
    return tuple(item.with_signer(known[item.identity].signed_by) if item.identity in known else item for item in items)


def _signed_by(words: SignedRelease, signer: str | None) -> SignedRelease:
    return replace(words, signed_by=signer)


def _difference(name: str, says: object, true: object) -> str:
    if name in ("version", "size", "sha256", "suffix"):
        return f"its {name} is {true}, not {says}"
    if name == "attached":
        return "its attached files differ"
    if isinstance(says, LockedSource) and isinstance(true, LockedSource):
        parts = [(part, getattr(says, part), getattr(true, part)) for part in LockedSource.__struct_fields__]
        return ", ".join(f"its source's {part} is {there}, not {said}" for part, said, there in parts if said != there)
    return f"its {name} differs"


def expect_origin(client: RegistryClient, origin: str, what: str) -> None:
    """Require the registry that the lock names; no other one is a substitute. Raises RyeError ``other-registry``."""
    if client.origin != origin:
        raise RyeError(
            "other-registry",
            f"{what} is locked to the registry {origin}, but {client.address} is {client.origin}.",
            "Map the namespace to its registry in [registries] of rye.toml, or choose versions again with `rye lock`.",
        )
