"""Answer other programs, with separate threads and database connections.

At most ``reader_threads`` requests run and ``reader_waiting`` wait. Any more are refused at once (``busy``). No
response that begins after a withdrawal was committed contains what was withdrawn. Every response contains a new release
once the head covers it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
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
MayRead = Callable[[str], bool]
"""Whether the reader may read a namespace."""


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
    files: dict[str, bytes]
    of: dict[str, str]
    """The namespace of each file."""
    digest: str
    """A hash of all the files."""


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
            return skills.in_all(self.catalogue.listing(ledger, shown, None).offers, may_read)
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
        advisories = self._advisories(ledger, shown)
        if wanted.name is not None:
            if wanted.name not in advisories.files or not may_read(advisories.of[wanted.name]):
                return None
            return _document(advisories.files[wanted.name], JSON, may_compress=True)
        visible = sorted(filter(may_read, set(advisories.of.values())))
        tag = sha256(" ".join((advisories.digest, *visible)).encode()).hexdigest()
        content = self.kept.get(f"osv:{tag}")
        if content is None:
            content = osv.archive(
                {name: data for name, data in advisories.files.items() if advisories.of[name] in visible}
            )
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
            files: dict[str, bytes] = {}
            of: dict[str, str] = {}
            histories = item_histories(ledger, self._names, published.time) if published is not None else ()
            for history in histories:
                entries = osv.entries(history, self._address())
                files |= entries
                of |= dict.fromkeys(entries, history.identity.namespace)
                if len(files) > self._settings.advisories:
                    raise RyeError(
                        "listing-too-large",
                        f"This registry has more than {self._settings.advisories:,} advisories.",
                        "The operator can raise the setting `advisories`.",
                    )
            namespaces = frozenset(name.partition(":")[2].partition("/")[0] for name in self._names)
            digest = sha256(b"".join(files[name] for name in sorted(files))).hexdigest()
            advisories = _AdvisoryFiles(min(ledger.size, shown), namespaces, files, of, digest)
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


def _named(offers: tuple[Offer, ...]) -> str:
    """Return a hash that identifies these releases."""
    return sha256(" ".join(str(offer.position) for offer in offers).encode()).hexdigest()


def _document(content: bytes, media_type: str, *, may_compress: bool = False) -> InteropDocument:
    return InteropDocument(content, media_type, sha256(content).hexdigest(), may_compress)
