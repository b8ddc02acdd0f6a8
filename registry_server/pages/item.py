"""The page of an item: reads one release and renders its page."""

from __future__ import annotations

from collections.abc import Mapping

from markupsafe import Markup
from msgspec import Struct

from registry_server.pages.addresses import ItemAddress
from registry_server.pages.dependents import dependents_of, entries_read
from registry_server.pages.diff import newest_offered
from registry_server.pages.examined import Examined, examine
from registry_server.pages.item_view import Found, item_view
from registry_server.pages.limits import PAGES
from registry_server.pages.lru_cache import LruCache
from registry_server.pages.page_cache import Maker
from registry_server.pages.page_layout import Page
from registry_server.pages.registry_view import RegistryView
from registry_server.pages.release_analysis import Analysis, Bytes, analyse, parts_of
from rye.registry.trust.records import ItemHistory, ReleaseRecord


def item_page(address: ItemAddress) -> Maker:
    """Return the maker of ``/-/KIND/ID[@VERSION]``."""

    def make(registry: RegistryView) -> Page:
        history, record = chosen(registry, address)
        identity, release = record.identity, record.release
        analysis = analysis_of(registry, record)
        may, shape, content = analysis.may, analysis.shape, analysis.content
        dependents = dependents_of(registry, identity)
        found = Found(
            history=history,
            record=record,
            latest=newest_offered(history),
            chain=registry.chain(identity.namespace),
            may=may,
            shape=shape,
            content=content,
            dependents=dependents,
            dependents_entries=0 if dependents.is_whole else entries_read(registry),
        )

        def parts(share: float) -> Mapping[str, Markup]:
            whole = analysis.parts if share == 1 else parts_of(release, may, shape, content, share)
            return whole.html

        title = f"{identity.kind} {identity.id} {record.version}"
        return Page(
            template="item.html",
            view=item_view(found, registry.since(identity.namespace)),
            title=title,
            description=release.description or title,
            path=address.path,
            status=451 if record.takedown is not None else 200,
            is_indexed=not record.is_withdrawn,
            is_partial=not dependents.is_whole,
            parts=parts,
            json_fields=lambda: {"dependents_entries": entries_read(registry)},
        )

    return make


def chosen(registry: RegistryView, address: ItemAddress) -> tuple[ItemHistory, ReleaseRecord]:
    """Return the history and release that an address names; without a version, the highest that is not withdrawn.

    Raises RyeError ``not-found``.
    """
    history = registry.history(address.identity)
    if history is None or not history.records:
        raise registry.missing(address.path)
    version = address.version if address.version is not None else newest_offered(history)
    record = next((record for record in history.records if record.version == version), None)
    if record is None:
        raise registry.missing(address.path)
    return history, record


def files_of(registry: RegistryView, record: ReleaseRecord) -> Bytes:
    """Return the bytes of a release. A release that was taken down has none, even if the store still does."""
    release = record.release
    hashes = {record.release.file_name: release.file.sha256, **{e.path: e.sha256 for e in release.attached}}
    if record.takedown is not None:
        return dict.fromkeys(hashes)
    found = registry.files(record.identity.namespace, list(dict.fromkeys(hashes.values())))
    return {path: found[sha256] for path, sha256 in hashes.items()}


def analysis_of(registry: RegistryView, record: ReleaseRecord) -> Analysis:
    """Return the analysis of a release: the stored one, or a new one, which is stored if no file is missing."""
    known = registry.analysis(record)
    if known is None:
        files = files_of(registry, record)
        known = analyse(record, files)
        if None not in files.values():
            registry.keep_analysis(record, known)
    return known


_examined: LruCache[tuple[str, str], Examined] = LruCache(PAGES.examined)


class Outline(Struct, frozen=True):
    """What a list of results says about a release."""

    tier: str | None
    runs: int
    is_examined: bool
    """Whether no file was missing and clients accept them."""


def outline_of(registry: RegistryView, record: ReleaseRecord) -> Outline:
    """Return the outline of a release. Without a stored analysis, only the outline is computed."""
    known = registry.analysis(record)
    if known is not None:
        return Outline(known.may.tier, known.may.runs.total, known.may.problem is None)
    key = record.line.note, record.link.sha256
    examined = _examined.get(key) if record.takedown is None else None
    if examined is None:
        files = files_of(registry, record)
        name = record.release.file_name
        attached = {path: data for path, data in files.items() if path != name}
        examined = examine(record.release, record.link.keyset.keys, files[name], attached)
        if None not in files.values():
            _examined.put(key, examined)
    tier = str(examined.tier) if examined.tier is not None else None
    return Outline(tier, len(examined.runs), examined.problem is None and not examined.unread)
