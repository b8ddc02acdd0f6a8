"""Comparing two releases, installed files with the signed bytes, and an item with and without the overrides in force.

Releases are found by name, without a project's lock. They are proved and verified as in an installation.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from rye.customization.effective_diff import EffectiveDiff, effective_diff
from rye.errors import RyeError
from rye.installation.completeness import locked_item
from rye.installation.hand_edits import edit_diff, signed_hash
from rye.installation.resolving import identify
from rye.installation.rollback import read_previous
from rye.installation.silence import NotAsked
from rye.installation.sources import (
    Sources,
    another_place,
    expect_origin,
    fetch_logged,
    locked_source_record,
    source_item,
)
from rye.items.identity import Identity, Reference, parse_reference
from rye.permissions.comparing import Comparison, Version, compare
from rye.permissions.containment import Diff, diff
from rye.project.layout import Project, find_project
from rye.project.lock import Lock, LockedItem, comparison
from rye.project.lock_file import Unlock, item_folder
from rye.project.manifest import Manifest, Requested
from rye.registry.transport.seam import is_silence
from rye.registry.trust.records import ReleaseRecord, check_installable, find_locked
from rye.resolution.ranges import Range
from rye.resolution.versions import Version as ReleaseVersion
from rye.sources.book import SourceBook
from rye.sources.record import SourceHistory
from rye.sources.refs import Target
from rye.sources.source_error import SilentSource, SourceError
from rye.verified.on_disk import Drift, edited, scan
from rye.verified.release import VerifiedItem, verify_files
from rye.workspace.context import Context
from rye.workspace.installing.project_state import read_state
from rye.workspace.items.agreement import warn_not_agreed
from rye.workspace.items.effective_item import effective_item, overridden
from rye.workspace.registries.registry_access import NOTHING_NEWER, project_sources, tell_not_asked


class EditedFile(Struct, frozen=True):
    """One file below ``.ai/packages`` that a person changed or added."""

    path: str
    state: str
    diff: str | None
    """A unified diff from the locked bytes; None if they are not text, or not known."""
    is_known: bool = True
    """Whether the locked bytes are known: they are neither cached nor does anybody answer."""


class ComparedReleases(Struct, frozen=True):
    """Two releases that were compared."""

    before: Version
    after: Version
    comparison: Comparison
    not_asked: tuple[NotAsked, ...]
    """Who did not answer, so that what they have that is newer is not known."""


def compare_releases(context: Context, names: Sequence[str]) -> ComparedReleases:
    """Two releases, both from the registry and verified. With one name: the installed version and the newest, or the version in
    the name. Outside a project, the user's registry is used. Of a registry that does not answer, they are those that its last
    verified state and the cache have, which is told."""
    project = find_project(context.cwd) or Project(context.cwd.absolute())
    state = read_state(context, project)
    manifest = state.manifest
    with project_sources(context, manifest, project.root, outages="hold") as sources:
        with context.progress("fetching"):
            before, after = map(_version, _items(state.lock, sources, names))
        not_asked = tell_not_asked(context, sources, NOTHING_NEWER)
    return ComparedReleases(before, after, compare(before, after), not_asked)


def earlier_comparison(context: Context, name: str) -> str | None:
    """For an item of a repository, the command that compares what is installed with what was installed before; None for others.

    If the last change of rye.lock was about another item, the command has a place for the commit.
    """
    project = find_project(context.cwd)
    if project is None:
        return None
    now = locked_item(read_state(context, project).lock, name.partition("@")[0])
    if now.source is None or now.source.commit is None:
        return None
    with contextlib.suppress(RyeError):
        before = read_previous(project).lock()[0].by_identity().get(now.identity)
        found = comparison(before, now) if before is not None else None
        if found is not None:
            return found
    return f"rye diff {now.identity}@COMMIT {now.identity}"


def edited_files(context: Context, project: Project) -> list[EditedFile]:
    """Every file edited by hand, by path. The bytes to compare with come from the cache, the registry or the source. Where they
    are not cached and nobody answers for them, the others are still compared, and that is told."""
    state = read_state(context, project)
    manifest, items = state.manifest, state.lock.items
    found = edited(project, items, scan(project))
    signed = _signed_bytes(context, project, manifest, state.lock, found)
    return [
        EditedFile(
            entry.path,
            entry.state,
            "\n".join(edit_diff(project, entry, signed.get(entry.path))) or None,
            entry.path in signed or signed_hash(entry) is None,
        )
        for entry in found
    ]


def _items(lock: Lock, sources: Sources, names: Sequence[str]) -> list[VerifiedItem]:
    plain, _, state = names[0].partition("@")
    if len(names) == 1:
        locked = locked_item(lock, plain)
        if locked.source is not None:
            later = _at_commit(lock, sources, locked.identity, state) if state else None
            installed = _of_source(locked, lock, sources, Unlock.nothing())
            return [installed, later or _of_source(locked, lock, sources, Unlock.everything())]
    elif any(sources.is_source(parse_reference(name).id.partition("/")[0]) for name in names):
        return [_named(lock, sources, name) for name in names]
    return fetch_releases(_records(lock, sources, names), sources)


def _named(lock: Lock, sources: Sources, name: str) -> VerifiedItem:
    """One of two named states, of an item of a source or of a release."""
    reference = parse_reference(name)
    if not sources.is_source(reference.id.partition("/")[0]):
        return fetch_releases([find_release(identify_one(reference, sources), reference.range, sources)], sources)[0]
    locked = locked_item(lock, name.partition("@")[0])
    if reference.range is None:
        return _of_source(locked, lock, sources, Unlock.nothing())
    return _at_commit(lock, sources, locked.identity, reference.range)


_COMMIT = re.compile(r"(?:.*\+g)?([0-9a-f]{7,64})")
"""The digits of a commit, alone or at the end of a version that was made of them."""


def _at_commit(lock: Lock, sources: Sources, identity: Identity, state: str) -> VerifiedItem:
    """An item of a source at a commit: one in the cache by its first digits, any by its whole name.

    Raises RyeError ``source-has-one-version``, SourceError.
    """
    found, book, name = _COMMIT.fullmatch(state), sources.book, identity.namespace
    commits = book.commits(name, found[1]) if found is not None and book is not None else []
    if book is None or len(commits) != 1:
        raise _no_state(lock, identity, state, commits)
    sources.use_locked(lock, Unlock.nothing(), exact=True)
    book.use_commit(name, Target(commits[0], commits[0]))
    try:
        return source_item_now(identity, book, sources)
    except SourceError as error:
        if error.code != "commit-vanished":  # rye.lock does not name it
            raise
        raise SourceError(
            "commit-missing", f"The repository of {identity} does not have the commit {commits[0]}."
        ) from error


def _no_state(lock: Lock, identity: Identity, state: str, commits: Sequence[str]) -> RyeError:
    locked = lock.by_identity().get(identity)
    if locked is not None and locked.source is not None and locked.source.commit is None:
        return RyeError(
            "source-has-one-version",
            f"{identity} comes from a folder, and Rye keeps no earlier text of it.",
            f"`rye diff {identity}` compares what is installed with the folder now. Its own history may have earlier texts.",
        )
    why = f"several begin with {state}: {', '.join(commits)}" if commits else f"{state!r} is none that the cache has"
    return RyeError(
        "source-has-one-version",
        f"{identity} comes from a repository of [sources], which has commits and no releases, and {why}.",
        f"`git log -p rye.lock` shows the commits that were installed here; name one in full: "
        f"`rye diff {identity}@COMMIT {identity}`.",
    )


def _of_source(locked: LockedItem, lock: Lock, sources: Sources, unlock: Unlock) -> VerifiedItem:
    """The item as rye.lock has it, or if it may move, as the source has it at the rev of rye.toml now."""
    if sources.book is None or not sources.book.has(locked.registry, locked.identity.namespace):
        raise another_place(locked)
    sources.use_locked(lock, unlock, exact=unlock.is_nothing)
    if not unlock.is_nothing:
        return source_item_now(locked.identity, sources.book, sources)
    history = sources.histories([locked.identity]).get(locked.identity)
    return source_item(locked_source_record(locked, history), (), (), None)


def source_item_now(identity: Identity, book: SourceBook, sources: Sources) -> VerifiedItem:
    """An item as its source has it in the state that the book uses, verified. Raises RyeError ``no-such-item``."""
    history = sources.histories([identity]).get(identity)
    if not isinstance(history, SourceHistory):
        raise book.unknown_item(identity.id)
    return source_item(history.records[0], (), (), None)


def _records(lock: Lock, sources: Sources, names: Sequence[str]) -> list[ReleaseRecord]:
    references = [parse_reference(name) for name in names]
    if len(references) == 2:
        wanted = [(identify_one(reference, sources), reference.range) for reference in references]
        return [find_release(identity, version, sources) for identity, version in wanted]
    locked = locked_item(lock, str(references[0]).partition("@")[0])
    history = sources.releases([locked.identity]).get(locked.identity)
    installed = find_locked(history, locked.identity, locked.version, locked.sha256)
    return [installed, find_release(locked.identity, references[0].range, sources)]


def _paths_of(wanted: Mapping[str, list[tuple[str, str, int]]]) -> set[str]:
    return {path for files in wanted.values() for path, _, _ in files}


def _version(item: VerifiedItem) -> Version:
    locked = item.locked
    return Version(
        label=f"{locked.identity}@{locked.version}",
        text=item.data.decode("utf-8"),
        metadata=item.metadata,
        signer="none" if locked.is_unsigned else locked.signer,
        attached={entry.path: (entry.sha256, entry.executable) for entry in locked.attached},
    )


def _signed_bytes(
    context: Context, project: Project, manifest: Manifest, lock: Lock, found: Sequence[Drift]
) -> dict[str, bytes]:
    """The locked bytes of these files, by path, checked against the lock's hash."""
    wanted: dict[str, list[tuple[str, str, int]]] = {}
    for entry in found:
        known = signed_hash(entry)
        if known is not None and entry.item is not None:
            wanted.setdefault(entry.item.identity.namespace, []).append((entry.path, *known))
    signed: dict[str, bytes] = {}
    if not wanted:
        return signed
    origins = {item.identity.namespace: item.registry for item in lock.items}
    with project_sources(context, manifest, project.root, outages="survive") as sources:
        for entry in found:
            if entry.item is not None and entry.item.source is not None and entry.path in _paths_of(wanted):
                with _unless_silent(context):
                    item = _of_source(entry.item, lock, sources, Unlock.nothing())
                    folder = f"{item_folder(entry.item)}/"
                    attached = item.attached.get(entry.path.removeprefix(folder))
                    signed[entry.path] = item.data if attached is None else attached
        for namespace in [name for name in wanted if sources.is_source(name)]:
            del wanted[namespace]
        sources.ask_together(wanted)
        for namespace, files in wanted.items():
            with _unless_silent(context):
                client = sources.client(namespace)
                expect_origin(client, origins[namespace], f"{namespace!r}")
                blobs = client.fetch_blobs((sha256, size) for _, sha256, size in files)
                signed.update({path: blobs[sha256] for path, sha256, _ in files})
    return signed


def nobody_answers(error: RyeError) -> bool:
    """Whether a registry or a repository is silent."""
    return is_silence(error) or isinstance(error, SilentSource)


@contextlib.contextmanager
def _unless_silent(context: Context) -> Iterator[None]:
    """Warn, instead of ending the run, if nobody answers."""
    try:
        yield
    except RyeError as error:
        if not nobody_answers(error):
            raise
        context.warn(error.message, error.hint)


def identify_one(reference: Reference, sources: Sources) -> Identity:
    """Return the item that a reference means in the registries. Raises RyeError ``no-such-item``, UsageError ``ambiguous``."""
    wanted = Requested(reference.id, reference.kind, "*")
    return identify([wanted], sources)[wanted]


def find_release(identity: Identity, wanted: str | None, sources: Sources) -> ReleaseRecord:
    """Return the newest release in a range (None: any). Withdrawn ones and pre-releases are chosen only if there is no other."""
    history = sources.releases([identity]).get(identity)
    records = history.records if history is not None else ()
    if wanted is not None:
        allowed = Range.parse(wanted)
        exact = [record for record in records if record.version == wanted.lstrip("=v ")]
        records = tuple(exact or [record for record in records if ReleaseVersion.parse(record.version) in allowed])
    if not records:
        there = ", ".join(record.version for record in (history.records if history else ())[-8:])
        raise RyeError(
            "no-such-version",
            f"The registry has no {identity}{'@' + wanted if wanted else ''}.",
            f"Available: {there}." if there else f"`rye search {identity.id.rsplit('/', 1)[-1]}` looks for it.",
        )

    def rank(record: ReleaseRecord) -> tuple[bool, bool, ReleaseVersion]:
        version = ReleaseVersion.parse(record.version)
        return not record.is_withdrawn, not version.is_prerelease, version

    return max(records, key=rank)


def fetch_releases(records: Sequence[ReleaseRecord], sources: Sources) -> list[VerifiedItem]:
    """Return the verified items of these releases, in the same order."""
    items: dict[int, VerifiedItem] = {}
    groups: dict[int, list[int]] = {}
    for number, record in enumerate(records):
        check_installable(record)
        groups.setdefault(id(sources.client_of(record)), []).append(number)
    for numbers in groups.values():
        wanted = [records[number] for number in numbers]
        for number, files in zip(numbers, fetch_logged(sources.client_of(wanted[0]), wanted), strict=True):
            items[number] = verify_files(files, (), ())
    return [items[number] for number in range(len(records))]


class EffectiveChanges(Struct, frozen=True):
    """``text``: the diff from the published text to the effective one."""

    id: str
    kind: str
    text: EffectiveDiff
    rights: Diff


def effective_changes(context: Context, argument: str) -> EffectiveChanges:
    """The changes of the item ``FILE|ID``, with a warning for those that this user has not agreed to. Raises RyeError as
    :func:`rye.workspace.items.effective_item.effective_item`."""
    target = effective_item(context, argument, base=True)
    result = overridden(context, target, context.now().date())
    warn_not_agreed(context, replace(target, result=result))
    before = target.item.reading.metadata
    after = result.reading.metadata if result is not None else before
    rights = diff(before.capabilities if before else (), after.capabilities if after else ())
    text = effective_diff(result, target.id) if result is not None else EffectiveDiff("", (), ())
    return EffectiveChanges(target.id, target.item.kind.name, text, rights)
