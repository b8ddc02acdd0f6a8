"""The state of a plan while it is built: the decisions so far, and the rules shared by whole files and entries. Pure.

Who owns a file:

* Only a row of the state file makes it ours. Anyone who can commit can write a row, so one that this user's Rye did
  not write here is only a *claim*: the file stays, unless it is exactly what is wanted.
* Several projects can deploy to the home folder. A row names them; no project changes what another one deployed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256

from msgspec import Struct
from msgspec.structs import replace

from rye.deployment.plan_values import (
    ChangeName,
    Checked,
    FileChange,
    FileState,
    Kept,
    OnDisk,
    Refused,
    Run,
    Wanted,
    Write,
)
from rye.deployment.state import FileRow, State
from rye.deployment.targets.protocol import Code
from rye.items.kinds import KINDS
from rye.permissions.comparing import unified

DIFF_LINES = 60
Disk = Callable[[str], OnDisk]
Key = tuple[str, str]
"""The path and the item of a row."""
Why = tuple[Code, str, str | None, tuple[str, ...]]
"""The code, message, hint and diff of a refusal."""


def _attached(path: str, main_file: str) -> str | None:
    """The path of an attached file in its item, of one that is deployed in a folder of skills; None for another file."""
    _, skills, rest = f"/{path}".partition("/skills/")
    _, slash, attached = rest.partition("/")
    return attached if skills and slash and attached != main_file else None


class Decision(Struct):
    """The decision about one file or entry."""

    change: ChangeName
    state: FileState
    refused: Why | None = None


class Ledger:
    """The input of one plan, and the lists that its parts fill."""

    def __init__(
        self,
        wanted: Sequence[Wanted],
        state: State,
        disk: Disk,
        run: Run,
        refused: Sequence[Refused],
        is_folder: Callable[[str], bool],
        claims: frozenset[Key],
    ) -> None:
        self.wanted = wanted
        self.state = state
        self.disk = disk
        self.run = run
        self.refused = list(refused)
        self.is_folder = is_folder
        self.claims = claims
        self.rows = {(row.path, row.item): row for row in state.files}
        self.owner = {row.path: row for row in state.files}
        self.held: set[Key] = {(one.item, one.target) for one in refused}
        self.changes: list[FileChange] = []
        self.checked: list[Checked] = []
        self.writes: list[Write] = []
        self.kept: list[Kept] = []
        self.new_rows: dict[Key, FileRow] = dict(self.rows)
        self.settled: set[Key] = set()
        """Rows that this run confirmed: the disk has what it wanted."""
        self.made: set[str] = set(state.made)

    # -- whose it is ---------------------------------------------------------------------------------------------------

    def is_claim(self, row: FileRow) -> bool:
        """Whether this user's Rye did not write the row, and the run does not overwrite the item."""
        return (row.path, row.item) in self.claims and row.item not in self.run.overwrite

    def others(self, row: FileRow) -> tuple[str, ...]:
        """Return the other projects that deployed the file to the home folder."""
        return tuple(name for name in row.projects if name != self.run.project) if self.run.project else ()

    def row_goes(self, row: FileRow) -> bool:
        """Whether this run removes an unwanted row: it concerns its items and targets, and nothing of it was refused."""
        if not self.run.concerns(row.item, (row.target,)) or (row.item, row.target) in self.held:
            return False
        if not self.run.project:
            return True
        if self.run.project in row.projects and self.others(row):
            self.new_rows[row.path, row.item] = replace(row, projects=self.others(row))  # only others still want it
        return row.projects == (self.run.project,) or (self.run.lets_go and not row.projects)

    # -- refusals ------------------------------------------------------------------------------------------------------

    def claimed(self, path: str, item: str) -> Why:
        """Return the refusal to change a file that is only claimed to be ours."""
        message = f"{path} is in .ai/deploy.lock, but your Rye did not write it here."
        hint = (
            f"`rye deploy --overwrite-edited {item}` replaces it if the item is still installed; otherwise delete it yourself. "
            "RYE_TRUST_LOCK=1 trusts .ai/deploy.lock."
        )
        return "deploy-conflict", message, hint, ()

    def of_others(self, path: str, item: str, row: FileRow) -> Why:
        """Return the refusal to change a file that other projects deployed."""
        names = " and ".join(self.others(row))
        message = (
            f"{path} was deployed by {names} ({row.item}@{row.version}), and {self.run.project} wants {item} there."
        )
        hint = f"Use the same version in all, or take it over with `rye deploy --scope user --overwrite-edited {item}`."
        return "deploy-conflict", message, hint, ()

    def drift(self, path: str, item: str, here: OnDisk, new: bytes | None) -> Why:
        """Return the refusal to change an edited file, with the diff from ``new`` to the file on disk."""
        name, _, identifier = item.partition(":")
        kind = KINDS.get(name)  # a row may be of a kind that this version does not know
        hint = f"`rye deploy --overwrite-edited {item}` discards the change."
        if kind is not None:
            command = kind.change_command(identifier)
            if kind.main_file is not None and (attached := _attached(path, kind.main_file)) is not None:
                command = f"rye override new {item} --file {attached} --replace --content {path}"
            hint = f"`{command}` keeps a change through upgrades; {hint}"
        return (
            "deploy-drift",
            f"{path} was edited since Rye wrote it.",
            hint,
            text_diff(new or b"", here.data, path) if here.kind == "file" else (),
        )

    def hold(self, one: Wanted, decision: Decision) -> None:
        """Record a decision's refusal, if any. It applies to the whole item, in every target of the file."""
        if decision.refused is None:
            return
        code, message, hint, diff = decision.refused
        for target in one.targets:
            if self.run.targets is None or target in self.run.targets:
                self.refused.append(
                    Refused(
                        item=one.item, target=target, field=one.path, code=code, message=message, hint=hint, diff=diff
                    )
                )
            self.held.add((one.item, target))

    def is_held(self, one: Wanted) -> bool:
        """Whether the item is refused in all targets of the file."""
        return all((one.item, target) in self.held for target in one.targets)

    def refuse(self, row: FileRow, why: Why) -> None:
        """Record the refusal to remove something."""
        code, message, hint, diff = why
        self.refused.append(
            Refused(item=row.item, target=row.target, field=row.path, code=code, message=message, hint=hint, diff=diff)
        )

    # -- rows ----------------------------------------------------------------------------------------------------------

    def row_target(self, one: Wanted) -> str:
        """Return the first target that wants it. A run limited to some targets keeps the row's existing target."""
        row = self.rows.get((one.row_path, one.item))
        if row is not None and self.run.targets is not None and row.target in one.targets:
            return row.target
        return one.owners[0][0]

    def add_row(self, one: Wanted, target: str, digest: str | None = None) -> None:
        """Add the row for a wanted file; ``digest``: the hash of what is ours, by default that of its data."""
        key = (one.row_path, one.item)
        old = self.rows.get(key)
        projects: tuple[str, ...] = ()
        if self.run.project:
            shared = self.others(old) if old is not None and one.item not in self.run.overwrite else ()
            projects = tuple(sorted({self.run.project, *shared}))
        self.settled.add(key)
        self.new_rows[key] = FileRow(
            path=one.row_path,
            item=one.item,
            target=target,
            sha256=digest or sha256(one.data).hexdigest(),
            mode="0755" if one.executable else "0644",
            version=one.version,
            item_sha256=one.item_sha256,
            customizations_sha256=one.customizations_sha256,
            adapter=dict(one.owners)[target],
            projects=projects,
        )

    def note_folders(self, path: str) -> None:
        """Record the missing folders above a path, which will be created."""
        folder = path.rpartition("/")[0]
        while folder and not self.is_folder(folder):
            self.made.add(f"{folder}/")
            folder = folder.rpartition("/")[0]

    def gone(self, row: FileRow) -> None:
        """Record that a row's file is removed."""
        self.new_rows.pop((row.path, row.item), None)
        self.changes.append(FileChange(row.path, "remove", row.item, row.version, row.target))

    def let_go(self, row: FileRow, why: Why) -> None:
        """Keep a file that should be removed but was edited, or is only claimed: give it up, or refuse."""
        if self.run.lets_go:
            self.new_rows.pop((row.path, row.item), None)
            self.kept.append(Kept(row.path, why[1]))
            return
        self.refuse(row, why)


def text_diff(new: bytes, here: bytes, path: str) -> tuple[str, ...]:
    """Return the diff from what Rye would write to the file on disk; empty if either is not text."""
    try:
        found = unified(new.decode(), here.decode(), f"rye/{path}", path)
    except UnicodeDecodeError:
        return ()
    return (*found[:DIFF_LINES], *(("…",) if len(found) > DIFF_LINES else ()))
