"""The page of search results, with what helps people choose: kind, rights, age, deprecation and advisories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from registry_server.pages.addresses import namespace_path, search_path
from registry_server.pages.item_rows import ItemRow, Wanted
from registry_server.pages.limits import PAGES
from registry_server.pages.listed_items import item_rows
from registry_server.pages.listings import counts_by_kind, unknown_count
from registry_server.pages.lists import SORT_WORDS, Choice
from registry_server.pages.page_drafts import Maker, for_each_head
from registry_server.pages.page_layout import Page
from registry_server.pages.registry_view import RegistryView
from registry_server.search.finding import RANKED, Hit, SearchResults
from registry_server.search.orders import ORDERS, Order
from rye.items.identity import Identity, is_segment
from rye.items.kinds import KINDS
from rye.registry.protocol.wire import MORE, SearchTotal


class Search(Struct, frozen=True):
    """A search."""

    query: str
    kind: str = ""
    """Empty: any."""
    offset: int = 0
    order: Order = "relevance"

    @property
    def path(self) -> str:
        """The canonical path of this page of results."""
        return search_path(self.query, self.offset, self.kind, self.order)

    @property
    def most(self) -> int:
        """How many results there are at most, if very many items match."""
        return PAGES.search_depth if self.order == "relevance" else RANKED


class KindLink(Struct, frozen=True):
    """A link to the same search among one kind."""

    kind: str
    """Empty: all."""
    path: str
    is_chosen: bool
    count: SearchTotal | None = None
    """The total of that search; null: it was not counted, since very many items match."""


class SearchView(Struct, frozen=True, kw_only=True):
    """The JSON of a search."""

    query: str
    kind: str
    sort: Order
    total: SearchTotal
    offset: int
    results: tuple[ItemRow, ...]
    problem: str | None
    """Why no search was made."""
    previous_page: str | None
    next_page: str | None
    kinds: tuple[KindLink, ...]
    """Links to the same search among one kind that has results."""
    sorts: tuple[Choice, ...]
    """Links to the same search in another order."""
    sorted_best: int | None
    """How many of the best results are in this order, if very many match; null: all."""
    namespace: str | None
    """The page of the namespace that has the query as its name; null: there is none."""
    list_page: str
    """The list of all items of the kind."""


def search_page(wanted: Search, found: SearchResults | None, problem: str | None = None) -> Maker:
    """Return the maker of ``/-/search``. ``found``: what the search found at the same head; None: no search was made."""

    def make(registry: RegistryView) -> Page:
        hits = found.hits if found is not None else ()
        rows = item_rows(registry, [_wanted(hit) for hit in hits])
        view = search_view(wanted, rows, found.total if found is not None else 0, problem)
        counts = found.counts if found is not None else {}
        view = replace(view, kinds=_kinds(registry, wanted, counts), namespace=_namespace(registry, wanted.query))
        title = f"Search: {wanted.query}" if wanted.query else "Search"
        words = (
            f"Items in {registry.site.origin} that match {wanted.query}." if wanted.query else "Search this registry."
        )
        status = 400 if problem is not None and wanted.query else 200
        return Page(
            template="search.html",
            view=view,
            title=title,
            description=words,
            path=wanted.path,
            status=status,
            is_indexed=False,
            is_partial=wanted.order == "used" and unknown_count(registry, wanted.kind) > 0,
        )

    return for_each_head(make)


def _kinds(registry: RegistryView, wanted: Search, counts: Mapping[str, SearchTotal]) -> tuple[KindLink, ...]:
    """Return links to the kinds with results, and to those of which there are items if their results were not counted."""
    there = counts if counts.get("") != MORE else counts_by_kind(registry)
    kinds = ("", *(kind for kind in KINDS if there.get(kind) or kind == wanted.kind))
    return tuple(
        KindLink(kind, replace(wanted, kind=kind, offset=0).path, kind == wanted.kind, counts.get(kind))
        for kind in kinds
    )


def _namespace(registry: RegistryView, query: str) -> str | None:
    name = query.strip().lower()
    if not is_segment(name) or not registry.may_read(name) or not registry.chain(name).links:
        return None
    return namespace_path(name)


def _wanted(hit: Hit) -> Wanted:
    return Wanted(Identity(hit.kind, hit.id), hit.version, hit.description, hit.deprecated)


def search_view(
    wanted: Search, results: Sequence[ItemRow], total: SearchTotal, problem: str | None = None
) -> SearchView:
    """Return the view of one page of results."""
    before = max(wanted.offset - PAGES.search_results, 0)
    after = wanted.offset + PAGES.search_results
    has_more = len(results) == PAGES.search_results and (isinstance(total, str) or total > after)
    return SearchView(
        query=wanted.query,
        kind=wanted.kind,
        sort=wanted.order,
        total=total,
        offset=wanted.offset,
        results=tuple(results),
        problem=problem,
        previous_page=replace(wanted, offset=before).path if wanted.offset else None,
        next_page=replace(wanted, offset=after).path if has_more and after < wanted.most else None,
        kinds=(),
        sorts=tuple(
            Choice(SORT_WORDS[order], replace(wanted, order=order, offset=0).path, order == wanted.order)
            for order in ORDERS
        ),
        sorted_best=RANKED if total == MORE and wanted.order != "relevance" else None,
        namespace=None,
        list_page=f"/-/{KINDS[wanted.kind].folder}" if wanted.kind else "/-/items",
    )
