"""The home page: what this registry is, what is in it, how to pin it, and what is new."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec import Struct

from registry_server.pages.item_rows import ItemRow, Wanted
from registry_server.pages.limits import LISTS, PAGES
from registry_server.pages.listed_items import item_rows
from registry_server.pages.listings import Filters, counts_by_kind, items_of, publishers_of, unknown_count
from registry_server.pages.lists import Choice, PublisherRow, list_path, publisher_row
from registry_server.pages.page_drafts import Maker, for_each_head
from registry_server.pages.page_layout import Page
from registry_server.pages.registry_view import RegistryView
from rye.items.kinds import KINDS


class HomeView(Struct, frozen=True, kw_only=True):
    """The JSON of the home page, which is at ``/-/``."""

    origin: str
    fingerprint: str
    address: str
    pin: str
    """The command that pins the registry."""
    entries: int
    """The size of the log."""
    releases: tuple[ItemRow, ...]
    """Recently updated items, newest first; of one namespace at most two."""
    kinds: tuple[Choice, ...] = ()
    """The lists of each kind, the largest first."""
    most_used: tuple[ItemRow, ...] = ()
    """By items of other publishers."""
    publishers: tuple[PublisherRow, ...] = ()
    """The newest namespaces that have items."""


def home_page() -> Maker:
    """Return the maker of ``/``."""
    return for_each_head(_home)


def _home(registry: RegistryView) -> Page:
    used = item_rows(registry, items_of(registry, Filters(), 0, LISTS.most_used))
    newest = items_of(registry, Filters(sort="newest"), 0, LISTS.looked_at)
    publishers = [one for one in publishers_of(registry, "newest", 0, LISTS.looked_at) if one.items]
    pin = f"rye registry add {registry.site.address} --fingerprint {registry.site.fingerprint}"
    view = HomeView(
        origin=registry.site.origin,
        fingerprint=registry.site.fingerprint,
        address=registry.site.address,
        pin=pin,
        entries=registry.head.size,
        releases=tuple(item_rows(registry, recent(newest))),
        kinds=tuple(_kinds(registry)),
        most_used=tuple(row for row in used if row.used_by),
        publishers=tuple(publisher_row(registry, one) for one in publishers[: LISTS.publishers]),
    )
    words = f"{view.origin} is a registry of signed text for software agents: directives, skills, tools, agents."
    return Page(
        template="home.html",
        view=view,
        title=f"{view.origin}: signed text for agents",
        description=words,
        path="/",
        feeds=("/feed.atom",),
        is_partial=unknown_count(registry, "") > 0,
    )


def _kinds(registry: RegistryView) -> Iterator[Choice]:
    counts = counts_by_kind(registry)
    for kind in sorted(counts, key=lambda kind: -counts[kind]):
        words = kind if counts[kind] == 1 else KINDS[kind].folder
        yield Choice(words, list_path(Filters(kind=kind)), False, counts[kind])


def recent(newest: Sequence[Wanted]) -> list[Wanted]:
    """Return the newest items, at most so many of each namespace: one publisher's batch does not take all places."""
    taken: Counter[str] = Counter()
    updated: list[Wanted] = []
    for one in newest:
        taken[one.identity.namespace] += 1
        if taken[one.identity.namespace] <= LISTS.of_one_namespace:
            updated.append(one)
    return updated[: PAGES.newest]
