"""One transaction's view of the registry: everything that a page is made from.

Only a :class:`RegistryView` knows what its reader may see. For anything that belongs to a namespace, makers ask it and never
the tables: :meth:`RegistryView.may_read`, :meth:`RegistryView.history`, :meth:`RegistryView.file`.

A look records everything that it is asked (:mod:`registry_server.pages.reads`), so that a page can be cached as long as
none of it changes. A page whose maker asks for the head is valid only for that head; ``look.ask`` records a narrower
question.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar, cast

import sqlalchemy as sa
from msgspec import Struct

from registry_server.pages.limits import PAGES
from registry_server.pages.lru_cache import LruCache
from registry_server.pages.reads import Asked, Listening, Now, Reads
from registry_server.sequencer.ledger import Ledger, Published
from registry_server.storage.objects import Objects
from registry_server.storage.prepared import Among, Prepared
from registry_server.storage.schema import names
from rye.errors import RyeError
from rye.items.identity import Identity
from rye.registry.protocol import wire
from rye.registry.protocol.statements import Root
from rye.registry.trust.keysets import KeysetChain
from rye.registry.trust.records import ItemHistory, ReleaseRecord, judge, release_files
from rye.registry.trust.trust_error import TrustError
from rye.registry.trust.trusted import read_line

if TYPE_CHECKING:
    from registry_server.pages.analysis_store import AnalysisStore
    from registry_server.pages.release_analysis import Analysis

T = TypeVar("T")


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
    """Only the foot of a page shows it. None: no head is known, or the site belongs to a look."""


class Reader(Struct, frozen=True):
    """The properties of a reader that pages depend on."""

    namespaces: tuple[str, ...] | None = None
    """The namespaces whose items the reader may see, sorted; None: all."""
    is_private: bool = False
    """Whether the registry is not public: shared caches must not store its pages."""

    def may_read(self, namespace: str) -> bool:
        """Whether the reader may see a namespace's items."""
        return self.namespaces is None or namespace in self.namespaces


class RegistryView:
    """One transaction's view. Belongs to one page and one thread."""

    def __init__(
        self,
        connection: sa.Connection,
        store: Objects,
        site: Site,
        reader: Reader,
        now: datetime,
        analyses: AnalysisStore | None = None,
    ) -> None:
        """``now``: rounded to the hour, so that ages are the same for everyone who gets the page; ``analyses`` None:
        none stored."""
        self._ledger = Ledger(connection)
        published = self._ledger.published()
        if published is None:
            raise RyeError("database-unavailable", "The registry has no head.", "rye-registry verify")
        self._published: Published = published
        self._store = store
        self._analyses = analyses
        self._connection = connection
        self._listening: Listening | None = None
        self._asked: list[Asked[Any]] = []
        self._notes_nothing: RegistryView | None = None
        self._chains: dict[str, KeysetChain] = {}
        self.connection = connection
        self.reader = reader
        self.now = Now(now)
        self.site = site

    def noting(self) -> RegistryView:
        """Return the same look in the same transaction, but one that records what it is asked."""
        made = RegistryView.__new__(RegistryView)
        made.__dict__.update(self.__dict__)
        made._listening = Listening(self._connection)
        made._asked = []
        made._notes_nothing = self
        made.connection = cast(sa.Connection, made._listening)
        made._ledger = self._ledger.beside(made.connection)
        made._chains = {}
        made.now = Now(self.now.hour)
        return made

    # -- what was read ---------------------------------------------------------------------------------------------------

    def ask(self, question: Callable[[RegistryView], T]) -> T:
        """Answer a question, and record question and answer. The question must depend only on the given look."""
        answer = question(self._quiet)
        if self._listening is not None:
            self._asked.append(Asked(question, answer))
        return answer

    def reads(self) -> Reads:
        """Return everything that was asked so far."""
        return Reads(tuple(self._listening.ran) if self._listening is not None else (), tuple(self._asked))

    def hold(self, reads: Reads) -> bool:
        """Whether a page for this reader that was made from these reads is still valid."""
        return reads.hold(self._quiet, self._connection)

    def newest(self) -> Head:
        """Return the head of this look for the cache, without recording it."""
        return head_of(self._published)

    @property
    def _quiet(self) -> RegistryView:
        return self._notes_nothing or self

    # -- the registry ----------------------------------------------------------------------------------------------------

    @property
    def published(self) -> Published:
        """The newest head."""
        return self.ask(_published)

    @property
    def head(self) -> Head:
        """The newest head, for the foot of a page."""
        return head_of(self.published)

    @property
    def origin(self) -> str:
        """The registry's origin."""
        return self._ledger.origin

    def may_read(self, namespace: str) -> bool:
        """Whether the reader may see a namespace's items."""
        return self.reader.may_read(namespace)

    def missing(self, path: str) -> RyeError:
        """Return the error for a page that does not exist or that this reader may not see."""
        return RyeError("not-found", f"There is nothing at {path[:200]}.", None)

    def roots(self) -> list[Root]:
        """Return the root statements, oldest first."""
        return self._ledger.roots()

    def leaves(self, start: int, end: int) -> list[bytes]:
        """Return the log entries from position ``start`` up to ``end``."""
        return self._ledger.leaves(start, end)

    def leaf_hashes(self, start: int, end: int) -> Iterator[bytes]:
        """Yield the leaf hashes from position ``start`` up to ``end``."""
        return self._ledger.leaf_hashes(end, start)

    def edge(self) -> dict[int, bytes]:
        """Return the tree's partial tiles by level."""
        return self._ledger.edge()

    def full_tile(self, path: str) -> bytes | None:
        """Return a full tile, which never changes; None if the store does not have it yet."""
        return self._stored([path])[0]

    def chain(self, namespace: str) -> KeysetChain:
        """Return the keysets of a namespace. An unclaimed namespace has no links."""
        found = self._chains.get(namespace)
        if found is None:
            found = self._chains[namespace] = self._ledger.chain(namespace)
            self._quiet._chains[namespace] = found  # never the other way: the maker's own look must note what it read
        return found

    def history(self, identity: Identity) -> ItemHistory | None:
        """Return an item's history, checked as clients check it; None if it has none or this reader may not see it.

        Raises TrustError if clients refuse the whole history.
        """
        return self.histories([identity]).get(identity) if self.may_read(identity.namespace) else None

    def histories(self, identities: list[Identity]) -> dict[Identity, ItemHistory]:
        """Return several histories, without those that are missing, hidden from this reader or refused by clients."""
        wanted = {str(identity): identity for identity in identities if self.may_read(identity.namespace)}
        found: dict[Identity, ItemHistory] = {}
        unread: dict[str, tuple[object, ...]] = {}
        for name, sha256 in _INDEXES.rows(self.connection, {"some": sorted(wanted)}):
            key = (sha256, *self._basis(wanted[name].namespace))
            known = _judged.get(key)
            if known is not None:
                found[wanted[name]] = known
            else:
                unread[name] = key
        for name, lines in self._quiet._ledger.index_lines(unread):  # the recorded hash determines them
            identity = wanted[name]
            try:
                entries = [read_line(line, name) for line in lines]
                judged = judge(
                    identity, entries, self.chain(identity.namespace), self.roots(), self.since(identity.namespace)
                )
            except TrustError:
                if len(identities) == 1:
                    raise
                continue
            found[identity] = judged
            _judged.put(unread[name], judged, sum(len(line.note) for line in lines))
        return found

    def since(self, namespace: str) -> datetime:
        """Return the time of the latest recovery in effect at the head. Between recoveries, time does not change what
        counts."""
        return self.ask(lambda look: _latest_recovery(look.chain(namespace), look.published.time))

    def basis(self, identity: Identity) -> tuple[object, ...]:
        """Return what the check of an item's history depends on. If it is equal, the result is the same."""
        rows = _INDEXES.rows(self.connection, {"some": [str(identity)]})
        return (*(row[1] for row in rows), *self._basis(identity.namespace))

    def _basis(self, namespace: str) -> tuple[object, ...]:
        """Return what the check of a history depends on besides the index."""
        links = self.chain(namespace).links
        return links[-1].sha256 if links else "", len(links), len(self.roots()), self.since(namespace)

    def analysis(self, record: ReleaseRecord) -> Analysis | None:
        """Return the stored analysis of a release; None if it has none, files were taken down, or the reader may not
        see it.

        Takedowns count as soon as the log has them: the stored analysis is removed a moment later.
        """
        if self._analyses is None or record.takedown is not None or not self.may_read(record.identity.namespace):
            return None
        if self._ledger.taken_down(release_files(record.release)):
            return None
        return self._analyses.get(record)

    def keep_analysis(self, record: ReleaseRecord, analysis: Analysis) -> None:
        """Store an analysis that was made from all files of a release."""
        if self._analyses is not None:
            self._analyses.put(record, analysis)

    def file(self, namespace: str, sha256: str) -> bytes | None:
        """Return the bytes of a released file; None if they are gone or the reader may not see them."""
        return self.files(namespace, [sha256])[sha256]

    def files(self, namespace: str, hashes: list[str]) -> dict[str, bytes | None]:
        """Return the bytes of several files, read in parallel if that is faster.

        A file that was taken down is gone as soon as the log says so: the store has it a moment longer, and pages are
        cached.
        """
        found: dict[str, bytes | None] = dict.fromkeys(hashes)
        if self.may_read(namespace):
            gone = self._ledger.taken_down(hashes)
            wanted = [sha256 for sha256 in found if sha256 not in gone]
            found.update(zip(wanted, self._stored(list(map(wire.blob_path, wanted))), strict=True))
        return found

    def _stored(self, paths: Iterable[str]) -> list[bytes | None]:
        """Read from the store by names that determine every byte. A missing file may exist under another head."""
        found = self._store.get_all(list(paths))
        if None in found:
            self.ask(_published)
        return found


def head_of(published: Published) -> Head:
    """Return the head for the foot of a page."""
    return Head(published.size, published.time, f"{published.size}-{published.map[:16]}")


def _published(look: RegistryView) -> Published:
    return look._published


def _latest_recovery(chain: KeysetChain, time: datetime) -> datetime:
    recoveries = (link.keyset.recovery for link in chain.links)
    return max((at for at in recoveries if at is not None and at <= time), default=_BEGINNING)


_BEGINNING = datetime.min.replace(tzinfo=UTC)
_INDEXES = Prepared(sa.select(names.c.name, names.c.index_sha256).where(Among(names.c.name)))
_judged: LruCache[tuple[object, ...], ItemHistory] = LruCache(PAGES.judged_bytes)
