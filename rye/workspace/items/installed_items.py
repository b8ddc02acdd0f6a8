"""Read several installed items as they are used: rows verified, files compared with their rows, overrides applied.

The rules are those of :func:`rye.workspace.items.effective_item.effective_item`. For a caller that needs many items and their
attached files, the folders are scanned once and the rows are verified together.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from rye.customization.effective_files import Tree, tree_of_row
from rye.customization.places import Places
from rye.errors import RyeError
from rye.items.identity import Identity
from rye.items.reading import ReadOptions
from rye.items.signed_release import SignedRelease
from rye.limits import CONTENT
from rye.project.item_file import load_item, read_item_bytes
from rye.project.layout import Project
from rye.project.lock import LockedItem
from rye.project.lock_file import item_files, item_folder, item_path
from rye.project.manifest import Manifest
from rye.project.spaces import Entry, Spaces
from rye.verified.installed import checkout_changed, modified_item
from rye.verified.on_disk import DISCARDS, RESTORES, Drift, Present, drift, explained, scan
from rye.workspace.context import Context
from rye.workspace.items.effective_item import EffectiveItem, customized
from rye.workspace.items.item_tree import effective_tree
from rye.workspace.trusting.verified_items import require_verified


class InstalledItem(Struct, frozen=True):
    """One installed item with its row and its files."""

    row: LockedItem
    found: EffectiveItem
    data: bytes
    """Its own file as signed, without overrides."""
    attached: Tree
    """The files attached to it, by their path in its folder, with overrides."""


def require_installed(
    context: Context, project: Project, rows: Sequence[LockedItem], present: Mapping[str, Present] | None = None
) -> Mapping[Identity, SignedRelease]:
    """The verified releases of these rows. Requires that their files are on disk, byte for byte, and no others in their folders.
    For an item of an editable folder, the release describes the current files of the folder.

    ``present``: the result of :func:`rye.verified.on_disk.scan`, if already known. Raises RyeError ``unverified-item``,
    ``modified-item``, ``not-installed``, and the errors of :func:`rye.workspace.items.editable_items.editable_items`.
    """
    editable, rows = [row for row in rows if row.is_editable], [row for row in rows if not row.is_editable]
    signed = dict(require_verified(context, project, rows))
    if editable:
        now = _reader().editable_items(context, project, editable)
        signed.update((identity, found.release) for identity, found in now.items())
    present = scan(project) if present is None else present
    folders = tuple(f"{item_folder(row)}/" for row in rows if row.attached or row.suffix == "SKILL.md")
    known = {path for row in rows for path in item_files(row)}
    here = {path: one for path, one in present.items() if path in known or path.startswith(folders)}
    wrong = drift(rows, here)
    if wrong:
        raise _wrong(project, wrong[0])
    return signed


def installed_item(
    context: Context,
    project: Project,
    row: LockedItem,
    manifest: Manifest,
    places: Places | None = None,
    spaces: Spaces | None = None,
) -> InstalledItem:
    """Read one item that :func:`require_installed` checked. ``places``: of customizations; None: the user's and the project's.
    ``spaces``: of a caller that asks for many items of one moment.

    Raises RyeError if a file has changed since, or an overrides file is invalid.
    """
    options = ReadOptions(tools=manifest.tools)
    path = project.root / item_path(row)
    if row.is_editable:
        reader = _reader()
        now = reader.editable_item(context, project, row)
        item = reader.file_of(now, project, options)
        place = Entry("installed", path, item.location, row.identity.namespace, editable=True)
        published = EffectiveItem(item=item, entry=place, project=project)
        return _customized(context, now.row, published, now.attached, manifest, places, spaces)
    item = load_item(path, shown=item_path(row), kind=row.kind, options=options)
    if sha256(item.data).hexdigest() != row.sha256:
        raise _wrong(project, Drift(item_path(row), "changed", row))
    attached = {}
    for entry in row.attached:
        data = read_item_bytes(path.parent / entry.path, CONTENT.attached_bytes)
        if sha256(data).hexdigest() != entry.sha256:
            raise _wrong(project, Drift(f"{item_folder(row)}/{entry.path}", "changed", row))
        attached[entry.path] = data
    place = Entry("installed", path, item.location, row.identity.namespace)
    published = EffectiveItem(item=item, entry=place, project=project)
    return _customized(context, row, published, attached, manifest, places, spaces)


def _customized(
    context: Context,
    row: LockedItem,
    published: EffectiveItem,
    attached: Mapping[str, bytes],
    manifest: Manifest,
    places: Places | None,
    spaces: Spaces | None,
) -> InstalledItem:
    published = replace(published, attached=tree_of_row(row, attached), locked_version=row.version)
    found = customized(context, published, manifest=manifest, places=places, spaces=spaces)
    return InstalledItem(row, found, published.item.data, effective_tree(context, found))


def _reader() -> Any:
    """Load the reader of editable folders, which needs sources and git."""
    return importlib.import_module("rye.workspace.items.editable_items")


def _wrong(project: Project, entry: Drift) -> RyeError:
    item = entry.item
    name = f"{item.id}@{item.version}" if item is not None else "the item that it belongs to"
    if entry.state == "missing":
        return RyeError("not-installed", f"{entry.path} is missing: {name} is not installed.", "Run `rye install`.")
    if (told := explained(project, entry, DISCARDS, RESTORES)) is not None:
        return checkout_changed(entry.path, told)
    was = "was not installed" if entry.state == "extra" else f"was changed since {name} was installed"
    said = f"{entry.path} {was}."
    return modified_item(said, item.identity if item is not None else None)
