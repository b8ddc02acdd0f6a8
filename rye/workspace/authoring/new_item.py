"""Creating an item: a minimal valid file. An existing file is never overwritten."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from rye.errors import RyeError, UsageError
from rye.items.identity import SEGMENT_CHARACTERS, is_id
from rye.items.kinds import KINDS, Kind
from rye.items.reading import ReadOptions, Source
from rye.project.context import load_manifest, require_project
from rye.project.layout import Project
from rye.storage.opened_folder import opened_folder
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
    try:
        text = kind.load().template(name, category, load_manifest(project).namespace)
        _check(kind, category, name, text)
    except UsageError as error:
        error.hint = f"{error.hint or ''} {_likely(kind, request.identifier)}".strip()
        raise
    _create(project.root, path, text)
    return WrittenItem(path, os.path.relpath(path, context.cwd))


def _split(kind: Kind, identifier: str) -> tuple[str, str]:
    if not is_id(identifier):
        raise UsageError(
            "bad-argument",
            f"{identifier!r} is not a valid id: ids are segments of a-z, 0-9, - and _ joined by '/'.",
            _likely(kind, identifier),
            what="id",
        )
    category, _, name = identifier.rpartition("/")
    if kind.nested and not category:
        raise UsageError(
            "bad-argument",
            f"The id of {_a(kind)} needs a category: CATEGORY/NAME.",
            _likely(kind, identifier),
            what="id",
        )
    if not kind.nested and category:
        raise UsageError(
            "bad-argument",
            f"The id of {_a(kind)} has no category: the file goes directly into .ai/{kind.folder}.",
            _likely(kind, identifier),
            what="id",
        )
    return category, name


def _a(kind: Kind) -> str:
    return f"{'an' if kind.name[0] in 'aeiou' else 'a'} {kind.name}"


def _likely(kind: Kind, typed: str) -> str:
    """The hint with a command that works: its id is close to the typed one, or else any."""
    found = next((each for each in _examples(kind, typed) if _is_valid(kind, each)), None)
    return f"E.g. `rye new {kind.name} {found}`." if found else "`rye new --help` shows the form of ids."


def _examples(kind: Kind, typed: str) -> Iterator[str]:
    """Ids, the closest to the typed one first. Which of ``-`` and ``_`` a name can have depends on the kind."""
    ending = next((each for each in kind.suffixes if typed.endswith(each)), "")
    plain = (re.sub(r"[^a-z0-9_]+", "-", part.lower()).strip("-_") for part in typed.removesuffix(ending).split("/"))
    parts = [part[:SEGMENT_CHARACTERS] for part in plain if part]
    if parts:
        before, name = (parts[:-1] or ["workflows"]) if kind.nested else [], parts[-1]
        for each in (name, name.replace("_", "-"), name.replace("-", "_")):
            yield "/".join([*before, each])
    for each in ("release-notes", "release_notes"):
        yield f"workflows/{each}" if kind.nested else each


def _is_valid(kind: Kind, identifier: str) -> bool:
    """Whether :func:`write_new_item` takes the id."""
    if not is_id(identifier):
        return False
    category, _, name = identifier.rpartition("/")
    try:
        _check(kind, category, name, kind.load().template(name, category, None))
    except UsageError:
        return False
    return True


def _path(project: Project, kind: Kind, category: str, name: str) -> Path:
    folder = project.ai / kind.folder / category
    if kind.main_file is not None:
        return folder / name / kind.main_file
    return folder / f"{name}{kind.suffixes[0]}"


def _check(kind: Kind, category: str, name: str, text: str) -> None:
    """Refuse a name that breaks the kind's rules, so that the written file is always valid."""
    attached = () if kind.main_file is not None else None
    reading = kind.load().read(
        Source(text, kind.main_file or name + kind.suffixes[0], name, category, attached), ReadOptions()
    )
    errors = [finding for finding in strict(reading.diagnostics) if finding.severity == "error"]
    if errors:
        raise UsageError(
            "bad-argument",
            f"{name!r} cannot be the name of this {kind.name}: {errors[0].message}",
            errors[0].hint,
            what="item name",
        )


def _create(root: Path, path: Path, text: str) -> None:
    """Write a file that is not there yet, in folders that are opened without following links. Raises RyeError ``already-exists``,
    ``symlink-in-the-way``."""
    try:
        with (
            opened_folder(root) as opened,
            opened.around(path.relative_to(root).as_posix(), make=True) as (folder, name),
            folder.create(name) as stream,
        ):
            stream.write(text.encode())
    except FileExistsError:
        raise RyeError(
            "already-exists",
            f"{str(path)!r} already exists and was left alone.",
            "Choose another id, or edit that file.",
            what="file",
        ) from None
