"""Importing what another tool installs: its locks and manifests become sources and dependencies of rye.toml.

The commits stay the same, and every digest is compared before anything is written. Only rye.toml and rye.lock are written,
and nothing is approved: `rye install` asks.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from rye.errors import RyeError
from rye.importing.foreign import FolderPlace, Foreign, GitPlace, LeftOut, shown
from rye.installation.install import mentions_of, prepare, unapproved
from rye.installation.resolving import resolve
from rye.installation.rollback import keep_previous
from rye.installation.silence import NotAsked
from rye.installation.transaction import Change, exclusive
from rye.limits import SOURCES
from rye.project.declared_sources import GitSource, PathSource, Source
from rye.project.layout import LOCK, MANIFEST, Project, find_project
from rye.project.lock import Lock, LockedItem, lock_text
from rye.project.lock_file import Unlock, wanted_ranges
from rye.project.manifest import Manifest
from rye.project.manifest_edit import add_dependencies, add_source
from rye.project.members import whole_manifest
from rye.project.new_manifest import new_manifest
from rye.project.ownership import refuse_wide_folder
from rye.text.addresses import without_credentials
from rye.workspace.context import Context
from rye.workspace.installing.import_files import read_foreign
from rye.workspace.installing.import_settling import Settled, Settling
from rye.workspace.installing.install_session import retry_when_overtaken
from rye.workspace.installing.install_steps import remember_previous
from rye.workspace.installing.project_state import ProjectState, read_state
from rye.workspace.registries.project_registries import is_known, project_registries
from rye.workspace.registries.registry_access import STAYS, judging_environment, project_sources, tell_not_asked
from rye.workspace.registries.source_book import opener_of, pinned_namespaces, source_cache
from rye.workspace.trusting.asking import require_named_yes

_SHOWN = 10
_HEAD = "# `rye import` left these out:"
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
    writes: bool = True
    """Whether rye.toml is written: comments alone make no project."""
    not_asked: tuple[NotAsked, ...] = ()
    """Who did not answer, so that what they have in rye.lock stays."""

    @property
    def changes(self) -> bool:
        """Whether it writes anything besides comments."""
        return bool(self.items)


ShowImport = Callable[[ImportPlan], None]
"""Shows the plan to a person, before the question."""


def import_project(context: Context, request: ImportRequest, show: ShowImport) -> ImportPlan:
    """Import what other tools' files in the project list. A dry run writes nothing; it asks before its first contact as well.

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
    _ask_before_contact(context, project, foreign, manifest)
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
    if plan.text == state.manifest_text or not plan.writes:
        return plan
    lock, not_asked = _lock(context, project, state, plan)  # also in a dry run, because the policy is checked here
    plan = replace(plan, not_asked=not_asked)
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


def _ask_before_contact(context: Context, project: Project, foreign: Foreign, manifest: Manifest) -> None:
    """Ask once about every address and every folder outside of the project that the import reads, before it reads any of them:
    whoever can commit a list can name them. Nothing found later adds an address: redirects are refused, submodules and the lists
    of fetched repositories are not followed. Raises RyeError ``consent-needed`` and ``declined``."""
    places = [entry.place for entry in foreign.entries]
    named = [source.url for source in manifest.sources.values() if isinstance(source, GitSource)]
    addresses = sorted({*named, *(place.url for place in places if isinstance(place, GitPlace))})
    root = os.path.realpath(project.root)
    paths = [place.folder for place in places if isinstance(place, FolderPlace)]
    paths += [source.path for source in manifest.sources.values() if isinstance(source, PathSource)]
    real = {path: os.path.realpath(os.path.join(root, path)) for path in paths}
    folders = sorted(path for path, there in real.items() if there != root and not there.startswith(f"{root}{os.sep}"))
    registries = _registries(context, project, manifest)
    if not addresses and not folders and all(is_known(context, address) for address in registries):
        return
    addresses = [*addresses, *registries]
    listed = [*in_groups(addresses), *(f"the folder {folder}" for folder in in_groups(folders))]
    nobody = RyeError(
        "consent-needed",
        f"The import would read what other tools' files and rye.toml name, so nothing was contacted: {', '.join(listed)}.",
        "`rye import --yes` contacts them and writes the import; `rye import --dry-run --yes` contacts them and writes nothing.",
        details={"addresses": [without_credentials(one) for one in addresses], "folders": folders},
    )

    def show() -> None:
        context.tell("The import reads, because other tools' files or rye.toml name it:", "strong")
        for line in listed:
            context.tell(f"  {line}", "warning")

    require_named_yes(context, "Contact these and read these?", nobody, show)


def _registries(context: Context, project: Project, manifest: Manifest) -> list[str]:
    """The addresses of the registries that choosing versions for rye.toml's own dependencies asks; none without a network."""
    where = project_registries(context, manifest, project.root)
    namespaces = {line.id.partition("/")[0] for line in manifest.dependencies} - where.sources
    if context.offline:
        return []
    return sorted({where.by_namespace.get(name, where.default or "") for name in namespaces} - {""})


def in_groups(names: Sequence[str]) -> list[str]:
    """Names for a screen, without credentials: of more than ten in one host or folder two, and the number of the others; of more
    than ten hosts or folders with fewer, two names, and the number of the others. Pure."""
    groups: dict[str, list[str]] = {}
    for name in names:
        open_name = shown(without_credentials(name))
        groups.setdefault("/".join(open_name.split("/")[:3]), []).append(open_name)
    crowds = [group for group in groups.values() if len(group) > _SHOWN]
    lines = [line for group in crowds for line in (*group[:2], f"{len(group) - 2:,} more like {group[1]}")]
    rest = [group for group in groups.values() if len(group) <= _SHOWN]
    if len(rest) <= _SHOWN:
        return lines + [name for group in rest for name in group]
    others = [name for group in rest for name in group]
    return [*lines, *others[:2], f"{len(others) - 2:,} more, on {len(rest):,} hosts or in as many folders"]


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
        writes=bool(items) or project.manifest_path.exists(),
    )


def _lock(
    context: Context, project: Project, state: ProjectState, plan: ImportPlan
) -> tuple[Lock, tuple[NotAsked, ...]]:
    """The lock for the new manifest, and who did not answer: versions are chosen as usual, new sources in the state whose digests
    were compared."""
    manifest = whole_manifest(plan.text, state.members)
    environment = judging_environment(context, manifest)
    pinned = Lock(state.lock.wanted, (*state.lock.items, *map(_pinned, plan.items)), state.lock.heads)
    with project_sources(context, manifest, project.root, outages="hold", contacts=True, rejudges=True) as sources:
        with context.progress("resolving"):
            chosen = resolve(manifest, pinned, sources, environment, Unlock.nothing())
        not_asked = tell_not_asked(context, sources, STAYS)
        with context.progress("fetching"):
            prepared = prepare(state.lock, manifest, chosen, sources, environment)
    locked = [item.locked for item in prepared.items.values()]
    items = unapproved(state.lock, locked, mentions_of(prepared.items))
    rows = (*items, *prepared.unasked)
    return Lock(wanted_ranges(manifest), rows).after(state.lock, prepared.heads), not_asked


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


# -- what rye.toml becomes, which is pure ------------------------------------------------------------------------------


class Writing(Struct, frozen=True):
    """The changes to write into rye.toml."""

    sources: Sequence[Source]
    """New sources."""
    dependencies: Mapping[str, Sequence[str]]
    """New ``kind:id`` by group."""
    left_out: Sequence[LeftOut]


def composed(text: str, writing: Writing) -> str:
    """The manifest with these changes. Comments that it already has are not repeated."""
    for source in writing.sources:
        text = add_source(text, source)
    for group in sorted(writing.dependencies, key=lambda name: (name != "main", name)):
        keys = sorted(writing.dependencies[group])
        if keys:
            text = add_dependencies(text, dict.fromkeys(keys, "*"), group)
    return _with_comments(text, writing.left_out)


def _with_comments(text: str, left_out: Iterable[LeftOut]) -> str:
    present = {line.rstrip() for line in text.split("\n")}
    lines = [line for line in dict.fromkeys(map(comment, left_out)) if line not in present]
    if not lines:
        return text
    end = "\r\n" if "\r\n" in text else "\n"
    head = [] if _HEAD in present else ["", _HEAD]
    joined = text if not text or text.endswith("\n") else text + end
    return joined + "".join(f"{line}{end}" for line in [*head, *lines])


def comment(one: LeftOut) -> str:
    """A comment of exactly one line, whatever text the foreign file contains."""
    return f"#   {shown(one.file, 60)}: {shown(one.what)}: {shown(one.reason, 240)}"
