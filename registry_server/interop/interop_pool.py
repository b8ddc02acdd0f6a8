"""Answer other programs, with separate threads and database connections.

At most ``reader_threads`` requests run and ``reader_waiting`` wait. Any more are refused at once (``busy``). No
response that begins after a withdrawal was committed contains what was withdrawn. Every response contains a new release
once the head covers it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from hashlib import sha256
from typing import TypeVar

from msgspec import Struct

from registry_server.interop import apm, osv, queries, renovate, skills
from registry_server.interop.catalogue import Catalogue
from registry_server.interop.offers import Offer
from registry_server.interop.paths import (
    Advisories,
    ApmArchive,
    ApmUnknown,
    ApmVersions,
    ItemVersions,
    SkillFile,
    SkillIndex,
    Wanted,
)
from registry_server.interop.repositories import Repositories
from registry_server.pages.lru_cache import LruCache
from registry_server.sequencer.head_publication import shown_checkpoint
from registry_server.sequencer.ledger import Ledger
from registry_server.sequencer.search_offers import item_histories
from registry_server.settings import Settings
from registry_server.storage import database
from registry_server.storage.bounded_threads import BoundedThreads
from registry_server.storage.objects import Objects
from rye.errors import RyeError
from rye.items.identity import Identity
from rye.items.kinds import KINDS
from rye.registry.protocol.lines import write_time
from rye.registry.protocol.statements import Advisory

JSON, BYTES, GZIP, ZIP = "application/json", "application/octet-stream", "application/gzip", "application/zip"
_HEAD_SECONDS = 0.25
"""How long the head of a remote store is cached."""

Value = TypeVar("Value")


class MayRead(Struct, frozen=True):
    """Whether the reader may read a namespace."""

    namespaces: tuple[str, ...] | None = None
    """Those that they may read; None: all."""

    def __call__(self, namespace: str) -> bool:
        """Whether they may read it."""
        return self.namespaces is None or namespace in self.namespaces


class InteropDocument(Struct, frozen=True):
    """A response."""

    content: bytes
    media_type: str
    tag: str
    """A hash of the content, for the entity tag."""
    may_compress: bool = False


class _AdvisoryFiles(Struct, frozen=True):
    """The advisories in force."""

    as_of: int
    namespaces: frozenset[str]
    """Those that ever had an advisory."""
    files: dict[str, dict[str, bytes]]
    """The files of each namespace, by ID."""
    digests: dict[str, str]
    """A hash of each namespace's files."""
    crowded: frozenset[str]
    """Namespaces that alone have more than are listed. None of their files is here."""


class InteropPool:
    """Answer other programs. Thread-safe."""

    def __init__(self, public: Objects, settings: Settings, address: Callable[[], str]) -> None:
        self._engine = database.engine_of(
            settings.database_url, wait_seconds=settings.database_wait_seconds, idle_seconds=settings.leader_seconds
        )
        self._public = public
        self._settings = settings
        self._address = address
        self.catalogue = Catalogue(settings)
        self.kept: LruCache[str, bytes] = LruCache(settings.reader_bytes)
        self.folders = skills.Folders(public, self.kept)
        self.repositories = Repositories(self.catalogue, self.folders, settings)
        self._threads = BoundedThreads(
            "rye-readers",
            settings.reader_threads,
            settings.reader_waiting,
            "The registry is answering too many other programs.",
        )
        self._building = threading.Lock()
        self._advised: _AdvisoryFiles | None = None
        self._scanned = 0
        self._names: set[str] = set()
        self._shown = (0, -_HEAD_SECONDS)

    def ask(self, work: Callable[[Ledger, int], Value]) -> Future[Value]:
        """Run ``work`` in a thread, with the ledger and the log size of the head in the store. Return its future.

        Raises RyeError ``busy``.
        """

        def working() -> Value:
            shown = self._shown_size()
            with database.reader(self._engine) as connection:
                ledger = Ledger(connection)
                self.catalogue.changes.advance(ledger)
                return work(ledger, shown)

        return self._threads.submit(working)

    def document(self, wanted: Wanted, may_read: MayRead) -> Future[InteropDocument | None]:
        """Return the document at a path; None if it does not exist or the reader may not see it."""

        def work(ledger: Ledger, shown: int) -> InteropDocument | None:
            if isinstance(wanted, SkillIndex):
                return self._index(ledger, shown, wanted.namespace, may_read)
            if isinstance(wanted, SkillFile):
                return self._file(ledger, shown, wanted, may_read)
            if isinstance(wanted, ItemVersions):
                return self._versions(ledger, shown, wanted, may_read)
            if isinstance(wanted, Advisories):
                return self._advisory(ledger, shown, wanted, may_read)
            return self._package(ledger, shown, wanted, may_read)

        return self.ask(work)

    def close(self) -> None:
        """Accept no more requests. Running ones finish."""
        self._threads.close()
        self._engine.dispose()

    # -- skills -------------------------------------------------------------------------------------------------------

    def _index(self, ledger: Ledger, shown: int, namespace: str | None, may_read: MayRead) -> InteropDocument | None:
        offers = self._offers(ledger, shown, namespace, may_read)
        if offers is None:
            return None
        key = f"index:{namespace or ''}:{_named(offers)}"
        content = self.kept.get(key)
        if content is None:
            with self._building:  # so that many simultaneous requests cost as much as one
                content = self.kept.get(key)
                if content is None:
                    content, is_complete = skills.index(offers, self.folders, namespace)
                    if is_complete:
                        self.kept.put(key, content, len(content))
        return _document(content, JSON, may_compress=True)

    def _file(self, ledger: Ledger, shown: int, wanted: SkillFile, may_read: MayRead) -> InteropDocument | None:
        offers = self._offers(ledger, shown, wanted.namespace, may_read)
        offer = next((each for each in offers or () if each.name == wanted.name), None)
        if offer is None:
            return None
        if wanted.path is None:
            content = self.folders.archive(offer) if len(offer.files) > 1 else None
            return _document(content, GZIP) if content is not None else None
        file = next((each for each in offer.files if each.path == wanted.path), None)
        content = self.folders.file(file.sha256) if file is not None else None
        return InteropDocument(content, BYTES, file.sha256) if content is not None and file is not None else None

    def _offers(self, ledger: Ledger, shown: int, namespace: str | None, may_read: MayRead) -> tuple[Offer, ...] | None:
        """Return the skills of a namespace or of all; None if it never had skills or the reader may not see it."""
        if namespace is None:
            return skills.in_all(self.catalogue.of_readable(ledger, shown, may_read.namespaces))
        if not may_read(namespace):
            return None
        offers = self.catalogue.listing(ledger, shown, namespace).offers
        return offers if offers or self.catalogue.has_skills(ledger, namespace) else None

    # -- apm's packages --------------------------------------------------------------------------------------------

    def _package(
        self, ledger: Ledger, shown: int, wanted: ApmVersions | ApmArchive | ApmUnknown, may_read: MayRead
    ) -> InteropDocument | None:
        """Answer apm. Raises RyeError ``withdrawn``."""
        if isinstance(wanted, ApmUnknown) or not may_read(wanted.namespace):
            return None
        releases = self.catalogue.releases(ledger, shown, wanted.namespace, wanted.name)
        if releases is None:
            return None
        if isinstance(wanted, ApmVersions):
            rows = [
                apm.Archived(offer.version, *digest, write_time(offer.time))
                for offer in releases.offers
                if (digest := self.folders.archive_digest(offer)) is not None
            ]
            return _document(apm.versions(wanted.namespace, wanted.name, rows), JSON, may_compress=True)
        offer = next((each for each in releases.offers if each.version == wanted.version), None)
        content = self.folders.archive(offer) if offer is not None else None
        if content is not None:
            return _document(content, GZIP)
        if any(ledger.release(name, wanted.version) is not None for name in releases.names):
            named = f"{wanted.namespace}/{wanted.name} {wanted.version}"
            raise RyeError("withdrawn", f"{named} is no longer offered.", "Request the list of versions.")
        return None

    # -- versions and advisories --------------------------------------------------------------------------------------

    def _versions(self, ledger: Ledger, shown: int, wanted: ItemVersions, may_read: MayRead) -> InteropDocument | None:
        if not may_read(wanted.id.partition("/")[0]):
            return None
        kinds = (wanted.kind,) if wanted.kind is not None else tuple(KINDS)
        items = [self.catalogue.item(ledger, shown, Identity(kind, wanted.id)) for kind in kinds]
        known = [item for item in items if item is not None]
        if len(known) != 1:
            return None
        return _document(renovate.document(*known[0], self._address()), JSON, may_compress=True)

    def _advisory(self, ledger: Ledger, shown: int, wanted: Advisories, may_read: MayRead) -> InteropDocument | None:
        """Answer from what the reader may see. What they may not see neither changes the entity tag nor counts for the limit.

        Raises RyeError ``listing-too-large``.
        """
        advisories = self._advisories(ledger, shown)
        visible = sorted(filter(may_read, advisories.files))
        if wanted.name is not None:
            known = (advisories.files[namespace].get(wanted.name) for namespace in visible)
            content = next((data for data in known if data is not None), None)
            if content is not None:
                return _document(content, JSON, may_compress=True)
        most = self._settings.advisories
        count = sum(len(advisories.files[namespace]) for namespace in visible)
        if any(map(may_read, advisories.crowded)) or (wanted.name is None and count > most):
            message = f"This registry has more than {most:,} advisories."
            raise RyeError("listing-too-large", message, "The operator can raise the setting `advisories`.")
        if wanted.name is not None:
            return None
        tag = sha256(" ".join(advisories.digests[namespace] for namespace in visible).encode()).hexdigest()
        content = self.kept.get(f"osv:{tag}")
        if content is None:
            content = osv.archive({name: data for each in visible for name, data in advisories.files[each].items()})
            self.kept.put(f"osv:{tag}", content, len(content))
        return InteropDocument(content, ZIP, tag)

    def _known_advisories(self) -> _AdvisoryFiles | None:
        advisories = self._advised
        is_right = advisories is not None and self.catalogue.changes.items_are(advisories.as_of, advisories.namespaces)
        return advisories if is_right else None

    def _advisories(self, ledger: Ledger, shown: int) -> _AdvisoryFiles:
        advisories = self._known_advisories()
        if advisories is not None:
            return advisories
        with self._building:
            advisories = self._known_advisories()
            if advisories is not None:
                return advisories
            title = Advisory.TITLE.encode()
            span = {"start": self._scanned, "low": title + b"\n", "high": title + b"\x0b"}
            self._names |= {name for (name,) in queries.NAMES_WITH.rows(ledger.connection, span)}
            self._scanned = max(self._scanned, ledger.size)
            published = ledger.published()
            files: dict[str, dict[str, bytes]] = {}
            crowded: set[str] = set()
            for history in item_histories(ledger, self._names, published.time) if published is not None else ():
                namespace = history.identity.namespace
                entries = osv.entries(history, self._address()) if namespace not in crowded else {}
                if entries:
                    files.setdefault(namespace, {}).update(entries)
                if len(files.get(namespace, ())) > self._settings.advisories:
                    crowded.add(namespace)
                    del files[namespace]
            advisories = _AdvisoryFiles(
                min(ledger.size, shown),
                frozenset(map(_namespace_of, self._names)),
                files,
                {namespace: _digest(entries) for namespace, entries in files.items()},
                frozenset(crowded),
            )
            self._advised = advisories
        return advisories

    def _shown_size(self) -> int:
        size, when = self._shown
        if not self._public.is_local and time.monotonic() - when < _HEAD_SECONDS:
            return size
        shown = shown_checkpoint("head", self._public.get("head"))
        size = shown.size if shown is not None else 0
        self._shown = (size, time.monotonic())
        return size


def _namespace_of(name: str) -> str:
    """The namespace in ``kind:namespace/…``."""
    return name.partition(":")[2].partition("/")[0]


def _digest(files: Mapping[str, bytes]) -> str:
    """Return a hash of one namespace's advisories, whose IDs are in them."""
    return sha256(b"".join(files[name] for name in sorted(files))).hexdigest()


def _named(offers: tuple[Offer, ...]) -> str:
    """Return a hash that identifies these releases."""
    return sha256(" ".join(str(offer.position) for offer in offers).encode()).hexdigest()


def _document(content: bytes, media_type: str, *, may_compress: bool = False) -> InteropDocument:
    return InteropDocument(content, media_type, sha256(content).hexdigest(), may_compress)
