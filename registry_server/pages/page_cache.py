"""Render pages in separate threads with their own database connections, and cache them.

At most ``page_threads`` pages are made at the same time and ``page_waiting`` wait. Any more are refused at once
(``busy``: 503 with ``Retry-After``). A cached page needs no thread as long as head and hour are the same. Under another
head or in another hour, its maker says again what the page depends on (:mod:`registry_server.pages.page_drafts`); if
that is the same, only its foot is new. The head is read a few times a second.

Publishing comes first. During a publish, pages take turns ``pace_seconds`` apart, and one that would wait longer than
``turn_seconds`` is refused.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import TypeVar

import sqlalchemy as sa
from msgspec import Struct
from msgspec.structs import replace

from registry_server.pages import page_layout
from registry_server.pages.analysis_store import AnalysisStore
from registry_server.pages.limits import PAGES
from registry_server.pages.lru_cache import LruCache
from registry_server.pages.negotiation import Form, form_of
from registry_server.pages.operator import operator_of
from registry_server.pages.page_context import Head, Reader, Site
from registry_server.pages.page_drafts import Maker
from registry_server.pages.page_layout import Headers, Rendered
from registry_server.pages.registry_view import RegistryView, head_of
from registry_server.search.search_pool import search_engine
from registry_server.sequencer.ledger import Ledger
from registry_server.settings import Settings
from registry_server.storage import database
from registry_server.storage.bounded_threads import BoundedThreads
from registry_server.storage.objects import Objects
from rye.errors import RyeError

_T = TypeVar("_T")


class PageRequest(Struct, frozen=True):
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
    """The whole page, also with 304, which is sent without it: whether the page is compressed follows from its length."""


class _Kept(Struct, frozen=True, kw_only=True):
    """A page and what it was made from."""

    head: Head
    hour: datetime
    tag: str
    """The entity tag. Empty: the page is partial and not cached."""
    page: Rendered
    sha256: str
    """SHA-256 of the page's body."""
    basis: object
    """What the page depends on, compared with ``==``. None: it is valid for this head only."""
    is_fixed_by_head: bool
    """Whether the page stays valid without another look, as long as head and hour are the same."""


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
        self._operator = operator_of(settings)
        self._is_publishing = is_publishing
        self._next_turn = 0.0
        self._paced_until = 0.0
        self._clock = clock
        self._threads = BoundedThreads(
            "rye-pages", settings.page_threads, settings.page_waiting, "The registry is making too many pages."
        )
        self._kept: LruCache[tuple[object, ...], _Kept] = LruCache(PAGES.cached_bytes)
        self._fixed: tuple[str, str] | None = None
        self._head: tuple[float, Head] | None = None
        self._looking: asyncio.Task[Head] | None = None
        with database.reader(self._engine) as connection:  # error pages need it before any page is made here
            self._know(Ledger(connection))

    async def answer(self, request: PageRequest, make: Maker) -> Answer:
        """Answer a GET. Raises RyeError ``busy``, and what the maker raises."""

        async def made() -> Maker:
            return make

        return await self._answer(request, made)

    async def answer_after(self, request: PageRequest, prepare: Callable[[], Awaitable[Maker]]) -> Answer:
        """Answer a GET that must ask something first, such as a search. ``prepare`` returns the maker.

        What it asks is not asked in the page's transaction, so the page is cached only if no head came meanwhile.
        """
        return await self._answer(request, prepare, is_asked_before=True)

    async def _answer(
        self, request: PageRequest, prepare: Callable[[], Awaitable[Maker]], *, is_asked_before: bool = False
    ) -> Answer:
        await self.turn(PAGES.pace_seconds)
        form = form_of(request.accept)
        key = (request.path, form, request.reader.namespaces, self._address())
        head, hour = await self._newest(), self.hour()
        kept = self._kept.get(key)
        if kept is None or not kept.is_fixed_by_head or (kept.head.tag, kept.hour) != (head.tag, hour):
            before, make, began = kept, await prepare(), time.monotonic()
            kept = await self._in_thread(lambda: self._make(request, form, make, before))
            if kept.tag and (kept.head.tag == head.tag or not is_asked_before):
                self._kept.put(key, kept, len(kept.page.body) + 3_000)
            if kept.head.size > head.size:  # a newer head appeared meanwhile
                self._head = (began, kept.head)
        headers = page_layout.headers(
            form,
            is_private=request.reader.is_private,
            tag=kept.tag,
            media_type=kept.page.media_type,
            is_sandboxed=kept.page.is_sandboxed,
            location=kept.page.location,
        )
        whole = kept.page.whole(self._site(kept.head))
        is_same = kept.page.status == 200 and page_layout.is_same(request.if_none_match, kept.tag)
        if kept.tag and request.if_none_match and is_same:
            return Answer(304, headers, whole)
        return Answer(kept.page.status, headers, whole)

    async def prepared(self, prepare: Callable[[sa.Engine, int], None]) -> None:
        """Write what a search needs before it is asked, for the newest head."""
        head = await self._newest()
        await self._in_thread(lambda: prepare(self._writing, head.size))

    def site(self) -> Site:
        """Return what is known of the registry without reading the database."""
        return self._site(self._head[1] if self._head is not None else None)

    def _site(self, head: Head | None) -> Site:
        origin, fingerprint = self._fixed or ("", "")
        return Site(origin, fingerprint, self._address(), head, self._operator)

    def forget_head(self) -> None:
        """Read the head again for the next page."""
        self._head = None

    def site_for_anyone(self) -> Site:
        """Return the same for visitors who may not be members: without root and log if the registry is private."""
        site = self.site()
        return Site(site.origin, "", site.address, None, self._operator) if self._is_private else site

    @property
    def is_making(self) -> bool:
        """Whether pages are being made, or wait to be."""
        return self._threads.taken > 0

    def hour(self) -> datetime:
        """Return the current hour, which pages are made for."""
        return self._clock().replace(minute=0, second=0, microsecond=0)

    def close(self) -> None:
        """Accept no more requests. Running ones finish."""
        self._threads.close()
        self._engine.dispose()

    # -- in the threads --------------------------------------------------------------------------------------------------

    def _make(self, request: PageRequest, form: Form, make: Maker, before: _Kept | None) -> _Kept:
        """Make the page, or return ``before`` with a new tag if it depends on the same."""
        hour = self.hour()
        if request.prepare is not None and self._head is not None:
            request.prepare(self._writing, self._head[1].size)
        with database.reader(self._engine) as connection:
            registry = RegistryView(connection, self._store, self._site(None), request.reader, hour, self._analyses)
            head, draft = registry.head, make(registry)
            json_fields = draft.json_fields() if form == "json" else {}
            basis = (draft.basis, json_fields, hour)
            if before is not None and before.basis == basis:
                tag = self._tag(request, form, head, before.sha256)
                return replace(before, head=head, hour=hour, tag=tag)
            page = draft.make()
            rendered = page_layout.render(page, form, registry.site, registry.now, json_fields)
        sha256 = hashlib.sha256(rendered.body).hexdigest()
        tag = self._tag(request, form, head, sha256) if not page.is_partial else ""
        return _Kept(
            head=head,
            hour=hour,
            tag=tag,
            page=rendered,
            sha256=sha256,
            basis=None if page.is_short else basis,
            is_fixed_by_head=draft.is_fixed_by_head,
        )

    def _tag(self, request: PageRequest, form: Form, head: Head, sha256: str) -> str:
        """Return the entity tag: a hash of head, code and templates, reader, and everything above the foot."""
        parts = (
            head.tag,
            page_layout.version(),
            request.path,
            form,
            repr(request.reader.namespaces),
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

    async def turn(self, pace: float) -> None:
        """During a publish and for a moment after it, wait for this reader's turn: pages, searches and publishing share
        one interpreter.

        ``pace``: seconds until the next reader's turn. Raises RyeError ``busy``.
        """
        now = time.monotonic()
        if self._is_publishing():
            self._paced_until = now + PAGES.pace_lasts_seconds
        if now >= self._paced_until:
            return
        turn = max(now, self._next_turn)
        if turn - now > PAGES.turn_seconds:
            raise RyeError(
                "busy", "The registry is publishing, and too many readers are waiting.", "Try again in a moment."
            )
        self._next_turn = turn + pace
        if turn > now:
            await asyncio.sleep(turn - now)

    async def _newest(self) -> Head:
        if self._head is not None and time.monotonic() - self._head[0] <= PAGES.head_seconds:
            return self._head[1]
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
