"""Where the items of one run come from: its registries, with one client each, opened on first use; and the sources of
rye.toml, if it has any."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from rye.items.identity import Identity
from rye.project.registries import Registries
from rye.registry.client import RegistryClient
from rye.registry.released import ItemFiles
from rye.registry.transport.seam import NoAnswer
from rye.registry.trust.keysets import Link
from rye.registry.trust.records import ItemHistory, ReleaseRecord
from rye.sources.record import SourceHistory, SourceRecord
from rye.storage.verdicts import Verdicts

if TYPE_CHECKING:
    from rye.installation.unlock import Unlock
    from rye.project.lock import Lock
    from rye.sources.book import SourceBook

_N = TypeVar("_N")
Open = Callable[[str], RegistryClient]
Record: TypeAlias = ReleaseRecord | SourceRecord
"""One candidate: a registry's release, or an item of a source."""
History: TypeAlias = ItemHistory | SourceHistory


class Sources:
    """Answers for items of any namespace by asking the one registry that the project maps it to.

    A context manager: without an error, what the clients came to trust, and what was found, is kept at the end.
    """

    def __init__(
        self,
        registries: Registries,
        open_client: Open,
        verdicts: Verdicts,
        finish: Callable[[], None] = lambda: None,
        book: SourceBook | None = None,
    ):
        """``verdicts``: what was checked before; ``finish``: called at the end, however it came; ``book``: the project's
        sources."""
        self.book = book
        self.verdicts = verdicts
        self._registries = registries
        self._open = open_client
        self._finish = finish
        self._clients: dict[str, RegistryClient] = {}

    def __enter__(self) -> Sources:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                for client in self._clients.values():
                    client.commit()
                self.verdicts.flush()
        finally:
            for client in self._clients.values():
                client.close()
            self.verdicts.close()
            self._finish()

    def client(self, namespace: str) -> RegistryClient:
        """Return the client of the registry that the namespace is mapped to."""
        address = self._registries.of(namespace)
        if address not in self._clients:
            self._clients[address] = self._open(address)
        return self._clients[address]

    def is_source(self, namespace: str) -> bool:
        """Whether a namespace is the name of a source."""
        return self.book is not None and self.book.answers_for(namespace)

    def go_by(self, lock: Lock, unlock: Unlock) -> None:
        """Open sources in the state that this lock has, but for those of which an item may move."""
        if self.book is not None:
            self.book.go_by(lock.items, unlock.frees)

    def histories(self, identities: Iterable[Identity]) -> dict[Identity, History]:
        """Everything stated about these items; one that does not exist is left out. One wave per registry."""
        wanted = list(identities)
        found: dict[Identity, History] = {}
        if self.book is not None:
            given = [identity for identity in wanted if self.book.answers_for(identity.namespace)]
            if given:
                found.update(self.book.histories(given, self.kinds_of))
                wanted = [identity for identity in wanted if not self.book.answers_for(identity.namespace)]
        found.update(self.releases(wanted))
        return found

    def releases(self, identities: Iterable[Identity]) -> dict[Identity, ItemHistory]:
        """Do the same, but only for items of registries."""
        found: dict[Identity, ItemHistory] = {}
        for client, group in self._by_client(identities, lambda identity: identity.namespace):
            found.update(client.histories(group))
        return found

    def kinds_of(self, ids: Iterable[str]) -> dict[str, tuple[str, ...]]:
        """Under which kinds each qualified id exists."""
        found: dict[str, tuple[str, ...]] = {}
        if self.book is not None:
            wanted = list(ids)
            found.update({one: self.book.kinds_of(one) for one in wanted if self.is_source(one.split("/", 1)[0])})
            ids = [one for one in wanted if one not in found]
        for client, group in self._by_client(ids, lambda identifier: identifier.split("/", 1)[0]):
            found.update(client.kinds_of(group))
        return found

    def pending_recoveries(self, namespaces: Iterable[str]) -> list[Link]:
        """The recoveries of these namespaces that stand in public and have not taken effect by the snapshot's time."""
        found: list[Link] = []
        asked = sorted(name for name in set(namespaces) if not self.is_source(name))
        for client, group in self._by_client(asked, lambda namespace: namespace):
            now = client.head.snapshot.time
            found.extend(link for chain in client.keysets(group).values() if (link := chain.pending(now)) is not None)
        return found

    def trust_basis(self, origin: str, namespace: str) -> str | None:
        """What releases of a registry that this run asked are judged by (:mod:`rye.registry.store.basis`); None for another."""
        if self.book is not None and self.book.answers_for(namespace):
            return self.book.grounds(origin, namespace)
        found = next((client for client in self._clients.values() if client.origin == origin), None)
        return found.basis.of(namespace) if found is not None else None

    @property
    def outage(self) -> NoAnswer | None:
        """Why a registry of this run did not answer, of which the last verified head is used; None where all answered."""
        return next((client.outage for client in self._clients.values() if client.outage is not None), None)

    def client_of(self, record: ReleaseRecord) -> RegistryClient:
        """Return the client that a record came from."""
        return self.client(record.identity.namespace)

    def _by_client(self, names: Iterable[_N], namespace: Callable[[_N], str]) -> list[tuple[RegistryClient, list[_N]]]:
        groups: dict[int, tuple[RegistryClient, list[_N]]] = {}
        for name in names:
            client = self.client(namespace(name))
            groups.setdefault(id(client), (client, []))[1].append(name)
        return list(groups.values())


def fetch_logged(client: RegistryClient, records: Sequence[ReleaseRecord]) -> list[ItemFiles]:
    """The verified bytes of releases that are proved to be in the log: bytes and proofs come at the same time, as one wave.

    Raises what :meth:`RegistryClient.fetch_items` and ``check_logged`` raise; a refused proof goes first.
    """
    refused: list[BaseException] = []

    def prove() -> None:
        try:
            client.check_logged(records)
        except BaseException as error:  # whatever it is, it belongs to the caller
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
