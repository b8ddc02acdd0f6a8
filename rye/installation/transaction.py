"""Changes many files of a project atomically: after a crash at any point, either all changes are applied or none.

The steps, in the project's ``.ai/.rye`` (a folder that version control ignores):

1. Every new file is written to ``stage/<n>``.
2. ``journal`` is written to a temporary file and renamed into place: from here on, a crash is undone.
3. For each file: the existing file moves to ``old/<n>``, then ``stage/<n>`` moves to its place.
4. ``journal`` is removed: from here on, a crash keeps the new state. Then ``stage`` and ``old`` are emptied.

Removals come before new files, so that a folder can become a file and a file a folder. Changes that depend on the new
files are a second round: after step 3, the caller reads the new files and returns more changes; the journal is
extended with them, and step 3 runs for them.

Recovery (:func:`rye.installation.journal.undo`) needs only the journal and the files: it moves files in ``old`` back and removes
created files that are no longer in ``stage``. It can be interrupted and repeated. One run at a time holds ``lock``. Nothing is
ever written through a symbolic link: a link in a file's path is refused, and one that appears later is not followed. That holds
for ``.ai/.rye`` itself, too: project and records are opened once (:mod:`rye.storage.opened_folder`).
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from msgspec import Struct

from rye.installation.journal import (
    RECORDS,
    JournalRow,
    TransactionError,
    clean,
    digest_of,
    is_also_others,
    not_written_by_rye,
    read_journal,
    records_in,
    remove_emptied,
    remove_folders,
    undo,
    write_journal,
)
from rye.project.layout import Project
from rye.storage.opened_folder import OpenedFolder, opened_folder
from rye.storage.safe_files import LockTimeout, refuse_links

LOCK_SECONDS = 60.0
"""How long a run waits for another one to finish."""


class Change(Struct, frozen=True):
    """The new content of one file. ``path``: relative to the project's root, with ``/``; ``data`` None removes the file."""

    path: str
    data: bytes | None
    executable: bool = False
    mode: int | None = None
    """The permissions to keep, for a file that others edit as well. None: those of a new file."""
    before: str | None = None
    """The SHA-256 that the existing file must have (:data:`NOTHING`: no file exists); if it differs, nothing is changed.
    None: no check."""


NOTHING = ""
"""The value of :attr:`Change.before` if no file may exist."""


Then = Callable[[], "Round"]
"""Returns the second round of changes; called when the first is in place."""


class Round(Struct, frozen=True):
    """More changes in the same transaction."""

    changes: Sequence[Change]
    folders: Sequence[str] = ()
    """Folders to delete if they are empty, relative to the root."""


Step = Callable[[str], None]
"""Called with the name of each step before it runs; tests simulate crashes with it."""


def _no_step(_name: str) -> None:
    return None


@contextmanager
def exclusive(project: Project, *, step: Step = _no_step) -> Iterator[Writer]:
    """Lock the project, recover from an interrupted run, and yield a writer. Raises ``in-use`` if another run has it."""
    work = project.root / RECORDS
    # Check before creating anything: all of this can come from a hostile repository.
    for place in (*sorted(work.glob("*")), project.packages, project.lock_path):
        refuse_links(project.root, place)
    try:
        with opened_folder(project.root) as root:
            _require_own_journal(root)
            with records_in(root) as records, records.locked("lock", LOCK_SECONDS):
                undo(root, records)
                yield Writer(project, root, records, step)
    except LockTimeout:
        raise TransactionError(
            "in-use",
            "Another Rye process is changing this project.",
            "Wait for it to finish, or stop it, then run the command again.",
            what="project",
        ) from None


def _require_own_journal(root: OpenedFolder) -> None:
    """Raise TransactionError ``journal-damaged`` if there is something that Rye did not write in the place of a journal."""
    try:
        with contextlib.suppress(FileNotFoundError), root.below(RECORDS) as records:
            read_journal(records)
    except NotADirectoryError as error:
        raise not_written_by_rye() from error


class Writer:
    """Applies changes to a locked project. Created by :func:`exclusive`."""

    def __init__(self, project: Project, root: OpenedFolder, records: OpenedFolder, step: Step) -> None:
        self._project = project
        self._root = root
        self._records = records
        self._step = step
        self._staged: OpenedFolder
        self._old: OpenedFolder

    def apply(self, changes: Sequence[Change], then: Then | None = None, folders: Sequence[str] = ()) -> int:
        """Make all changes, or none. Returns how many files changed, not counting Rye's own records in ``.ai/.rye``. Files
        that already have the new content are not touched.

        ``then``: returns further changes of the same transaction; if it raises, everything is undone. ``folders``: folders to
        remove if they are empty.
        """
        needed = self._needed(changes)
        if not needed and not folders and then is None:
            return 0
        rows: list[JournalRow] = []
        with contextlib.ExitStack() as opened:
            try:
                self._make(needed, rows, opened)
                remove_folders(self._root, folders)
                if then is not None:
                    more = then()
                    self._make(self._needed(more.changes), rows, opened)
                    remove_folders(self._root, more.folders)
            except BaseException:
                undo(self._root, self._records)
                raise
        if rows:
            self._step("commit")
            self._records.unlink("journal")
            self._records.sync()
            self._step("clean")
            clean(self._records)
        return sum(not row.path.startswith(f"{RECORDS}/") for row in rows)

    def _needed(self, changes: Sequence[Change]) -> list[Change]:
        """Return what differs from what is there, removals first."""
        by_folder: dict[str, list[Change]] = {}
        for change in changes:
            _require_plain(change.path)
            by_folder.setdefault(change.path.rpartition("/")[0], []).append(change)
        needed: set[str] = set()
        for path, some in by_folder.items():
            try:
                with self._root.below(path) as folder:
                    needed.update(change.path for change in some if self._differs(change, folder))
            except (FileNotFoundError, NotADirectoryError):
                needed.update(change.path for change in some if change.data is not None)
        ordered = sorted(changes, key=lambda change: change.data is not None)
        return [change for change in ordered if change.path in needed]

    def _differs(self, change: Change, folder: OpenedFolder) -> bool:
        """Whether the change's file is another one than is there in its folder. Raises RyeError ``symlink-in-the-way``."""
        name = change.path.rpartition("/")[2]
        found = folder.status(name)
        if found is None:
            return change.data is not None
        if stat.S_ISLNK(found.st_mode):
            refuse_links(self._root.path, self._root.path / change.path)
        if change.data is None or not stat.S_ISREG(found.st_mode) or found.st_size != len(change.data):
            return True
        if change.mode is None and change.executable != bool(found.st_mode & 0o100):
            return True
        return not folder.has(name, change.data)

    def _make(self, changes: Sequence[Change], rows: list[JournalRow], opened: contextlib.ExitStack) -> None:
        """Make one round of changes, and append its rows to ``rows``, the journal so far. ``opened``: closes the folders of the
        first round, which the second one uses as well."""
        if not changes:
            return
        first = len(rows)
        if first == 0:
            self._staged = opened.enter_context(self._records.emptied("stage"))
            self._old = opened.enter_context(self._records.emptied("old"))
        self._stage(changes, first)
        rows.extend(self._row(change) for change in changes)
        self._write_journal(rows)
        self._switch(changes, first)

    def _row(self, change: Change) -> JournalRow:
        made = [] if change.data is None or change.path.startswith(".ai/") else self._missing_folders(change.path)
        digest = None
        if change.data is not None and is_also_others(change.path):
            digest = hashlib.sha256(change.data).hexdigest()
        return JournalRow(change.path, self._has_file(change.path), tuple(made), digest)

    def _has_file(self, path: str) -> bool:
        """Whether something is there that is not a folder. A folder where a file should be is either emptied by other changes or
        left as it is."""
        try:
            with self._root.around(path) as (folder, name):
                return folder.holds(name) and not folder.has_folder(name)
        except (FileNotFoundError, NotADirectoryError):
            return False

    def _missing_folders(self, path: str) -> list[str]:
        """Return the folders above a file that do not exist yet, outermost first."""
        folders = []
        folder = path.rpartition("/")[0]
        while folder and not os.path.isdir(f"{self._project.root}/{folder}"):
            folders.append(folder)
            folder = folder.rpartition("/")[0]
        return folders[::-1]

    def _stage(self, changes: Sequence[Change], first: int) -> None:
        for number, change in enumerate(changes, first):
            if change.data is None:
                continue
            self._step(f"stage {number}")
            with self._staged.create(str(number), 0o755 if change.executable else 0o644) as stream:
                stream.write(change.data)
                if change.mode is not None and os.name == "posix":
                    os.fchmod(stream.fileno(), change.mode)

    def _write_journal(self, rows: Sequence[JournalRow]) -> None:
        self._step("journal")
        write_journal(self._records, rows, lambda: self._step("begin"))

    def _switch(self, changes: Sequence[Change], first: int) -> None:
        for number, change in enumerate(changes, first):  # removals come first: no new file is removed
            try:
                with self._root.around(change.path, make=change.data is not None) as (folder, name):
                    self._switch_one(change, number, folder, name)
            except (FileNotFoundError, NotADirectoryError):
                if change.data is not None:
                    raise
                _require_before(change, NOTHING)
            if change.data is None:
                remove_emptied(self._root, change.path)

    def _switch_one(self, change: Change, number: int, folder: OpenedFolder, name: str) -> None:
        staged, old, kept, there = self._staged, self._old, str(number), NOTHING
        if folder.holds(name):
            self._step(f"move away {number}")
            folder.move(name, old, kept)
            there = digest_of(old, kept) if change.before is not None else NOTHING
        _require_before(change, there)
        if change.data is not None:
            self._step(f"move in {number}")
            staged.move(kept, folder, name)


def _require_plain(path: str) -> None:
    """Require a path that leads to no other place than it says. Raises TransactionError ``unsafe-path``."""
    if any(part in ("", ".", "..") for part in path.split("/")) or "\\" in path or "\0" in path:
        raise TransactionError("unsafe-path", f"{path!r} points outside the project.")


def _require_before(change: Change, there: str) -> None:
    """Require that the file was what it had to be. Raises TransactionError ``file-changed``."""
    if change.before not in (None, there):
        raise TransactionError(
            "file-changed",
            f"{change.path} was changed by another program just before Rye wrote it; nothing was written.",
            "Run the command again.",
        )
