"""The home page: what this registry is, how to pin it, and what is new."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import sqlalchemy as sa
from msgspec import Struct

from registry_server.pages.addresses import item_path
from registry_server.pages.limits import PAGES
from registry_server.pages.page_context import Site
from registry_server.pages.page_drafts import Maker, for_each_head
from registry_server.pages.page_layout import Page
from registry_server.pages.registry_view import RegistryView
from registry_server.storage.prepared import Prepared
from registry_server.storage.schema import log_entries, releases
from rye.errors import RyeError
from rye.items.identity import Identity
from rye.registry.protocol import notes, statements
from rye.registry.protocol.statements import Release


class NewRelease(Struct, frozen=True):
    """A release in the list of new ones."""

    kind: str
    id: str
    version: str
    description: str
    time: datetime
    path: str


class HomeView(Struct, frozen=True):
    """The JSON of the home page, which is at ``/-/``."""

    origin: str
    fingerprint: str
    address: str
    pin: str
    """The command that pins the registry."""
    entries: int
    """The size of the log."""
    releases: tuple[NewRelease, ...]
    """Newest first, without those that were withdrawn."""


def home_page() -> Maker:
    """Return the maker of ``/``."""
    return for_each_head(_home)


def _home(registry: RegistryView) -> Page:
    view = home_view(registry.site, registry.head.size, newest(registry))
    words = f"{view.origin} is a registry of signed text for software agents: directives, skills, tools, agents."
    return Page(template="home.html", view=view, title="Registry", description=words, path="/", feed="/feed.atom")


def home_view(site: Site, entries: int, found: Sequence[NewRelease]) -> HomeView:
    """Return the view of the home page for a log of ``entries`` and its newest releases."""
    pin = f"rye registry add {site.address} --fingerprint {site.fingerprint}"
    return HomeView(site.origin, site.fingerprint, site.address, pin, entries, tuple(found))


def newest(registry: RegistryView) -> list[NewRelease]:
    """Return the newest releases that this reader may see and that are not withdrawn."""
    found: list[NewRelease] = []
    before = registry.head.size
    while len(found) < PAGES.newest and before > 0:
        rows = _NEWEST.rows(registry.connection, {"before": before, "most": PAGES.newest * 4})
        for name, version, position, leaf in rows:
            before = position
            namespace = name.partition(":")[2].partition("/")[0]
            if registry.may_read(namespace) and len(found) < PAGES.newest:
                found.append(_new(name, version, bytes(leaf)))
        if len(rows) < PAGES.newest * 4:
            break
    return found


def _new(name: str, version: str, leaf: bytes) -> NewRelease:
    kind, _, identifier = name.partition(":")
    statement = statements.parse(notes.parse(leaf).text)
    if not isinstance(statement, Release):
        raise RyeError("database-damaged", f"The entry of {name} {version} is not a release.", "rye-registry verify")
    path = item_path(Identity(kind, identifier), version)
    return NewRelease(kind, identifier, version, statement.description, statement.time, path)


_NEWEST = Prepared(
    sa.select(releases.c.name, releases.c.version, releases.c.position, log_entries.c.leaf)
    .join(log_entries, log_entries.c.position == releases.c.position)
    .where(releases.c.position < sa.bindparam("before"), releases.c.yanked.is_(sa.false()))
    .order_by(releases.c.position.desc())
    .limit(sa.bindparam("most"))
)
