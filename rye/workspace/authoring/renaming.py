"""Renaming an own item: what has to change in the project's texts, and which file moves. Writes nothing.

Named are complete ids wherever a text has them; ids without a namespace and bare names only where a reader of the kind says that
the line names an item (:mod:`rye.items.named`). Attached files of skills, deployed files and published releases are left alone.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from rye.errors import RyeError, UsageError
from rye.items.capabilities import ITEM_TYPES, required_capability
from rye.items.identity import is_id, lookup_key, parse_reference
from rye.items.kinds import KINDS, Kind
from rye.items.location import locate
from rye.items.mentions import Span, mentions_of, names_in, words_on
from rye.items.reading import Metadata
from rye.limits import CONTENT
from rye.permissions.containment import contained
from rye.project.context import load_manifest, require_project
from rye.project.item_file import ItemFile, item_of
from rye.project.layout import Project
from rye.project.spaces import Entry, entries_of, find
from rye.signing.signature_line import FoundLine, layout_of
from rye.signing.signature_line import find as find_signature
from rye.storage.safe_files import refuse_links
from rye.text.diagnostics import has_errors
from rye.workspace.context import Context
from rye.workspace.items.item_summary import own_texts

_TRIES = 64
"""The most places in one file, from the top, that may be where it says its name or category."""


class Edit(Struct, frozen=True, order=True):
    """A piece of a text and what takes its place. Offsets are of the text as it is, line ends included."""

    start: int
    end: int
    text: str


class ChangedText(Struct, frozen=True):
    """One file's edits, in the order of its text."""

    path: Path
    text: str
    edits: tuple[Edit, ...]
    signed: bool
    """Whether the file has a signature, which the edits invalidate."""


class Renaming(Struct, frozen=True):
    """What a new id means for a project."""

    old: str
    """``kind:id``."""
    new: str
    changes: tuple[ChangedText, ...]
    source: Path
    """The item's file, or its folder if a folder is the item."""
    target: Path
    notes: tuple[str, ...]
    """Sentences about what the edits do not do, for people."""


def renameable(context: Context, reference: str) -> Entry:
    """Return the own item that an id names. Raises RyeError ``no-project``, ``no-such-item``, ``installed-item``; UsageError
    ``bad-reference``, ``ambiguous``."""
    project = require_project(context.cwd)
    entry = find(context.home, parse_reference(reference), project, load_manifest(project).namespace)
    if entry.space != "project":
        raise RyeError(
            "installed-item",
            f"{entry.label} is not an item of this project, so it keeps its id.",
            "Its publisher can publish it under another id.",
        )
    return entry


def rename_item(context: Context, reference: str, new_id: str, opened: Mapping[Path, str]) -> Renaming:
    """Return what a new id for an own item changes. ``new_id``: complete, without the namespace, or the last segment alone.
    ``opened``: unsaved texts by absolute path, which count instead of the files.

    Raises what :func:`renameable` raises; RyeError ``already-exists``, ``symlink-in-the-way``; UsageError ``bad-argument``.
    """
    entry = renameable(context, reference)
    project = require_project(context.cwd)
    manifest = load_manifest(project)
    kind = KINDS[entry.location.kind]
    category, name = _parts(kind, entry, new_id)
    own = entries_of(context.home, "project", project, manifest.namespace)
    new = Entry("project", _place(project, kind, entry, category, name), entry.location, entry.namespace)
    new_local = f"{category}/{name}" if category else name
    naming = _Naming(entry, f"{entry.namespace}/{new_local}" if entry.namespace else new_local, new_local, own)
    refuse_links(project.root, new.path.parent)
    _refuse_taken(project, entry, new, new_local, own)
    changes: list[ChangedText] = []
    notes: list[str] = []
    for path, saved in own_texts(context):
        text = opened.get(path, saved)
        item = _read(path, path, text)
        edits = set(naming.edits(text, item))
        if path == entry.path:
            edits |= set(_declared(kind, entry, new.path, category, name, text))
        if item is not None and item.reading.metadata is not None:
            notes += naming.lost_rights(item.reading.metadata, os.path.relpath(path, project.root))
        if edits:
            signed = item is not None and _is_signed(item, text)
            changes.append(ChangedText(path, text, _apart(edits), signed))
    if project.has_deployed:
        notes.append("Run `rye deploy` afterwards: files of agent programs still have the old name.")
    old_place, new_place = (
        (entry.path.parent, new.path.parent) if kind.main_file is not None else (entry.path, new.path)
    )
    return Renaming(
        old=f"{kind.name}:{entry.id}",
        new=f"{kind.name}:{naming.new_id}",
        changes=tuple(changes),
        source=old_place,
        target=new_place,
        notes=tuple(notes),
    )


def _parts(kind: Kind, entry: Entry, new_id: str) -> tuple[str, str]:
    """The category and name that a new id means."""
    plain = new_id.removeprefix(f"{kind.name}:")
    if not is_id(plain):
        hint = "Ids are segments of a-z, 0-9, - and _ joined by '/'."
        raise UsageError("bad-argument", f"{new_id!r} is not a valid id.", hint, what="id")
    local = plain
    first, _, rest = plain.partition("/")
    if entry.namespace and first == entry.namespace and "/" in entry.id and plain.count("/") == entry.id.count("/"):
        local = rest
    if "/" not in local and kind.nested:
        local = f"{entry.location.category}/{local}" if entry.location.category else local
    category, _, name = local.rpartition("/")
    if category and not kind.nested:
        message = f"The id of {kind.name}:{entry.id} has no category, so {new_id!r} cannot be its id."
        raise UsageError("bad-argument", message, f"Write {entry.namespace or 'NAMESPACE'}/NAME.", what="id")
    return category, name


def _place(project: Project, kind: Kind, entry: Entry, category: str, name: str) -> Path:
    folder = project.ai / kind.folder / category
    if kind.also_in is not None and entry.path.parent == project.ai / kind.also_in.folder:
        folder = entry.path.parent
    if kind.main_file is not None:
        return folder / name / kind.main_file
    return folder / f"{name}{entry.path.name.removeprefix(entry.location.name)}"


class NewPlace(Struct, frozen=True):
    """Where an item would be in a project under another id."""

    path: Path
    category: str
    name: str


def new_place(project: Project, entry: Entry, new_id: str) -> NewPlace:
    """The place of a copy of an item, of any space, as an own one. ``new_id``: as for :func:`rename_item`. Raises UsageError
    ``bad-argument``."""
    kind = KINDS[entry.location.kind]
    category, name = _parts(kind, entry, new_id)
    return NewPlace(_place(project, kind, entry, category, name), category, name)


def renamed_text(kind: Kind, entry: Entry, place: NewPlace, text: str) -> str:
    """The text of an item, with the name and category of its new place. Raises UsageError ``bad-argument``."""
    return applied(text, _declared(kind, entry, place.path, place.category, place.name, text))


def _refuse_taken(project: Project, entry: Entry, new: Entry, new_local: str, own: Iterable[Entry]) -> None:
    same = [
        each
        for each in own
        if each.location.kind == entry.location.kind
        and each.path != entry.path
        and lookup_key(each.location.local_id) == lookup_key(new_local)
    ]
    taken = same[0].path if same else new.path
    if same or (new.path != entry.path and os.path.lexists(new.path)):
        raise RyeError(
            "already-exists",
            f"{os.path.relpath(taken, project.root)} already exists, so nothing was renamed.",
            "Choose another id.",
            what="file",
        )


def _read(path: Path, as_if_at: Path, text: str) -> ItemFile | None:
    """The item that a file would be with this text in this place; None for files that are no items."""
    if locate(as_if_at) is None:
        return None
    try:
        return item_of(as_if_at, text.encode("utf-8", "replace")[: CONTENT.item_bytes], str(path))
    except RyeError:
        return None


def _is_signed(item: ItemFile, text: str) -> bool:
    layout = layout_of(item.location.kind, item.path.name)
    found = find_signature(text.replace("\r\n", "\n"), layout)
    return isinstance(found, FoundLine) and found.line is not None


class _Naming:
    """How texts name the item, and what they will write instead."""

    def __init__(self, entry: Entry, new_id: str, new_local: str, own: list[Entry]) -> None:
        self.kind, self.id, self.new_id = entry.location.kind, entry.id, new_id
        self.local, self.new_local = entry.location.local_id, new_local
        self.name, self.new_name = entry.location.name, new_local.rpartition("/")[2]
        others = [each for each in own if each.path != entry.path]
        self.only_kind = not any(lookup_key(each.id) == lookup_key(self.id) for each in others)
        """Whether an id without a kind can only mean this item."""
        self.only_name = not any(
            each.location.kind == self.kind and lookup_key(each.location.name) == lookup_key(self.name)
            for each in others
        )

    def edits(self, text: str, item: ItemFile | None) -> Iterator[Edit]:
        """The edits of one text."""
        if "/" in self.id:
            for start, end in mentions_of(text, self.kind, self.id, with_kind=not self.only_kind):
                written = text[start:end]
                yield Edit(start, end, self.new_id if "/" in written else self.new_id.replace("/", "."))
        for _ in range(
            _TRIES
        ):  # readers say where an item is named first: that place is blotted out, and the next one looked for
            found = set(self._named_edits(text, item))
            if not found:
                return
            yield from found
            text = applied(text, (Edit(each.start, each.end, _blot(text[each.start : each.end])) for each in found))
            item = _read(item.path, item.path, text) if item is not None else None

    def _named_edits(self, text: str, item: ItemFile | None) -> Iterator[Edit]:
        for kind, written, line in _named(item.reading.metadata if item is not None else None):
            new = self._instead(kind, written)
            if new is None:
                continue
            yield from (Edit(start, end, new) for start, end in words_on(text, line, written))
            if "/" in written:  # a right in `<permissions>` may have dots
                dotted, new_dotted = written.replace("/", "."), new.replace("/", ".")
                yield from (Edit(start, end, new_dotted) for start, end in words_on(text, line, dotted))

    def _instead(self, kind: str | None, written: str) -> str | None:
        """What replaces a reference; None if it means another item."""
        if (kind or self.kind) != self.kind or (kind is None and not self.only_kind):
            return None
        key = lookup_key(written)
        if key == lookup_key(self.id):
            return self.new_id
        if key == lookup_key(self.local):
            return self.new_local
        return self.new_name if key == lookup_key(self.name) and self.only_name else None

    def lost_rights(self, metadata: Metadata, shown: str) -> Iterator[str]:
        """A sentence for each right that covers the old id by a pattern, and not the new one."""
        if self.kind not in ITEM_TYPES:
            return
        old, new = self.id.replace("/", "."), self.new_id.replace("/", ".")
        after = [f"{each[: -len(old)]}{new}" if each.endswith(f".{old}") else each for each in metadata.capabilities]
        for primary in ("execute", "load", "search"):
            before = required_capability(primary, self.kind, self.id)
            if contained(before, metadata.capabilities) and not contained(
                required_capability(primary, self.kind, self.new_id), after
            ):
                yield f"{shown} may {primary} {self.id} because of a pattern that does not cover {self.new_id}."


def _named(metadata: Metadata | None) -> Iterator[tuple[str | None, str, int | None]]:
    """Kind, id and line of every item that a text names, as it is written."""
    if metadata is None:
        return
    for one in metadata.names:
        yield one.kind, one.id, one.line
    for dependency in metadata.dependencies:
        kind, _, written = dependency.reference.rpartition(":")
        yield kind or None, written, dependency.line


def _blot(written: str) -> str:
    """An id of the same length that names nothing of this project."""
    return re.sub("[a-z0-9_-]", "x", written)


def _declared(kind: Kind, entry: Entry, path: Path, category: str, name: str, text: str) -> tuple[Edit, ...]:
    """The edits that make the item's own text say its new name and category. Raises UsageError if no item of the kind can have
    that name."""
    old_category = entry.location.category or ""

    def score(edits: Iterable[Edit]) -> tuple[int, ...]:
        item = _read(path, path, applied(text, edits))
        metadata = item.reading.metadata if item is not None else None
        if item is None or metadata is None:
            return (9, 0)
        errors = _errors(item)
        wrong = (metadata.name != name) + (bool(metadata.category) and metadata.category == old_category != category)
        return (wrong, errors)

    edits: tuple[Edit, ...] = ()
    best = score(edits)
    before = _read(entry.path, entry.path, text)
    errors = _errors(before) if before is not None else 0
    pairs = [(entry.location.name, name), *([(old_category, category)] if category != old_category else [])]
    for old, new in pairs:
        for start, end in _first(names_in(text, old)):
            if best[0] == 0 and best[1] <= errors:
                break
            written = text[start:end]
            spelled = (
                new if written == old else " ".join(word.capitalize() for word in new.replace("_", "-").split("-"))
            )
            tried = _apart({*edits, Edit(start, end, spelled)})
            if (now := score(tried)) < best:
                edits, best = tried, now
    item = _read(path, path, applied(text, edits))
    if item is not None and before is not None and item.reading.ok < before.reading.ok:
        error = next(each for each in item.reading.diagnostics if has_errors((each,)))
        message = f"{name!r} cannot be the name of this {kind.name}: {error.message}"
        raise UsageError("bad-argument", message, error.hint, what="item name")
    return edits


def _errors(item: ItemFile) -> int:
    return sum(each.severity == "error" for each in item.reading.diagnostics)


def _first(spans: Iterator[Span]) -> list[Span]:
    return [span for span, _ in zip(spans, range(_TRIES), strict=False)]


def applied(text: str, edits: Iterable[Edit]) -> str:
    """Return a text after edits that do not overlap."""
    for edit in sorted(edits, reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def _apart(edits: Iterable[Edit]) -> tuple[Edit, ...]:
    """The edits in the order of the text; of those that overlap, the longest."""
    kept: list[Edit] = []
    for edit in sorted(edits, key=lambda each: (each.start, -each.end)):
        if not kept or edit.start >= kept[-1].end:
            kept.append(edit)
    return tuple(kept)
