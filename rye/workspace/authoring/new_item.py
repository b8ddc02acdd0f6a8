"""Creating an item: a minimal valid file. An existing file is never overwritten."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from rye.errors import RyeError, UsageError
from rye.items.identity import is_id
from rye.items.kinds import KINDS, Kind
from rye.items.reading import ReadOptions, Source
from rye.project.context import load_manifest, require_project
from rye.project.layout import Project
from rye.storage.safe_files import refuse_links
from rye.text.diagnostics import strict

if TYPE_CHECKING:
    from rye.workspace.context import Context


class NewItem(Struct, frozen=True):
    """The item to write: its kind's name, and its id without a namespace."""

    kind: str
    identifier: str


class WrittenItem(Struct, frozen=True):
    """The written item."""

    path: Path
    shown: str
    """The path, relative to the user's working folder."""


def write_new_item(context: Context, request: NewItem) -> WrittenItem:
    """Write the item's file. Raises UsageError ``bad-argument``, RyeError ``no-project``, ``already-exists``.

    Outside a project nothing is written: a new ``.ai`` folder would make a project of everything below it.
    """
    kind = KINDS[request.kind]
    category, name = _split(kind, request.identifier)
    project = require_project(context.cwd)
    path = _path(project, kind, category, name)
    text = kind.load().template(name, category, load_manifest(project).namespace)
    _check(kind, category, name, path, text)
    refuse_links(project.root, path)
    _create(path, text)
    return WrittenItem(path, os.path.relpath(path, context.cwd))


def _split(kind: Kind, identifier: str) -> tuple[str, str]:
    if not is_id(identifier):
        raise UsageError(
            "bad-argument",
            f"{identifier!r} is not a valid id: ids are segments of a-z, 0-9, - and _ joined by '/'.",
            f"E.g. `rye new {kind.name} {_example(kind, identifier)}`.",
            what="id",
        )
    category, _, name = identifier.rpartition("/")
    if kind.nested and not category:
        raise UsageError(
            "bad-argument",
            f"The id of {_a(kind)} needs a category: CATEGORY/NAME.",
            f"E.g. `rye new {kind.name} workflows/{name}`.",
            what="id",
        )
    if not kind.nested and category:
        raise UsageError(
            "bad-argument",
            f"The id of {_a(kind)} has no category: the file goes directly into .ai/{kind.folder}.",
            f"E.g. `rye new {kind.name} {name}`.",
            what="id",
        )
    return category, name


def _a(kind: Kind) -> str:
    return f"{'an' if kind.name[0] in 'aeiou' else 'a'} {kind.name}"


def _example(kind: Kind, typed: str) -> str:
    """A valid id close to the typed one, or else any."""
    plain = (re.sub(r"[^a-z0-9]+", "-", part.lower()).strip("-") for part in typed.split("/"))
    parts = [part for part in plain if part]
    if not kind.nested:
        parts = parts[-1:]
    elif len(parts) == 1:
        parts = ["workflows", *parts]
    if kind.name == "directive" and parts:  # whose names are snake_case
        parts[-1] = parts[-1].replace("-", "_")
    near = "/".join(parts)
    return near if is_id(near) else "workflows/release-notes" if kind.nested else "release-notes"


def _path(project: Project, kind: Kind, category: str, name: str) -> Path:
    folder = project.ai / kind.folder / category
    if kind.main_file is not None:
        return folder / name / kind.main_file
    return folder / f"{name}{kind.suffixes[0]}"


def _check(kind: Kind, category: str, name: str, path: Path, text: str) -> None:
    """Refuse a name that breaks the kind's rules, so that the written file is always valid."""
    attached = () if kind.main_file is not None else None
    reading = kind.load().read(Source(text, str(path), name, category, attached), ReadOptions())
    errors = [finding for finding in strict(reading.diagnostics) if finding.severity == "error"]
    if errors:
        raise UsageError(
            "bad-argument",
            f"{name!r} cannot be the name of this {kind.name}: {errors[0].message}",
            errors[0].hint,
            what="item name",
        )


def _create(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with path.open("x", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
    except FileExistsError:
        raise RyeError(
            "already-exists",
            f"{str(path)!r} already exists and was left alone.",
            "Choose another id, or edit that file.",
            what="file",
        ) from None
