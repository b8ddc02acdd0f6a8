"""Routes of the registry's pages (:mod:`registry_server.pages`): from a request to a maker, and from its page to a
response."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

import sqlalchemy as sa
from litestar import HttpMethod, Request, Response, route
from litestar.datastructures import State
from litestar.params import FromPath
from msgspec.structs import replace

from registry_server.accounts.tokens import Account
from registry_server.api.private_reading import ACCOUNT_KEY, is_limited
from registry_server.api.reading import COMPRESSED_BYTES, encoding_of
from registry_server.api.requests import header_of, number_of, service_of
from registry_server.api.service import Service
from registry_server.pages import diff, page_layout
from registry_server.pages.addresses import (
    ItemAddress,
    dependents_path,
    read_item_path,
    read_wanted_path,
    versions_path,
)
from registry_server.pages.dependents import catch_up
from registry_server.pages.errors import error_page
from registry_server.pages.feed import Scope, feed_page
from registry_server.pages.home import home_page
from registry_server.pages.item import item_page, page_path
from registry_server.pages.limits import LISTS, PAGES
from registry_server.pages.listings import Filters
from registry_server.pages.lists import dependents_page, list_page, list_path, publishers_page, publishers_path
from registry_server.pages.negotiation import wants_html
from registry_server.pages.page_cache import Answer, PageRequest
from registry_server.pages.page_context import Reader
from registry_server.pages.page_drafts import Maker
from registry_server.pages.search import Search, search_page
from registry_server.pages.source import raw_page, source_page, source_path
from registry_server.pages.versions import asked_comparison, newest_page, of_item_or_item, versions_page
from registry_server.search.orders import ORDERS, SORTS, Order, Sort
from rye.errors import RyeError
from rye.items.kinds import KINDS
from rye.text.ranking.scoring import of_kind

_Request = Request[Any, Any, State]
_O = TypeVar("_O", bound=str)
_READ = [HttpMethod.GET, HttpMethod.HEAD]
_STYLE_CACHE = "public, max-age=31536000, immutable"


async def page(
    request: _Request, path: str, make: Maker, prepare: Callable[[sa.Engine, int], None] | None = None
) -> Response[bytes]:
    """Answer a GET or HEAD of a page.

    ``path``: canonical, with the part of the query that matters; ``prepare``: writes what the page needs for a log of
    the given size.
    """
    wanted = replace(page_request(request, path), prepare=prepare)
    return await sent(request, await service_of(request).pages.answer(wanted, make))


async def page_after(request: _Request, path: str, prepare: Callable[[], Awaitable[Maker]]) -> Response[bytes]:
    """Answer like :func:`page` when something must be looked up first."""
    return await sent(request, await service_of(request).pages.answer_after(page_request(request, path), prepare))


def page_request(request: _Request, path: str) -> PageRequest:
    """Return the parts of a request that determine the page."""
    return PageRequest(
        path, reader_of_page(request), header_of(request, b"accept"), header_of(request, b"if-none-match")
    )  # fmt: skip


def reader_of_page(request: _Request) -> Reader:
    """Return the reader. If the registry is not public, the gate has checked them already and stored their account."""
    settings = service_of(request).settings
    if settings.read == "public":
        return Reader()
    account: Account = request.scope[ACCOUNT_KEY]  # type: ignore[literal-required]
    readable = account.readable if is_limited(settings) else None
    return Reader(None if readable is None else tuple(sorted(readable)), is_private=True)


async def sent(request: _Request, answer: Answer) -> Response[bytes]:
    """Return a page's answer as a response, without its body for HEAD and with 304, which has the tag of the whole answer.

    Pages of a public registry are compressed, once for each head. They are the same for everyone, so their size tells nothing.
    Other pages can hold both what only their reader may know and the words of a link that somebody else made, such as those of a
    search. Then their compressed size tells whether one is in the other (BREACH).
    """
    service = service_of(request)
    headers = dict(answer.headers)
    body = b"" if answer.status == 304 else answer.body
    tag = headers.get("etag")
    if tag is None or service.settings.read != "public":
        return _response(request, body, answer.status, headers)
    headers["vary"] += ", Accept-Encoding"
    encoding = encoding_of(header_of(request, b"accept-encoding"))
    if encoding is None or len(answer.body) < COMPRESSED_BYTES:
        return _response(request, body, answer.status, headers)
    headers["etag"] = f"W/{tag}"
    if not body:
        return _response(request, body, answer.status, headers)
    headers["content-encoding"] = encoding
    return _response(request, await _compressed(service, tag, encoding, body), answer.status, headers)


def _response(request: _Request, body: bytes, status: int, headers: dict[str, str]) -> Response[bytes]:
    media_type = headers.pop("content-type")
    if request.method == "HEAD":
        headers["content-length"] = str(len(body))
        body = b""
    return Response(body, status_code=status, media_type=media_type, headers=headers)


async def _compressed(service: Service, tag: str, encoding: str, body: bytes) -> bytes:
    """Return a body compressed, in a thread unless that was done before. ``tag``: identifies the body."""
    kept = service.compressed.kept(tag, encoding)
    return kept if kept is not None else await asyncio.to_thread(service.compressed.get, tag, encoding, body)


def refused_reading(service: Service, error: RyeError, status: int, accept: str, path: str = "") -> bytes | None:
    """Return the error page; None if the client does not ask for HTML. ``path``: what was asked for, with its query."""
    if not wants_html(accept):
        return None
    return error_page(error, status, service.pages.site_for_anyone(), service.pages.hour(), path)


# -- routes -------------------------------------------------------------------------------------------------------------


@route("/", http_method=_READ)
async def _home(request: _Request) -> Response[bytes]:
    if not wants_html(header_of(request, b"accept")):
        raise RyeError(
            "not-found",
            "There is nothing at /.",
            "A browser gets pages here; docs/reference/protocol.md lists what programs get.",
        )
    return await page(request, "/", home_page(), service_of(request).fill_lists)


@route("/-/search", http_method=_READ)
async def _search(request: _Request) -> Response[bytes]:
    service, reader = service_of(request), reader_of_page(request)
    query = " ".join(request.query_params.get("q", "").split())
    kind = request.query_params.get("kind", "")
    if len(query) > service.settings.search_characters:
        raise RyeError(
            "bad-request",
            f"The query has more than {service.settings.search_characters} characters.",
            "Use fewer words.",
        )
    if kind and kind not in KINDS:
        raise RyeError("bad-request", f"{kind[:80]!r} is not a kind of item.", f"Kinds: {KINDS.names()}.")
    query, named = of_kind(query, kind or None, KINDS)
    query, kind = query.strip(), named or ""
    if not query:
        return await _list(request, kind)
    order: Order = _one_of(ORDERS, request.query_params.get("sort", "relevance"))
    wanted = Search(query, kind, number_of(request, "offset", 0, 0, PAGES.search_depth), order)

    async def prepare() -> Maker:
        if order == "used":
            await service.pages.prepared(service.fill_lists)
        await service.pages.turn(PAGES.search_pace_seconds)
        asked_for = service.searches.ask(
            query,
            kind=kind or None,
            visible=reader.namespaces,
            limit=PAGES.search_results,
            offset=wanted.offset,
            order=order,
            is_counted=True,
        )
        try:
            results = await asyncio.wrap_future(asked_for)
            return search_page(wanted, results)
        except RyeError as error:
            if error.code != "query-too-short":
                raise
            return search_page(wanted, None, error.message)

    return await page_after(request, wanted.path, prepare)


async def _list(request: _Request, kind: str) -> Response[bytes]:
    """Answer with a list of items. Raises RyeError ``bad-request``."""
    query = request.query_params
    alarms, tools = query.get("alarms", ""), query.get("tools", "")
    if alarms not in ("", "no") or tools not in ("", "declared"):
        raise RyeError("bad-request", "`alarms` must be `no`, and `tools` must be `declared`.", None)
    filters = Filters(
        kind=kind,
        sort=_sort(request),
        licence=query.get("licence", "")[:80],
        no_alarms=bool(alarms),
        tools=bool(tools),
    )
    start = number_of(request, "offset", 0, 0, LISTS.depth)
    return await page(request, list_path(filters, start), list_page(filters, start), service_of(request).fill_lists)


def _sort(request: _Request) -> Sort:
    return _one_of(SORTS, request.query_params.get("sort", "used"))


def _one_of(orders: Sequence[_O], text: str) -> _O:
    """Return the order of this name. Raises RyeError ``bad-request``."""
    for order in orders:
        if text == order:
            return order
    raise RyeError("bad-request", f"`sort` must be one of {', '.join(orders)}.", None)


@route("/-/items", http_method=_READ)
async def _items(request: _Request) -> Response[bytes]:
    return await _list(request, "")


@route("/-/namespaces", http_method=_READ)
async def _publishers(request: _Request) -> Response[bytes]:
    sort, start = _sort(request), number_of(request, "offset", 0, 0, LISTS.depth)
    return await page(
        request, publishers_path(sort, start), publishers_page(sort, start), service_of(request).fill_lists
    )


@route("/favicon.ico", http_method=_READ)
async def _favicon(request: _Request) -> Response[bytes]:
    headers = {"location": page_layout.icon_path(), "cache-control": "public, max-age=86400"}
    return Response(b"", status_code=302, headers={**headers, **dict(page_layout.SAFE_HEADERS)})


@route("/-/style/{name:str}", http_method=_READ)
async def _style(request: _Request, name: FromPath[str]) -> Response[bytes]:
    files = {
        page_layout.style_path(): (page_layout.style(), "text/css"),
        page_layout.icon_path(): (page_layout.icon(), "image/svg+xml"),
        page_layout.picture_path(): (page_layout.picture(), "image/png"),
    }
    body, media_type = files.get(f"/-/style/{name}", (b"", ""))
    if not body:
        raise RyeError("not-found", f"There is nothing at /-/style/{name[:80]}.", None)
    headers = {"content-type": media_type, "cache-control": _STYLE_CACHE, **dict(page_layout.SAFE_HEADERS)}
    if media_type == "image/png":
        return _response(request, body, 200, headers)
    headers["vary"] = "Accept-Encoding"
    encoding = encoding_of(header_of(request, b"accept-encoding"))
    if encoding is not None:
        headers["content-encoding"] = encoding
        body = await _compressed(service_of(request), name, encoding, body)
    return _response(request, body, 200, headers)


async def _feed(request: _Request, about: str) -> Response[bytes]:
    """Answer with the feed of a kind or an item. Raises RyeError ``not-found``."""
    kind, address = KINDS.in_folder(about.removeprefix("/-/")), read_item_path(about)
    if kind is not None:
        scope = Scope(kind=kind.name)
    elif address is not None and address.view == "item" and address.version is None:
        scope = Scope(identity=address.identity)
    else:
        raise RyeError("not-found", f"There is nothing at {request.scope['path'][:200]}.", None)
    return await page(request, scope.path, feed_page(scope))


async def _versions(request: _Request, of: ItemAddress) -> Response[bytes]:
    """Answer with the page of all versions, or lead to the comparison that its form asks for."""
    query, identity = request.query_params, of.identity
    old, new = query.get("from"), query.get("to")
    if old is not None and new is not None:
        location = asked_comparison(identity, old, new)
        return Response(b"", status_code=303, headers={"location": location, **dict(page_layout.SAFE_HEADERS)})
    start = number_of(request, "offset", 0, 0, LISTS.depth)
    make = of_item_or_item(identity, request.scope["path"], versions_page(identity, start))
    return await page(request, versions_path(identity, start), make)


async def _dependents(request: _Request, of: ItemAddress) -> Response[bytes]:
    start = number_of(request, "offset", 0, 0, PAGES.dependents)
    make = of_item_or_item(of.identity, request.scope["path"], dependents_page(of.identity, start))
    return await page(request, dependents_path(of.identity, start), make, catch_up)


@route("/-/{path:path}", http_method=_READ)
async def _item(request: _Request) -> Response[bytes]:
    path = request.scope["path"]
    kind = KINDS.in_folder(path.removeprefix("/-/"))
    if kind is not None:
        return await _list(request, kind.name)
    if path.endswith("/feed.atom"):
        return await _feed(request, path.removesuffix("/feed.atom"))
    if path.endswith("/versions") and (of := read_item_path(path.removesuffix("/versions"))) is not None:
        return await _versions(request, of)
    if path.endswith("/dependents") and (of := read_item_path(path.removesuffix("/dependents"))) is not None:
        return await _dependents(request, of)
    if (wanted := read_wanted_path(path)) is not None:
        return await page(request, path, newest_page(*wanted))
    address = read_item_path(path)
    if address is not None and address.view == "diff":
        number = number_of(request, "page", 1, 1, 999_999)
        return await page(request, diff.part_path(address.path, number), diff.diff_page(address, number))
    part = number_of(request, "part", 0, 0, 999_999)
    if address is not None and address.view == "item":
        return await page(request, page_path(address, part), item_page(address, part), catch_up)
    if address is not None and address.view == "source":
        is_plain = "plain" in request.query_params
        path = source_path(address, part, is_plain=is_plain)
        return await page(request, path, source_page(address, part, is_plain=is_plain))
    if address is not None and address.view == "raw":
        return await page(request, address.path, raw_page(address))
    raise RyeError("not-found", f"There is nothing at {request.scope['path'][:200]}.", None)


PAGE_ROUTES = (_home, _search, _items, _publishers, _favicon, _style, _item)
