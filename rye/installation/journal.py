"""The journal of a transaction, and undoing by it what an interrupted one has done.

It is in ``.ai/.rye``, a folder that version control ignores, with the files that were moved away (``old/<n>``) and those that
are not in their place yet (``stage/<n>``): :mod:`rye.installation.transaction`. A hostile repository can contain all of them, so
a journal that Rye cannot have written is refused as a whole.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from msgspec import Struct

from rye.errors import RyeError
from rye.items.kinds import KINDS
from rye.limits import PROJECT
from rye.project.agent_programs import is_attributes_file, is_deploy_place
from rye.project.layout import Project
from rye.storage.opened_folder import OpenedFolder
from rye.storage.safe_files import refuse_links
from rye.text.lazy import lazy_module

if TYPE_CHECKING:
    import json
else:
    json = lazy_module("json")  # only for a journal

RECORDS = ".ai/.rye"
"""The folder of Rye's own records about a project."""
_EDITED = r"rye\.(?:lock|toml)|(?:[^/\\\x00.][^/\\\x00]*/)+rye\.toml|\.ai/origins\.toml"
_PLACE = rf"{_EDITED}|\.ai/(?:packages|\.rye)(?:/[^/\\\x00]+)+"
"""The paths that an installation and the update of a fork write, of which people edit the first ones. Those of a deploy:
:func:`rye.project.agent_programs.is_deploy_place`."""
_OWN_ITEM = r"\.ai/(?:{})(?:/[^/\\\x00]+)+"
"""The paths of the project's own items, which the update of a fork merges into."""


class TransactionError(RyeError):
    """The changes could not be made; the project's files are unchanged."""


class JournalRow(Struct, frozen=True):
    """One file in a journal."""

    path: str
    existed: bool
    """Whether a file or link existed at this path before."""
    made: tuple[str, ...] = ()
    """Folders above it that were created for it, without those in ``.ai``, which are removed once empty anyway."""
    sha256: str | None = None
    """The hash of a file that is written where people keep files of their own; no journal may remove those."""

    def as_json(self) -> dict[str, object]:
        """The row as it is written."""
        row: dict[str, object] = {"path": self.path, "existed": self.existed}
        if self.sha256 is not None:
            row["sha256"] = self.sha256
        return {**row, "made": list(self.made)} if self.made else row

    def is_ours(self) -> bool:
        """Whether Rye could have written this row."""
        inside = re.fullmatch(_PLACE, self.path) and ".." not in self.path.split("/")
        return (bool(inside) or is_also_others(self.path)) and all(
            folder and self.path.startswith(f"{folder}/") and not folder.endswith("/") for folder in self.made
        )


@contextmanager
def records_in(root: OpenedFolder) -> Iterator[OpenedFolder]:
    """Open the folder of Rye's own records in a project's, which version control ignores. It is made if it is missing.

    Raises RyeError ``symlink-in-the-way``, OSError."""
    with root.below(RECORDS, make=True) as records:
        with contextlib.suppress(FileExistsError), records.create(".gitignore") as ignore:
            ignore.write(b"*\n")
        yield records


def needs_recovery(project: Project) -> bool:
    """Whether an interrupted run left a journal. Cheap: one file system call."""
    try:
        os.close(os.open(project.root / RECORDS / "journal", os.O_RDONLY | os.O_NONBLOCK))
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return True


def write_journal(records: OpenedFolder, rows: Sequence[JournalRow], begin: Callable[[], None]) -> None:
    """Write the journal to the disk. ``begin``: called when it is there and does not count yet."""
    records.remove("journal.new")  # opening a named pipe would wait forever for a reader
    with records.create("journal.new") as stream:
        stream.write(json.dumps([row.as_json() for row in rows]).encode())
        stream.flush()
        os.fsync(stream.fileno())
    begin()
    records.move("journal.new", records, "journal")
    records.sync()


def read_journal(records: OpenedFolder) -> list[JournalRow] | None:
    """Read the rows of the journal; None if there is no journal.

    A hostile repository can contain one, with "old" files for any path, so only paths that Rye itself writes are accepted.
    Raises TransactionError ``journal-damaged``.
    """
    try:
        with records.open("journal") as stream:
            data = stream.read(PROJECT.lock_bytes + 1)
        if len(data) > PROJECT.lock_bytes:
            raise ValueError
        rows = [_row_of(row) for row in json.loads(data.decode("utf-8"))]
        if not all(row.is_ours() for row in rows):
            raise ValueError
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise not_written_by_rye() from error
    return rows


def not_written_by_rye() -> TransactionError:
    """The error for a journal that another program put there."""
    return TransactionError(
        "journal-damaged",
        "The record of an interrupted installation, .ai/.rye/journal, was not written by Rye.",
        "Find out who put it there, then delete the folder .ai/.rye and run `rye install`.",
    )


def _row_of(row: dict[str, object]) -> JournalRow:
    path, existed, made, digest = row["path"], row["existed"], row.get("made", []), row.get("sha256")
    if not isinstance(path, str) or not isinstance(existed, bool) or not isinstance(made, list):
        raise ValueError
    if not all(isinstance(folder, str) for folder in made) or not isinstance(digest, str | None):
        raise ValueError
    return JournalRow(path, existed, tuple(made), digest)


def undo(root: OpenedFolder, records: OpenedFolder) -> bool:
    """Undo an interrupted run by its journal in ``records``. ``root``: the project's folder. The caller holds the lock. Returns
    whether there was anything to undo."""
    rows = read_journal(records)
    if rows is None:
        return False
    with contextlib.ExitStack() as opened:

        def folder_of(name: str) -> OpenedFolder | None:
            return opened.enter_context(records.below(name)) if records.holds(name) else None

        old, staged = folder_of("old"), folder_of("stage")
        for number, row in reversed(list(enumerate(rows))):
            kept = old if old is not None and old.holds(str(number)) else None
            is_staged = staged is not None and staged.holds(str(number))
            refuse_links(root.path, root.path / row.path)  # its own place included
            try:
                with root.around(row.path, make=kept is not None) as (folder, name):
                    if kept is not None:
                        _put_back(row, folder, name, kept, str(number))
                    elif not row.existed and not is_staged:
                        _take_away(row, folder, name)
            except (FileNotFoundError, NotADirectoryError):
                if kept is not None:
                    raise
            if not row.existed:
                remove_emptied(root, row.path)
            remove_folders(root, row.made)
    records.unlink("journal")
    clean(records)
    return True


def clean(records: OpenedFolder) -> None:
    """Remove the files that only the journal needs."""
    for name in ("stage", "old"):
        records.remove(name)


def _put_back(row: JournalRow, folder: OpenedFolder, name: str, old: OpenedFolder, kept: str) -> None:
    """Move the file back that was moved away."""
    _require_written(row, folder, name)
    _make_room(folder, name, for_folder=old.has_folder(kept))
    old.move(kept, folder, name)


def _take_away(row: JournalRow, folder: OpenedFolder, name: str) -> None:
    """Remove the file that was created. A folder was to be removed, and was not reached."""
    if folder.holds(name) and not folder.has_folder(name):
        _require_written(row, folder, name)
        folder.unlink(name)


def _require_written(row: JournalRow, folder: OpenedFolder, name: str) -> None:
    """Require that a deployed file is what the interrupted run wrote: a journal from a hostile repository cannot know the
    content of this user's own files. Raises TransactionError ``journal-damaged``."""
    if not is_also_others(row.path) or not folder.holds(name):
        return
    if digest_of(folder, name) != row.sha256:
        raise TransactionError(
            "journal-damaged",
            f"The record of an interrupted run, .ai/.rye/journal, would undo {row.path}, which is not what that run wrote.",
            "Keep the file, find out who put the record there, and delete the folder .ai/.rye.",
        )


def _make_room(folder: OpenedFolder, name: str, *, for_folder: bool) -> None:
    """Remove the new file or empty folder that took the place of the old one, if one is a folder and the other is not."""
    if not folder.holds(name) or folder.has_folder(name) == for_folder:
        return
    if for_folder:
        folder.unlink(name)
    else:
        folder.rmdir(name)


def digest_of(folder: OpenedFolder, name: str) -> str:
    """Return the SHA-256 of a regular file; ``-`` if it is none, or cannot be read."""
    try:
        with folder.open(name) as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError:
        return "-"


def remove_folders(root: OpenedFolder, folders: Sequence[str]) -> None:
    """Remove these folders if they are empty, innermost first. Nothing is removed through a link."""
    for folder in sorted(folders, key=len, reverse=True):
        root.remove_empty(folder)


def remove_emptied(root: OpenedFolder, path: str) -> None:
    """Remove the folders above a path in ``.ai`` that are empty now."""
    folder = path.rpartition("/")[0]
    while folder.startswith(".ai/") and root.remove_empty(folder):
        folder = folder.rpartition("/")[0]


def is_also_others(path: str) -> bool:
    """Whether people keep files of their own at such a path."""
    edited = re.fullmatch(_EDITED, path) is not None
    return edited or is_deploy_place(path) or is_attributes_file(path) or _is_own_item(path)


def _is_own_item(path: str) -> bool:
    folders = "|".join(sorted({re.escape(kind.folder) for kind in KINDS.values()}))
    return re.fullmatch(_OWN_ITEM.format(folders), path) is not None and not {".", ".."} & set(path.split("/"))
