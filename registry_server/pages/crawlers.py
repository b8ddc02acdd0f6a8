"""Documents for crawlers and browsers: ``/robots.txt``, a sitemap in parts (sitemaps.org), and how to search here."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lxml import etree
from msgspec import Struct

from registry_server.pages.addresses import item_path
from registry_server.pages.limits import RECORDS
from registry_server.pages.name_ranges import offered_names, offered_times, part_ends, stretches
from registry_server.pages.page_drafts import Draft, Maker, for_each_head
from registry_server.pages.page_layout import Document, Page
from registry_server.pages.registry_view import RegistryView
from rye.items.identity import Identity
from rye.items.kinds import KINDS

_SITEMAPS = "http://www.sitemaps.org/schemas/sitemap/0.9"
_NAMESPACES: Any = {None: _SITEMAPS}
_CLOSED = ("/-/account", "/-/search", "/-/*/diff", "/api/")
"""What crawlers should skip: pages for one person, and pages with endless variants."""


class Listed(Struct, frozen=True):
    """The addresses that a document for crawlers lists."""

    addresses: tuple[str, ...]


def robots_page() -> Maker:
    """Return the maker of ``/robots.txt``, which depends on nothing in the log."""
    return lambda registry: Draft((), lambda: _robots(registry))


def _robots(registry: RegistryView) -> Page:
    rules = [f"Disallow: {path}" for path in (("/",) if registry.reader.is_private else _CLOSED)]
    sitemap = [] if registry.reader.is_private else ["", f"Sitemap: {registry.site.address}/sitemap.xml"]
    text = "\n".join(["User-agent: *", *rules, *sitemap, ""])
    return Page(
        template="",
        view=Listed(()),
        title="",
        description="",
        path="/robots.txt",
        document=Document(text.encode(), "text/plain"),
    )


def search_description() -> Maker:
    """Return the maker of ``/opensearch.xml``, with which browsers search the registry from their address bar."""
    return lambda registry: Draft((), lambda: _search_description(registry))


def _search_description(registry: RegistryView) -> Page:
    site = registry.site
    root = etree.Element(f"{{{_OPENSEARCH}}}OpenSearchDescription", nsmap={None: _OPENSEARCH})  # type: ignore[dict-item]
    for name, text in (
        ("ShortName", site.origin[:16]),
        ("Description", f"Items of {site.origin}"),
        ("InputEncoding", "UTF-8"),
    ):
        etree.SubElement(root, f"{{{_OPENSEARCH}}}{name}").text = text
    etree.SubElement(
        root,
        f"{{{_OPENSEARCH}}}Url",
        type="text/html",
        template=f"{site.address}/-/search?q={{searchTerms}}",
    )
    body = etree.tostring(root, xml_declaration=True, encoding="UTF-8") + b"\n"
    return Page(
        template="",
        view=Listed(()),
        title="",
        description="",
        path=SEARCH_DESCRIPTION,
        document=Document(body, "application/opensearchdescription+xml"),
    )


_OPENSEARCH = "http://a9.com/-/spec/opensearch/1.1/"
SEARCH_DESCRIPTION = "/opensearch.xml"


def sitemap_index() -> Maker:
    """Return the maker of ``/sitemap.xml``: the index of the parts, each of which begins after a name."""
    return for_each_head(_sitemap_index)


def _sitemap_index(registry: RegistryView) -> Page:
    where = stretches(registry.reader.namespaces)
    ends = part_ends(registry.connection, where, RECORDS.sitemap_names, RECORDS.sitemap_parts - 1)
    addresses = [(f"{registry.site.address}{part_path(after)}", None) for after in ("", *ends)]
    return _page("/sitemap.xml", "sitemapindex", "sitemap", addresses)


def sitemap_part(after: str) -> Maker:
    """Return the maker of the part with the items after this name. Empty: the first part, which begins with the home
    page."""

    def make(registry: RegistryView) -> Page:
        found = offered_names(registry.connection, stretches(registry.reader.namespaces), after, RECORDS.sitemap_names)
        if after and not found:
            raise registry.missing(part_path(after))
        dates = offered_times(registry.connection, found)
        pages = [
            (item_path(Identity(kind, identifier)), dates.get(f"{kind}:{identifier}"))
            for kind, _, identifier in (n.partition(":") for n in found)
        ]
        addresses = [(registry.site.address + path, date) for path, date in [*([] if after else FIRST), *pages]]
        return _page(part_path(after), "urlset", "url", addresses)

    return for_each_head(make)


def part_path(after: str) -> str:
    """Return the path of the part with the items after this name."""
    return f"/sitemap.xml?after={after}"


FIRST: list[tuple[str, str | None]] = [
    ("/", None),
    *((f"/-/{folder}", None) for folder in ("items", "namespaces", *(kind.folder for kind in KINDS.values()))),
]
"""The pages before those of the items."""


def _page(path: str, root_name: str, row_name: str, addresses: Iterable[tuple[str, str | None]]) -> Page:
    """``addresses``: each with the time of its last change, if that is known."""
    listed = tuple(addresses)
    root = etree.Element(f"{{{_SITEMAPS}}}{root_name}", nsmap=_NAMESPACES)
    for address, date in listed:
        row = etree.SubElement(root, f"{{{_SITEMAPS}}}{row_name}")
        etree.SubElement(row, f"{{{_SITEMAPS}}}loc").text = address
        if date is not None:
            etree.SubElement(row, f"{{{_SITEMAPS}}}lastmod").text = date
    body = etree.tostring(root, xml_declaration=True, encoding="UTF-8") + b"\n"
    return Page(
        template="",
        view=Listed(tuple(address for address, _ in listed)),
        title="",
        description="",
        path=path,
        document=Document(body, "application/xml"),
    )
