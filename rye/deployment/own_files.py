"""Which deployed files this user's Rye wrote, so that rows that came with a clone do not count as ours (DESIGN 6.1).

A row names a path and a hash, and anyone who can commit can write one, even with the hash of a file that the user has
there. So the rows that a run wrote are remembered in the user's data folder, by the root's real path. Any other row is
only a claim (:mod:`rye.deployment.plan_ledger`), unless the run trusts what others committed.

Next to it are the notes that this user's Rye has said, so that each is said once ("Claude Code has no setting for …").
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable
from pathlib import Path

from rye.deployment.plan_ledger import Key
from rye.deployment.plan_values import Plan
from rye.deployment.recall import own_files
from rye.deployment.state import FileRow, State
from rye.deployment.survey import Note
from rye.errors import RyeError
from rye.items.kinds import KINDS
from rye.project.context import load_manifest
from rye.project.layout import Project
from rye.project.spaces import entries_of
from rye.storage import private_files
from rye.storage.home import Home
from rye.verified.on_disk import read_present
from rye.workspace.context import Context
from rye.workspace.items.item_tree import folder_tree
from rye.workspace.trusting.acceptance import own_record, trusts_lock


def claims_of(context: Context, root: Project, state: State) -> frozenset[Key]:
    """Return the rows that this user's Rye did not write."""
    if not state.files or trusts_lock(context):
        return frozenset()
    known = _read(context.home, root)
    return frozenset((row.path, row.item) for row in state.files if _line(row) not in known)


def copied_rows(context: Context, project: Project, state: State, claims: frozenset[Key]) -> frozenset[Key]:
    """Return those of these rows whose bytes are those of a file of their own item in the project: to delete that copy loses
    nothing, whoever wrote it and whether or not this user trusts who signed it."""
    if not claims:
        return frozenset()
    labels = {item for _, item in claims}
    files: dict[str, set[str]] = {}
    for space in ("project", "installed"):
        for entry in entries_of(context.home, space, project, load_manifest(project).namespace):
            label = f"{entry.location.kind}:{entry.id}"
            if label in labels and KINDS[entry.location.kind].main_file is not None:
                try:
                    tree, _ = folder_tree(entry.path)
                except RyeError:
                    continue
                own = read_present(str(entry.path)).sha256
                files[label] = {file.sha256 for file in tree.values()} | ({own} if own is not None else set())
    rows = {(row.path, row.item): row.sha256 for row in state.files}
    return frozenset(key for key in claims if rows[key] in files.get(key[1], ()))


def remember_own(home: Home, root: Project, before: State, plan: Plan) -> None:
    """Record the rows of a run before it writes, so that after an interruption either the old or the new rows are known."""
    known = _read(home, root)
    lines = (known & {_line(row) for row in before.files}) | {_line(row) for row in plan.own}
    _write(home, root, known, lines)


def confirm_own(home: Home, root: Project, rows: Iterable[FileRow]) -> None:
    """Record rows whose files have exactly the bytes that this user's Rye would write there."""
    known = _read(home, root)
    _write(home, root, known, known | {_line(row) for row in rows})


def _write(home: Home, root: Project, known: frozenset[str], lines: frozenset[str]) -> None:
    if lines == known:
        return
    place = own_files(home, root)
    private_files.make_folder(place.parent)
    private_files.write(place, "\n".join([json.dumps(str(root.root)), *sorted(lines)]) + "\n")


def _line(row: FileRow) -> str:
    return json.dumps([row.path, row.sha256])


def _read(home: Home, root: Project) -> frozenset[str]:
    with contextlib.suppress(OSError, UnicodeDecodeError):
        return frozenset(
            private_files.read_trusted(own_files(home, root)).decode("utf-8").removesuffix("\n").split("\n")[1:]
        )
    return frozenset()


_FOLDER = "told"


def new_notes(home: Home, root: Project, notes: Iterable[Note]) -> tuple[Note, ...]:
    """Return the notes that were not said yet."""
    known = _told(own_record(home, root, _FOLDER))
    return tuple(note for note in notes if _note_line(note) not in known)


def remember_told(home: Home, root: Project, said: Iterable[Note], present: Iterable[Note]) -> None:
    """Remember that these notes were said, and forget those that are no longer ``present``. On a full disk they are only said
    again."""
    place = own_record(home, root, _FOLDER)
    known = _told(place)
    lines = (known & set(map(_note_line, present))) | set(map(_note_line, said))
    if lines == known:
        return
    with contextlib.suppress(OSError):
        private_files.make_folder(place.parent)
        private_files.write(place, "".join(f"{line}\n" for line in sorted(lines)))


def _note_line(note: Note) -> str:
    return json.dumps([note.item, note.target, note.message])


def _told(place: Path) -> frozenset[str]:
    with contextlib.suppress(OSError, UnicodeDecodeError):
        return frozenset(filter(None, private_files.read_trusted(place).decode("utf-8").split("\n")))
    return frozenset()
