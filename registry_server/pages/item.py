"""The page of an item: reads one release and renders its page."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

import sqlalchemy as sa
from markupsafe import Markup
from msgspec import Struct

from registry_server.pages.addresses import ItemAddress
from registry_server.pages.analysis_store import AnalysisStore
from registry_server.pages.dependents import dependents_of, entries_read
from registry_server.pages.examined import Examined, examine
from registry_server.pages.item_view import Dependents, ItemSource, item_view
from registry_server.pages.limits import PAGES
from registry_server.pages.lru_cache import LruCache
from registry_server.pages.page_context import Reader, Site
from registry_server.pages.page_drafts import Draft, Maker
from registry_server.pages.page_layout import Page
from registry_server.pages.registry_view import RegistryView
from registry_server.pages.release_analysis import Analysis, Bytes, analyse, parts_of
from registry_server.pages.version_order import newest_offered
from registry_server.storage import database
from registry_server.storage.objects import Objects
from rye.items.identity import Identity
from rye.registry.trust.records import ItemHistory, ReleaseRecord, release_files


def item_page(address: ItemAddress) -> Maker:
    """Return the maker of ``/-/KIND/ID[@VERSION]``."""

    def draft(registry: RegistryView) -> Draft:
        history, record = chosen(registry, address)
        dependents = dependents_of(registry, record.identity)
        gone = registry.taken_down(release_files(record.release))
        return Draft(
            (registry.basis(record.identity), gone, dependents),
            lambda: make(registry, history, record, dependents),
            lambda: {"dependents_entries": entries_read(registry)},
        )

    def make(registry: RegistryView, history: ItemHistory, record: ReleaseRecord, dependents: Dependents) -> Page:
        identity, release = record.identity, record.release
        analysis, is_short = analysis_of(registry, record)
        may, shape, content = analysis.may, analysis.shape, analysis.content
        source = ItemSource(
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
            view=item_view(source, registry.since(identity.namespace)),
            title=title,
            description=release.description or title,
            path=address.path,
            status=451 if record.takedown is not None else 200,
            is_indexed=not record.is_withdrawn,
            is_partial=not dependents.is_whole,
            is_short=is_short,
            parts=parts,
        )

    return draft


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


def files_of(registry: RegistryView, record: ReleaseRecord) -> tuple[Bytes, bool]:
    """Return the bytes of a release, and whether the store lacks some that it may have again.

    A release that was taken down has none, even if the store still does.
    """
    release = record.release
    hashes = {release.file_name: release.file.sha256, **{e.path: e.sha256 for e in release.attached}}
    if record.takedown is not None:
        return dict.fromkeys(hashes), False
    files = registry.files(record.identity.namespace, list(dict.fromkeys(hashes.values())))
    return {path: files[sha256] for path, sha256 in hashes.items()}, registry.is_short(files)


def analysis_of(registry: RegistryView, record: ReleaseRecord) -> tuple[Analysis, bool]:
    """Return the analysis of a release, and whether the store lacked files for it that it may have again.

    It is the stored one, or a new one, which is stored if no file is missing.
    """
    stored = stored_analysis(registry, record)
    if stored is not None:
        return stored, False
    files, is_short = files_of(registry, record)
    analysis = analyse(record, files)
    if registry.analyses is not None and None not in files.values():
        registry.analyses.put(record, analysis)
    return analysis, is_short


def stored_analysis(registry: RegistryView, record: ReleaseRecord) -> Analysis | None:
    """Return the stored analysis of a release; None if it has none, a file was taken down, or the reader may not see
    it.

    Takedowns count as soon as the log has them, and remove what is stored.
    """
    analyses = registry.analyses
    if analyses is None or not registry.may_read(record.identity.namespace):
        return None
    if record.takedown is not None or registry.taken_down(release_files(record.release)):
        analyses.remove(record)
        return None
    return analyses.get(record)


def analyse_release(
    engine: sa.Engine, store: Objects, analyses: AnalysisStore, identity: Identity, version: str
) -> None:
    """Analyse a release that is in the log, and store it for the first view of its page. Raises RyeError."""
    with database.reader(engine) as connection:
        registry = RegistryView(connection, store, Site("", "", ""), Reader(), datetime.now(UTC), analyses)
        history = registry.history(identity)
        records = history.records if history is not None else ()
        for record in records:
            if record.version == version:
                analysis_of(registry, record)


_examined: LruCache[tuple[str, str], Examined] = LruCache(PAGES.examined)


class Outline(Struct, frozen=True):
    """What a list of results says about a release."""

    tier: str | None
    runs: int
    is_examined: bool
    """Whether no file was missing and clients accept them."""


def outline_of(registry: RegistryView, record: ReleaseRecord) -> Outline:
    """Return the outline of a release. Without a stored analysis, only the outline is computed."""
    stored = stored_analysis(registry, record)
    if stored is not None:
        return Outline(stored.may.tier, stored.may.runs.total, stored.may.problem is None)
    key = record.line.note, record.link.sha256
    examined = _examined.get(key) if record.takedown is None else None
    if examined is None:
        files, _ = files_of(registry, record)
        name = record.release.file_name
        attached = {path: data for path, data in files.items() if path != name}
        examined = examine(record.release, record.link.keyset.accepted_keys(), files[name], attached)
        if None not in files.values():
            _examined.put(key, examined)
    tier = str(examined.tier) if examined.tier is not None else None
    return Outline(tier, len(examined.runs), examined.problem is None and not examined.unread)
