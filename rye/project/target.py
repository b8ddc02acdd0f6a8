"""Resolving a command's ``FILE|ID`` argument: a file, or an item looked up in the spaces."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from rye.errors import RyeError
from rye.items.identity import parse_reference
from rye.items.reading import ReadOptions
from rye.project.context import load_manifest
from rye.project.item_file import ItemFile, load_item
from rye.project.layout import Project, find_project
from rye.project.spaces import Entry, find, looks_like_path, root_of
from rye.resolution.ranges import Range
from rye.resolution.versions import Version
from rye.storage.home import Home


class NamedItem(Struct, frozen=True):
    """The item that an argument names. ``entry`` is None if the argument is a path."""

    item: ItemFile
    entry: Entry | None
    project: Project | None

    @property
    def id(self) -> str:
        """The qualified id if a namespace is known, otherwise the local id."""
        return self.entry.id if self.entry is not None else self.item.location.local_id


ReadEditable = Callable[[Entry, Project, ReadOptions], ItemFile]
"""Reads an item of an editable folder, which has no file at its entry's path."""


def find_target(
    home: Home, argument: str, cwd: Path, kind: str | None = None, read_editable: ReadEditable | None = None
) -> NamedItem:
    """Read the item that the argument names, **unchecked**: only :mod:`rye.workspace.items.effective_item` calls this.

    ``read_editable``: if None, items of editable folders are not found. Raises RyeError unless exactly one item matches.
    """
    project = find_project(cwd)
    manifest = load_manifest(project) if project is not None else None
    options = ReadOptions(tools=manifest.tools if manifest else frozenset())
    if looks_like_path(argument, cwd):
        item = load_item(cwd / argument, shown=argument, kind=kind, options=options)
        return NamedItem(item, None, project)
    reference = parse_reference(argument if kind is None or ":" in argument else f"{kind}:{argument}")
    entry = find(home, reference, project, manifest.namespace if manifest else None)
    if entry.editable and project is not None and read_editable is not None:
        item = read_editable(entry, project, options)
    else:
        shown, root = str(entry.path), root_of(home, entry)
        item = load_item(entry.path, shown=shown, kind=entry.location.kind, options=options, root=root)
    _check_version(item, reference.range, argument)
    return NamedItem(item, entry, project)


def _check_version(item: ItemFile, wanted: str | None, argument: str) -> None:
    if wanted is None:
        return
    version = item.reading.metadata.version if item.reading.metadata else None
    if version is None or Version.parse(version) not in Range.parse(wanted):
        raise RyeError(
            "other-version",
            f"{argument!r} is not installed: {item.shown} has version {version or 'unknown'}.",
            "`rye list` shows what is installed; `rye add` installs another version.",
        )


def require_parsed(item: ItemFile) -> object:
    """Return the parsed value, or raise RyeError ``does-not-parse`` with the first error (DECISIONS Directives 13)."""
    if item.reading.value is not None:
        return item.reading.value
    errors = [finding for finding in item.reading.diagnostics if finding.severity == "error"]
    first = errors[0] if errors else None
    place = f":{first.line}" if first is not None and first.line is not None else ""
    raise RyeError(
        "does-not-parse",
        f"{item.shown}{place}: {first.message if first else 'it cannot be read.'}",
        f"`rye validate {item.shown}` shows all findings.",
        details={"diagnostics": [finding.as_json() for finding in item.reading.diagnostics]},
    )
