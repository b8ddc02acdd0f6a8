"""One transaction's view of the registry: everything that a page is made from.

Only a :class:`RegistryView` knows what its reader may see. For anything that belongs to a namespace, makers ask it and
never the tables: :meth:`RegistryView.may_read`, :meth:`RegistryView.history`, :meth:`RegistryView.files`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime

import sqlalchemy as sa

from registry_server.pages.analysis_store import AnalysisStore
from registry_server.pages.limits import PAGES
from registry_server.pages.lru_cache import LruCache
from registry_server.pages.owners import Behind, behind_view
from registry_server.pages.page_context import Head, Now, Reader, Site
from registry_server.sequencer.ledger import Ledger, Published
from registry_server.storage.objects import Objects
from registry_server.storage.prepared import Among, Prepared
from registry_server.storage.schema import names
from registry_server.upkeep import owner_checks
from rye.errors import RyeError
from rye.items.identity import Identity
from rye.registry.protocol import wire
from rye.registry.protocol.statements import Root
from rye.registry.trust.keysets import KeysetChain
from rye.registry.trust.namespace_proofs import NamespaceOwners, judge_owners
from rye.registry.trust.owners import Owners
from rye.registry.trust.records import ItemHistory, judge
from rye.registry.trust.trust_error import TrustError
from rye.registry.trust.trusted import read_line


class RegistryView:
    """One transaction's view. Belongs to one page and one thread."""

    def __init__(
        self,
        connection: sa.Connection,
        store: Objects,
        site: Site,
        reader: Reader,
        hour: datetime,
        analyses: AnalysisStore | None = None,
    ) -> None:
        """``analyses`` None: none are stored."""
        self.log = Ledger(connection)
        """The log's entries and tree, and nothing of a namespace: that is for :meth:`may_read` to allow."""
        published = self.log.published()
        if published is None:
            raise RyeError("database-unavailable", "The registry has no head.", "rye-registry verify")
        self._store = store
        self._indexes: dict[str, str] = {}
        """The SHA-256 of index files that were asked for, by name. Empty: there is no such name."""
        self._gone: dict[str, bool] = {}
        """Whether files that were asked for were taken down."""
        self.published: Published = published
        """The newest head."""
        self.analyses = analyses
        self.connection = connection
        self.reader = reader
        self.now = Now(hour)
        self.site = site

    @property
    def head(self) -> Head:
        """The newest head, for the foot of a page, and the basis of a page that is made for each head."""
        return head_of(self.published)

    @property
    def origin(self) -> str:
        """The registry's origin."""
        return self.log.origin

    def may_read(self, namespace: str) -> bool:
        """Whether the reader may see a namespace's items."""
        return self.reader.may_read(namespace)

    def missing(self, path: str) -> RyeError:
        """Return the error for a page that does not exist or that this reader may not see."""
        return RyeError("not-found", f"There is nothing at {path[:200]}.", None)

    # -- the log ---------------------------------------------------------------------------------------------------------

    def roots(self) -> list[Root]:
        """Return the root statements, oldest first."""
        roots = _roots.get(self.published.checkpoint)
        if roots is None:
            roots = self.log.roots()
            _roots.put(self.published.checkpoint, roots)
        return roots

    def full_tile(self, path: str) -> bytes | None:
        """Return a full tile, which never changes; None if the store does not have it yet."""
        return self._store.get(path)

    # -- namespaces and items --------------------------------------------------------------------------------------------

    def chain(self, namespace: str) -> KeysetChain:
        """Return the keysets of a namespace. An unclaimed namespace has no links."""
        key = (self.published.checkpoint, namespace)
        chain = _chains.get(key)
        if chain is None:
            chain = self.log.chain(namespace)
            _chains.put(key, chain)
        return chain

    def behind(self, namespace: str) -> Behind:
        """Return who is behind a namespace; for a hidden one, only when it was claimed."""
        lines = self.log.owner_lines([namespace]).get(namespace, []) if self.may_read(namespace) else []
        chain = self.chain(namespace)
        try:
            owners = judge_owners(chain, lines, self.since(namespace))
        except TrustError:  # clients refuse these statements
            owners = NamespaceOwners(namespace, chain.links[0].keyset.time if chain.links else None)
        seen = owner_checks.seen(self.connection, namespace) if owners.proofs else {}
        return behind_view(owners, seen, self.now.hour)

    def since(self, namespace: str) -> datetime:
        """Return the time of the latest recovery in effect at the head. Between recoveries, time does not change what
        counts."""
        recoveries = (link.keyset.recovery for link in self.chain(namespace).links)
        return max((at for at in recoveries if at is not None and at <= self.published.time), default=_BEGINNING)

    def chain_basis(self, namespace: str) -> tuple[object, ...]:
        """Return what the state of a namespace's keys depends on. If it is equal, so is everything about them."""
        links = self.chain(namespace).links
        return links[-1].sha256 if links else "", len(links), len(self.roots()), self.since(namespace)

    def basis(self, identity: Identity) -> tuple[object, ...]:
        """Return what the check of an item's history depends on: the hash of its index, and its namespace's keys.

        If it is equal, the history is the same, with its yanks, deprecation, advisories and takedowns.
        """
        return self.bases([identity])[0]

    def bases(self, identities: Sequence[Identity]) -> list[tuple[object, ...]]:
        """Return the same of several items, in their order."""
        hashes = self._index_hashes([str(identity) for identity in identities])
        return [(hashes[str(identity)], *self.chain_basis(identity.namespace)) for identity in identities]

    def history(self, identity: Identity) -> ItemHistory | None:
        """Return an item's history, checked as clients check it; None if it has none or this reader may not see it.

        Raises TrustError if clients refuse the whole history.
        """
        histories, refused = self._read([identity])
        if identity in refused:
            raise refused[identity]
        return histories.get(identity)

    def released(self, identity: Identity, path: str) -> ItemHistory:
        """Return the history of an item that has releases. ``path``: of the page that needs it. Raises RyeError ``not-found``."""
        history = self.history(identity)
        if history is None or not history.records:
            raise self.missing(path)
        return history

    def histories(self, identities: Collection[Identity]) -> dict[Identity, ItemHistory]:
        """Return several histories, without those that are missing, hidden from this reader or refused by clients."""
        return self._read(identities)[0]

    def _read(self, identities: Collection[Identity]) -> tuple[dict[Identity, ItemHistory], dict[Identity, TrustError]]:
        """Return the histories that the reader may see, and why clients refuse others."""
        readable = {str(identity): identity for identity in identities if self.may_read(identity.namespace)}
        histories: dict[Identity, ItemHistory] = {}
        refused: dict[Identity, TrustError] = {}
        unread: dict[str, tuple[object, ...]] = {}
        for name, sha256 in self._index_hashes(readable).items():
            if sha256:
                basis = self.basis(readable[name])
                judged = _judged.get(basis)
                if judged is not None:
                    histories[readable[name]] = judged
                else:
                    unread[name] = basis
        for name, lines in self.log.index_lines(unread):
            identity = readable[name]
            try:
                entries = [read_line(line, name) for line in lines]
                chain, owners = self.chain(identity.namespace), Owners(tuple(self.roots()))
                judged = judge(identity, entries, chain, owners, self.since(identity.namespace))
            except TrustError as error:
                refused[identity] = error
                continue
            histories[identity] = judged
            _judged.put(unread[name], judged, sum(len(line.note) for line in lines))
        return histories, refused

    def _index_hashes(self, wanted: Collection[str]) -> Mapping[str, str]:
        """Return the SHA-256 of the index file of each name; empty if there is no such name."""
        unread = [name for name in wanted if name not in self._indexes]
        if unread:
            self._indexes.update(dict.fromkeys(unread, ""))
            self._indexes.update(_INDEXES.rows(self.connection, {"some": sorted(unread)}))
        return {name: self._indexes[name] for name in wanted}

    # -- bytes -----------------------------------------------------------------------------------------------------------

    def taken_down(self, hashes: Iterable[str]) -> frozenset[str]:
        """Return those of the files that were taken down, as soon as the log says so. Each is asked about once: who needs
        those of many releases asks for all first."""
        wanted = frozenset(hashes)
        unread = wanted - self._gone.keys()
        if unread:
            gone = self.log.taken_down(unread)
            self._gone.update((sha256, sha256 in gone) for sha256 in unread)
        return frozenset(sha256 for sha256 in wanted if self._gone[sha256])

    def files(self, namespace: str, hashes: list[str]) -> dict[str, bytes | None]:
        """Return the bytes of released files; None: they were taken down or are gone, or the reader may not see them.

        The store has a file that was taken down a moment longer than the log allows, and pages are cached.
        """
        files: dict[str, bytes | None] = dict.fromkeys(hashes)
        if self.may_read(namespace):
            gone = self.taken_down(hashes)
            present = [sha256 for sha256 in files if sha256 not in gone]
            files.update(zip(present, self._store.get_all(list(map(wire.blob_path, present))), strict=True))
        return files

    def is_short(self, files: Mapping[str, bytes | None]) -> bool:
        """Whether the store lacks one of these files that was not taken down: it may come back."""
        missing = [sha256 for sha256, data in files.items() if data is None]
        return bool(missing) and len(self.taken_down(missing)) < len(missing)


def no_such_part(path: str, most: int) -> RyeError:
    """Return the error for a part that a page does not have. ``path``: of its first part; ``most``: how many it has."""
    parts = "one part" if most == 1 else f"{most:,} parts"
    return RyeError("not-found", f"This page has only {parts}.", f"The first: {path}")


def head_of(published: Published) -> Head:
    """Return the head for the foot of a page."""
    return Head(published.size, published.time, f"{published.size}-{published.map[:16]}")


_BEGINNING = datetime.min.replace(tzinfo=UTC)
_INDEXES = Prepared(sa.select(names.c.name, names.c.index_sha256).where(Among(names.c.name)))
_judged: LruCache[tuple[object, ...], ItemHistory] = LruCache(PAGES.judged_bytes)
_roots: LruCache[bytes, list[Root]] = LruCache(PAGES.heads)
_chains: LruCache[tuple[bytes, str], KeysetChain] = LruCache(PAGES.chains)
"""Under a checkpoint, the tables say the same to everyone."""
