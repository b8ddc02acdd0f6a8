"""What is known of a release's bytes: from its stored analysis, or from a new one. For the item's page and for rows of lists.

A new analysis is stored if no file is missing. Lists examine only what is small, and do not store it, since that costs the
rendering of the whole text.
"""

from __future__ import annotations

from collections.abc import Iterable

from registry_server.pages.examined import described, examine, facts_of
from registry_server.pages.limits import PAGES
from registry_server.pages.lru_cache import LruCache
from registry_server.pages.registry_view import RegistryView
from registry_server.pages.release_analysis import Analysis, Bytes, analyse
from rye.describing.description import Description
from rye.registry.trust.records import ReleaseRecord, release_files


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


def files_named(records: Iterable[ReleaseRecord]) -> set[str]:
    """Return the SHA-256 of all files of these releases."""
    return {sha256 for record in records for sha256 in release_files(record.release)}


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


_described: LruCache[tuple[str, str], Description] = LruCache(PAGES.examined)


def description_of(registry: RegistryView, record: ReleaseRecord) -> Description | None:
    """Return what is said of a release in a list; None: it is too large to be examined there, or the reader may not see it."""
    if not registry.may_read(record.identity.namespace):
        return None
    stored = stored_analysis(registry, record)
    if stored is not None:
        return stored.description
    key = record.line.note, record.link.sha256
    known = _described.get(key) if record.takedown is None else None
    if known is not None:
        return known
    release = record.release
    if release.file.size + sum(entry.size for entry in release.attached) > PAGES.search_item_bytes:
        return None
    files, _ = files_of(registry, record)
    name = release.file_name
    attached = {path: data for path, data in files.items() if path != name}
    examined = examine(release, record.link.keyset.accepted_keys(), files[name], attached)
    description = described(release, examined, facts_of(release, files[name], attached), files)
    if None not in files.values():
        _described.put(key, description)
    return description
