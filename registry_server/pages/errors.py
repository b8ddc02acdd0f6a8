"""Errors as pages for people. They say what the API says: message and hint."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Literal
from urllib.parse import quote

from msgspec import Struct

from registry_server.pages import page_layout
from registry_server.pages.page_context import Now, Site
from registry_server.pages.page_layout import Page
from rye.errors import RyeError
from rye.items.identity import is_segment

_TITLES = {
    401: "Sign in to read this",
    403: "You may not read this",
    404: "Not found",
    405: "Method not allowed",
    429: "Too many requests",
    451: "Taken down",
    503: "Try again later",
}


class ShownError(Struct, frozen=True):
    """An error as the API reports it, its texts cut."""

    code: str
    message: str
    hint: str | None


class Piece(Struct, frozen=True):
    """A part of an error's text."""

    text: str
    form: Literal["words", "code", "page"]
    """``page``: it is the path of a page here."""


def pieces(text: str, *, links: bool) -> tuple[Piece, ...]:
    """Divide a text that may have code in backticks and paths of pages. ``links``: for hints. A message repeats what was asked
    for, and whoever wrote the link to that is not to choose where the page leads."""
    found = []
    for part in (_CODE_OR_PAGE if links else _CODE).split(text):
        is_code = len(part) > 2 and part[0] == part[-1] == "`"
        is_page = links and part.startswith("/-/")
        form: Literal["words", "code", "page"] = "code" if is_code else "page" if is_page else "words"
        if part:
            found.append(Piece(part[1:-1] if is_code else part, form))
    return tuple(found)


_BELOW_ITEM = re.compile(r"@[^/]*/|/(?:diff|source|raw)/|/(?:versions|dependents)$")
"""Where an item's path ends and that of a page about it begins."""
_CODE = re.compile(r"(`[^`]+`)")
_CODE_OR_PAGE = re.compile(r"(`[^`]+`|(?<=\s)/-/(?:[\w@.+-]+/)*[\w@.+-]*\w)", re.ASCII)


class ErrorView(Struct, frozen=True, kw_only=True):
    """What an error page shows."""

    title: str
    error: ShownError
    message: tuple[Piece, ...]
    hint: tuple[Piece, ...]
    sign_in: str | None
    """The path of signing in, which returns to the page; null: it cannot help."""
    search: str | None
    """What was probably looked for; null: nothing to search."""
    namespace: str | None
    """The namespace of the item that was asked for; it may not exist."""


def error_page(error: RyeError, status: int, site: Site, now: datetime, path: str = "") -> bytes:
    """Return the HTML of an error. It reveals nothing that the reader may not see: what helps after a 404 follows from the
    ``path`` alone. ``path``: of the page that was asked for; empty: not to be returned to."""
    body = ShownError(error.code, error.message[:2000], error.hint[:2000] if error.hint else None)
    title = _TITLES.get(status, "The request failed" if status < 500 else "The registry failed")
    page = Page(
        template="error.html",
        view=_view(title, body, status, path),
        title=title,
        description=title,
        path="/",
        status=status,
        is_indexed=False,
    )
    return page_layout.render(page, "html", site, Now(now)).whole(site)


def _view(title: str, body: ShownError, status: int, path: str) -> ErrorView:
    search = namespace = None
    if status == 404:
        parts = [part for part in _BELOW_ITEM.split(path.partition("?")[0])[0].split("/") if part not in ("", "-")]
        is_log = parts[:1] == ["log"]
        search = (
            re.sub(r"[^a-z0-9]+", " ", parts[-1].partition("@")[0].lower()).strip()[:80]
            if parts and not is_log
            else None
        )
        named = parts[1:2] if len(parts) > 2 or (parts and parts[0] == "namespaces") else []
        namespace = next((name for name in named if is_segment(name)), None)
    sign_in = f"/-/account?next={quote(path, safe='')}" if path else "/-/account"
    return ErrorView(
        title=title,
        error=body,
        message=pieces(body.message, links=False),
        hint=pieces(body.hint or "", links=True),
        sign_in=sign_in if status == 401 else None,
        search=search or None,
        namespace=namespace,
    )
