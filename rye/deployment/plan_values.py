"""The inputs and results of a plan (:mod:`rye.deployment.plan`)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from rye.deployment.state import FileRow, State
from rye.deployment.targets.protocol import Form
from rye.items.attached import is_safe_path
from rye.items.kinds import KINDS
from rye.project.agent_programs import is_shared_file
from rye.verified.on_disk import flag_explained, line_ends_explained

ChangeName = Literal["create", "update", "remove", "unchanged"]
FileState = Literal["ok", "missing", "edited", "stale", "unowned"]
Differs = Literal["executable-bit-lost", "executable-bit-gained", "line-ends"]
"""What alone differs, if it is one of these: what a checkout can change without anybody's edit."""


class Wanted(Struct, frozen=True, kw_only=True):
    """One file, or one entry of a shared file, that should exist."""

    path: str
    """The path of the file, also for an entry."""
    data: bytes
    """The content of the file, or the text of the entry."""
    executable: bool
    item: str
    version: str
    item_sha256: str
    customizations_sha256: str
    owners: tuple[tuple[str, str], ...]
    """The targets that want it, each with its adapter, in the order of the table."""
    form: Form | None = None
    """The kind of entry; None: the whole file is ours."""
    is_original: bool = False
    """Whether the path is that of the item's own source."""
    key: tuple[str, ...] = ()

    @property
    def targets(self) -> frozenset[str]:
        """The names of the targets that want it."""
        return frozenset(name for name, _ in self.owners)

    @property
    def exclusion(self) -> str:
        """What leaves the item out of the first target, for hints."""
        return f'exclude = ["{self.item}"] below [deploy.{self.owners[0][0]}] in rye.toml'

    @property
    def deploying(self) -> str:
        """The command that deploys to the first target, which rye.toml need not name, for hints."""
        return f"`rye deploy --target {self.owners[0][0]}`"

    @property
    def row_path(self) -> str:
        """The path of its row in the state file; for a key, with the key's pointer."""
        return f"{self.path}#/{'/'.join(self.key)}" if self.form == "json" else self.path


class OnDisk(Struct, frozen=True):
    """What is at one path."""

    kind: Literal["missing", "file", "other", "outside"]
    """``other``: a folder, a device, or a file where a folder should be. ``outside``: the path contains a link."""
    data: bytes = b""
    mode: int = 0o644
    place: tuple[int, int] | None = None
    """Device and inode of a file, to recognize two names of the same file."""
    link: str = ""
    """For ``outside``: the link."""

    @property
    def executable(self) -> bool:
        """Whether its owner may execute it."""
        return bool(self.mode & 0o100)


class Run(Struct, frozen=True, kw_only=True):
    """What one run is limited to, and what it may change."""

    targets: frozenset[str] | None = None
    """None: all."""
    items: frozenset[str] | None = None
    """Labels of items; None: all."""
    adopt: frozenset[str] = frozenset()
    """Paths of files to take over, or of folders with such files."""
    overwrite: frozenset[str] = frozenset()
    """Labels of items whose edited files are overwritten."""
    lets_go: bool = False
    """Whether Rye gives up edited files that should be removed (``rye undeploy``); otherwise it refuses."""
    project: str | None = None
    """For the home folder: the project that deploys, possibly one of several."""
    leaves: frozenset[str] = frozenset()
    """Labels of items that the run does not concern, whatever else it is limited to."""

    def concerns(self, item: str, targets: Iterable[str]) -> bool:
        """Whether the run concerns the item in any of these targets."""
        return (
            item not in self.leaves
            and (self.items is None or item in self.items)
            and (self.targets is None or not self.targets.isdisjoint(targets))
        )


class FileChange(Struct, frozen=True):
    """The change of one file or entry."""

    path: str
    change: ChangeName
    item: str
    version: str
    target: str

    def as_json(self) -> dict[str, str]:
        """All fields, by name."""
        return {
            "path": self.path,
            "change": self.change,
            "item": self.item,
            "version": self.version,
            "target": self.target,
        }


class Refused(Struct, frozen=True, kw_only=True):
    """Why an item, or one of its files, is not deployed to a target."""

    item: str
    target: str
    field: str
    """The part of the item that it is about, or the path."""
    code: str
    """One of :data:`rye.deployment.targets.protocol.Code`, or the code of the error that occurred when reading the item."""
    message: str
    hint: str | None = None
    diff: tuple[str, ...] = ()

    def as_json(self) -> dict[str, object]:
        """All fields, by name, without an empty hint or diff."""
        row: dict[str, object] = {
            "item": self.item,
            "target": self.target,
            "field": self.field,
            "code": self.code,
            "message": self.message,
        }
        if self.hint is not None:
            row["hint"] = self.hint
        return {**row, "diff": list(self.diff)} if self.diff else row


class Write(Struct, frozen=True):
    """One file's new content; None: delete it. ``mode``: the mode of a shared file, which is kept."""

    path: str
    data: bytes | None
    executable: bool = False
    mode: int | None = None


class Checked(Struct, frozen=True):
    """One file or entry compared with what it should be."""

    path: str
    state: FileState
    item: str
    target: str
    differs: Differs | None = None
    stranger: str = ""
    """If the item does not give it: its path in the item's folder, which it is in all the same; a folder's ends in a slash."""

    def as_json(self) -> dict[str, str | None]:
        """All fields, by name."""
        return {
            "path": self.path,
            "state": self.state,
            "item": self.item,
            "target": self.target,
            "differs": self.differs,
        }

    def explained(self, command: str) -> tuple[str, str] | None:
        """What is wrong, and how to mend it, where that is short to say: no item gives the file, or one thing alone differs. None
        otherwise. ``command``: deploys the same."""
        if self.stranger:
            kind, hint = KINDS.get(self.item.partition(":")[0]), "Delete it."
            if kind is not None and kind.main_file is not None and is_safe_path(self.stranger):
                command = f"rye override new {self.item} --file {self.stranger} --add --content {self.path}"
                hint += f" `{command}` makes it one of them."
            return f"is among the files of {self.item}, which does not give it", hint
        if self.differs == "line-ends":
            return line_ends_explained(f"{command} --overwrite-edited {self.item}")
        if self.differs is None:
            return None
        return flag_explained(self.path, command, lost=self.differs == "executable-bit-lost")


class Kept(Struct, frozen=True):
    """A file that stays although its item is undeployed, and that Rye no longer manages."""

    path: str
    message: str
    """Why it stays."""


class Plan(Struct, frozen=True, kw_only=True):
    """What a run changes, and what it refuses."""

    changes: tuple[FileChange, ...]
    refused: tuple[Refused, ...]
    writes: tuple[Write, ...]
    folders: tuple[str, ...]
    """Folders to delete if they are empty."""
    state: State
    checked: tuple[Checked, ...]
    kept: tuple[Kept, ...] = ()
    """Files that Rye gives up."""
    own: tuple[FileRow, ...] = ()
    """The rows of the state that this user's Rye wrote or confirmed."""


def place_of(row_path: str) -> str:
    """Return the file of a row's path."""
    return row_path.partition("#")[0]


def key_of(row_path: str) -> tuple[str, ...]:
    """Return the key in a row's path, for a JSON file."""
    return tuple(row_path.partition("#/")[2].split("/"))


def is_entry(row: FileRow) -> bool:
    """Whether a row is about an entry of a shared file."""
    return "#" in row.path or is_shared_file(row.path)


def with_owners(wanted: Iterable[Wanted]) -> list[Wanted]:
    """Merge what several targets want: one value per path and item, from the first target, with all owners."""
    entries: dict[tuple[str, str], Wanted] = {}
    for one in wanted:
        key = (one.row_path, one.item)
        known = entries.get(key)
        entries[key] = one if known is None else replace(known, owners=(*known.owners, *one.owners))
    return list(entries.values())
