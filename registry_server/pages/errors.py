"""Errors as pages for people. They say what the API says: message and hint."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from registry_server.pages import page_layout
from registry_server.pages.page_context import Now, Site
from registry_server.pages.page_layout import Page
from rye.errors import RyeError

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


class ErrorView(Struct, frozen=True):
    """What an error page shows."""

    title: str
    error: ShownError
    sign_in: bool
    """Whether signing in can help."""


def error_page(error: RyeError, status: int, site: Site, now: datetime) -> bytes:
    """Return the HTML of an error. It reveals nothing that the reader may not see."""
    body = ShownError(error.code, error.message[:2000], error.hint[:2000] if error.hint else None)
    title = _TITLES.get(status, "The request failed" if status < 500 else "The registry failed")
    page = Page(
        template="error.html",
        view=ErrorView(title, body, status == 401),
        title=title,
        description=title,
        path="/",
        status=status,
        is_indexed=False,
    )
    return page_layout.render(page, "html", site, Now(now)).whole(site)
