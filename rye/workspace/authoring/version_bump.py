"""Raising the versions of a person's own items. Only the version's bytes change (DESIGN 9)."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from rye.errors import RyeError, UsageError
from rye.items.kinds import KINDS
from rye.items.reading import Metadata
from rye.project.checking import check_files
from rye.project.context import arguments_or_own_items, load_manifest, read_options
from rye.project.item_file import ItemFile, item_of
from rye.project.layout import find_project
from rye.project.spaces import entries_of
from rye.resolution.versions import Version
from rye.storage.atomic import Replacement, replace_files
from rye.text.spelling import close_words
from rye.workspace.authoring.signing import refuse_installed
from rye.workspace.confirmation import confirm_on_terminal

if TYPE_CHECKING:
    from rye.workspace.context import Context

STEPS = ("patch", "minor", "major")
_PLACES = 64
"""The most places in one file, from the top, that look like its version and are tried."""


class Bumped(Struct, frozen=True):
    """One item whose version was raised."""

    shown: str
    kind: str
    old: str
    new: str

    def as_json(self) -> dict[str, str]:
        """An entry of ``results`` of ``rye version bump --json``."""
        return {"path": self.shown, "kind": self.kind, "old": self.old, "new": self.new}


def bump_versions(context: Context, step: str, paths: Sequence[str]) -> tuple[Bumped, ...]:
    """Raise the version of each item by ``step``, or to it; all or none. ``paths``: files, folders, or ``kind:id`` of own items;
    by default, the project's own items; for several of those it asks on a terminal, since few may have changed.

    Raises UsageError ``bad-version``; RyeError ``no-such-file``, ``no-version``, ``version-not-newer``,
    ``version-not-found``, ``installed-item``, ``declined``.
    """
    _refuse_words(step)
    is_everything = not paths
    paths = [_path_of(context, path) for path in paths]
    options = read_options(context.cwd)
    checked = check_files(arguments_or_own_items(context.cwd, paths), None, options)
    refuse_installed(checked)
    changes: list[tuple[ItemFile, bytes]] = []
    bumped: list[Bumped] = []
    for entry in checked:
        item = entry.item
        if item is None or item.reading.metadata is None:
            raise RyeError(
                "invalid-item",
                f"{entry.shown} cannot be read, so no version was changed.",
                f"`rye validate {entry.shown}` shows what to fix.",
            )

        def read(data: bytes, item: ItemFile = item) -> Metadata | None:
            return item_of(item.path, data, item.shown, kind=item.location.kind, options=options).reading.metadata

        old = item.reading.metadata.version
        new = raised(entry.shown, old, step)
        changes.append((item, with_version(entry.shown, item.data, item.reading.metadata, new, read)))
        bumped.append(Bumped(item.shown, item.location.kind, old or "", new))
    if is_everything and len(changes) > 1:
        question = f"Raise the versions of all {len(changes):,} items? Name PATHs to raise only those that changed."
        confirm_on_terminal(context, question, "no version was changed.")
    replace_files([Replacement(item.path.resolve(), item.shown, item.data, data) for item, data in changes])
    return tuple(bumped)


def _refuse_words(step: str) -> None:
    """Raise UsageError ``bad-version`` for a misspelled step."""
    if step not in STEPS and (near := close_words(step, STEPS, 1)):
        raise UsageError("bad-version", f"{step!r} is neither a step nor a version.", f"Did you mean {near[0]!r}?")
    if step not in STEPS:
        Version.parse(step)


def _path_of(context: Context, word: str) -> str:
    """The file of an own item that is named by kind and id; another word as it is. Raises RyeError ``no-such-file``."""
    kind, colon, identifier = word.partition(":")
    if not colon or kind not in KINDS or (context.cwd / word).exists():
        return word
    project = find_project(context.cwd)
    namespace = load_manifest(project).namespace if project is not None else None
    for entry in entries_of(context.home, "project", project, namespace):
        if entry.location.kind == kind and identifier in (entry.id, entry.location.local_id):
            return os.path.relpath(entry.path, context.cwd)
    hint = f"Name its file or folder, e.g. .ai/{KINDS[kind].folder}/…. `rye list --space project` lists your own items."
    raise RyeError("no-such-file", f"{word!r} is no item of this project.", hint)


def raised(shown: str, old: str | None, step: str) -> str:
    """The version after ``old``. A step releases a pre-release that it reaches: 1.2.0-rc.1 by patch or minor is 1.2.0. Raises
    UsageError ``no-version``, RyeError ``version-not-newer``."""
    if not old:
        raise UsageError(
            "no-version",
            f"{shown} has no version.",
            "Add one; a file from `rye new KIND NAME` shows where.",
        )
    try:
        now = Version.parse(old)
    except UsageError as error:
        raise UsageError("no-version", f"{shown} has the version {old!r}, which is not X.Y.Z.", error.hint) from None
    if step not in STEPS:
        if Version.parse(step) <= now:
            raise RyeError(
                "version-not-newer",
                f"{shown} has version {old}, and {step} is not newer.",
                "Versions only increase. Give a higher one, or only the paths that need it.",
            )
        return step
    major, minor, patch = now.major, now.minor, now.patch
    open_patch = now.is_prerelease
    open_minor = open_patch and patch == 0
    open_major = open_minor and minor == 0
    if step == "patch":
        return f"{major}.{minor}.{patch if open_patch else patch + 1}"
    if step == "minor":
        return f"{major}.{minor if open_minor else minor + 1}.0"
    return f"{major if open_major else major + 1}.0.0"


def with_version(
    shown: str, data: bytes, metadata: Metadata, new: str, read: Callable[[bytes], Metadata | None]
) -> bytes:
    """``data`` with the version replaced in the one place that means it: where the result parses with the new version, and
    everything else stays the same. Raises RyeError ``version-not-found``."""
    wanted = _without_hashes(replace(metadata, version=new))
    for old_text, new_text in _spellings(metadata.version or "", new):
        place = -1
        for _ in range(_PLACES):
            place = data.find(old_text, place + 1)
            if place < 0:
                break
            changed = data[:place] + new_text + data[place + len(old_text) :]
            found = read(changed)
            if found is not None and _without_hashes(found) == wanted:
                return changed
    raise RyeError(
        "version-not-found",
        f"{shown}: could not find where version {metadata.version} is written.",
        "Change the version by hand. `rye show` shows which version Rye reads.",
    )


def _spellings(old: str, new: str) -> list[tuple[bytes, bytes]]:
    """The ways in which the file can write ``old``, each with its replacement: a formula can write 1 for 1.0.0."""
    spelled = [(old, new)]
    if old.endswith(".0.0"):
        spelled.append((old[:-4], new[:-4] if new.endswith(".0.0") else f'"{new}"'))
    return [(before.encode(), after.encode()) for before, after in spelled]


def _without_hashes(metadata: Metadata) -> Metadata:
    """Without the hash of a tool's code, which changes with every byte."""
    return replace(metadata, runs=tuple(replace(run, sha256="") for run in metadata.runs))
