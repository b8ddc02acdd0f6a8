"""The part of a plan about shared files, in which Rye owns only one block or a few keys. Pure.

A file that cannot be read, or that has something else in place of our entry, is left alone. The plan then says what a
person can add by hand.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from hashlib import sha256

from msgspec import Struct, field
from msgspec.structs import replace

from rye.deployment import json_keys, markdown_blocks
from rye.deployment.json_keys import NotReadable
from rye.deployment.plan_ledger import Decision, Ledger, Why
from rye.deployment.plan_values import (
    ChangeName,
    Checked,
    FileChange,
    FileState,
    OnDisk,
    Wanted,
    Write,
    is_entry,
    key_of,
    place_of,
)
from rye.deployment.state import FileRow
from rye.deployment.targets.protocol import Code, Form
from rye.limits import DEPLOY


class _Shared(Struct, kw_only=True):
    """One shared file."""

    path: str
    here: OnDisk
    entries: list[Wanted] = field(default_factory=list)
    rows: list[FileRow] = field(default_factory=list)
    text: str | None = None
    """None: it cannot be read."""
    present: str | None = None
    """The existing block."""
    is_edited: bool = False
    """Whether the block is neither what we wrote nor what we would write."""

    @property
    def form(self) -> Form:
        if self.entries:
            return self.entries[0].form or "markdown"
        return "json" if any("#" in row.path for row in self.rows) else "markdown"

    @property
    def block_here(self) -> OnDisk:
        return OnDisk("file", (self.present or "").encode())


class Entries:
    """The entries of one plan: :meth:`decide` records refusals, :meth:`settle` records changes."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._files: list[_Shared] = []

    def decide(self) -> None:
        """Read the files that have or should have entries of ours, and record refusals."""
        ledger = self._ledger
        wanted = [one for one in ledger.wanted if one.form is not None]
        rows = [row for row in ledger.state.files if is_entry(row)]
        for path in sorted({one.path for one in wanted} | {place_of(row.path) for row in rows}):
            shared = _Shared(path=path, here=ledger.disk(path))
            shared.entries = sorted((one for one in wanted if one.path == path), key=lambda one: (one.key, one.item))
            shared.rows = [row for row in rows if place_of(row.path) == path]
            self._read(shared)
            self._files.append(shared)

    def settle(self) -> None:
        """Record the changes of everything that is not refused."""
        for shared in self._files:
            self._settle(shared)

    def _in_run(self, one: Wanted) -> bool:
        return self._ledger.run.concerns(one.item, one.targets)

    # -- reading -------------------------------------------------------------------------------------------------------

    def _read(self, shared: _Shared) -> None:
        in_run = [one for one in shared.entries if self._in_run(one)]
        here = shared.here
        try:
            if here.kind == "outside":
                raise NotReadable("its path contains a symbolic link")
            if here.kind == "other" or len(here.data) > DEPLOY.shared_bytes:
                raise NotReadable("it is not a regular file, or it is too large")
            shared.text = here.data.decode("utf-8")
            if shared.form == "markdown":
                self._read_block(shared, in_run)
            else:
                self._read_keys(shared, in_run)
        except (NotReadable, UnicodeDecodeError) as error:
            reason = str(error) if isinstance(error, NotReadable) else "it is not UTF-8"
            shared.text = None
            for one in in_run:
                code: Code = "deploy-outside" if here.kind == "outside" else "deploy-manual"
                said = f"{shared.path} was not changed: {reason}. Add this yourself:\n{snippet(one)}"
                self._ledger.hold(one, Decision("update", "unowned", (code, said, None, ())))

    def _read_block(self, shared: _Shared, in_run: Sequence[Wanted]) -> None:
        assert shared.text is not None
        ledger = self._ledger
        block = markdown_blocks.present(shared.text)
        shared.present = block
        written = {row.sha256 for row in shared.rows}
        believed = {row.sha256 for row in shared.rows if not ledger.is_claim(row)}
        new = markdown_blocks.block(_lines(shared.entries))
        given_up = not ledger.run.overwrite.isdisjoint(one.item for one in in_run)
        if block not in (None, new) and _sha(block or "") not in believed and not given_up:
            shared.is_edited = True
            for one in in_run:
                if _sha(block or "") in written:
                    refused = ledger.claimed(shared.path, one.item)
                elif written:
                    refused = ledger.drift(shared.path, one.item, shared.block_here, new.encode())
                else:
                    said = f"{shared.path} already has a Rye block, but .ai/deploy.lock does not list it."
                    hint = f"Delete the block and run {one.deploying} again, or leave the item out: {one.exclusion}."
                    refused = "deploy-conflict", said, hint, ()
                ledger.hold(one, Decision("update", "edited" if written else "unowned", refused))
        size = len(markdown_blocks.block(()).encode())
        for one in shared.entries:
            size += len(one.data) + 1
            if size > DEPLOY.block_bytes and self._in_run(one):
                message = f"The block in {shared.path} would be larger than {DEPLOY.block_bytes:,} bytes."
                hint = f"Leave some knowledge out with `exclude`, or shorten the description of {one.item}."
                ledger.hold(one, Decision("update", "stale", ("deploy-too-large", message, hint, ())))

    def _read_keys(self, shared: _Shared, in_run: Sequence[Wanted]) -> None:
        assert shared.text is not None
        ledger = self._ledger
        if shared.here.kind == "missing":
            shared.text = "{\n}\n"
        for one in in_run:
            value = json_keys.value_at(shared.text, one.key)
            row = ledger.rows.get((one.row_path, one.item))
            new = one.data.decode()
            shown = f"{shared.path} {'.'.join(one.key)}"
            if value is None:
                json_keys.put(shared.text, one.key, new)  # raises if the key cannot be added
                continue
            if value == new:
                continue
            if row is None:
                message = f"{shown} already exists, and Rye did not write it."
                hint = f"Rename it and run {one.deploying} again, or leave the item out: {one.exclusion}."
                why: Why = ("deploy-conflict", message, hint, ())
                ledger.hold(one, Decision("update", "unowned", why))
            elif ledger.others(row) and one.item not in ledger.run.overwrite:
                ledger.hold(one, Decision("update", "stale", ledger.of_others(shown, one.item, row)))
            elif _sha(value) == row.sha256:
                if ledger.is_claim(row):
                    ledger.hold(one, Decision("update", "stale", ledger.claimed(shown, one.item)))
            elif one.item not in ledger.run.overwrite:
                here = OnDisk("file", value.encode())
                ledger.hold(one, Decision("update", "edited", ledger.drift(shown, one.item, here, one.data)))

    # -- writing -------------------------------------------------------------------------------------------------------

    def _settle(self, shared: _Shared) -> None:
        for one in shared.entries:
            if self._in_run(one):
                self._check(shared, one)
        if shared.text is None:
            return
        ledger = self._ledger
        keep = [one for one in shared.entries if self._keeps(one)]
        if shared.form == "markdown":
            text = self._settle_block(shared, keep, shared.text)
        else:
            text = self._settle_keys(shared, keep, shared.text)
        if text == shared.text and shared.here.kind == "file":
            return
        is_empty = not text.strip("\ufeff \t\r\n{}")
        if is_empty and shared.path in ledger.made:
            if shared.here.kind == "file":
                ledger.writes.append(Write(shared.path, None))
            return
        if shared.here.kind == "missing":
            if not keep:
                return
            ledger.made.add(shared.path)
            ledger.note_folders(shared.path)
        mode = shared.here.mode if shared.here.kind == "file" else None
        ledger.writes.append(Write(shared.path, text.encode(), mode=mode))

    def _check(self, shared: _Shared, one: Wanted) -> None:
        state: FileState = "ok"
        row = self._ledger.rows.get((one.row_path, one.item))
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
        self._ledger.checked.append(Checked(one.row_path, state, one.item, self._ledger.row_target(one)))

    def _keeps(self, one: Wanted) -> bool:
        """Whether the entry should exist after this run: this run wants it, or it existed before and is still wanted."""
        if self._in_run(one) and not self._ledger.is_held(one):
            return True
        return (one.row_path, one.item) in self._ledger.rows

    def _settle_block(self, shared: _Shared, keep: Sequence[Wanted], text: str) -> str:
        ledger = self._ledger
        unwanted = [row for row in shared.rows if row.item not in {one.item for one in keep}]
        going = [row for row in unwanted if ledger.row_goes(row)]
        if shared.is_edited:
            if not keep:
                for row in going:
                    is_claimed = _sha(shared.present or "") == row.sha256
                    drift = ledger.drift(row.path, row.item, shared.block_here, None)
                    ledger.let_go(row, ledger.claimed(row.path, row.item) if is_claimed else drift)
            return text
        staying = [row for row in unwanted if row not in going]
        for row in going:
            ledger.gone(row)
        lines = [*_lines(keep), *_lines_of(staying, shared.present)]
        if not lines:
            return markdown_blocks.take_out(text) if going else text
        block = markdown_blocks.block(sorted(lines) if staying else lines)
        for row in staying:
            if (row.path, row.item) in ledger.new_rows:
                kept = ledger.new_rows[row.path, row.item]
                ledger.new_rows[row.path, row.item] = replace(kept, sha256=_sha(block))
        name: ChangeName = "unchanged" if block == shared.present else "update" if shared.present else "create"
        for one in keep:
            target, old = ledger.row_target(one), ledger.rows.get((one.path, one.item))
            if old is not None and not self._in_run(one):
                ledger.new_rows[one.path, one.item] = replace(old, sha256=_sha(block))
                continue
            ledger.changes.append(FileChange(one.path, name, one.item, one.version, target))
            ledger.add_row(one, target, _sha(block))
        return markdown_blocks.put(text, block)

    def _settle_keys(self, shared: _Shared, keep: Sequence[Wanted], text: str) -> str:
        ledger = self._ledger
        wanted = {(one.row_path, one.item) for one in keep}
        for row in shared.rows:
            if (row.path, row.item) in wanted or not ledger.row_goes(row):
                continue
            key = key_of(row.path)
            value = json_keys.value_at(text, key)
            if value is not None and _sha(value) != row.sha256:
                ledger.let_go(row, ledger.drift(row.path, row.item, OnDisk("file", value.encode()), None))
                continue
            if value is not None and ledger.is_claim(row):
                ledger.let_go(row, ledger.claimed(row.path, row.item))
                continue
            text = json_keys.take_out(text, key)
            ledger.gone(row)
            for number in range(len(key) - 1, 0, -1):
                above = f"{shared.path}#/{'/'.join(key[:number])}"
                if above in ledger.made and json_keys.is_empty_object(text, key[:number]):
                    text = json_keys.take_out(text, key[:number])
                    ledger.made.discard(above)
        for one in keep:
            if ledger.is_held(one) or not self._in_run(one):
                continue
            before = json_keys.value_at(text, one.key)
            new = one.data.decode()
            text, made = json_keys.put(text, one.key, new)
            if made is not None:
                ledger.made.add(f"{shared.path}#/{'/'.join(made)}")
            name: ChangeName = "create" if before is None else "unchanged" if before == new else "update"
            target = ledger.row_target(one)
            ledger.changes.append(FileChange(one.row_path, name, one.item, one.version, target))
            ledger.add_row(one, target)
        return text


def snippet(one: Wanted) -> str:
    """Return the text to add by hand."""
    text = one.data.decode()
    for name in reversed(one.key if one.form == "json" else ()):
        text = f"{{{json.dumps(name)}: {text}}}"
    return text if one.form == "json" else markdown_blocks.block([text])


def _lines(entries: Iterable[Wanted]) -> list[str]:
    """Return the lines of a block, without duplicates."""
    return list(dict.fromkeys(one.data.decode() for one in entries))


def _lines_of(rows: Iterable[FileRow], block: str | None) -> list[str]:
    """Return the existing lines of these rows, found by the file that each line names."""
    ends = tuple(f"/{row.item.partition(':')[2]}.md`" for row in rows)
    return [line for line in (block or "").split("\n") if any(end in line for end in ends)]


def _sha(text: str) -> str:
    return sha256(text.encode()).hexdigest()
