"""One look at the registry: everything that one page is made from, read in one transaction.

Only a :class:`Look` knows what its reader may see. Makers of pages ask it, and never the tables directly, about anything that
belongs to a namespace: :meth:`Look.may_read`, :meth:`Look.history`, :meth:`Look.file`.
"""

from __future__ import annotations

from datetime import UTC, datetime

import sqlalchemy as sa
from msgspec import Struct

from registry_server.pages.kept import Kept
from registry_server.pages.limits import PAGES
from registry_server.sequencer.ledger import Ledger, Published
from registry_server.storage.objects import Objects
from registry_server.storage.prepared import Among, Prepared
from registry_server.storage.schema import names
from rye.errors import RyeError
from rye.items.identity import Identity
from rye.registry.protocol import wire
from rye.registry.protocol.statements import Root
from rye.registry.trust.keysets import KeysetChain
from rye.registry.trust.records import ItemHistory, judge
from rye.registry.trust.trust_error import TrustError
from rye.registry.trust.trusted import read_line


class Head(Struct, frozen=True):
    """The newest head, as every page's foot shows it."""

    size: int
    """Entries of the log."""
    time: datetime
    """Of its snapshot."""
    tag: str
    """Another one for another head."""


class Site(Struct, frozen=True):
    """What every page says of the registry."""

    origin: str
    fingerprint: str
    """SHA-256 of root 1: what clients pin."""
    address: str
    """Without a slash at its end."""
    head: Head | None
    """None: an error that no head is known for."""


class Reader(Struct, frozen=True):
    """Who reads, as far as pages differ by it."""

    namespaces: tuple[str, ...] | None = None
    """The namespaces whose items they may see, sorted; None: all."""
    is_private: bool = False
    """Whether the registry is for members only: nothing may be kept by shared caches."""

    def may_read(self, namespace: str) -> bool:
        return self.namespaces is None or namespace in self.namespaces


class Look:
    """Belongs to one page and one thread."""

    def __init__(self, connection: sa.Connection, store: Objects, site: Site, reader: Reader, now: datetime) -> None:
        """``now``: to the hour, so that ages are the same for everybody who gets the page."""
        self.connection = connection
        self.ledger = Ledger(connection)
        self.store = store
        self.reader = reader
        self.now = now
        self.is_partial = False
        """Set by a maker that could not read all it wanted: the page is not kept."""
        published = self.ledger.published()
        if published is None:
            raise RyeError("database-unavailable", "The registry has no head.", "rye-registry verify")
        self.published: Published = published
        self.site = Site(site.origin, site.fingerprint, site.address, head_of(published))

    @property
    def head(self) -> Head:
        assert self.site.head is not None
        return self.site.head

    def may_read(self, namespace: str) -> bool:
        return self.reader.may_read(namespace)

    def missing(self, path: str) -> RyeError:
        """What is said of what is not there, and of what this reader may not see."""
        return RyeError("not-found", f"There is nothing at {path[:200]}.", None)

    def roots(self) -> list[Root]:
        return self.ledger.roots()

    def chain(self, namespace: str) -> KeysetChain:
        """The keysets of a namespace; without links for one that nobody owns."""
        return self.ledger.chain(namespace)

    def history(self, identity: Identity) -> ItemHistory | None:
        """Everything that stands about an item, judged as clients judge it. None: nothing, or this reader may not see it.

        Raises TrustError where clients refuse the whole history.
        """
        return self.histories([identity]).get(identity) if self.may_read(identity.namespace) else None

    def histories(self, identities: list[Identity]) -> dict[Identity, ItemHistory]:
        """The same of several items; what is not there, hidden from this reader or refused by clients is left out."""
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
        for name, lines in self.ledger.index_lines(unread):
            identity = wanted[name]
            try:
                entries = [read_line(line, name) for line in lines]
                judged = judge(
                    identity, entries, self.chain(identity.namespace), self.roots(), self._since(identity.namespace)
                )
            except TrustError:
                if len(identities) == 1:
                    raise
                continue
            found[identity] = judged
            _judged.put(unread[name], judged, sum(len(line.note) for line in lines))
        return found

    def _since(self, namespace: str) -> datetime:
        """The latest recovery that is in effect: between two of them, time changes no judgement."""
        recoveries = (link.keyset.recovery for link in self.chain(namespace).links)
        return max((at for at in recoveries if at is not None and at <= self.published.time), default=_BEGINNING)

    def _basis(self, namespace: str) -> tuple[object, ...]:
        """What a judgement rests on beside the index."""
        links = self.chain(namespace).links
        return links[-1].sha256 if links else "", len(links), len(self.roots()), self._since(namespace)

    def file(self, namespace: str, sha256: str) -> bytes | None:
        """The bytes of a released file; None where they are gone, or for another reader."""
        return self.files(namespace, [sha256])[sha256]

    def files(self, namespace: str, hashes: list[str]) -> dict[str, bytes | None]:
        """The same of several files, read at the same time where that is faster.

        What was taken down is gone as soon as the log says so: the store has it a moment longer, and pages are kept.
        """
        found: dict[str, bytes | None] = dict.fromkeys(hashes)
        if self.may_read(namespace):
            gone = self.ledger.taken_down(hashes)
            wanted = [sha256 for sha256 in found if sha256 not in gone]
            found.update(zip(wanted, self.store.get_all(list(map(wire.blob_path, wanted))), strict=True))
        return found


def head_of(published: Published) -> Head:
    return Head(published.size, published.time, f"{published.size}-{published.map[:16]}")


_BEGINNING = datetime.min.replace(tzinfo=UTC)
_INDEXES = Prepared(sa.select(names.c.name, names.c.index_sha256).where(Among(names.c.name)))
_judged: Kept[tuple[object, ...], ItemHistory] = Kept(PAGES.judged_bytes)
