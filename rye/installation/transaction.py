"""Changes many files of a project atomically: after a crash at any point, either all changes are applied or none.

The steps, in the project's ``.ai/.rye`` (a folder that version control ignores):

1. Every new file is written to ``stage/<n>``.
2. ``journal`` is written to a temporary file and renamed into place: from here on, a crash is undone.
3. For each file: the existing file moves to ``old/<n>``, then ``stage/<n>`` moves to its place.
4. ``journal`` is removed: from here on, a crash keeps the new state. Then ``stage`` and ``old`` are emptied.

Removals come before new files, so that a folder can become a file and a file a folder. Changes that depend on the new
files are a second round: after step 3, the caller reads the new files and returns more changes; the journal is
extended with them, and step 3 runs for them.

Recovery (:func:`recover`) needs only the journal and the files: it moves files in ``old`` back and removes created
files that are no longer in ``stage``. It can be interrupted and repeated. One run at a time holds ``lock``. Nothing is
ever written through a symbolic link: a link in a file's path is refused, and one that appears later is not followed. That holds
for ``.ai/.rye`` itself, too: it is opened once (:class:`Records`).
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, BinaryIO

from msgspec import Struct

from rye.errors import RyeError
from rye.items.kinds import KINDS
from rye.limits import PROJECT
from rye.project.agent_programs import is_attributes_file, is_deploy_place
from rye.project.layout import Project
from rye.storage.safe_files import LockTimeout, file_lock, open_regular, real_folder, refuse_links, remove_tree
from rye.text.lazy import lazy_module

if TYPE_CHECKING:
    import json
else:
    json = lazy_module("json")  # only for a journal

_EDITED = r"rye\.(?:lock|toml)|(?:[^/\\\x00.][^/\\\x00]*/)+rye\.toml|\.ai/origins\.toml"
_PLACE = rf"{_EDITED}|\.ai/(?:packages|\.rye)(?:/[^/\\\x00]+)+"
"""The paths that an installation and the update of a fork write, of which people edit the first ones. Those of a deploy:
:func:`rye.project.agent_programs.is_deploy_place`."""
_OWN_ITEM = r"\.ai/(?:{})(?:/[^/\\\x00]+)+"
"""The paths of the project's own items, which the update of a fork merges into."""
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


class TransactionError(RyeError):
    """The changes could not be made; the project's files are unchanged."""


Step = Callable[[str], None]
"""Called with the name of each step before it runs; tests simulate crashes with it."""


def _no_step(_name: str) -> None:
    return None


class Records:
    """Rye's own records of a project, the folder ``.ai/.rye``: opened without following links, so that what a run keeps, moves
    and removes there does so in that folder, whatever takes its place meanwhile."""

    def __init__(self, path: Path, descriptor: int | None, prefix: str) -> None:
        self.path = path
        self.descriptor = descriptor
        self._prefix = prefix

    @classmethod
    @contextmanager
    def opened(cls, project: Project, *, make: bool) -> Iterator[Records]:
        """Open the folder. Raises RyeError ``symlink-in-the-way``, OSError."""
        with real_folder(project.root, ".ai/.rye", make=make) as (descriptor, prefix):
            yield cls(_work(project), descriptor, prefix)

    def place(self, name: str) -> str:
        """A file's name for calls with the ``descriptor``."""
        return f"{self._prefix}{name}"

    def holds(self, name: str) -> bool:
        """Whether there is something of this name."""
        return _is_there(self.place(name), self.descriptor)

    def create(self, name: str, mode: int = 0o666) -> BinaryIO:
        """Create a file. Raises OSError, also if something is there."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        return os.fdopen(os.open(self.place(name), flags, mode, dir_fd=self.descriptor), "wb")

    def write(self, name: str, data: bytes, mode: int) -> None:
        """Replace a file. Raises OSError."""
        self.draft(name, data, mode)
        self.put_in_place(name)

    def draft(self, name: str, data: bytes, mode: int = 0o666) -> None:
        """Write a file's new content beside it, to the disk."""
        self.remove(f"{name}.new")  # opening a named pipe would wait forever for a reader
        with self.create(f"{name}.new", mode) as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())

    def put_in_place(self, name: str) -> None:
        """Replace a file by its draft."""
        folder = self.descriptor
        os.replace(self.place(f"{name}.new"), self.place(name), src_dir_fd=folder, dst_dir_fd=folder)

    def remove(self, name: str) -> None:
        """Remove a file or folder, if it is there."""
        remove_tree(self.place(name), self.descriptor)

    @contextmanager
    def emptied(self, name: str) -> Iterator[Records]:
        """Yield a new empty folder in the place of what is there."""
        self.remove(name)
        os.mkdir(self.place(name), dir_fd=self.descriptor)
        with self.below(name) as folder:
            yield folder

    @contextmanager
    def below(self, name: str) -> Iterator[Records]:
        """Yield a folder in this one. Raises RyeError ``symlink-in-the-way``, OSError."""
        with real_folder(self.path, name, make=False, opened=self.descriptor) as (descriptor, prefix):
            yield Records(self.path / name, descriptor, prefix)

    def sync(self) -> None:
        """Wait until the names in the folder are on the disk."""
        descriptor = os.open(self.place("."), os.O_RDONLY, dir_fd=self.descriptor)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def exclusive(project: Project, *, step: Step = _no_step) -> Iterator[Writer]:
    """Lock the project, recover from an interrupted run, and yield a writer. Raises ``in-use`` if another run has it."""
    work = _work(project)
    # Check before creating anything: all of this can come from a hostile repository.
    for place in (work, *sorted(work.glob("*")), project.packages, project.lock_path):
        refuse_links(project.root, place)
    try:
        with contextlib.suppress(FileNotFoundError), Records.opened(project, make=False) as records:
            _read_journal(records)
    except NotADirectoryError as error:
        raise _not_written_by_rye() from error
    try:
        with records_of(project) as records, file_lock(work / "lock", LOCK_SECONDS):
            _recover(project, records)
            yield Writer(project, records, step)
    except LockTimeout:
        raise TransactionError(
            "in-use",
            "Another Rye process is changing this project.",
            "Wait for it to finish, or stop it, then run the command again.",
            what="project",
        ) from None


@contextmanager
def records_of(project: Project) -> Iterator[Records]:
    """Open the folder of Rye's own records, which version control ignores. It is made if it is missing.

    Raises RyeError ``symlink-in-the-way``, OSError."""
    with Records.opened(project, make=True) as records:
        with contextlib.suppress(FileExistsError), records.create(".gitignore") as ignore:
            ignore.write(b"*\n")
        yield records


def _work(project: Project) -> Path:
    return project.ai / ".rye"


def needs_recovery(project: Project) -> bool:
    """Whether an interrupted run left a journal. Cheap: one file system call."""
    try:
        os.close(os.open(_work(project) / "journal", os.O_RDONLY | os.O_NONBLOCK))
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return True


_RECORDS = ".ai/.rye/"
"""The prefix of the paths of Rye's own records about a project."""


class Writer:
    """Applies changes to a locked project. Created by :func:`exclusive`."""

    def __init__(self, project: Project, records: Records, step: Step) -> None:
        self._project = project
        self._records = records
        self._step = step
        self._staged = self._old = records
        self._real_folders: set[str] = set()
        self._targets: dict[str, str] = {}

    def apply(self, changes: Sequence[Change], then: Then | None = None, folders: Sequence[str] = ()) -> int:
        """Make all changes, or none. Returns how many files changed, not counting Rye's own records in ``.ai/.rye``. Files
        that already have the new content are not touched.

        ``then``: returns further changes of the same transaction; if it raises, everything is undone. ``folders``: folders to
        remove if they are empty.
        """
        needed = self._needed(changes)
        if not needed and not folders and then is None:
            return 0
        rows: list[_JournalRow] = []
        with contextlib.ExitStack() as opened:
            try:
                self._make(needed, rows, opened)
                _remove_folders(self._project.root, folders)
                if then is not None:
                    more = then()
                    self._make(self._needed(more.changes), rows, opened)
                    _remove_folders(self._project.root, more.folders)
            except BaseException:
                _recover(self._project, self._records)
                raise
        if rows:
            self._step("commit")
            os.unlink(self._records.place("journal"), dir_fd=self._records.descriptor)
            self._records.sync()
            self._step("clean")
            _clean(self._records)
        return sum(not row.path.startswith(_RECORDS) for row in rows)

    def _needed(self, changes: Sequence[Change]) -> list[Change]:
        ordered = sorted(changes, key=lambda change: change.data is not None)
        return [change for change in ordered if self._differs(change)]

    def _make(self, changes: Sequence[Change], rows: list[_JournalRow], opened: contextlib.ExitStack) -> None:
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

    def _row(self, change: Change) -> _JournalRow:
        made = [] if change.data is None or change.path.startswith(".ai/") else self._missing_folders(change.path)
        digest = None
        if change.data is not None and _is_also_others(change.path):
            digest = hashlib.sha256(change.data).hexdigest()
        return _JournalRow(change.path, _is_something(self._target(change)), tuple(made), digest)

    def _missing_folders(self, path: str) -> list[str]:
        """Return the folders above a file that do not exist yet, outermost first."""
        folders = []
        folder = path.rpartition("/")[0]
        while folder and not os.path.isdir(f"{self._project.root}/{folder}"):
            folders.append(folder)
            folder = folder.rpartition("/")[0]
        return folders[::-1]

    def _differs(self, change: Change) -> bool:
        target = self._target(change)
        if change.data is None:
            return os.path.lexists(target)
        try:
            with open(target, "rb", opener=_open_now) as stream:
                status = os.fstat(stream.fileno())
                if not stat.S_ISREG(status.st_mode) or status.st_size != len(change.data):
                    return True
                if change.mode is None and change.executable != bool(status.st_mode & 0o100):
                    return True
                return stream.read() != change.data
        except OSError:
            return True

    def _target(self, change: Change) -> str:
        """Return the absolute path. Each folder and file is checked for symbolic links once."""
        known = self._targets.get(change.path)
        if known is not None:
            return known
        parts = change.path.split("/")
        if any(part in ("", ".", "..") for part in parts) or "\\" in change.path or "\0" in change.path:
            raise TransactionError("unsafe-path", f"{change.path!r} points outside the project.")
        folder = "/".join(parts[:-1])
        root = str(self._project.root)
        if folder not in self._real_folders:
            refuse_links(self._project.root, self._project.root / folder)
            self._real_folders.add(folder)
        target = f"{root}/{change.path}"
        if os.path.islink(target):
            refuse_links(self._project.root, Path(target))
        self._targets[change.path] = target
        return target

    def _stage(self, changes: Sequence[Change], first: int) -> None:
        for number, change in enumerate(changes, first):
            if change.data is None:
                continue
            self._step(f"stage {number}")
            with self._staged.create(str(number), 0o755 if change.executable else 0o644) as stream:
                stream.write(change.data)
                if change.mode is not None and os.name == "posix":
                    os.fchmod(stream.fileno(), change.mode)

    def _write_journal(self, rows: Sequence[_JournalRow]) -> None:
        self._step("journal")
        self._records.draft("journal", json.dumps([row.as_json() for row in rows]).encode())
        self._step("begin")
        self._records.put_in_place("journal")
        self._records.sync()

    def _switch(self, changes: Sequence[Change], first: int) -> None:
        for number, change in enumerate(changes, first):  # removals come first: no new file is removed
            folder, _, name = change.path.rpartition("/")
            try:
                with real_folder(self._project.root, folder, make=change.data is not None) as (descriptor, prefix):
                    self._switch_one(change, number, f"{prefix}{name}", descriptor)
            except (FileNotFoundError, NotADirectoryError):
                if change.data is not None:
                    raise
                _require_before(change, NOTHING)
            if change.data is None:
                _remove_empty_folders(Path(self._target(change)).parent, self._project.ai)

    def _switch_one(self, change: Change, number: int, place: str, folder: int | None) -> None:
        """Switch one file. ``place``: its name in the folder with this descriptor, or its path if that is None."""
        staged, old, there = self._staged, self._old, NOTHING
        kept = old.place(str(number))
        if _is_there(place, folder):
            self._step(f"move away {number}")
            os.rename(place, kept, src_dir_fd=folder, dst_dir_fd=old.descriptor)
            there = _digest(kept, old.descriptor) if change.before is not None else NOTHING
        _require_before(change, there)
        if change.data is not None:
            self._step(f"move in {number}")
            os.rename(staged.place(str(number)), place, src_dir_fd=staged.descriptor, dst_dir_fd=folder)


def _clean(records: Records) -> None:
    for name in ("stage", "old"):
        records.remove(name)


def _is_there(place: str, folder: int | None) -> bool:
    """Whether something is at the place, if only a link."""
    try:
        os.stat(place, dir_fd=folder, follow_symlinks=False)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def _require_before(change: Change, there: str) -> None:
    """Require that the file was what it had to be. Raises TransactionError ``file-changed``."""
    if change.before not in (None, there):
        raise TransactionError(
            "file-changed",
            f"{change.path} was changed by another program just before Rye wrote it; nothing was written.",
            "Run the command again.",
        )


def recover(project: Project) -> bool:
    """Undo an interrupted run. The caller holds the lock. Returns whether there was anything to undo."""
    with contextlib.suppress(FileNotFoundError), Records.opened(project, make=False) as records:
        return _recover(project, records)
    return False


def _recover(project: Project, records: Records) -> bool:
    rows = _read_journal(records)
    if rows is None:
        return False
    with contextlib.ExitStack() as opened:

        def folder_of(name: str) -> Records | None:
            return opened.enter_context(records.below(name)) if records.holds(name) else None

        old, staged = folder_of("old"), folder_of("stage")
        for number, row in reversed(list(enumerate(rows))):
            folder, _, name = row.path.rpartition("/")
            kept = old if old is not None and old.holds(str(number)) else None
            is_staged = staged is not None and staged.holds(str(number))
            refuse_links(project.root, project.root / PurePosixPath(row.path))  # its own place included
            try:
                with real_folder(project.root, folder, make=kept is not None) as (descriptor, prefix):
                    if kept is not None:
                        _put_back(row, f"{prefix}{name}", descriptor, kept, str(number))
                    elif not row.existed and not is_staged:
                        _take_away(row, f"{prefix}{name}", descriptor)
            except (FileNotFoundError, NotADirectoryError):
                if kept is not None:
                    raise
            if not row.existed:
                _remove_empty_folders((project.root / PurePosixPath(row.path)).parent, project.ai)
            _remove_folders(project.root, row.made)
    os.unlink(records.place("journal"), dir_fd=records.descriptor)
    _clean(records)
    return True


def _put_back(row: _JournalRow, place: str, folder: int | None, old: Records, name: str) -> None:
    """Move the file back that was moved away. ``place``, ``folder``: as in :meth:`Writer._switch_one`."""
    kept = old.place(name)
    _require_written(row, place, folder)
    _make_room(place, folder, for_folder=_is_folder(kept, old.descriptor))
    os.replace(kept, place, src_dir_fd=old.descriptor, dst_dir_fd=folder)


def _take_away(row: _JournalRow, place: str, folder: int | None) -> None:
    """Remove the file that was created."""
    if _is_there(place, folder) and not _is_folder(place, folder):
        _require_written(row, place, folder)  # a folder was to be removed, and was not reached
        os.unlink(place, dir_fd=folder)


class _JournalRow(Struct, frozen=True):
    """One file in a journal."""

    path: str
    existed: bool
    """Whether a file or link existed at this path before."""
    made: tuple[str, ...] = ()
    """Folders above it that were created for it, without those in ``.ai``, which are removed once empty anyway."""
    sha256: str | None = None
    """The hash of a file that is written where people keep files of their own; no journal may remove those."""

    def as_json(self) -> dict[str, object]:
        row: dict[str, object] = {"path": self.path, "existed": self.existed}
        if self.sha256 is not None:
            row["sha256"] = self.sha256
        return {**row, "made": list(self.made)} if self.made else row

    def is_ours(self) -> bool:
        """Whether Rye could have written this row."""
        inside = re.fullmatch(_PLACE, self.path) and ".." not in self.path.split("/")
        return (bool(inside) or _is_also_others(self.path)) and all(
            folder and self.path.startswith(f"{folder}/") and not folder.endswith("/") for folder in self.made
        )


def _read_journal(records: Records) -> list[_JournalRow] | None:
    """Read the rows of the journal; None if there is no journal.

    A hostile repository can contain one, with "old" files for any path, so only paths that Rye itself writes are accepted.
    Raises TransactionError ``journal-damaged``.
    """
    try:
        with open_regular(records.place("journal"), records.descriptor) as stream:
            data = stream.read(PROJECT.lock_bytes + 1)
        if len(data) > PROJECT.lock_bytes:
            raise ValueError
        rows = [_row_of(row) for row in json.loads(data.decode("utf-8"))]
        if not all(row.is_ours() for row in rows):
            raise ValueError
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise _not_written_by_rye() from error
    return rows


def _not_written_by_rye() -> TransactionError:
    return TransactionError(
        "journal-damaged",
        "The record of an interrupted installation, .ai/.rye/journal, was not written by Rye.",
        "Find out who put it there, then delete the folder .ai/.rye and run `rye install`.",
    )


def _row_of(row: dict[str, object]) -> _JournalRow:
    path, existed, made, digest = row["path"], row["existed"], row.get("made", []), row.get("sha256")
    if not isinstance(path, str) or not isinstance(existed, bool) or not isinstance(made, list):
        raise ValueError
    if not all(isinstance(folder, str) for folder in made) or not isinstance(digest, str | None):
        raise ValueError
    return _JournalRow(path, existed, tuple(made), digest)


def _is_also_others(path: str) -> bool:
    """Whether people keep files of their own at such a path."""
    edited = re.fullmatch(_EDITED, path) is not None
    return edited or is_deploy_place(path) or is_attributes_file(path) or _is_own_item(path)


def _is_own_item(path: str) -> bool:
    folders = "|".join(sorted({re.escape(kind.folder) for kind in KINDS.values()}))
    return re.fullmatch(_OWN_ITEM.format(folders), path) is not None and not {".", ".."} & set(path.split("/"))


def _require_written(row: _JournalRow, place: str, folder: int | None) -> None:
    """Require that a deployed file is what the interrupted run wrote: a journal from a hostile repository cannot know the
    content of this user's own files. Raises TransactionError ``journal-damaged``."""
    if not _is_also_others(row.path) or not _is_there(place, folder):
        return
    if _digest(place, folder) != row.sha256:
        raise TransactionError(
            "journal-damaged",
            f"The record of an interrupted run, .ai/.rye/journal, would undo {row.path}, which is not what that run wrote.",
            "Keep the file, find out who put the record there, and delete the folder .ai/.rye.",
        )


def _remove_folders(root: Path, folders: Sequence[str]) -> None:
    """Remove these folders if they are empty, innermost first. Nothing is removed through a link."""
    for folder in sorted(folders, key=len, reverse=True):
        path = root / PurePosixPath(folder)
        with contextlib.suppress(OSError, RyeError):
            refuse_links(root, path)
            path.rmdir()


def _digest(place: str, folder: int | None = None) -> str:
    """Return the SHA-256 of a file; ``-`` if it is not a regular file."""
    if not stat.S_ISREG(os.stat(place, dir_fd=folder, follow_symlinks=False).st_mode):
        return "-"
    with open(place, "rb", opener=partial(_open_now, folder=folder)) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _open_now(place: str, flags: int, folder: int | None = None) -> int:
    """Open without following a link, and without blocking: opening a named pipe would otherwise wait forever for a writer."""
    return os.open(place, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0), dir_fd=folder)


def _is_folder(place: str, folder: int | None) -> bool:
    return stat.S_ISDIR(os.stat(place, dir_fd=folder, follow_symlinks=False).st_mode)


def _is_something(target: str) -> bool:
    """Whether the path exists and is not a folder. A folder where a file should be is either emptied by other changes or
    left as it is."""
    return os.path.lexists(target) and (os.path.islink(target) or not os.path.isdir(target))


def _make_room(place: str, folder: int | None, *, for_folder: bool) -> None:
    """Remove the new file or empty folder that took the place of the old one, if one is a folder and the other is not."""
    if not _is_there(place, folder) or _is_folder(place, folder) == for_folder:
        return
    if for_folder:
        os.unlink(place, dir_fd=folder)
    else:
        os.rmdir(place, dir_fd=folder)


def _remove_empty_folders(folder: Path, stop: Path) -> None:
    while folder != stop and folder.is_relative_to(stop):
        try:
            folder.rmdir()
        except OSError:
            return
        folder = folder.parent
