"""Overrides of items: finding an item's files, writing a new directive, and checking that all of them fit.

This module finds the files and items. :mod:`rye.customization.effective_text` decides what a file may do to an item.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from rye.customization.effective_diff import EffectiveDiff, effective_diff
from rye.customization.effective_text import Applied, Effective
from rye.customization.item_overrides import (
    FILES_SUFFIX,
    SUFFIX,
    NamedFor,
    OverrideSource,
    entry_sources,
    file_for,
    ids_of,
    means,
    named_for,
    override_files,
    paths_for,
)
from rye.customization.overlay_health import Status
from rye.customization.override_writing import described, directive_text, new_file, section_of, with_directive
from rye.customization.places import Folder, decode, rye_places
from rye.errors import RyeError, UsageError
from rye.items.identity import Reference, is_id
from rye.items.kinds import KINDS
from rye.limits import OVERRIDES
from rye.project.context import load_manifest
from rye.project.layout import Project, find_project
from rye.project.manifest import Manifest
from rye.project.spaces import Entry, Spaces
from rye.storage.home import Home
from rye.text.diagnostics import Diagnostic
from rye.text.line_form import read_form, split_lines
from rye.workspace.context import Context
from rye.workspace.customizing.editing import Editable
from rye.workspace.given_file import ReadStream, given_bytes
from rye.workspace.items.applied_overrides import apply_overrides
from rye.workspace.items.effective_item import (
    EffectiveItem,
    PublishedItems,
    effective_item,
    entry_of_file,
    tree_for,
)
from rye.workspace.items.present_items import exists
from rye.workspace.named_file import NamedFile
from rye.workspace.trusting.customizations import remember_made_here


class Overridable(Struct, frozen=True):
    """A published item that overrides can change."""

    context: Context
    found: EffectiveItem
    entry: Entry
    manifest: Manifest
    spaces: Spaces

    @property
    def home(self) -> Home:
        """The user's folders."""
        return self.context.home

    @property
    def project(self) -> Project | None:
        """The project around the caller."""
        return self.found.project

    @property
    def kind(self) -> str:
        """The item's kind."""
        return self.found.item.kind.name

    @property
    def name(self) -> str:
        """``kind:id``."""
        return f"{self.kind}:{self.found.id}"

    def files(self) -> tuple[OverrideSource, ...]:
        """The overrides in force, the user's first. Raises RyeError for a file that cannot be read."""
        return entry_sources(rye_places(self.home, self.project), self.entry, self.spaces)

    def judge(self, files: Sequence[OverrideSource], today: date | None = None) -> Effective:
        """The item's effective text with these files."""
        item, version, given = self.found.item, self.found.version(), tuple(files)
        attached = tree_for(self.context, self.found, given)
        return apply_overrides(self.spaces, item, version, given, self.manifest, today, attached)

    def difference(self, result: Effective) -> EffectiveDiff:
        """The difference between the published text and the result of :meth:`judge`."""
        return effective_diff(result, self.found.id)


def overridable(context: Context, argument: str) -> Overridable:
    """The item ``FILE|ID``. Raises UsageError for a kind or a place without overrides."""
    kind = _only_kind(context, argument) if ":" not in argument and "." not in argument else None
    found = effective_item(context, argument, kind, base=True)
    manifest = load_manifest(found.project) if found.project is not None else Manifest()
    return _overridable(context, found, argument, manifest, Spaces(context.home, found.project, manifest.namespace))


def _overridable(
    context: Context, found: EffectiveItem, argument: str, manifest: Manifest, spaces: Spaces
) -> Overridable:
    kind = found.item.kind.name
    if not found.item.kind.overridable:
        hint = found.item.kind.changed_by(found.id) if found.entry is not None else None
        if found.entry is None or found.entry.space != "installed":
            hint = f"Change its file. Overrides work for {', '.join(KINDS.overridable())}."
        raise UsageError("wrong-kind", f"Items of kind {kind} cannot be overridden.", hint, what="sections")
    if found.item.text is None:
        raise RyeError("does-not-parse", f"{found.item.shown} is not text.", f"`rye validate {argument}` says why.")
    entry = found.entry or entry_of_file(context.home, found.item.path, found.project, manifest.namespace)
    if entry is None:
        raise UsageError(
            "not-in-a-space", f"{argument!r} is in no space, so no override applies to it.", "Move it below .ai/."
        )
    return Overridable(context, replace(found, entry=entry), entry, manifest, spaces)


def _only_kind(context: Context, argument: str) -> str | None:
    """The one overridable kind of an id without a kind, if other kinds share the id."""
    kinds = [kind for kind in KINDS.overridable() if exists(context, f"{kind}:{argument}")]
    return kinds[0] if len(kinds) == 1 else None


# -- one file ----------------------------------------------------------------------------------------------------------


class OverrideFile(Struct, frozen=True):
    """The overrides file of an item at one level, existing or new."""

    item: Overridable
    folder: Folder
    path: Path
    current: str | None
    """Its text; None if it does not exist."""
    earlier: tuple[OverrideSource, ...]
    """The files applied before it."""
    base: str
    """The text that it is applied to."""

    @property
    def shown(self) -> str:
        """Its path, as shown to people."""
        return self.folder.shown(self.path)

    def judged(self, text: str) -> Applied:
        """The result of the file with this text."""
        source = OverrideSource(self.folder.level, self.path, self.shown, text)
        return self.item.judge((*self.earlier, source)).files[-1]

    def template(self, reviewed: date) -> str:
        """A complete file that changes nothing."""
        found = self.item.found
        agent, version = described(self.base, found.item.location.name, found.version())
        return new_file(agent, version, reviewed)

    def editable(self, reviewed: date) -> Editable:
        """The file for an editor."""
        current = None if self.current is None else self.current.encode("utf-8")
        return Editable(self.folder, self.path, self.shown, current, self.template(reviewed), self.findings)

    def findings(self, data: bytes) -> list[Diagnostic]:
        """The findings about a text that a person wrote."""
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError as error:
            return [Diagnostic("error", "unreadable", f"The text is not UTF-8 (byte {error.start}).")]
        return list(self.judged(text).diagnostics)


def override_file(context: Context, argument: str, user: bool) -> OverrideFile:
    """The overrides file of ``FILE|ID`` in the user's space or the project's. Raises RyeError."""
    item = overridable(context, argument)
    folder, path = _place(item, user)
    earlier = tuple(each for each in item.files() if each.level != folder.level and each.level == "user")
    return OverrideFile(item, folder, path, folder.text(path), earlier, item.judge(earlier).text)


def _place(item: Overridable, user: bool) -> tuple[Folder, Path]:
    """The existing file, or else the one to create."""
    places = rye_places(item.home, item.project)
    folder = places.of(places.overrides, "user" if user else "project")
    if folder is None:
        raise RyeError("no-project", "This folder has no project.", "--user writes the override to your own space.")
    ids = [identifier for identifier in ids_of(item.entry) if is_id(identifier)]
    if not ids:
        raise UsageError(
            "bad-argument",
            f"{item.found.id!r} is not a valid id.",
            f"`rye validate {item.found.item.shown}` says why.",
            what="id",
        )

    def meant(identifier: str) -> bool:
        return means(item.spaces, identifier, item.entry)

    present = paths_for(folder, item.kind, ids, meant)
    if len(present) > 1:
        listed = " and ".join(folder.shown(path) for path in present)
        raise RyeError("ambiguous-overrides", f"{listed} are for the same item.", "Keep only one of them.")
    if present:
        return folder, present[0]
    identifier = next(name for name in ids if meant(name))
    return folder, file_for(folder, identifier, item.kind if _shared(item, identifier) else None)


def _shared(item: Overridable, identifier: str) -> bool:
    """Whether an item of another overridable kind has the same id."""
    others = (Reference(identifier, kind) for kind in KINDS.overridable() if kind != item.kind)
    return any(len(item.spaces.matching(other)) == 1 for other in others)


# -- a new directive ---------------------------------------------------------------------------------------------------


class NewOverride(Struct, frozen=True, kw_only=True):
    """A directive to write. At most one of ``section``, ``frontmatter_set`` and ``frontmatter_delete`` is given."""

    item: str
    reviewed: date
    section: str | None = None
    """A heading path."""
    operation: str | None = None
    """For a section; None means replace."""
    content: tuple[str, ...] | None = None
    """For a section; None means its current lines for replace, otherwise nothing."""
    frontmatter_set: str | None = None
    """``KEY=VALUE``."""
    frontmatter_delete: str | None = None
    reason: str = ""
    user: bool = False


class WrittenOverride(Struct, frozen=True):
    """The overrides file after the directive was added."""

    shown: str
    created: bool
    id: str
    kind: str
    text: str
    findings: tuple[Diagnostic, ...]


def new_override(context: Context, request: NewOverride) -> WrittenOverride:
    """Write a directive that changes nothing until its content is edited. Creates the file if needed.

    Raises UsageError for contradicting options, and RyeError if the result would be invalid. Then nothing is written.
    """
    _check_words(request)
    file = override_file(context, request.item, request.user)
    directive = _directive(request, file.base)
    text = file.current if file.current is not None else file.template(request.reviewed)
    if directive is not None:
        text = with_directive(text, directive)
    elif file.current is not None:
        raise RyeError(
            "already-exists",
            f"{file.shown} already exists.",
            f'Name a section to add to it: `rye override new {request.item} "## Section" --append`.',
            what="file",
        )
    applied = file.judged(text)
    errors = [finding for finding in applied.diagnostics if finding.severity == "error"]
    if errors:
        raise RyeError(
            errors[0].code,
            f"Nothing was written: {errors[0].message}",
            errors[0].hint,
            details={"diagnostics": [finding.as_json() for finding in applied.diagnostics]},
        )
    before = file.current.encode("utf-8") if file.current is not None else None
    if not file.folder.replace(file.path, before, text.encode("utf-8")):
        message = f"{file.shown} was changed just now, and was left alone."
        raise RyeError("changed-meanwhile", message, "Run the command again.")
    remember_made_here(context.home, file.item.project, file.path, before, text.encode("utf-8"))
    found = file.item.found
    return WrittenOverride(file.shown, file.current is None, found.id, file.item.kind, text, applied.diagnostics)


def _check_words(request: NewOverride) -> None:
    asked = (request.section, request.frontmatter_set, request.frontmatter_delete)
    if sum(word is not None for word in asked) > 1:
        raise UsageError("usage", "Give either one section or one frontmatter key.", "Run the command twice.")
    if request.operation is not None and request.section is None:
        raise UsageError("usage", f"--{request.operation} needs a section.", 'Name it, e.g. "## Rules".')
    if request.content is not None and request.section is None:
        raise UsageError("usage", "--content needs a section.", 'Name it, e.g. "## Rules".')


def _directive(request: NewOverride, base: str) -> str | None:
    """The directive's text; None if only the file was requested."""
    if request.section is not None:
        operation = request.operation or "replace"
        present = section_of(base, request.section)
        content = request.content if request.content is not None else present if operation == "replace" else ()
        return directive_text(operation, request.section.strip(), request.reason, content)
    if request.frontmatter_set is not None:
        key, equals, value = request.frontmatter_set.partition("=")
        if not equals or not value.strip():
            raise UsageError("usage", f"{request.frontmatter_set!r} is not KEY=VALUE.", "Write e.g. model=large.")
        return directive_text("frontmatter-set", key, request.reason, value.split("\n"))
    if request.frontmatter_delete is not None:
        return directive_text("frontmatter-delete", request.frontmatter_delete, request.reason)
    return None


# -- all files ---------------------------------------------------------------------------------------------------------


class OverrideChecked(Struct, frozen=True):
    """One overrides file, its item, and its findings."""

    shown: str
    level: str
    named_for: str
    item: str | None
    """``kind:id``, or None if it matches no item."""
    findings: tuple[Diagnostic, ...]
    applied: Applied | None = None

    @property
    def is_about_files(self) -> bool:
        """Whether it is about attached files, not about a text."""
        return self.shown.endswith(FILES_SUFFIX)

    @property
    def state(self) -> Status:
        """The worst of its findings."""
        severities = {finding.severity for finding in self.findings}
        return "error" if "error" in severities else "warning" if "warning" in severities else "ok"

    def as_json(self) -> dict[str, object]:
        """An entry of ``rye override list --json``."""
        return {
            "path": self.shown,
            "space": self.level,
            "id": self.named_for,
            "item": self.item,
            "state": self.state,
            "diagnostics": [finding.as_json() for finding in self.findings],
        }


def check_overrides(context: Context, today: date | None) -> Iterator[OverrideChecked]:
    """Check every overrides file of the user's and the project's space, with those applied before it.

    ``today``: the date for the age of reviews; None skips that check.
    """
    project = find_project(context.cwd)
    checking = _Checking(context, project, today)
    for folder in rye_places(context.home, project).overrides:
        for path in override_files(folder):
            named = named_for(folder, path)
            if named is None:
                name = path.relative_to(folder.path).as_posix().removesuffix(SUFFIX).removesuffix(FILES_SUFFIX)
                finding = Diagnostic("error", "bad-argument", f"{name!r} is not a valid item id.")
                yield OverrideChecked(folder.shown(path), folder.level, name, None, (finding,))
                continue
            yield from checking.check(folder, path, named)


class _Checking:
    """A check of many overrides files. What they all need is read once: rye.toml, rye.lock, what the spaces have, and each item
    with all its files."""

    def __init__(self, context: Context, project: Project | None, today: date | None) -> None:
        self._context, self._today = context, today
        self._items = PublishedItems(context, project)
        self._judged: dict[Path, tuple[str, tuple[Applied, ...]]] = {}

    def check(self, folder: Folder, path: Path, named: NamedFor) -> Iterator[OverrideChecked]:
        shown, level, identifier = folder.shown(path), folder.level, named.id
        kinds = (named.kind,) if named.kind is not None else KINDS.overridable()
        if path.name.endswith(FILES_SUFFIX):
            kinds = tuple(each for each in kinds if KINDS[each].main_file is not None)
        targets = [reference for each in kinds if self._items.spaces.matching(reference := Reference(identifier, each))]
        if not targets:
            hint = "Remove it, or rename it to the id of its item; `rye list` shows what is here."
            finding = Diagnostic(
                "warning", "orphaned-override", f"There is no item {identifier!r} that it could change.", hint=hint
            )
            yield OverrideChecked(shown, level, identifier, None, (finding,))
        for reference in targets:
            try:
                item, files = self._item(reference)
            except RyeError as error:
                finding = Diagnostic("error", error.code, error.message, hint=error.hint)
                yield OverrideChecked(shown, level, identifier, str(reference), (finding,))
                continue
            applied = next((file for file in files if file.source.path == path), None)
            if applied is not None:
                yield OverrideChecked(shown, level, identifier, item, applied.diagnostics, applied)
            elif len(targets) == 1:
                message = f"It is not used: another overrides file applies to {item}."
                finding = Diagnostic("warning", "not-used", message)
                yield OverrideChecked(shown, level, identifier, item, (finding,))

    def _item(self, reference: Reference) -> tuple[str, tuple[Applied, ...]]:
        """An item's ``kind:id``, and what each of its overrides files does."""
        entry = self._items.spaces.find(reference)
        if entry.path not in self._judged:
            found = self._items.find(reference)
            item = _overridable(self._context, found, str(reference), self._items.manifest, self._items.spaces)
            self._judged[entry.path] = item.name, item.judge(item.files(), self._today).files
        return self._judged[entry.path]


def content_lines(file: NamedFile, stream: ReadStream) -> tuple[str, ...]:
    """The file's lines, without line endings. Raises RyeError ``file-too-large``, ``unreadable``."""
    limit = OVERRIDES.file_bytes
    data = given_bytes(file, stream, limit)
    if len(data) > limit:
        raise RyeError("file-too-large", f"{file.shown!r} has more than {limit:,} bytes.", "Make it shorter.")
    return tuple(split_lines(read_form(decode(data, repr(file.shown)))[0])[0])
