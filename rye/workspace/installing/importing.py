"""Importing what another tool installs: its locks and manifests become sources and dependencies of rye.toml.

The commits stay the same, and every digest is compared before anything is written. Only rye.toml and rye.lock are written,
and nothing is approved: `rye install` asks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from rye.errors import RyeError
from rye.importing.composing import Writing, composed
from rye.importing.foreign import LeftOut
from rye.installation.install import mentions_of, prepare, unapproved
from rye.installation.resolving import resolve
from rye.installation.rollback import keep_previous
from rye.installation.transaction import Change, exclusive
from rye.limits import SOURCES
from rye.project.declared_sources import Source
from rye.project.layout import LOCK, MANIFEST, Project, find_project
from rye.project.lock import Lock, LockedItem, lock_text
from rye.project.lock_file import Unlock, wanted_ranges
from rye.project.manifest import Manifest
from rye.project.members import whole_manifest
from rye.project.new_manifest import new_manifest
from rye.project.ownership import refuse_wide_folder
from rye.workspace.context import Context
from rye.workspace.installing.import_files import read_foreign
from rye.workspace.installing.import_settling import Settled, Settling
from rye.workspace.installing.install_session import retry_when_overtaken
from rye.workspace.installing.install_steps import remember_previous
from rye.workspace.installing.project_state import ProjectState, read_state
from rye.workspace.registries.registry_access import judging_environment, project_sources
from rye.workspace.registries.source_book import opener_of, pinned_namespaces, source_cache
from rye.workspace.trusting.acceptance import require_named_yes

_NO_HASH = "0" * 64


class ImportRequest(Struct, frozen=True):
    """What to import."""

    files: tuple[str, ...] = ()
    """Paths; empty means all known files in the project."""
    without: frozenset[str] = frozenset()
    """Files, and names of what they list, to leave out."""
    dry_run: bool = False


class ImportPlan(Struct, frozen=True, kw_only=True):
    """What an import will write."""

    project: Path
    sources: tuple[Source, ...]
    """New ones."""
    items: tuple[Settled, ...]
    """New dependencies."""
    left_out: tuple[LeftOut, ...]
    notes: tuple[str, ...]
    text: str
    """rye.toml as it will be."""
    present: int = 0
    """Items that rye.toml already had."""

    @property
    def changes(self) -> bool:
        """Whether it writes anything besides comments."""
        return bool(self.items)


ShowImport = Callable[[ImportPlan], None]
"""Shows the plan to a person, before the question."""


def import_project(context: Context, request: ImportRequest, show: ShowImport) -> ImportPlan:
    """Import what other tools' files in the project list. A dry run writes nothing.

    Without ``--yes``, asks a person whether to write rye.toml and rye.lock. A yes approves no item: ``rye install`` asks
    about those.

    Raises RyeError ``nothing-to-import``, ``bad-foreign-file``, ``digest-does-not-hold``, ``consent-needed``, ``declined``,
    ``foreign-project``, ``wide-folder``, UsageError ``not-importable``, SourceError.
    """
    project = find_project(context.cwd)
    if project is None:
        refuse_wide_folder(context.cwd)  # another user may have put the list to import there
        project = Project(context.cwd.absolute())
    return retry_when_overtaken(context, lambda: _import(context, project, request, show))


def _import(context: Context, project: Project, request: ImportRequest, show: ShowImport) -> ImportPlan:
    state = read_state(context, project)
    text = state.manifest_text if project.manifest_path.exists() else new_manifest(project.root.name, None, None)
    foreign = read_foreign(project.root, context.cwd, request.files, request.without)
    manifest = whole_manifest(text, state.members)
    cache = source_cache(context, offline=context.offline)
    locked = [row.source for row in state.lock.items if row.source is not None]
    settling = Settling(
        project.root,
        manifest,
        locked,
        pinned_namespaces(context.home),
        cache,
        opener_of(context.home, project.root, cache),
    )
    with context.progress("comparing digests"):
        settled = settling.settle(foreign.entries)
    plan = _plan(project, text, manifest, settled, settling, foreign.left_out)
    if plan.text == state.manifest_text:
        return plan
    lock = _lock(context, project, state, plan)  # also in a dry run, because the policy is checked here
    if request.dry_run:
        return plan
    nobody = RyeError(
        "consent-needed",
        "An import needs a yes, so nothing was written.",
        "`rye import --dry-run` shows the import; `rye import --yes` writes it.",
    )
    require_named_yes(context, "Write this into rye.toml and rye.lock?", nobody, lambda: show(plan))
    with exclusive(project) as writer:
        state.require_unchanged("rye import")
        kept = keep_previous(project, plan.text, state.members, state.members)
        remember_previous(context.home, project, kept)
        writer.apply([Change(MANIFEST, plan.text.encode()), Change(LOCK, lock_text(lock).encode()), *kept])
    return plan


def _plan(
    project: Project,
    text: str,
    manifest: Manifest,
    settled: Sequence[Settled],
    settling: Settling,
    left_out: Sequence[LeftOut],
) -> ImportPlan:
    there = {line.key for line in manifest.dependencies if not line.member}
    items = tuple(row for row in settled if row.key not in there)
    used = {row.source.name for row in items}
    sources = tuple(source for source in settling.new if source.name in used)
    if len(manifest.sources) + len(sources) > SOURCES.sources:
        raise RyeError(
            "too-many",
            f"rye.toml would have {len(manifest.sources) + len(sources)} sources; the limit is {SOURCES.sources}.",
            "Import fewer: `rye import FILE`, or leave entries out with --without NAME.",
            what="sources",
        )
    groups: dict[str, list[str]] = {}
    for row in items:
        groups.setdefault(row.group, []).append(row.key)
    all_left_out = tuple(sorted({*left_out, *settling.left_out}))
    written = composed(text, Writing(sources, groups, all_left_out))
    notes = tuple(dict.fromkeys(settling.notes))
    return ImportPlan(
        project=project.root,
        sources=sources,
        items=items,
        left_out=all_left_out,
        notes=notes,
        text=written,
        present=len(settled) - len(items),
    )


def _lock(context: Context, project: Project, state: ProjectState, plan: ImportPlan) -> Lock:
    """The lock for the new manifest: versions are chosen as usual, new sources in the state whose digests were compared."""
    manifest = whole_manifest(plan.text, state.members)
    environment = judging_environment(context, manifest)
    pinned = Lock(state.lock.wanted, (*state.lock.items, *map(_pinned, plan.items)))
    with project_sources(context, manifest, project.root, contacts=True) as sources:
        with context.progress("resolving"):
            chosen = resolve(manifest, pinned, sources, environment, Unlock.nothing())
        with context.progress("fetching"):
            prepared = prepare(state.lock, manifest, chosen, sources, environment)
    rows = [item.locked for item in prepared.items.values()]
    items = unapproved(state.lock, rows, mentions_of(prepared.items))
    return Lock(wanted_ranges(manifest), (*items, *prepared.unasked))


def _pinned(row: Settled) -> LockedItem:
    """A row that only fixes the state of its source."""
    return LockedItem(
        kind=row.kind,
        id=f"{row.source.name}/{row.local_id}",
        version="0.0.0",
        size=0,
        sha256=_NO_HASH,
        suffix=row.suffix,
        registry=row.state.origin,
        signer=row.state.origin,
        source=row.state,
    )
