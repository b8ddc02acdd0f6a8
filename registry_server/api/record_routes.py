"""Routes of the log's and namespaces' pages, the diff, feeds, and what crawlers ask for (:mod:`registry_server.pages`)."""

from __future__ import annotations

from typing import Any

from litestar import HttpMethod, Request, Response, route
from litestar.datastructures import State
from litestar.params import FromPath

from registry_server.api.page_routes import page
from registry_server.pages import log
from registry_server.pages.addresses import entry_path
from rye.errors import RyeError

_Request = Request[Any, Any, State]
_READ = [HttpMethod.GET, HttpMethod.HEAD]


@route("/-/log", http_method=_READ)
async def _log(request: _Request) -> Response[bytes]:
    text = request.query_params.get("before")
    before = log.read_position(text) if text is not None else None
    if text is not None and not before:
        raise RyeError("bad-request", "before is the position of an entry, from 1.", None)
    return await page(request, log.log_path(before), log.log_page(before))


@route("/-/log/{position:str}", http_method=_READ)
async def _entry(request: _Request, position: FromPath[str]) -> Response[bytes]:
    at = _position(request, position)
    return await page(request, entry_path(at), log.entry_page(at))


@route("/-/log/{position:str}/proof", http_method=_READ)
async def _proof(request: _Request, position: FromPath[str]) -> Response[bytes]:
    at = _position(request, position)
    return await page(request, f"{entry_path(at)}/proof", log.proof_file(at))


def _position(request: _Request, text: str) -> int:
    """One spelling for each position: any other is no page. Raises RyeError ``not-found``."""
    at = log.read_position(text)
    if at is None:
        raise RyeError("not-found", f"There is nothing at {request.scope['path'][:200]}.", None)
    return at


RECORD_ROUTES = (_log, _entry, _proof)
