"""The frame of every page: what a page is, how it becomes bytes, and with which headers it is sent.

To add a page, write a *maker*: a function from a :class:`registry_server.pages.look.Look` to a :class:`Page`. It reads what it
needs, builds a frozen ``Struct`` (the *view*) with a pure function, and names the template that shows it. The view is the page:
the template gets it as ``view`` and adds words and marks only, and who asks for JSON gets exactly the view. A route hands
the maker to :func:`registry_server.api.page_routes.page`, which does everything else: negotiation, entity tags, ``HEAD``,
caching, who may read, places, errors. See :mod:`registry_server.pages.home` for a small one.

Templates lie in ``templates/``, extend ``base.html`` and fill the block ``content``. Everything is escaped. Their filters:

``marked``       text of strangers, with hidden characters in plain sight (:mod:`registry_server.pages.hidden`)
``short``        the same on one line, cut
``parted``       the same of an id or a right, which may be broken behind its slashes and dots
``fitted``       the same with its lines, cut to a size of its HTML
``plain``        the same for attributes
``dated``        the day of a time and how long ago that is: ``2026-11-22 (3 days ago)``, with ``now``
``day``, ``time``, ``moment`` a time as ``2026-11-22``, as ``2026-11-22T15:30:00Z`` and as ``2026-11-22 15:30``
``rendered``     Markdown as HTML that does nothing (:mod:`registry_server.pages.markdown`)
``beginning``    as much of a text as fits, and whether that is all
``number``       1,234
``bytes``        1.2 kB

``now`` is the page's hour. What a page says of it is noted, such as ``now.is_past(time)``.

``macros.html`` has what pages share: tier badges, notices, code to copy. A page that would be larger than it may be is made
again with a smaller ``share``, a number up to 1 that templates multiply their room for long texts with.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import cache, lru_cache
from pathlib import Path
from typing import Protocol

import msgspec
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from msgspec import Struct
from msgspec.structs import replace

from registry_server.pages import addresses, directive_text, hidden, markdown
from registry_server.pages.kept import Kept
from registry_server.pages.limits import PAGES
from registry_server.pages.look import Site
from registry_server.pages.negotiation import Form
from registry_server.pages.reads import Now
from rye.registry.protocol.lines import write_time
from rye.signing.sign_item import unsigned_text
from rye.signing.signature_line import layout_of

_FOLDER = Path(__file__).parent
Headers = tuple[tuple[str, str], ...]


class Document(Struct, frozen=True):
    """What is not a page and has one form: a feed, a file for programs."""

    body: bytes
    media_type: str


class Page(Struct, frozen=True):
    """One page, before it has a form."""

    template: str
    view: Struct
    title: str
    """Plain text; the registry's name is added."""
    description: str
    """One plain sentence or two, for links to the page (OpenGraph) and search engines."""
    path: str
    """The canonical path, with its query."""
    status: int = 200
    is_whole_source: bool = False
    """Whether it may be larger than other pages."""
    is_indexed: bool = True
    """Whether search engines may list it."""
    feed: str = ""
    """The path of a feed that belongs to it."""
    document: Document | None = None
    """What is sent instead of template and view, in whichever form was asked for."""
    is_partial: bool = False
    """Whether it says less than it could: it is not kept, and its template may say so."""
    parts: Callable[[float], object] | None = None
    """What the template gets as ``parts``: HTML that was made apart from it, for this ``share`` of the room."""
    json_fields: Callable[[], dict[str, object]] | None = None
    """Fields of the view that only JSON has. They are asked for only then."""


class Rendered(Struct, frozen=True):
    """A page in one form."""

    body: bytes
    """Without the foot."""
    status: int = 200
    media_type: str = ""
    """Empty: the form's."""
    has_foot: bool = False
    """Whether :func:`foot` follows. It shows the head, so it is another one for each."""

    def whole(self, site: Site) -> bytes:
        """What is sent."""
        return self.body + foot(site) if self.has_foot else self.body


def render(page: Page, form: Form, site: Site, now: Now) -> Rendered:
    """A page in the form that was asked for."""
    if page.document is not None:
        return Rendered(page.document.body, page.status, page.document.media_type)
    if form == "json":
        view = replace(page.view, **page.json_fields()) if page.json_fields is not None else page.view
        return Rendered(msgspec.json.encode(view) + b"\n", page.status)
    return Rendered(_html(page, site, now), page.status, has_foot=True)


@lru_cache(maxsize=4)
def foot(site: Site) -> bytes:
    """What ends every page of HTML: the head and the fingerprint."""
    return environment().get_template("foot.html").render(site=site).encode()


def _html(page: Page, site: Site, now: Now) -> bytes:
    template = environment().get_template(page.template)
    words = {"page": page, "view": page.view, "site": site, "now": now, "style": style_path(), "icon": icon_path()}
    share = 1.0
    for _ in range(PAGES.shrinkings):
        parts = page.parts(share) if page.parts is not None else None
        made = template.render(**words, paths=addresses, share=share, parts=parts).encode()
        if len(made) <= PAGES.html_bytes - PAGES.foot_bytes or page.is_whole_source:
            break
        share /= 2
    return made


def headers(form: Form, *, is_private: bool, tag: str = "", media_type: str = "") -> Headers:
    """The headers of a page, of its 304 too. ``tag``: empty for what must not be kept; ``media_type``: empty for the form's. The
    server adds the charset."""
    scope = "private" if is_private else "public"
    return (
        ("content-type", media_type or ("text/html" if form == "html" else "application/json")),
        ("cache-control", f"{scope}, no-cache" if tag else f"{scope}, no-store"),
        ("vary", "Accept, Authorization, Cookie" if is_private else "Accept"),
        *((("etag", f'"{tag}"'),) if tag else ()),
        *SAFE_HEADERS,
    )


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
    """Whether ``If-None-Match`` names the page's tag (RFC 9110 §13.1.2: weakly)."""
    given = {part.strip().removeprefix("W/") for part in if_none_match[: PAGES.accept_characters].split(",")}
    return f'"{tag}"' in given or "*" in given


# -- the style ----------------------------------------------------------------------------------------------------------


@cache
def style() -> bytes:
    """The one style sheet: the frame's rules, then those of the pages that have more."""
    return b"".join(path.read_bytes() for path in sorted(_FOLDER.glob("*.css")))


@cache
def style_path() -> str:
    """Its path: another one for other bytes, so it may be kept for ever."""
    return f"/-/style/{hashlib.sha256(style()).hexdigest()[:16]}.css"


@cache
def icon() -> bytes:
    """The picture that browsers show beside the title."""
    return (_FOLDER / "icon.svg").read_bytes()


@cache
def icon_path() -> str:
    return f"/-/style/{hashlib.sha256(icon()).hexdigest()[:16]}.svg"


@cache
def version() -> str:
    """Another one when templates, style or views change: part of every entity tag."""
    digest = hashlib.sha256()
    for path in sorted(_FOLDER.rglob("*")):
        if path.suffix in (".py", ".html", ".css", ".svg", ".xml"):
            digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


# -- templates ----------------------------------------------------------------------------------------------------------


@cache
def environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(_FOLDER / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.globals["limits"] = PAGES
    made.filters.update(
        marked=hidden.marked,
        short=_short,
        parted=_parted,
        fitted=fitted,
        plain=hidden.plain,
        day=_day,
        time=_time,
        moment=_moment,
        dated=_dated,
        number=_number,
        bytes=_bytes,
        rendered=_rendered,
        beginning=_beginning,
        unsigned=_unsigned,
        numbered=_numbered,
    )
    return made


def _short(text: str, most: int = PAGES.line_characters) -> Markup:
    return hidden.shown(text, most)


def _parted(text: str, most: int = PAGES.line_characters) -> Markup:
    return hidden.parted(text, most)


def fitted(text: str, most: int = PAGES.fitted_characters) -> Markup:
    """As much of the text as fits into ``most`` characters of HTML, and how much is left out."""
    cut, taken = hidden.marked_within(text, most)
    rest = len(text) - taken
    return Markup(f"{cut}… ({rest:,} more characters)") if rest else cut


class Attached(Protocol):
    """An attached file that a text may link to."""

    @property
    def path(self) -> str: ...

    @property
    def page(self) -> str: ...


class Beginning(Struct, frozen=True):
    """The first part of a text as HTML."""

    html: Markup
    is_cut: bool


def _beginning(text: str, most: int) -> Beginning:
    html, taken = hidden.marked_within(text, most)
    return Beginning(html, taken < len(text))


def _rendered(text: str, most: int, files: Sequence[Attached] = (), kind: str = "") -> markdown.Text:
    pages = {file.path: file.page for file in files}
    key = (text, most, tuple(pages.items()), kind)
    known = _texts.get(key)
    if known is None:
        divide = directive_text.parts if kind == "directive" else directive_text.undivided
        known = markdown.render(text, most, pages.get, divide)
        _texts.put(key, known, len(text) + len(known.html) + 1_000)
    return known


_texts: Kept[tuple[str, int, tuple[tuple[str, str], ...], str], markdown.Text] = Kept(PAGES.rendered_bytes)
"""Rendered texts: a new head changes most pages, and no text."""


def _numbered(text: str) -> Beginning:
    """The text with an anchor for each line, ``L1`` and so on; of very many lines without."""
    found = _beginning(text, PAGES.source_html_bytes // 2)
    if found.is_cut or text.count("\n") > PAGES.numbered_lines:
        return found
    lines = str(found.html).removesuffix("\n").split("\n")
    html = "".join(f'<span id="L{number}">{line}\n</span>' for number, line in enumerate(lines, 1))
    return Beginning(Markup(html), False)


def _unsigned(text: str, kind: str, name: str) -> str:
    """The text of an item's file without its signature line."""
    return unsigned_text(text.replace("\r\n", "\n"), layout_of(kind, name))


def _day(time: datetime) -> str:
    return f"{time:%Y-%m-%d}"


def _time(time: datetime) -> str:
    return write_time(time)


def _moment(time: datetime) -> str:
    return f"{time:%Y-%m-%d %H:%M}"


def _dated(time: datetime, now: Now) -> Markup:
    written = _time(time)
    return Markup(
        f'<time datetime="{written}" title="{written}">{_day(time)}</time> <span class="quiet">({now.age(time)})</span>'
    )


def _number(value: int) -> str:
    return f"{value:,}"


def _bytes(size: int) -> str:
    if size < 1000:
        return f"{size} bytes" if size != 1 else "1 byte"
    return f"{size / 1000:.1f} kB" if size < 1_000_000 else f"{size / 1_000_000:.1f} MB"
