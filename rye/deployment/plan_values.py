"""The inputs and results of a plan (:mod:`rye.deployment.plan`)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from rye.deployment.state import FileRow, State
from rye.deployment.targets.protocol import Form
from rye.project.agent_programs import is_shared_file

ChangeName = Literal["create", "update", "remove", "unchanged"]
FileState = Literal["ok", "missing", "edited", "stale", "unowned"]


class Wanted(Struct, frozen=True):
    """One file, or one entry of a file of somebody else's, that should be there."""

    path: str
    """Of an entry: the file's."""
    data: bytes
    """Of an entry: its text."""
    executable: bool
    item: str
    version: str
    item_sha256: str
    customizations_sha256: str
    owners: tuple[tuple[str, str], ...]
    """Targets that want it, each with its adapter, in the table's order."""
    form: Form | None = None
    """None: the file is ours as a whole."""
    key: tuple[str, ...] = ()

    @property
    def targets(self) -> frozenset[str]:
        return frozenset(name for name, _ in self.owners)

    @property
    def row_path(self) -> str:
        """The path of its row: with the key's pointer where it is a key."""
        return f"{self.path}#/{'/'.join(self.key)}" if self.form == "json" else self.path


class OnDisk(Struct, frozen=True):
    """What is at one path."""

    kind: Literal["missing", "file", "other", "outside"]
    """``other``: a folder, a device, or a file in the place of a folder. ``outside``: there is a link on the way."""
    data: bytes = b""
    mode: int = 0o644
    place: tuple[int, int] | None = None
    """Of a file: where its file system keeps it, so that two names of one file are known."""

    @property
    def executable(self) -> bool:
        return bool(self.mode & 0o100)


class Run(Struct, frozen=True):
    """How far one run goes."""

    targets: frozenset[str] | None = None
    """None: all."""
    items: frozenset[str] | None = None
    """Labels; None: all."""
    adopt: frozenset[str] = frozenset()
    """Paths of files, or of folders with files."""
    overwrite: frozenset[str] = frozenset()
    """Labels of items whose edited files are given up."""
    lets_go: bool = False
    """Whether edited files of what goes become somebody else's (``rye undeploy``); else they are refused."""
    project: str | None = None
    """In the home folder: the project that deploys there, as one of several."""

    def concerns(self, item: str, targets: Iterable[str]) -> bool:
        """Whether the run is about the item in any of these targets."""
        return (self.items is None or item in self.items) and (
            self.targets is None or not self.targets.isdisjoint(targets)
        )


class FileChange(Struct, frozen=True):
    """One row of the plan."""

    path: str
    change: ChangeName
    item: str
    version: str
    target: str

    def as_json(self) -> dict[str, str]:
        return {
            "path": self.path,
            "change": self.change,
            "item": self.item,
            "version": self.version,
            "target": self.target,
        }


class Refused(Struct, frozen=True):
    """Why an item, or one of its files, is left alone in a target."""

    item: str
    target: str
    field: str
    """What of the item, or the path, it is about."""
    code: str
    """One of :data:`rye.deployment.targets.protocol.Code`, or the code of the error that keeps the item from being read."""
    message: str
    hint: str | None = None
    diff: tuple[str, ...] = ()

    def as_json(self) -> dict[str, object]:
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
    """One file's new content; None: it goes. ``mode``: of a file of somebody else's, which stays."""

    path: str
    data: bytes | None
    executable: bool = False
    mode: int | None = None


class Checked(Struct, frozen=True):
    """One file against what it should be."""

    path: str
    state: FileState
    item: str
    target: str

    def as_json(self) -> dict[str, str]:
        return {"path": self.path, "state": self.state, "item": self.item, "target": self.target}


class Plan(Struct, frozen=True):
    """What a run does, and what it leaves alone."""

    changes: tuple[FileChange, ...]
    refused: tuple[Refused, ...]
    writes: tuple[Write, ...]
    folders: tuple[str, ...]
    """Those that go where they are empty."""
    state: State
    checked: tuple[Checked, ...]
    kept: tuple[str, ...] = ()
    """Edited files that are somebody else's from now on."""
    own: tuple[FileRow, ...] = ()
    """Rows of the state that this user's rye stands for."""


def place_of(row_path: str) -> str:
    """The file that a row is about."""
    return row_path.partition("#")[0]


def key_of(row_path: str) -> tuple[str, ...]:
    """The key that a row of a JSON file is about."""
    return tuple(row_path.partition("#/")[2].split("/"))


def is_entry(row: FileRow) -> bool:
    """Whether a row is about a part of a file of somebody else's."""
    return "#" in row.path or is_shared_file(row.path)


def with_owners(wanted: Iterable[Wanted]) -> list[Wanted]:
    """One row for what several targets want alike: the same path of the same item, by whoever comes first."""
    found: dict[tuple[str, str], Wanted] = {}
    for one in wanted:
        key = (one.row_path, one.item)
        known = found.get(key)
        found[key] = one if known is None else replace(known, owners=(*known.owners, *one.owners))
    return list(found.values())
