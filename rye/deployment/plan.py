"""What a deploy changes: what is wanted, what the state file says is ours, and what is on disk, compared. Pure.

* A file is ours by the state file alone. One that is not ours is never changed, whatever is in it (``deploy-conflict``); with
  ``--adopt`` it becomes ours where it has exactly the wanted bytes.
* One of ours with other bytes than we wrote was edited (``deploy-drift``), and stays unless the item was named with
  ``--overwrite-edited``. One that has the wanted bytes is in order, whoever wrote them.
* A refusal is for one item in one target: of these, nothing is written. What is there of them stays.
* A file that nothing asks for any longer is deleted if it still has the bytes that we wrote.
* In files of somebody else's only our block or key is looked at and changed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256

from msgspec import Struct, field
from msgspec.structs import replace

from rye.deployment import json_keys, markdown_blocks
from rye.deployment.json_keys import NotReadable
from rye.deployment.plan_values import (
    ChangeName,
    Checked,
    FileChange,
    FileState,
    OnDisk,
    Plan,
    Refused,
    Run,
    Wanted,
    Write,
    is_entry,
    key_of,
    place_of,
)
from rye.deployment.state import Allowed, FileRow, State, made_by_us
from rye.deployment.targets.protocol import Code, Form
from rye.installation.comparing import unified
from rye.limits import DEPLOY

DIFF_LINES = 60
Disk = Callable[[str], OnDisk]
Pair = tuple[str, str]


class _Decision(Struct):
    change: ChangeName
    state: FileState
    refused: tuple[Code, str, str | None, tuple[str, ...]] | None = None


def make_plan(
    wanted: Sequence[Wanted],
    state: State,
    disk: Disk,
    run: Run,
    refused: Sequence[Refused] = (),
    allowed: Iterable[Allowed] = (),
    is_folder: Callable[[str], bool] = lambda _: False,
) -> Plan:
    """Compare. ``state``: with rows that are ours only. ``refused``: what is refused already; of such an item and target nothing
    is in ``wanted``. ``allowed``: what the new state remembers. ``is_folder``: whether a folder is there already."""
    return _Planning(wanted, state, disk, run, refused, is_folder).plan(tuple(allowed))


class _Planning:
    """One comparison; its parts fill the same lists."""

    def __init__(
        self,
        wanted: Sequence[Wanted],
        state: State,
        disk: Disk,
        run: Run,
        refused: Sequence[Refused],
        is_folder: Callable[[str], bool],
    ) -> None:
        self.wanted = wanted
        self.state = state
        self.disk = disk
        self.run = run
        self.refused = list(refused)
        self.is_folder = is_folder
        self.rows = {(row.path, row.item): row for row in state.files}
        self.owner = {row.path: row for row in state.files}
        self.held: set[Pair] = {(one.item, one.target) for one in refused}
        self.changes: list[FileChange] = []
        self.checked: list[Checked] = []
        self.writes: list[Write] = []
        self.kept: list[str] = []
        self.new_rows: dict[tuple[str, str], FileRow] = dict(self.rows)
        self.made: set[str] = set(state.made)

    def plan(self, allowed: tuple[Allowed, ...]) -> Plan:
        files = [one for one in self.wanted if one.form is None and self.in_run(one.item, one.targets)]
        entries = [one for one in self.wanted if one.form is not None]
        decided = {one.path: self.file_decision(one) for one in files}
        for one in files:
            self.hold(one, decided[one.path])
        shared = self.shared_files(entries)
        for one in files:
            self.settle(one, decided[one.path])
        for file in shared:
            self.settle_shared(file)
        self.remove_unwanted()
        rows = tuple(sorted(self.new_rows.values()))
        made = tuple(sorted(path for path in self.made if made_by_us(path, rows)))
        gone = tuple(path.rstrip("/") for path in sorted(self.made - set(made)) if path.endswith("/"))
        return Plan(
            tuple(sorted(self.changes, key=lambda c: (c.path, c.item))),
            tuple(sorted(set(self.refused), key=lambda r: (r.item, r.target, r.field, r.code))),
            tuple(self.writes),
            gone,
            State(rows, tuple(sorted(allowed)), made),
            tuple(sorted(self.checked, key=lambda c: (c.path, c.item))),
            tuple(self.kept),
        )

    # -- whole files ---------------------------------------------------------------------------------------------------

    def in_run(self, item: str, targets: Iterable[str]) -> bool:
        run = self.run
        return (run.items is None or item in run.items) and (run.targets is None or not run.targets.isdisjoint(targets))

    def file_decision(self, one: Wanted) -> _Decision:
        here, row = self.disk(one.path), self.owner.get(one.path)
        if here.kind == "missing":
            return _Decision("create", "missing")
        if here.kind == "outside":
            message = f"{one.path} leads through a link; Rye writes only to real files and folders of the project."
            return _Decision("create", "unowned", ("deploy-outside", message, "Put a real folder there.", ()))
        same = here.kind == "file" and here.data == one.data and here.executable == one.executable
        if row is None:
            return _Decision("unchanged", "unowned", self.conflict(one, here, same=same))
        if same:
            return _Decision("unchanged", "ok")
        if here.kind == "file" and sha256(here.data).hexdigest() == row.sha256:
            return _Decision("update", "stale")
        if one.item in self.run.overwrite and here.kind == "file":
            return _Decision("update", "edited")
        return _Decision("update", "edited", self.drift(one.path, one.item, here, one.data))

    def conflict(
        self, one: Wanted, here: OnDisk, *, same: bool
    ) -> tuple[Code, str, str | None, tuple[str, ...]] | None:
        if same and any(one.path == path or one.path.startswith(f"{path}/") for path in self.run.adopt):
            return None
        message = f"{one.path} is there already, and Rye did not write it."
        if same:
            hint = f"It is the same, so `rye deploy --adopt {one.path}` takes it over."
        elif here.kind == "file":
            hint = f"Move it away, or leave {one.item} out with `exclude`."
        else:
            hint = "It is no regular file: move it away."
        return "deploy-conflict", message, hint, ()

    def drift(
        self, path: str, item: str, here: OnDisk, new: bytes | None
    ) -> tuple[Code, str, str | None, tuple[str, ...]]:
        kind, _, identifier = item.partition(":")
        message = f"{path} was edited since Rye wrote it."
        hint = (
            f"`rye override new {identifier}` keeps the change through upgrades; " if kind not in _NO_OVERRIDE else ""
        )
        hint += f"`rye deploy --overwrite-edited {item}` gives it up."
        return (
            "deploy-drift",
            message,
            hint[0].upper() + hint[1:] if not hint.startswith("`") else hint,
            (_diff(new or b"", here.data, path) if here.kind == "file" else ()),
        )

    def hold(self, one: Wanted, decision: _Decision) -> None:
        """A refusal of one file is one of the item, in every target that the file is for."""
        if decision.refused is None:
            return
        code, message, hint, diff = decision.refused
        for target in one.targets:
            if self.run.targets is None or target in self.run.targets:
                self.refused.append(Refused(one.item, target, one.path, code, message, hint, diff))
            self.held.add((one.item, target))

    def is_held(self, item: str, targets: Iterable[str]) -> bool:
        return all((item, target) in self.held for target in targets)

    def settle(self, one: Wanted, decision: _Decision) -> None:
        target = self.row_target(one)
        self.checked.append(Checked(one.path, decision.state, one.item, target))
        if self.is_held(one.item, one.targets):
            return
        self.changes.append(FileChange(one.path, decision.change, one.item, one.version, target))
        for key in [key for key in self.new_rows if key[0] == one.path]:
            del self.new_rows[key]
        self.add_row(one, target)
        if decision.change != "unchanged":
            self.writes.append(Write(one.path, one.data, one.executable))
            self.note_folders(one.path)

    def row_target(self, one: Wanted) -> str:
        """The first target that wants it; a limited run leaves a row with the target that it has."""
        row = self.rows.get((one.row_path, one.item))
        if row is not None and self.run.targets is not None and row.target in one.targets:
            return row.target
        return one.owners[0][0]

    def add_row(self, one: Wanted, target: str, digest: str | None = None) -> None:
        adapter = dict(one.owners)[target]
        self.new_rows[one.row_path, one.item] = FileRow(
            path=one.row_path,
            item=one.item,
            target=target,
            sha256=digest or sha256(one.data).hexdigest(),
            mode="0755" if one.executable else "0644",
            version=one.version,
            item_sha256=one.item_sha256,
            customizations_sha256=one.customizations_sha256,
            adapter=adapter,
        )

    def note_folders(self, path: str) -> None:
        folder = path.rpartition("/")[0]
        while folder and not self.is_folder(folder):
            self.made.add(f"{folder}/")
            folder = folder.rpartition("/")[0]

    # -- files of somebody else's --------------------------------------------------------------------------------------

    def shared_files(self, entries: Sequence[Wanted]) -> list[_Shared]:
        """The files with entries of ours, wanted or written before; refusals are noted."""
        paths = sorted(
            {one.path for one in entries} | {place_of(row.path) for row in self.state.files if is_entry(row)}
        )
        found = []
        for path in paths:
            shared = _Shared(path, self.disk(path))
            shared.entries = sorted((one for one in entries if one.path == path), key=lambda one: (one.key, one.item))
            shared.rows = [row for row in self.state.files if place_of(row.path) == path]
            self.read_shared(shared)
            found.append(shared)
        return found

    def read_shared(self, shared: _Shared) -> None:
        in_run = [one for one in shared.entries if self.in_run(one.item, one.targets)]
        here = shared.here
        try:
            if here.kind == "outside":
                raise NotReadable("it leads through a link")
            if here.kind == "other" or len(here.data) > DEPLOY.shared_bytes:
                raise NotReadable("it is no regular file of a sensible size")
            shared.text = here.data.decode("utf-8")
            if shared.form == "markdown":
                self.read_block(shared, in_run)
            else:
                self.read_keys(shared, in_run)
        except (NotReadable, UnicodeDecodeError) as error:
            reason = str(error) if isinstance(error, NotReadable) else "it is not UTF-8"
            shared.text = None
            for one in in_run:
                code: Code = "deploy-outside" if here.kind == "outside" else "deploy-manual"
                said = f"{shared.path} is left alone: {reason}. Put this into it yourself:\n{snippet(one)}"
                self.hold(one, _Decision("update", "unowned", (code, said, None, ())))

    def read_block(self, shared: _Shared, in_run: Sequence[Wanted]) -> None:
        assert shared.text is not None
        block = markdown_blocks.present(shared.text)
        shared.present = block
        written = {row.sha256 for row in shared.rows}
        new = markdown_blocks.block(_lines(shared.entries))
        given_up = not self.run.overwrite.isdisjoint(one.item for one in in_run)
        if block not in (None, new) and _sha(block or "") not in written and not given_up:
            shared.is_edited = True
            for one in in_run:
                where = OnDisk("file", (block or "").encode())
                refused = (
                    self.drift(shared.path, one.item, where, new.encode())
                    if written
                    else self.conflict(one, where, same=False)
                )
                self.hold(one, _Decision("update", "edited" if written else "unowned", refused))
        size = len(markdown_blocks.block(()).encode())
        for one in shared.entries:
            size += len(one.data) + 1
            if size > DEPLOY.block_bytes and self.in_run(one.item, one.targets):
                message = f"The block in {shared.path} would grow beyond {DEPLOY.block_bytes:,} bytes."
                hint = f"Leave some knowledge out with `exclude`, or a shorter description helps: {one.item}."
                self.hold(one, _Decision("update", "stale", ("deploy-too-large", message, hint, ())))

    def read_keys(self, shared: _Shared, in_run: Sequence[Wanted]) -> None:
        assert shared.text is not None
        if shared.here.kind == "missing":
            shared.text = "{\n}\n"
        for one in in_run:
            value = json_keys.value_at(shared.text, one.key)
            row = self.rows.get((one.row_path, one.item))
            new = one.data.decode()
            shown = f"{shared.path} {'.'.join(one.key)}"
            if value is None:
                json_keys.put(shared.text, one.key, new)  # whether it can be put in at all
            elif value != new and row is None:
                said = (f"{shown} is there already, and Rye did not write it.", "Rename it, or leave the item out.")
                self.hold(one, _Decision("update", "unowned", ("deploy-conflict", *said, ())))
            elif value != new and row is not None and _sha(value) != row.sha256 and one.item not in self.run.overwrite:
                where = OnDisk("file", value.encode())
                self.hold(one, _Decision("update", "edited", self.drift(shown, one.item, where, one.data)))

    def settle_shared(self, shared: _Shared) -> None:
        for one in shared.entries:
            if self.in_run(one.item, one.targets):
                self.check_entry(shared, one)
        if shared.text is None:
            return
        before = shared.text if shared.here.kind == "file" else None
        text = shared.text
        keep = [one for one in shared.entries if self.keeps(one)]
        if shared.form == "markdown":
            text = self.settle_block(shared, keep, text)
        else:
            text = self.settle_keys(shared, keep, text)
        if text == (before if before is not None else shared.text) and shared.here.kind == "file":
            return
        is_empty = not text.strip("\ufeff \t\r\n{}")
        if is_empty and shared.path in self.made:
            if shared.here.kind == "file":
                self.writes.append(Write(shared.path, None))
            return
        if shared.here.kind == "missing":
            if not keep:
                return
            self.made.add(shared.path)
            self.note_folders(shared.path)
        mode = shared.here.mode if shared.here.kind == "file" else None
        self.writes.append(Write(shared.path, text.encode(), mode=mode))

    def check_entry(self, shared: _Shared, one: Wanted) -> None:
        state: FileState = "ok"
        row = self.rows.get((one.row_path, one.item))
        if shared.text is None:
            state = "unowned"
        elif one.form == "markdown":
            if shared.present is None or row is None:
                state = "missing" if shared.present is None or shared.rows else "unowned"
            elif one.data.decode() not in shared.present.split("\n"):
                state = "stale" if _sha(shared.present) == row.sha256 else "edited"
            elif _sha(shared.present) != row.sha256:
                state = "edited"
        else:
            value = json_keys.value_at(shared.text, one.key)
            if value is None:
                state = "missing"
            elif row is None:
                state = "unowned"
            elif value != one.data.decode():
                state = "stale" if _sha(value) == row.sha256 else "edited"
        self.checked.append(Checked(one.row_path, state, one.item, self.row_target(one)))

    def keeps(self, one: Wanted) -> bool:
        """Whether the entry is to be there after this run: it is wanted in it, or was there before and is wanted at all."""
        if self.in_run(one.item, one.targets) and not self.is_held(one.item, one.targets):
            return True
        return (one.row_path, one.item) in self.rows

    def settle_block(self, shared: _Shared, keep: Sequence[Wanted], text: str) -> str:
        going = [row for row in shared.rows if row.item not in {one.item for one in keep}]
        staying = [row for row in going if not self.row_goes(row)]
        going = [row for row in going if row not in staying]
        if shared.is_edited:
            if not keep:
                for row in going:
                    self.let_go(row, OnDisk("file", (shared.present or "").encode()))
            return text
        for row in going:
            self.gone(row)
        lines = [*_lines(keep), *_lines_of(staying, shared.present)]
        if not lines:
            return markdown_blocks.take_out(text) if going else text
        block = markdown_blocks.block(sorted(lines) if staying else lines)
        for row in staying:
            self.new_rows[row.path, row.item] = replace(row, sha256=_sha(block))
        name: ChangeName = "unchanged" if block == shared.present else "update" if shared.present else "create"
        for one in keep:
            target, old = self.row_target(one), self.rows.get((one.path, one.item))
            if old is not None and not self.in_run(one.item, one.targets):
                self.new_rows[one.path, one.item] = replace(old, sha256=_sha(block))
                continue
            self.changes.append(FileChange(one.path, name, one.item, one.version, target))
            self.add_row(one, target, _sha(block))
        return markdown_blocks.put(text, block)

    def settle_keys(self, shared: _Shared, keep: Sequence[Wanted], text: str) -> str:
        wanted = {(one.row_path, one.item) for one in keep}
        for row in shared.rows:
            if (row.path, row.item) in wanted or not self.row_goes(row):
                continue
            key = key_of(row.path)
            value = json_keys.value_at(text, key)
            if value is not None and _sha(value) != row.sha256:
                self.let_go(row, OnDisk("file", value.encode()))
                continue
            text = json_keys.take_out(text, key)
            self.gone(row)
            for number in range(len(key) - 1, 0, -1):
                above = f"{shared.path}#/{'/'.join(key[:number])}"
                if above in self.made and json_keys.is_empty_object(text, key[:number]):
                    text = json_keys.take_out(text, key[:number])
                    self.made.discard(above)
        for one in keep:
            if self.is_held(one.item, one.targets):
                continue
            if not self.in_run(one.item, one.targets):
                continue
            before = json_keys.value_at(text, one.key)
            new = one.data.decode()
            text, made = json_keys.put(text, one.key, new)
            if made is not None:
                self.made.add(f"{shared.path}#/{'/'.join(made)}")
            name: ChangeName = "create" if before is None else "unchanged" if before == new else "update"
            target = self.row_target(one)
            self.changes.append(FileChange(one.row_path, name, one.item, one.version, target))
            self.add_row(one, target)
        return text

    # -- what goes -----------------------------------------------------------------------------------------------------

    def row_goes(self, row: FileRow) -> bool:
        """Whether this run takes away what nothing wants: of its items and targets, and not of what it refused."""
        return self.run.removes and self.in_run(row.item, (row.target,)) and (row.item, row.target) not in self.held

    def remove_unwanted(self) -> None:
        wanted = {one.path for one in self.wanted if one.form is None}
        for row in self.state.files:
            if is_entry(row) or row.path in wanted:
                continue
            here = self.disk(row.path)
            goes = self.row_goes(row)
            if self.in_run(row.item, (row.target,)):
                edited = here.kind != "missing" and sha256(here.data).hexdigest() != row.sha256
                self.checked.append(Checked(row.path, "edited" if edited else "stale", row.item, row.target))
            if not goes:
                continue
            if here.kind == "missing":
                self.gone(row, "remove")
            elif here.kind == "outside":
                message = f"{row.path} leads through a link; what is behind it stays."
                self.refused.append(Refused(row.item, row.target, row.path, "deploy-outside", message))
                del self.new_rows[row.path, row.item]
            elif here.kind == "file" and (
                sha256(here.data).hexdigest() == row.sha256 or row.item in self.run.overwrite
            ):
                self.gone(row)
                self.writes.append(Write(row.path, None))
            else:
                self.let_go(row, here)

    def gone(self, row: FileRow, change: ChangeName = "remove") -> None:
        self.new_rows.pop((row.path, row.item), None)
        self.changes.append(FileChange(row.path, change, row.item, row.version, row.target))

    def let_go(self, row: FileRow, here: OnDisk) -> None:
        """An edited file or entry of what goes."""
        if self.run.lets_go:
            self.new_rows.pop((row.path, row.item), None)
            self.kept.append(row.path)
            return
        code, message, hint, diff = self.drift(row.path, row.item, here, None)
        self.refused.append(Refused(row.item, row.target, row.path, code, message, hint, diff))


class _Shared(Struct):
    """One file of somebody else's."""

    path: str
    here: OnDisk
    entries: list[Wanted] = field(default_factory=list)
    rows: list[FileRow] = field(default_factory=list)
    text: str | None = None
    """None: it cannot be read."""
    present: str | None = None
    """The block that is there."""
    is_edited: bool = False
    """Whether that is neither what we wrote nor what we would write."""

    @property
    def form(self) -> Form:
        if self.entries:
            return self.entries[0].form or "markdown"
        return "json" if any("#" in row.path for row in self.rows) else "markdown"


_NO_OVERRIDE = ("skill", "formula", "tool", "bundle")


def snippet(one: Wanted) -> str:
    """What a person would put in by hand."""
    text = one.data.decode()
    for name in reversed(one.key if one.form == "json" else ()):
        text = f"{{{json.dumps(name)}: {text}}}"
    return text if one.form == "json" else markdown_blocks.block([text])


def _lines(entries: Iterable[Wanted]) -> list[str]:
    """The lines of a block, each item once."""
    return list(dict.fromkeys(one.data.decode() for one in entries))


def _lines_of(rows: Iterable[FileRow], block: str | None) -> list[str]:
    """The lines that are there for these rows, found by the file that each names."""
    ends = tuple(f"/{row.item.partition(':')[2]}.md`" for row in rows)
    return [line for line in (block or "").split("\n") if any(end in line for end in ends)]


def _sha(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def _diff(new: bytes, here: bytes, path: str) -> tuple[str, ...]:
    """From what Rye would write to what is there; nothing for what is no text."""
    try:
        found = unified(new.decode(), here.decode(), f"rye/{path}", path)
    except UnicodeDecodeError:
        return ()
    return (*found[:DIFF_LINES], *(("…",) if len(found) > DIFF_LINES else ()))
