"""The page that compares two versions of an item: what changed in what it may do, then in its text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from registry_server.pages.addresses import ItemAddress, diff_path, item_path, versions_path
from registry_server.pages.comparison import Comparison, Side, compare_sides
from registry_server.pages.comparison_pages import Paged, paged
from registry_server.pages.diff_colours import DiffColours
from registry_server.pages.file_changes import FileState
from registry_server.pages.item import no_such_version
from registry_server.pages.limits import COMPARISON, LISTS
from registry_server.pages.lru_cache import LruCache
from registry_server.pages.page_drafts import Draft, Maker
from registry_server.pages.page_layout import Page
from registry_server.pages.registry_view import RegistryView, no_such_part
from registry_server.pages.version_order import in_order, newest_offered, version_before
from rye.errors import RyeError
from rye.items.identity import Identity
from rye.registry.trust.records import ItemHistory, ReleaseRecord, release_files


class OtherDiff(Struct, frozen=True):
    """A comparison of the newer version with another version."""

    version: str
    path: str


class FileLink(Struct, frozen=True):
    """A file that differs, wherever in the comparison it is."""

    path: str
    state: FileState
    added: int
    removed: int
    place: str
    """The path of its part of the comparison."""


class DiffView(Comparison, frozen=True):
    """The JSON of the page: the part of the comparison that is on it."""

    summary: tuple[str, ...]
    """The number of changes of each sort, over all pages."""
    page: int
    pages: int
    first_page: str
    previous_page: str | None
    next_page: str | None
    index: tuple[FileLink, ...]
    """All files that differ."""
    versions_page: str
    choices: tuple[str, ...]
    """Versions that the form offers to compare, the newest first."""
    swapped: str
    """The path of the comparison with the two versions swapped."""
    old_path: str
    new_path: str
    others: tuple[OtherDiff, ...]
    """The nearest versions to compare with, highest first."""
    command: str
    """The command that verifies and compares both versions on the reader's machine."""


def diff_page(address: ItemAddress, number: int = 1) -> Maker:
    """Return the maker of ``…/diff/A..B``, and of ``…@VERSION/diff`` against the previous version. ``number``: the
    part, from 1."""

    def draft(registry: RegistryView) -> Draft:
        history = registry.released(address.identity, address.path)
        old, new = chosen(registry, address, history)
        gone = registry.taken_down(release_files(old.release) | release_files(new.release))
        versions = [record.version for record in history.records]
        return Draft((registry.basis(address.identity), gone), lambda: make(registry, old, new, versions))

    def make(registry: RegistryView, old: ReleaseRecord, new: ReleaseRecord, versions: Sequence[str]) -> Page:
        identity = address.identity
        (before, is_before_short), (after, is_after_short) = _side(registry, old), _side(registry, new)
        view = diff_view(_compared(registry, before, after), number, versions)
        path = diff_path(identity, old.version, new.version)
        if not 1 <= number <= view.pages:
            raise no_such_part(path, view.pages)
        title = f"{identity.id}: {old.version} to {new.version}"
        words = f"What changed in the {identity.kind} {identity.id} from {old.version} to {new.version}: "
        return Page(
            template="diff.html",
            view=view,
            title=title,
            description=f"{words}{'; '.join(view.summary)}.",
            path=part_path(path, number),
            is_indexed=False,
            is_short=is_before_short or is_after_short,
            parts=lambda share: DiffColours(before.contents, after.contents, share),
        )

    return draft


def chosen(registry: RegistryView, address: ItemAddress, history: ItemHistory) -> tuple[ReleaseRecord, ReleaseRecord]:
    """Return the two releases that an address names. Raises RyeError ``not-found``."""
    records = {record.version: record for record in history.records}
    if address.rest:
        old, _, new = address.rest.partition("..")
        if address.version is not None:
            raise registry.missing(address.path)
        for version in (old, new):
            if version not in records:
                raise no_such_version(history, version)
        return records[old], records[new]
    version = address.version if address.version is not None else newest_offered(history)
    if version not in records:
        raise no_such_version(history, version)
    before = version_before(list(records), version)
    if before is None:
        raise RyeError(
            "not-found",
            f"{address.identity} {version} has no earlier version.",
            f"Its page: {item_path(address.identity, version)}",
        )
    return records[before], records[version]


_kept: LruCache[tuple[object, ...], Paged[Comparison]] = LruCache(COMPARISON.kept_bytes)
"""Recent comparisons: computing one page of a comparison costs as much as computing all its pages."""


def _compared(registry: RegistryView, old: Side, new: Side) -> Paged[Comparison]:
    """Return the comparison, for a reader who may see both versions.

    It depends only on the item's history and on the bytes that exist.
    """
    sides, identity = (old, new), old.record.identity
    versions = tuple((side.record.version, tuple(sorted(side.files))) for side in sides)
    key = (registry.origin, str(identity), *registry.basis(identity), *versions)
    comparison = _kept.get(key)
    if comparison is None:
        namespace = identity.namespace
        comparison = paged(compare_sides(*sides, registry.chain(namespace), registry.since(namespace)))
        size = sum(len(data) for side in sides for data in side.files.values())
        rows = sum(map(len, comparison.pages))
        _kept.put(key, comparison, COMPARISON.kept_factor * size + COMPARISON.kept_row_bytes * rows + 10_000)
    return comparison


def diff_view(compared: Paged[Comparison], number: int, versions: Sequence[str]) -> DiffView:
    """Return one page of a comparison."""
    whole, pages = compared.whole, len(compared.pages)
    part = compared.page(number)
    identity = Identity(whole.kind, whole.id)
    path = diff_path(identity, whole.old.version, whole.new.version)
    fields = {name: getattr(part, name) for name in Comparison.__struct_fields__}
    return DiffView(
        **fields,
        summary=tuple(_summary(whole)),
        page=number,
        pages=pages,
        first_page=path,
        previous_page=part_path(path, number - 1) if 1 < number <= pages else None,
        next_page=part_path(path, number + 1) if number < pages else None,
        index=tuple(_index(compared, path)),
        versions_page=versions_path(identity),
        choices=_choices(whole, in_order(versions)),
        swapped=diff_path(identity, whole.new.version, whole.old.version),
        old_path=item_path(identity, whole.old.version),
        new_path=item_path(identity, whole.new.version),
        others=tuple(_others(identity, whole, in_order(versions))),
        command=f"rye diff {identity}@{whole.old.version} {identity}@{whole.new.version}",
    )


def part_path(path: str, number: int) -> str:
    """Return the path of one part of a comparison, from 1."""
    return f"{path}?page={number}" if number > 1 else path


def _index(compared: Paged[Comparison], path: str) -> Iterator[FileLink]:
    first: dict[int, int] = {}
    for number, rows in enumerate(compared.pages, 1):
        for row in rows:
            first.setdefault(row.file, number)
    for at, file in enumerate(compared.whole.files[: COMPARISON.index]):
        place = f"{part_path(path, first.get(at, 1))}#{file.anchor}"
        yield FileLink(file.path, file.state, file.added, file.removed, place)


def _choices(whole: Comparison, ordered: Sequence[str]) -> tuple[str, ...]:
    """Return the newest versions, and both of this comparison."""
    newest = ordered[::-1][: LISTS.compared]
    both = [version for version in (whole.new.version, whole.old.version) if version not in newest]
    return (*newest, *dict.fromkeys(both))


def _others(identity: Identity, whole: Comparison, ordered: Sequence[str]) -> Iterator[OtherDiff]:
    at = ordered.index(whole.new.version)
    start = max(at - COMPARISON.others // 2, 0)
    for version in reversed(ordered[start : start + COMPARISON.others]):
        if version not in (whole.old.version, whole.new.version):
            yield OtherDiff(version, diff_path(identity, version, whole.new.version))


def _summary(whole: Comparison) -> Iterator[str]:
    rights, tools, runs = whole.rights, whole.agent_tools, whole.runs
    counts = (
        (len(rights.widened) + len(tools.added), "right added", "rights added"),
        (len(rights.narrowed) + len(tools.removed), "right removed", "rights removed"),
        (len(whole.hooks.added), "hook added", "hooks added"),
        (len(whole.hooks.removed), "hook removed", "hooks removed"),
        (sum(run.state == "added" for run in runs), "new script or command", "new scripts or commands"),
        (sum(run.state == "changed" for run in runs), "changed script or command", "changed scripts or commands"),
        (sum(run.state == "removed" for run in runs), "script or command removed", "scripts or commands removed"),
        (len(whole.facts.added), "new fact", "new facts"),
        (len(whole.relations.added), "dependency added", "dependencies added"),
        (len(whole.relations.removed), "dependency removed", "dependencies removed"),
        (len(whole.files), "file differs", "files differ"),
    )
    if whole.equal:
        yield "nothing differs"
    for number, one, many in counts:
        if number:
            yield f"{number:,} {one if number == 1 else many}"
    if whole.signers is not None:
        yield "different signer"
    if whole.unknown:
        yield "not everything could be compared"


def _side(registry: RegistryView, record: ReleaseRecord) -> tuple[Side, bool]:
    """Return one side, and whether the store lacks some of its bytes that it may have again."""
    release = record.release
    hashes = {release.file_name: release.file.sha256, **{e.path: e.sha256 for e in release.attached}}
    files = registry.files(record.identity.namespace, list(dict.fromkeys(hashes.values())))
    present = {path: data for path, sha256 in hashes.items() if (data := files[sha256]) is not None}
    return Side(record, present), registry.is_short(files)
