"""The item as it is used: found, checked against rye.lock, and with its overrides applied.

An installed item's content can be read only through this module (DESIGN 6.1). Faces call :func:`effective_item`; a test enforces
that they do not use :func:`rye.project.target.find_target` or :func:`rye.project.item_file.load_item`. Use cases that read
another item file, such as a formula's parent, pass it to :func:`refuse_changed`.

Only :func:`checked_item` does the check.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from rye.customization.item_overrides import OverrideSource, entry_sources
from rye.customization.places import Places, rye_places
from rye.customization.provenance import Origin, origin_of, placed_message
from rye.errors import RyeError, UsageError
from rye.installation.shadows import Shadow, shadow_of
from rye.items.identity import Identity, Reference, lookup_key, parse_reference
from rye.items.location import Location, locate
from rye.items.reading import ReadOptions
from rye.project.context import load_manifest
from rye.project.item_file import ItemFile, load_item
from rye.project.layout import Project, find_project, installed_place
from rye.project.lock_file import Locks, read_lock
from rye.project.manifest import Manifest
from rye.project.spaces import Entry, Spaces, looks_like_path, root_of
from rye.project.target import find_target
from rye.storage.home import Home
from rye.text.diagnostics import Diagnostic, to_mend
from rye.text.lazy import lazy_module
from rye.workspace.findings import FileFindings

if TYPE_CHECKING:
    from rye.customization.effective_files import Tree
    from rye.customization.effective_text import Applied, Effective
    from rye.items.signed_release import SignedRelease
    from rye.project.lock import LockedItem
    from rye.verified import installed as installed_files
    from rye.verified.installed import CheckedItem
    from rye.workspace.context import Context
    from rye.workspace.items import item_tree
    from rye.workspace.trusting import verified_items
else:  # only for installed items, and for overrides of attached files
    item_tree = lazy_module("rye.workspace.items.item_tree")
    installed_files = lazy_module("rye.verified.installed")
    verified_items = lazy_module("rye.workspace.trusting.verified_items")


class EffectiveItem(Struct, frozen=True, kw_only=True):
    """An item as it is used."""

    item: ItemFile
    """Its file, with the text and the parsed value after overrides."""
    entry: Entry | None
    """The place where its id was found; None if a file was named."""
    project: Project | None
    overrides: tuple[str, ...] = ()
    """The display paths of the overrides files that changed it, in the order they were applied."""
    findings: tuple[FileFindings, ...] = ()
    """The findings about overrides files."""
    result: Effective | None = None
    """The effect of each overrides file; None without overrides files, or if they were not applied."""
    installed: CheckedItem | None = None
    """Its row and its release; None for an item that was not installed."""
    locked_version: str | None = None
    """The version in its row of rye.lock, if the caller has read that."""
    signed: bytes | None = None
    """Its file's own bytes if overrides changed its text. Signatures cover these bytes."""
    attached: Tree | None = None
    """The files attached to it, without overrides, if they were read and checked already. Who needs its files asks
    :func:`rye.workspace.items.item_tree.effective_tree`."""

    @property
    def id(self) -> str:
        """The qualified id if a namespace is known, otherwise the local id."""
        return self.entry.id if self.entry is not None else self.item.location.local_id

    @property
    def is_reworded(self) -> bool:
        """Whether overrides changed its text. They may also have changed its attached files only."""
        return self.signed is not None

    @property
    def is_editable(self) -> bool:
        """Whether it is read from an editable folder. Then no file is at its path."""
        return self.installed is not None and self.installed.row.is_editable

    def version(self) -> str | None:
        """Its own version, as its author wrote it, otherwise the version under which it was installed. An override changes what
        an item says, never which item it is."""
        metadata = self.result.published if self.result is not None else self.item.reading.metadata
        if metadata is not None and metadata.version is not None:
            return metadata.version
        if self.installed is not None:
            return self.installed.row.version
        if self.locked_version is not None:
            return self.locked_version
        if self.entry is None or self.entry.space != "installed" or self.project is None:
            return None
        locked = read_lock(self.project).find(Identity(self.item.kind.name, self.id))
        return locked.version if locked is not None else None

    def place(self, line: int) -> tuple[str, int]:
        """The display path and line where a line of the item's text was written."""
        origin = origin_of(self._origins, line) if self._origins else Origin(self.item.shown, line)
        return origin.shown, origin.line

    @property
    def _origins(self) -> tuple[Origin, ...]:
        """Where each line of the text was written; empty if the text is its file's."""
        return self.result.origins if self.result is not None and self.is_reworded else ()

    def own_findings(self) -> tuple[FileFindings, ...]:
        """Errors and warnings of the item's text, each with the file and line where it was written."""
        return self._placed(to_mend(self.item.reading.diagnostics))

    def parsed(self) -> Any:
        """The parsed value. Raises RyeError ``does-not-parse`` with the first error if it does not parse."""
        if self.item.reading.value is not None:
            return self.item.reading.value
        errors = [finding for finding in self.item.reading.diagnostics if finding.severity == "error"]
        shown, place, said = self.item.shown, "", "it cannot be read."
        if errors:
            (file,) = self._placed(errors[:1])[-1:]
            shown, said = file.shown, file.findings[0].message
            place = f":{file.findings[0].line}" if file.findings[0].line is not None else ""
        raise RyeError(
            "does-not-parse",
            f"{shown}{place}: {said}",
            f"`rye validate {self.item.shown}` shows all findings.",
            details={"diagnostics": [finding.as_json() for finding in self.item.reading.diagnostics]},
        )

    def _placed(self, findings: Iterable[Diagnostic]) -> tuple[FileFindings, ...]:
        by_file: dict[str, list[Diagnostic]] = {}
        for finding in findings:
            shown = self.item.shown
            if self._origins:
                finding = replace(finding, message=placed_message(finding.message, self._origins))
                if finding.line is not None:
                    shown, line = self.place(finding.line)
                    finding = replace(finding, line=line)
            by_file.setdefault(shown, []).append(finding)
        return tuple(FileFindings(shown, tuple(found)) for shown, found in by_file.items())


Require = Callable[[EffectiveItem], None]
"""Refuses an item whose text would become a part of the prompt and that this user has not agreed to."""


def effective_item(
    context: Context,
    argument: str,
    kind: str | None = None,
    *,
    base: bool = False,
    inspect: bool = False,
    today: date | None = None,
) -> EffectiveItem:
    """The item that ``FILE|ID`` means.

    ``base``: as published, without overrides. ``inspect``: an invalid overrides file is skipped with a warning; otherwise it
    is an error. ``today``: for the age of an override's review; None: no check.

    Raises RyeError if the item is not found or ambiguous, if an installed item was changed, and ``shadows-installed`` if one of
    the project's own items has the id of an installed one.
    """
    refuse_named_like_installed(context, argument)
    editable = _Editable(context)
    target = find_target(context.home, argument, context.cwd, kind, editable.read)
    _refuse_shadow(context, argument, target.entry, target.project)
    installed = editable.checked or checked_item(context, target.item)
    found = EffectiveItem(item=target.item, entry=target.entry, project=target.project, installed=installed)
    return found if base else customized(context, found, inspect=inspect, today=today)


def effective_entry(
    context: Context,
    entry: Entry,
    project: Project,
    manifest: Manifest,
    locks: Locks | None = None,
    *,
    spaces: Spaces | None = None,
) -> EffectiveItem:
    """Like :func:`effective_item`, for an item that was looked up by its id: the id is never read as a file path.

    ``locks``: as for :func:`checked_item`; with them, the row must already be verified. ``spaces``: as for :func:`customized`.
    """
    found = _entry_item(context, entry, project, manifest, locks)
    return customized(context, found, manifest=manifest, spaces=spaces)


class PublishedItems:
    """Items as published, without overrides, for a caller that looks up many of one moment: rye.toml and rye.lock are read once,
    and the spaces are listed once."""

    def __init__(self, context: Context, project: Project | None) -> None:
        self.project = project
        self.manifest = load_manifest(project) if project is not None else Manifest()
        self.spaces = Spaces(context.home, project, self.manifest.namespace)
        self.locks = Locks()
        self._context = context

    def find(self, reference: Reference) -> EffectiveItem:
        """The one item that the reference names. A row that was never verified on this machine is verified now, if it can be.
        Raises like :func:`effective_item`."""
        entry = self.spaces.find(reference)
        try:
            return _entry_item(self._context, entry, self.project, self.manifest, self.locks)
        except RyeError as error:
            if error.code != "unverified-item":
                raise
        return _entry_item(self._context, entry, self.project, self.manifest, None)


def _entry_item(
    context: Context, entry: Entry, project: Project | None, manifest: Manifest, locks: Locks | None
) -> EffectiveItem:
    named = f"{entry.location.kind}:{entry.id}"
    _refuse_shadow(context, named, entry, project, locks)
    options = ReadOptions(tools=manifest.tools)
    if entry.editable and project is not None:
        editable = _Editable(context)
        item = editable.read(entry, project, options)
        installed = editable.checked
    else:
        shown, root = _shown(entry.path, project), root_of(context.home, entry)
        item = load_item(entry.path, shown=shown, kind=entry.location.kind, options=options, root=root)
        installed = checked_item(context, item, locks)
    return EffectiveItem(item=item, entry=entry, project=project, installed=installed)


class _Editable:
    """Read and check an item of an editable folder."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self.checked: CheckedItem | None = None

    def read(self, entry: Entry, project: Project, options: ReadOptions) -> ItemFile:
        reader = importlib.import_module("rye.workspace.items.editable_items")  # loads sources and git: only if needed
        item: ItemFile
        item, self.checked = reader.read_entry(self._context, entry, project, options)
        return item


def _shown(path: Path, project: Project | None) -> str:
    return os.path.relpath(path, project.root) if project and path.is_relative_to(project.root) else str(path)


# -- the check ---------------------------------------------------------------------------------------------------------


def refuse_changed(context: Context, item: ItemFile) -> None:
    """Raise the error that :func:`installed_problem` returns, if any."""
    checked_item(context, item)


def checked_item(context: Context, item: ItemFile, locks: Locks | None = None) -> CheckedItem | None:
    """Check that an item may be used. Return its installed form; None if it was not installed.

    Every file below a project's ``.ai/packages`` must be in its rye.lock with the same bytes, including a skill's attached
    files. The file's real path decides, not how it was named. The row itself must have been verified on
    this machine. ``locks``: of a caller that asks often; then no registry is asked about a row.
    Raises RyeError if it must not be used.
    """
    place = installed_place(item.path, context.cwd)
    if place is None:
        return None
    asks_often = locks is not None

    def require(project: Project, rows: Sequence[LockedItem]) -> Mapping[Identity, SignedRelease]:
        return verified_items.require_verified(context, project, rows, fetch=not asks_often)

    return installed_files.checked_at(item, place, locks or Locks(), require)


def installed_problem(context: Context, item: ItemFile, locks: Locks | None = None) -> RyeError | None:
    """The error with which :func:`checked_item` refuses an item; None if it does not."""
    try:
        checked_item(context, item, locks)
    except RyeError as error:
        return error
    return None


def _refuse_shadow(
    context: Context, argument: str, entry: Entry | None, project: Project | None, locks: Locks | None = None
) -> None:
    """Refuse one of the project's own items if its id is in rye.lock, since the id means the installed item."""
    if entry is None or entry.space != "project" or project is None or not project.lock_path.exists():
        return
    items = (locks or Locks()).rows(project).values()
    shadow = shadow_of(entry, items, project.root)
    if shadow is not None:
        raise shadow.error()
    wanted = lookup_key(argument.partition("@")[0])
    for item in items:
        if wanted == lookup_key(item.id):  # an id without a kind means either item
            names = [f"{entry.location.kind}:{entry.id}", str(item.identity)]
            raise UsageError(
                "ambiguous",
                f"{argument!r} is ambiguous: {names[0]} (project) and {names[1]} (installed).",
                f"Name one with its kind, e.g. {names[1]}.",
                details={"candidates": names},
            )
        if wanted == lookup_key(item.identity.local_id) and item.kind == entry.location.kind:
            context.warn(
                f"{argument} is this project's own item; the installed {item.identity} has the same short name.",
                f"For the installed item, write `{item.identity}`.",
            )


def refuse_named_like_installed(context: Context, argument: str) -> None:
    """Raise ``shadows-installed`` for a file or folder whose path equals an installed item's id."""
    if not looks_like_path(argument, context.cwd):
        return
    try:
        reference = parse_reference(argument)
    except UsageError:
        return
    project = find_project(context.cwd)
    if project is None or not project.lock_path.exists():
        return
    for item in read_lock(project).items:
        if lookup_key(item.id) == lookup_key(reference.id) and reference.kind in (None, item.kind):
            raise Shadow(argument, item).error()


# -- overrides ---------------------------------------------------------------------------------------------------------


def customized(
    context: Context,
    found: EffectiveItem,
    *,
    inspect: bool = False,
    today: date | None = None,
    manifest: Manifest | None = None,
    places: Places | None = None,
    spaces: Spaces | None = None,
) -> EffectiveItem:
    """The item with the overrides in force; arguments as for :func:`effective_item`. ``manifest``: the project's, if
    already read. ``places``: None: the user's and the project's. ``spaces``: of a caller that asks for many items of one moment.
    """
    if not found.item.kind.overridable or found.item.text is None:
        return found
    result = overridden(context, found, today, manifest, places, spaces)
    if result is None:
        return found
    findings: list[FileFindings] = []
    for file in result.files:
        if file.refused:
            problem = _refused(found, file)
            if not inspect:
                raise problem
            context.warn(f"{file.source.shown} is invalid and was skipped.", problem.hint)
        said = tuple(finding for finding in file.diagnostics if finding.severity in ("error", "warning"))
        if said:
            findings.append(FileFindings(file.source.shown, said))
    found = replace(found, findings=tuple(findings), result=result)
    reworded = result.text != result.base
    applied = tuple(
        file.source.shown
        for file in result.files
        if not file.refused and (reworded or file.source.contents is not None)
    )
    if not reworded:
        return replace(found, overrides=applied)
    item = replace(found.item, data=result.text.encode("utf-8"), text=result.text, reading=result.reading)
    return replace(found, item=item, overrides=applied, signed=found.item.data)


def _refused(found: EffectiveItem, file: Applied) -> RyeError:
    errors = [finding for finding in file.diagnostics if finding.severity == "error"]
    first = errors[0]
    place = f":{first.line}" if first.line is not None else ""
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    hint = first.hint or f"`rye override check {found.id}` shows all findings."
    return RyeError(
        first.code if first.code.startswith("override-") else "override-in-error",
        f"{file.source.shown}{place}: {first.message}{more}",
        f"{hint} --base ignores overrides." if first.hint is None else f"{hint}\n--base ignores overrides.",
        details={"overrides": file.source.shown, "diagnostics": [finding.as_json() for finding in file.diagnostics]},
    )


def overridden(
    context: Context,
    found: EffectiveItem,
    today: date | None = None,
    manifest: Manifest | None = None,
    places: Places | None = None,
    spaces: Spaces | None = None,
) -> Effective | None:
    """The published item's text and files with the overrides in force; None without overrides.

    Raises RyeError for an overrides file that cannot be read, and for attached files that changed.
    """
    home = context.home
    if manifest is None and found.project is not None:
        manifest = load_manifest(found.project)
    namespace = manifest.namespace if manifest is not None else None
    entry = entry_of(home, found, found.project, namespace)
    if entry is None:
        return None
    spaces = spaces or Spaces(home, found.project, namespace)
    files = entry_sources(places or rye_places(home, found.project), entry, spaces)
    if not files:
        return None
    from rye.workspace.items.applied_overrides import apply_overrides  # loads merging, which only customized items need

    version = replace(found, entry=entry).version()
    attached = tree_for(context, found, files)
    return apply_overrides(spaces, found.item, version, files, manifest, today, attached)


def tree_for(context: Context, found: EffectiveItem, files: Iterable[OverrideSource]) -> Tree | None:
    """The files attached to the item, if any of these overrides files is about them."""
    return item_tree.base_tree(context, found) if any(file.contents is not None for file in files) else None


def entry_of(home: Home, found: EffectiveItem, project: Project | None, namespace: str | None) -> Entry | None:
    """The entry of an item, however it was named; None if it is not in a space. Its kind is the one that its text has."""
    entry = found.entry or entry_of_file(home, found.item.path, project, namespace)
    if entry is None or entry.location.kind == found.item.location.kind:
        return entry
    return replace(entry, location=found.item.location)


def entry_of_file(home: Home, path: Path, project: Project | None, namespace: str | None) -> Entry | None:
    """The entry of a file that was named by its path; None if it is not in a space."""
    absolute = path.resolve()
    location = locate(absolute)
    if location is None:
        return None
    return _entry(home, absolute, location, project, namespace)


def _entry(home: Home, path: Path, location: Location, project: Project | None, namespace: str | None) -> Entry | None:
    if project is not None and path.is_relative_to(project.packages.resolve()):
        return Entry("installed", path, location, location.namespace)
    if project is not None and path.is_relative_to(project.ai.resolve()):
        return Entry("project", path, location, namespace)
    if path.is_relative_to(home.user_space.resolve()):
        return Entry("user", path, location, None)
    return None
