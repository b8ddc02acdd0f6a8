"""Lists to browse: the items of a kind, all items, those that depend on an item, and the namespaces."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from urllib.parse import urlencode

from msgspec import Struct
from msgspec.structs import replace

from registry_server.pages.addresses import dependents_path, item_path, namespace_path
from registry_server.pages.dependents import dependents_of
from registry_server.pages.item_rows import ItemRow, Wanted, named, row_cost
from registry_server.pages.limits import LISTS
from registry_server.pages.listed_items import item_rows
from registry_server.pages.listings import (
    Filters,
    Publisher,
    counts_by_kind,
    items_of,
    licences_of,
    publishers_of,
    unknown_count,
)
from registry_server.pages.page_budget import fitting
from registry_server.pages.page_drafts import Maker, for_each_head
from registry_server.pages.page_layout import Page
from registry_server.pages.registry_view import RegistryView
from registry_server.search.orders import SORTS, Order, Sort
from rye.items.identity import Identity
from rye.items.kinds import KINDS


class Choice(Struct, frozen=True):
    """A link to the same list with another choice."""

    words: str
    path: str
    is_chosen: bool
    count: int | None = None

    @property
    def counted(self) -> str:
        """The words behind their count: of a kind that has one item, its own name."""
        return next((kind for kind, row in KINDS.items() if self.count == 1 and row.folder == self.words), self.words)


class ListView(Struct, frozen=True, kw_only=True):
    """The JSON of a list of items."""

    kind: str
    """Empty: all kinds."""
    title: str
    summary: str
    total: int
    offset: int
    results: tuple[ItemRow, ...]
    unknown: int
    """Items that are not described yet, and so in no filtered list."""
    kinds: tuple[Choice, ...]
    sorts: tuple[Choice, ...]
    filters: tuple[Choice, ...]
    licences: tuple[Choice, ...]
    previous_page: str | None
    next_page: str | None
    query: str = ""
    """Always empty: this is what a search without words answers."""
    problem: str | None = None


def list_path(filters: Filters, start: int = 0) -> str:
    """Return the canonical path of a list."""
    asked = {
        **({"sort": filters.sort} if filters.sort != "used" else {}),
        **({"licence": filters.licence} if filters.licence else {}),
        **({"alarms": "no"} if filters.no_alarms else {}),
        **({"tools": "declared"} if filters.tools else {}),
        **({"offset": str(start)} if start else {}),
    }
    path = f"/-/{KINDS[filters.kind].folder}" if filters.kind else "/-/items"
    return f"{path}?{urlencode(asked)}" if asked else path


def list_page(filters: Filters, start: int = 0) -> Maker:
    """Return the maker of ``/-/skills``, of the lists of other kinds, and of ``/-/items``."""

    def make(registry: RegistryView) -> Page:
        wanted = items_of(registry, filters, start, LISTS.items + 1)
        rows = fitting(item_rows(registry, wanted[: LISTS.items]), LISTS.list_characters, row_cost)
        counts = counts_by_kind(registry, filters=filters)
        total = counts.get(filters.kind, 0) if filters.kind else sum(counts.values())
        title = _title(filters.kind)
        has_more = len(wanted) > len(rows)
        view = ListView(
            kind=filters.kind,
            title=title,
            summary=KINDS[filters.kind].summary if filters.kind else "",
            total=total,
            offset=start,
            results=tuple(rows),
            unknown=unknown_count(registry, filters.kind) if _is_filtered(filters) else 0,
            kinds=kind_choices(counts, filters),
            sorts=tuple(
                Choice(SORT_WORDS[sort], list_path(replace(filters, sort=sort)), sort == filters.sort) for sort in SORTS
            ),
            filters=(
                Choice("no alarms", list_path(replace(filters, no_alarms=not filters.no_alarms)), filters.no_alarms),
                Choice("declares what it may use", list_path(replace(filters, tools=not filters.tools)), filters.tools),
            ),
            licences=_licences(registry, filters),
            previous_page=list_path(filters, max(start - LISTS.items, 0)) if start else None,
            next_page=list_path(filters, start + len(rows)) if has_more else None,
        )
        words = f"{total:,} {title.lower()} in {registry.site.origin}, with what each may use, its warnings and its licence."
        return Page(
            template="list.html",
            view=view,
            title=title,
            description=words,
            path=list_path(filters, start),
            is_indexed=not start and not _is_filtered(filters),
            is_partial=unknown_count(registry, "") > 0,
            feeds=(f"/-/{KINDS[filters.kind].folder}/feed.atom" if filters.kind else "/feed.atom",),
        )

    return for_each_head(make)


SORT_WORDS: dict[Order, str] = {
    "relevance": "relevance",
    "used": "most used by others",
    "newest": "newest",
    "name": "name",
}


def _title(kind: str) -> str:
    return KINDS[kind].folder.capitalize() if kind else "All items"


def _is_filtered(filters: Filters) -> bool:
    return bool(filters.licence or filters.no_alarms or filters.tools)


def kind_choices(counts: Mapping[str, int], filters: Filters) -> tuple[Choice, ...]:
    """Return links to the same list of all kinds, and of each kind that the reader may see items of. ``counts``: how many."""
    every = Choice("all", list_path(replace(filters, kind="")), not filters.kind, sum(counts.values()))
    named = (
        Choice(KINDS[kind].folder, list_path(replace(filters, kind=kind)), kind == filters.kind, counts.get(kind, 0))
        for kind in KINDS
        if kind in counts or kind == filters.kind
    )
    return (every, *named)


def _licences(registry: RegistryView, filters: Filters) -> tuple[Choice, ...]:
    found = [
        Choice(licence, list_path(replace(filters, licence=licence)), licence.lower() == filters.licence.lower(), count)
        for licence, count in licences_of(registry, filters.kind)
    ]
    return (Choice("any", list_path(replace(filters, licence="")), not filters.licence), *found) if found else ()


class DependentsView(Struct, frozen=True, kw_only=True):
    """The JSON of ``/-/KIND/ID/dependents``."""

    kind: str
    id: str
    page: str
    total: int
    is_complete: bool
    """Whether all were counted: not if there are very many releases."""
    is_whole: bool
    """Whether the whole log was searched for them."""
    offset: int
    results: tuple[ItemRow, ...]
    """Sorted by name, each with the newest version that depends on the item."""
    previous_page: str | None
    next_page: str | None


def dependents_page(identity: Identity, start: int = 0) -> Maker:
    """Return the maker of ``/-/KIND/ID/dependents``."""

    def make(registry: RegistryView) -> Page:
        path = dependents_path(identity, start)
        if registry.history(identity) is None:
            raise registry.missing(path)
        found = dependents_of(registry, identity, start, LISTS.items)
        wanted = [Wanted(named(row.name), row.version) for row in found.rows]
        rows = fitting(item_rows(registry, wanted), LISTS.list_characters, row_cost)
        end = start + len(rows)
        view = DependentsView(
            kind=identity.kind,
            id=identity.id,
            page=item_path(identity),
            total=found.total,
            is_complete=found.is_complete,
            is_whole=found.is_whole,
            offset=start,
            results=tuple(rows),
            previous_page=dependents_path(identity, max(start - LISTS.items, 0)) if start else None,
            next_page=dependents_path(identity, end) if end < found.total and rows else None,
        )
        return Page(
            template="dependents.html",
            view=view,
            title=f"Dependents of {identity.id}",
            description=f"The items that depend on the {identity.kind} {identity.id}.",
            path=path,
            is_indexed=False,
            is_partial=not found.is_whole,
        )

    return for_each_head(make)


class PublisherRow(Struct, frozen=True, kw_only=True):
    """A namespace in a list."""

    namespace: str
    page: str
    claimed: datetime | None
    items: int
    used_by: int
    """Items of other namespaces that depend on its items."""


class PublishersView(Struct, frozen=True, kw_only=True):
    """The JSON of ``/-/namespaces``."""

    namespaces: tuple[PublisherRow, ...]
    sorts: tuple[Choice, ...]
    previous_page: str | None
    next_page: str | None


def publishers_path(sort: Sort = "used", start: int = 0) -> str:
    """Return the canonical path of the list of namespaces."""
    asked = {**({"sort": sort} if sort != "used" else {}), **({"offset": str(start)} if start else {})}
    return f"/-/namespaces?{urlencode(asked)}" if asked else "/-/namespaces"


def publishers_page(sort: Sort = "used", start: int = 0) -> Maker:
    """Return the maker of ``/-/namespaces``."""

    def make(registry: RegistryView) -> Page:
        found = publishers_of(registry, sort, start, LISTS.items + 1)
        view = PublishersView(
            namespaces=tuple(publisher_row(registry, one) for one in found[: LISTS.items]),
            sorts=tuple(Choice(SORT_WORDS[each], publishers_path(each), each == sort) for each in SORTS),
            previous_page=publishers_path(sort, max(start - LISTS.items, 0)) if start else None,
            next_page=publishers_path(sort, start + LISTS.items) if len(found) > LISTS.items else None,
        )
        return Page(
            template="publishers.html",
            view=view,
            title="Publishers",
            description=f"The namespaces of {registry.site.origin}, with their items.",
            path=publishers_path(sort, start),
            is_indexed=not start,
            is_partial=unknown_count(registry, "") > 0,
        )

    return for_each_head(make)


def publisher_row(registry: RegistryView, found: Publisher) -> PublisherRow:
    """Return the row of a namespace."""
    links = registry.chain(found.namespace).links
    return PublisherRow(
        namespace=found.namespace,
        page=namespace_path(found.namespace),
        claimed=links[0].keyset.time if links else None,
        items=found.items,
        used_by=found.used_by,
    )
