"""Render pages in separate threads with their own database connections, and cache them.

At most ``page_threads`` pages are made at the same time and ``page_waiting`` wait. Any more are refused at once
(``busy``: 503 with ``Retry-After``). A cached page needs no thread as long as head and hour are the same. Under another
head it is still valid if everything that it was made from is the same (:mod:`registry_server.pages.reads`); then only
its foot is new. The head is read a few times a second.

Publishing comes first. During a publish, pages take turns ``pace_seconds`` apart, and one that would wait longer than
``turn_seconds`` is refused.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeVar

import sqlalchemy as sa
from msgspec import Struct
from msgspec.structs import replace

from registry_server.pages import page_layout
from registry_server.pages.limits import PAGES
from registry_server.pages.lru_cache import LruCache
from registry_server.pages.negotiation import Form, form_of
from registry_server.pages.page_layout import Headers, Page, Rendered
from registry_server.pages.reads import Now, Reads
from registry_server.pages.registry_view import Head, Reader, RegistryView, Site, head_of
from registry_server.search.search_pool import search_engine
from registry_server.sequencer.ledger import Ledger
from registry_server.settings import Settings
from registry_server.storage import database
from registry_server.storage.bounded_threads import BoundedThreads
from registry_server.storage.objects import Objects
from rye.errors import RyeError

if TYPE_CHECKING:
    from registry_server.pages.analysis_store import AnalysisStore

Maker = Callable[[RegistryView], Page]
"""A function that makes one page. Its RyeErrors, such as ``not-found``, become error pages."""
_T = TypeVar("_T")


class Asked(Struct, frozen=True):
    """The parts of a request that determine the page."""

    path: str
    """The canonical path, with the part of the query that matters. It is part of the cache key."""
    reader: Reader
    accept: str = ""
    if_none_match: str = ""
    prepare: Callable[[sa.Engine, int], None] | None = None
    """Writes what the page needs before its transaction begins, for a log of the given size."""


class Answer(Struct, frozen=True):
    """The response to send."""

    status: int
    headers: Headers
    body: bytes


class _Made(Struct, frozen=True, kw_only=True):
    """A page and what it was made from."""

    head: Head
    hour: datetime
    tag: str
    """The entity tag. Empty: the page is partial and not cached."""
    page: Rendered
    sha256: str
    """SHA-256 of the page's body."""
    reads: Reads | None
    """None: it was made from something that is not recorded, so it is valid only for this head."""
    now: Now

    def holds(self, look: RegistryView, hour: datetime) -> bool:
        """Whether this look would give the same page, apart from its foot."""
        return self.reads is not None and self.now.is_same(hour) and look.hold(self.reads)


class PageCache:
    """Renders and caches pages. Belongs to one event loop; threads do the work."""

    def __init__(
        self,
        settings: Settings,
        engine: sa.Engine,
        store: Objects,
        address: Callable[[], str],
        is_publishing: Callable[[], bool] = lambda: False,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        analyses: AnalysisStore | None = None,
    ) -> None:
        """``engine``: for the little that pages write; ``address``: called for each page, because a registry can learn
        its port late; ``is_publishing``: whether a publishing request is running."""
        self._writing = engine
        self._engine = search_engine(settings)
        self._is_private = settings.read != "public"
        self._store = store
        self._analyses = analyses
        self._address = address
        self._is_publishing = is_publishing
        self._next_turn = 0.0
        self._paced_until = 0.0
        self._clock = clock
        self._threads = BoundedThreads(
            "rye-pages", settings.page_threads, settings.page_waiting, "The registry is making too many pages."
        )
        self._made: LruCache[tuple[object, ...], _Made] = LruCache(PAGES.cached_bytes)
        self._fixed: tuple[str, str] | None = None
        self._head: tuple[float, Head] | None = None
        self._looking: asyncio.Task[Head] | None = None
        with database.reader(self._engine) as connection:  # error pages need it before any page is made here
            self._know(Ledger(connection))

    async def answer(self, asked: Asked, make: Maker) -> Answer:
        """Answer a GET. Raises RyeError ``busy``, and what the maker raises."""

        async def known() -> Maker:
            return make

        return await self._answer(asked, known, is_noted=True)

    async def answer_after(self, asked: Asked, prepare: Callable[[], Awaitable[Maker]]) -> Answer:
        """Answer a GET that must ask something first, such as a search. ``prepare`` returns the maker.

        What it asks is not recorded, so the page is valid for one head only.
        """
        return await self._answer(asked, prepare, is_noted=False)

    async def _answer(self, asked: Asked, prepare: Callable[[], Awaitable[Maker]], *, is_noted: bool) -> Answer:
        await self._turn()
        form = form_of(asked.accept)
        key = (asked.path, form, asked.reader.namespaces, self._address())
        head, hour = await self._newest(), self._hour()
        made = self._made.get(key)
        if made is None or (made.head.tag, made.hour) != (head.tag, hour):
            before, make, began = made, await prepare(), time.monotonic()
            made = await self._in_thread(lambda: self._make(asked, form, make, before, is_noted=is_noted))
            if made.tag:
                reads = len(made.reads.ran) if made.reads is not None else 0
                self._made.put(key, made, len(made.page.body) + 400 * reads + 1_000)
            if made.head.size > head.size:  # a newer head appeared meanwhile
                self._head = (began, made.head)
        media_type = made.page.media_type
        headers = page_layout.headers(form, is_private=asked.reader.is_private, tag=made.tag, media_type=media_type)
        if (
            made.tag
            and asked.if_none_match
            and made.page.status == 200
            and page_layout.is_same(asked.if_none_match, made.tag)
        ):
            return Answer(304, headers, b"")
        return Answer(made.page.status, headers, made.page.whole(self._site(made.head)))

    def site(self) -> Site:
        """Return what is known of the registry without reading the database."""
        return self._site(self._head[1] if self._head is not None else None)

    def _site(self, head: Head | None) -> Site:
        origin, fingerprint = self._fixed or ("", "")
        return Site(origin, fingerprint, self._address(), head)

    def forget_head(self) -> None:
        """Read the head again for the next page."""
        self._head = None

    def site_for_anyone(self) -> Site:
        """Return the same for visitors who may not be members: without root and log if the registry is private."""
        site = self.site()
        return Site(site.origin, "", site.address, None) if self._is_private else site

    def hour(self) -> datetime:
        """Return the current hour, which pages are made for."""
        return self._hour()

    def close(self) -> None:
        """Accept no more requests. Running ones finish."""
        self._threads.close()
        self._engine.dispose()

    # -- in the threads --------------------------------------------------------------------------------------------------

    def _make(self, asked: Asked, form: Form, make: Maker, before: _Made | None, *, is_noted: bool) -> _Made:
        """Make the page, or return ``before`` with a new tag if it is still valid."""
        hour = self._hour()
        if asked.prepare is not None and self._head is not None:
            asked.prepare(self._writing, self._head[1].size)
        with database.reader(self._engine) as connection:
            look = RegistryView(connection, self._store, self._site(None), asked.reader, hour, self._analyses)
            head = look.newest()
            if before is not None and before.holds(look, hour):
                tag = self._tag(asked, form, head, before.sha256)
                return replace(before, head=head, hour=hour, tag=tag)
            noting = look.noting()
            page = make(noting)
            rendered = page_layout.render(page, form, noting.site, noting.now)
            reads = noting.reads() if is_noted else None
        sha256 = hashlib.sha256(rendered.body).hexdigest()
        tag = self._tag(asked, form, head, sha256) if not page.is_partial else ""
        return _Made(head=head, hour=hour, tag=tag, page=rendered, sha256=sha256, reads=reads, now=noting.now)

    def _tag(self, asked: Asked, form: Form, head: Head, sha256: str) -> str:
        """Return the entity tag: a hash of head, code and templates, reader, and everything above the foot."""
        parts = (
            head.tag,
            page_layout.version(),
            asked.path,
            form,
            repr(asked.reader.namespaces),
            self._address(),
            sha256,
        )
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]

    def _know(self, ledger: Ledger) -> None:
        if self._fixed is None:
            self._fixed = (ledger.origin, ledger.roots()[0].sha256())

    def _look_at_head(self) -> Head:
        with database.reader(self._engine) as connection:
            ledger = Ledger(connection)
            self._know(ledger)
            published = ledger.published()
        if published is None:
            raise RyeError("database-unavailable", "The registry has no head.", "rye-registry verify")
        return head_of(published)

    # -- on the event loop -----------------------------------------------------------------------------------------------

    async def _turn(self) -> None:
        """During a publish and for a moment after it, wait for this page's turn: pages and publishing share one
        interpreter.

        Raises RyeError ``busy``.
        """
        now = time.monotonic()
        if self._is_publishing():
            self._paced_until = now + PAGES.pace_lasts_seconds
        if now >= self._paced_until:
            return
        turn = max(now, self._next_turn)
        if turn - now > PAGES.turn_seconds:
            raise RyeError(
                "busy", "The registry is publishing, and too many pages are waiting.", "Try again in a moment."
            )
        self._next_turn = turn + PAGES.pace_seconds
        if turn > now:
            await asyncio.sleep(turn - now)

    async def _newest(self) -> Head:
        known = self._head
        if known is not None and time.monotonic() - known[0] <= PAGES.head_seconds:
            return known[1]
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look_again())
        return await asyncio.shield(self._looking)

    async def _look_again(self) -> Head:
        began = time.monotonic()
        head = await self._in_thread(self._look_at_head)
        self._head = (began, head)
        return head

    async def _in_thread(self, work: Callable[[], _T]) -> _T:
        return await asyncio.wrap_future(self._threads.submit(work))

    def _hour(self) -> datetime:
        return self._clock().replace(minute=0, second=0, microsecond=0)
