"""The page of all versions of an item, newest first, where any two of them can be compared, and the way to its newest one."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from registry_server.pages.addresses import diff_path, item_feed_path, item_path, read_item_path, versions_path
from registry_server.pages.item import item_page, no_such_version
from registry_server.pages.item_view import VersionRow, version_rows
from registry_server.pages.limits import LISTS
from registry_server.pages.page_drafts import Draft, Maker
from registry_server.pages.page_layout import Page
from registry_server.pages.registry_view import RegistryView
from registry_server.pages.version_order import newest_offered
from rye.errors import RyeError
from rye.items.identity import Identity
from rye.registry.trust.records import ItemHistory


class VersionsView(Struct, frozen=True, kw_only=True):
    """The JSON of ``/-/KIND/ID/versions``."""

    kind: str
    id: str
    page: str
    latest: str
    """The version that an installation without a range chooses."""
    total: int
    versions: tuple[VersionRow, ...]
    """Newest first."""
    choices: tuple[str, ...]
    """Versions that the form offers to compare, the newest first."""
    previous_page: str | None
    next_page: str | None


def asked_comparison(identity: Identity, old: str, new: str) -> str:
    """Return the path of the comparison that the form asks for. Raises RyeError ``bad-request``."""
    address = read_item_path(diff_path(identity, old, new))
    if address is None or address.view != "diff":
        raise RyeError("bad-request", "`from` and `to` must be versions.", None)
    return address.path


def versions_page(identity: Identity, start: int = 0) -> Maker:
    """Return the maker of ``/-/KIND/ID/versions``."""
    path = versions_path(identity, start)

    def draft(registry: RegistryView) -> Draft:
        history = registry.released(identity, path)
        return Draft(registry.basis(identity), lambda: make(history))

    def make(history: ItemHistory) -> Page:
        rows = tuple(version_rows(history))
        view = VersionsView(
            kind=identity.kind,
            id=identity.id,
            page=item_path(identity),
            latest=newest_offered(history),
            total=len(rows),
            versions=rows[start : start + LISTS.versions],
            choices=tuple(row.version for row in rows[: LISTS.compared]),
            previous_page=versions_path(identity, max(start - LISTS.versions, 0)) if start else None,
            next_page=versions_path(identity, start + LISTS.versions) if start + LISTS.versions < len(rows) else None,
        )
        return Page(
            template="versions.html",
            view=view,
            title=f"Versions of {identity.id}",
            description=f"All {len(rows):,} versions of the {identity.kind} {identity.id}.",
            path=path,
            is_indexed=not start,
            feeds=(item_feed_path(identity),),
        )

    return draft


def of_item_or_item(identity: Identity, path: str, about: Maker) -> Maker:
    """Return the maker of a page ``about`` an item, or of the item that itself has this ``path``, such as one called
    ``versions``, where there is no item above it."""
    item = read_item_path(path)

    def draft(registry: RegistryView) -> Draft:
        is_item = item is not None and registry.history(identity) is None
        return (item_page(item) if item is not None and is_item else about)(registry)

    return draft


def newest_page(identity: Identity, wanted: str) -> Maker:
    """Return the maker that leads to the newest version that is not withdrawn. ``wanted``: ``latest``, or how it begins."""
    path = f"{item_path(identity)}@{wanted}"

    def draft(registry: RegistryView) -> Draft:
        history = registry.released(identity, path)
        return Draft(registry.basis(identity), lambda: make(history))

    def make(history: ItemHistory) -> Page:
        fitting = [
            record for record in history.records if wanted == "latest" or f"{record.version}.".startswith(f"{wanted}.")
        ]
        if not fitting:
            raise no_such_version(history, wanted)
        version = newest_offered(replace(history, records=tuple(fitting)))
        view = Newest(identity.kind, identity.id, version, item_path(identity, version))
        return Page(
            template="", view=view, title="", description="", path=path, status=302, location=view.page, is_indexed=False
        )  # fmt: skip

    return draft


class Newest(Struct, frozen=True):
    """The JSON of ``/-/KIND/ID@latest``."""

    kind: str
    id: str
    version: str
    page: str
