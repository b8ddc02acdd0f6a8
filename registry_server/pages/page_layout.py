"""The frame of every page: what a page is, how it becomes bytes, and which headers it is sent with.

To add a page, write a *maker* (:mod:`registry_server.pages.page_drafts`): a function from a
:class:`registry_server.pages.registry_view.RegistryView` to a draft, which says what the page depends on and makes the
:class:`Page`. Making it builds a frozen ``Struct`` (the *view*) with a pure function, and names the template that shows
it. The view is the whole content: the template gets it as ``view`` and adds only words and markup,
and a request for JSON gets exactly the view. A route passes the maker to
:func:`registry_server.api.page_routes.page`, which does the rest: negotiation, entity tags, ``HEAD``, caching, access,
concurrency limits and errors. :mod:`registry_server.pages.home` is a small example.

Templates are in ``templates/``, extend ``base.html`` and fill the block ``content``. Everything is escaped. Their
filters:

``marked``       untrusted text, with hidden characters made visible (:mod:`registry_server.pages.escaped_text`)
``short``        the same on one line, cut
``parted``       the same for an id or a right, which may wrap after its slashes and dots
``fitted``       the same with its line breaks, cut to a size in HTML
``plain``        the same for attributes
``dated``        the day of a time and how long ago that is: ``2026-11-22 (3 days ago)``, with ``now``
``day``, ``time``, ``moment`` a time as ``2026-11-22``, as ``2026-11-22T15:30:00Z`` and as ``2026-11-22 15:30``
``raw``          the address of a file as plain text, from that of its page
``beginning``    as much of a text as fits, and whether it is cut
``number``       1,234
``bytes``        1.2 kB

``now`` is the page's hour.

``macros.html`` has what pages share: tier badges, notices, code to copy. A page that exceeds its size limit is rendered
again with a smaller ``share``: a factor of at most 1 by which templates multiply the room for long texts.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cache, lru_cache
from pathlib import Path

import msgspec
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from msgspec import Struct
from msgspec.structs import replace

from registry_server.pages import addresses, escaped_text
from registry_server.pages.limits import PAGES
from registry_server.pages.meanings import MEANINGS
from registry_server.pages.negotiation import Form
from registry_server.pages.page_context import Now, Site
from rye import __version__
from rye.describing.words import NOT_DECLARED, byte_count, fact_words
from rye.registry.protocol.lines import write_time

_FOLDER = Path(__file__).parent
Headers = tuple[tuple[str, str], ...]


class Document(Struct, frozen=True):
    """A response that is not a page and has only one form: a feed, a file for programs."""

    body: bytes
    media_type: str
    is_sandboxed: bool = False
    """Whether browsers give it an origin of its own: it is an author's file as it is."""


class Page(Struct, frozen=True, kw_only=True):
    """One page before it is rendered as HTML or JSON."""

    template: str
    view: Struct
    title: str
    """Plain text. The registry's name is appended."""
    description: str
    """One or two plain sentences for link previews (OpenGraph) and search engines."""
    path: str
    """The canonical path, with its query."""
    status: int = 200
    location: str = ""
    """Where the answer leads instead. Its status is then that of a redirection."""
    is_indexed: bool = True
    """Whether search engines may list it."""
    canonical: str = ""
    """The path of the page that search engines should list in its place; empty: itself."""
    feeds: tuple[str, ...] = ()
    """The paths of the page's feeds."""
    data: Mapping[str, object] | None = None
    """What the page is about, for programs that read JSON-LD (schema.org)."""
    document: Document | None = None
    """Sent instead of template and view, whatever form was requested."""
    is_partial: bool = False
    """Whether content is missing that could be read later. Such a page is not cached, and its template can say so."""
    is_short: bool = False
    """Whether the store lacked bytes that it may have again. Such a page is made again for each head."""
    parts: Callable[[float], object] | None = None
    """Returns HTML that was made before, which the template gets as ``parts``, for a ``share`` of the room."""


class Rendered(Struct, frozen=True):
    """A page in one form."""

    body: bytes
    """The body without the foot."""
    status: int = 200
    media_type: str = ""
    """Empty: the media type of the form."""
    is_sandboxed: bool = False
    """As of :class:`Document`."""
    location: str = ""
    """As of :class:`Page`."""
    has_foot: bool = False
    """Whether :func:`foot` follows. The foot shows the head, so it changes with every head."""

    def whole(self, site: Site) -> bytes:
        """Return the bytes to send."""
        return self.body + foot(site) if self.has_foot else self.body


def render(page: Page, form: Form, site: Site, now: Now, json_fields: Mapping[str, object] | None = None) -> Rendered:
    """Render a page in the requested form. ``json_fields``: what only its JSON has."""
    if page.document is not None:
        document = page.document
        return Rendered(document.body, page.status, document.media_type, is_sandboxed=document.is_sandboxed)
    if form == "json":
        view = replace(page.view, **json_fields) if json_fields else page.view
        return Rendered(msgspec.json.encode(view) + b"\n", page.status, location=page.location)
    if page.location:
        return Rendered(b"", page.status, location=page.location)
    return Rendered(_html(page, site, now), page.status, has_foot=True)


@lru_cache(maxsize=4)
def foot(site: Site) -> bytes:
    """Return the end of every HTML page: the head and the fingerprint."""
    return environment().get_template("foot.html").render(site=site, version=__version__).encode()


def _html(page: Page, site: Site, now: Now) -> bytes:
    template = environment().get_template(page.template)
    words = {
        "page": page,
        "view": page.view,
        "site": site,
        "now": now,
        "style": style_path(),
        "icon": icon_path(),
        "picture": picture_path(),
    }
    share = 1.0
    for _ in range(PAGES.shrinkings):
        parts = page.parts(share) if page.parts is not None else None
        made = template.render(**words, paths=addresses, share=share, parts=parts).encode()
        if len(made) <= PAGES.html_bytes - PAGES.foot_bytes:
            break
        share /= 2
    return made


def headers(
    form: Form,
    *,
    is_private: bool,
    tag: str = "",
    media_type: str = "",
    is_sandboxed: bool = False,
    location: str = "",
) -> Headers:
    """Return the headers of a page or of its 304. The server adds the charset.

    ``tag``: empty for a response that must not be stored; ``media_type``: empty for that of the form; ``is_sandboxed``: as of
    :class:`Document`; ``location``: as of :class:`Page`.
    """
    scope = "private" if is_private else "public"
    return (
        ("content-type", media_type or ("text/html" if form == "html" else "application/json")),
        ("cache-control", f"{scope}, no-cache" if tag else f"{scope}, no-store"),
        ("vary", "Accept, Authorization, Cookie" if is_private else "Accept"),
        *((("etag", f'"{tag}"'),) if tag else ()),
        *((("location", location),) if location else ()),
        ("content-security-policy", _SANDBOX if is_sandboxed else _POLICY),
        *(header for header in SAFE_HEADERS if header[0] != "content-security-policy"),
    )


_SANDBOX = "sandbox; default-src 'none'; frame-ancestors 'none'"
_POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
SAFE_HEADERS: Headers = (
    ("content-security-policy", _POLICY),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("x-frame-options", "DENY"),
    ("cross-origin-resource-policy", "same-origin"),
)


def is_same(if_none_match: str, tag: str) -> bool:
    """Whether ``If-None-Match`` matches the page's tag, with the weak comparison (RFC 9110 §13.1.2)."""
    given = {part.strip().removeprefix("W/") for part in if_none_match[: PAGES.accept_characters].split(",")}
    return f'"{tag}"' in given or "*" in given


# -- the style ----------------------------------------------------------------------------------------------------------


@cache
def style() -> bytes:
    """Return the one style sheet: all ``.css`` files of this folder."""
    return b"".join(path.read_bytes() for path in sorted(_FOLDER.glob("*.css")))


@cache
def style_path() -> str:
    """Return the path of the style sheet. It contains a hash, so the file can be cached forever."""
    return f"/-/style/{hashlib.sha256(style()).hexdigest()[:16]}.css"


@cache
def icon() -> bytes:
    """Return the icon that browsers show next to the title."""
    return (_FOLDER / "icon.svg").read_bytes()


@cache
def icon_path() -> str:
    """Return the path of the icon, which contains a hash."""
    return f"/-/style/{hashlib.sha256(icon()).hexdigest()[:16]}.svg"


@cache
def picture() -> bytes:
    """Return the picture that other sites show next to a link to a page."""
    return (_FOLDER / "picture.png").read_bytes()


@cache
def picture_path() -> str:
    """Return the path of that picture, which contains a hash."""
    return f"/-/style/{hashlib.sha256(picture()).hexdigest()[:16]}.png"


@cache
def version() -> str:
    """Return a hash of templates, style and code of the pages. It is part of every entity tag."""
    digest = hashlib.sha256()
    for path in sorted(_FOLDER.rglob("*")):
        if path.suffix in (".py", ".html", ".css", ".svg", ".xml", ".png"):
            digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


# -- templates ----------------------------------------------------------------------------------------------------------


@cache
def environment() -> Environment:
    """Return the template environment, with its filters."""
    made = Environment(
        loader=FileSystemLoader(_FOLDER / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.globals["limits"] = PAGES
    made.globals["not_declared"] = NOT_DECLARED
    made.globals["fact_words"] = fact_words
    made.globals["meanings"] = MEANINGS
    made.filters.update(
        marked=escaped_text.marked,
        short=_short,
        parted=_parted,
        fitted=fitted,
        data_block=_data_block,
        plain=escaped_text.plain,
        day=_day,
        time=_time,
        moment=_moment,
        dated=_dated,
        number=_number,
        bytes=byte_count,
        raw=addresses.raw_path,
        beginning=_beginning,
    )
    return made


def _short(text: str, most: int = PAGES.line_characters) -> Markup:
    return escaped_text.shown(text, most)


def _parted(text: str, most: int = PAGES.line_characters) -> Markup:
    return escaped_text.parted(text, most)


def fitted(text: str, most: int = PAGES.fitted_characters) -> Markup:
    """Return as much of the text as fits into ``most`` characters of HTML, and say how much is left out."""
    cut, taken = escaped_text.marked_within(text, most)
    rest = len(text) - taken
    return Markup(f"{cut}… ({rest:,} more characters)") if rest else cut


class Beginning(Struct, frozen=True):
    """The first part of a text as HTML."""

    html: Markup
    is_cut: bool


def _beginning(text: str, most: int) -> Beginning:
    html, taken = escaped_text.marked_within(text, most)
    return Beginning(html, taken < len(text))


def _day(time: datetime) -> str:
    return f"{time:%Y-%m-%d}"


def _time(time: datetime) -> str:
    return write_time(time)


def _moment(time: datetime) -> str:
    return f"{time:%Y-%m-%d %H:%M}"


def _dated(time: datetime, now: Now) -> Markup:
    return _dated_as(time, now.age(time))


@lru_cache(maxsize=4096)
def _dated_as(time: datetime, age: str) -> Markup:
    written = _time(time)
    return Markup(
        f'<time datetime="{written}" title="{written}">{_day(time)}</time> <span class="quiet">({age})</span>'
    )


def _data_block(data: Mapping[str, object]) -> Markup:
    """Return JSON for a data block of HTML. No text in it can end the block, and hidden characters are written out."""
    texts = {key: escaped_text.plain(value, 600) if isinstance(value, str) else value for key, value in data.items()}
    written = json.dumps(texts, ensure_ascii=True, separators=(",", ":"))
    return Markup(written.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def _number(value: int) -> str:
    return f"{value:,}"
