"""Routes of the pages of the log and of namespaces, of feeds, and of files for crawlers
(:mod:`registry_server.pages`)."""

from __future__ import annotations

import asyncio
import hashlib
from typing import Any

from litestar import HttpMethod, Request, Response, route
from litestar.datastructures import State
from litestar.params import FromPath

from registry_server.api.page_routes import page
from registry_server.api.requests import service_of
from registry_server.pages import crawlers, log
from registry_server.pages.addresses import entry_path, feed_path
from registry_server.pages.feed import Scope, feed_page
from registry_server.pages.namespace import is_item_name, namespace_page, page_path
from registry_server.pages.operator import SECURITY_PATH, security_text
from registry_server.pages.page_layout import SAFE_HEADERS
from rye.errors import RyeError
from rye.items.identity import is_segment
from rye.items.kinds import KINDS

_Request = Request[Any, Any, State]
_READ = [HttpMethod.GET, HttpMethod.HEAD]


@route("/-/log", http_method=_READ)
async def _log(request: _Request) -> Response[bytes]:
    text = request.query_params.get("before")
    before = log.read_position(text) if text is not None else None
    if text is not None and not before:
        raise RyeError("bad-request", "`before` must be the position of an entry, from 1.", None)
    kind, namespace = request.query_params.get("type", ""), request.query_params.get("namespace", "").strip()
    if kind and kind not in log.LISTED:
        raise RyeError("bad-request", f"`type` must be one of {', '.join(log.LISTED)}.", None)
    if namespace and not is_segment(namespace):
        raise RyeError("bad-request", "`namespace` must be the name of a namespace.", None)
    asked = request.query_params.get("date", "")
    day = log.read_day(asked)
    if asked and day is None:
        raise RyeError("bad-request", "`date` must be a day such as 2026-11-22.", None)
    if asked and before is not None:
        raise RyeError("bad-request", "`date` and `before` both say where the list begins: use one of them.", None)
    wish = log.Wish(type=kind, namespace=namespace)
    return await page(request, wish.path(before, day), log.log_page(wish, before, day))


@route("/-/log/{position:str}", http_method=_READ)
async def _entry(request: _Request, position: FromPath[str]) -> Response[bytes]:
    at = _position(request, position)
    return await page(request, entry_path(at), log.entry_page(at))


@route("/-/log/{position:str}/proof", http_method=_READ)
async def _proof(request: _Request, position: FromPath[str]) -> Response[bytes]:
    at = _position(request, position)
    return await page(request, f"{entry_path(at)}/proof", log.proof_file(at))


@route("/-/namespaces/{namespace:str}", http_method=_READ)
async def _namespace(request: _Request, namespace: FromPath[str]) -> Response[bytes]:
    service = service_of(request)
    after = request.query_params.get("after", "")
    if not is_segment(namespace):
        raise _missing(request)
    if after and not is_item_name(after, namespace):
        raise RyeError("bad-request", "`after` must be the name of an item in the namespace.", None)
    kind = request.query_params.get("kind", "")
    if kind and kind not in KINDS:
        raise RyeError("bad-request", f"{kind[:80]!r} is not a kind of item.", f"Kinds: {KINDS.names()}.")
    owners = await asyncio.to_thread(service.roles_in, namespace)
    # Roles are not in the log, so a page with different roles must be a different page.
    key = f"{page_path(namespace, after, kind)} {hashlib.sha256(repr(owners).encode()).hexdigest()}"
    return await page(request, key, namespace_page(namespace, after, owners, kind))


@route("/-/namespaces/{namespace:str}/feed.atom", http_method=_READ)
async def _namespace_feed(request: _Request, namespace: FromPath[str]) -> Response[bytes]:
    if not is_segment(namespace):
        raise _missing(request)
    return await page(request, feed_path(namespace), feed_page(Scope(namespace=namespace)))


@route("/feed.atom", http_method=_READ)
async def _feed(request: _Request) -> Response[bytes]:
    return await page(request, "/feed.atom", feed_page())


@route("/robots.txt", http_method=_READ)
async def _robots(request: _Request) -> Response[bytes]:
    return await page(request, "/robots.txt", crawlers.robots_page())


@route(SECURITY_PATH, http_method=_READ)
async def _security(request: _Request) -> Response[bytes]:
    pages = service_of(request).pages
    site = pages.site_for_anyone()
    text = security_text(site.operator, site.address, pages.hour())
    if text is None:
        raise _missing(request)
    return Response(text.encode(), media_type="text/plain; charset=utf-8", headers=dict(SAFE_HEADERS))


@route("/sitemap.xml", http_method=_READ)
async def _sitemap(request: _Request) -> Response[bytes]:
    after = request.query_params.get("after")
    if after is None:
        return await page(request, "/sitemap.xml", crawlers.sitemap_index())
    if after and not is_item_name(after, after.partition(":")[2].partition("/")[0]):
        raise RyeError("bad-request", "`after` must be the name of an item.", None)
    return await page(request, crawlers.part_path(after), crawlers.sitemap_part(after))


@route(crawlers.SEARCH_DESCRIPTION, http_method=_READ)
async def _search_description(request: _Request) -> Response[bytes]:
    return await page(request, crawlers.SEARCH_DESCRIPTION, crawlers.search_description())


def _missing(request: _Request) -> RyeError:
    return RyeError("not-found", f"There is nothing at {request.scope['path'][:200]}.", None)


def _position(request: _Request, text: str) -> int:
    """Parse a position, which has only one spelling. Raises RyeError ``not-found``."""
    at = log.read_position(text)
    if at is None:
        raise _missing(request)
    return at


RECORD_ROUTES = (
    _log,
    _entry,
    _proof,
    _namespace,
    _namespace_feed,
    _feed,
    _robots,
    _security,
    _sitemap,
    _search_description,
)
