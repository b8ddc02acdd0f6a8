"""Plans a deploy: compares what is wanted, what the state file says is ours, and what is on disk. Pure.

* Only the state file makes a file ours. Other files are never changed, whatever they contain (``deploy-conflict``);
  ``--adopt`` makes a file ours if it has exactly the wanted bytes.
* A file of ours with bytes that we did not write was edited (``deploy-drift``). It stays unless ``--overwrite-edited``
  names the item. A file with the wanted bytes is fine, no matter who wrote it.
* A refusal applies to one item in one target: nothing is written for it, and its existing files stay.
* A file that is no longer needed is deleted if it still has the bytes that we wrote.
* A file in the folder of a deployed skill that no item gives is not as it should be: programs take it for a part of the skill,
  and a script of the skill may load it. It stays, since Rye did not write it.
* In other people's files, only our block or key is read and changed (:mod:`rye.deployment.plan_entries`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from hashlib import sha256

from rye.deployment.plan_entries import Entries
from rye.deployment.plan_ledger import Decision, Disk, Key, Ledger, Why
from rye.deployment.plan_values import (
    Checked,
    Differs,
    FileChange,
    FileState,
    OnDisk,
    Plan,
    Refused,
    Run,
    Wanted,
    Write,
    is_entry,
)
from rye.deployment.state import Allowed, FileRow, State, made_by_us
from rye.items.kinds import KINDS
from rye.text.display import visible
from rye.verified.on_disk import other_line_ends

Below = Callable[[str], Mapping[str, tuple[int, int]]]
"""Everything in a folder and the folders below it, by path, each with device and inode."""


def make_plan(
    wanted: Sequence[Wanted],
    state: State,
    disk: Disk,
    run: Run,
    refused: Sequence[Refused] = (),
    allowed: Iterable[Allowed] = (),
    is_folder: Callable[[str], bool] = lambda _: False,
    claims: frozenset[Key] = frozenset(),
    below: Below = lambda _: {},
) -> Plan:
    """Return the plan.

    ``state``: only rows that adapters could write; ``refused``: pairs of item and target already refused, of which nothing is
    in ``wanted``; ``allowed``: the widenings for the new state; ``is_folder``: whether a folder exists; ``claims``: rows that
    this user's Rye did not write here; ``below``: what is in a folder.
    """
    ledger = Ledger(wanted, state, disk, run, refused, is_folder, claims)
    files = [one for one in wanted if one.form is None and run.concerns(one.item, one.targets)]
    decided = {one.path: _decision(ledger, one) for one in files}
    for one in files:
        ledger.hold(one, decided[one.path])
    entries = Entries(ledger)
    entries.decide()
    for one in files:
        _settle(ledger, one, decided[one.path])
    entries.settle()
    _remove_unwanted(ledger)
    _look_for_strangers(ledger, [one for one in files if decided[one.path].state in _THERE], below)
    rows = tuple(sorted(ledger.new_rows.values()))
    made = tuple(sorted(path for path in ledger.made if made_by_us(path, rows)))
    gone = tuple(path.rstrip("/") for path in sorted(ledger.made - set(made)) if path.endswith("/"))
    return Plan(
        changes=tuple(sorted(ledger.changes, key=lambda c: (c.path, c.item))),
        refused=tuple(sorted(set(ledger.refused), key=lambda r: (r.item, r.target, r.field, r.code))),
        writes=tuple(ledger.writes),
        folders=gone,
        state=State(rows, tuple(sorted(allowed)), made),
        checked=tuple(sorted(ledger.checked, key=lambda c: (c.path, c.item))),
        kept=tuple(ledger.kept),
        own=tuple(row for row in rows if (row.path, row.item) not in claims or (row.path, row.item) in ledger.settled),
    )


_THERE: frozenset[FileState] = frozenset(("ok", "edited", "stale"))
"""States of a file that is there, and was deployed."""
_UNLINK = (
    "If another tool made it, remove that tool's copy (`npx skills remove`, `apm uninstall`, or by hand); otherwise put a real "
    "file or folder there. Then run `rye deploy`."
)


def _decision(ledger: Ledger, one: Wanted) -> Decision:
    here, row = ledger.disk(one.path), ledger.owner.get(one.path)
    if here.kind == "missing":
        return Decision("create", "missing")
    if here.kind == "outside":
        message = f"{here.link} is a symbolic link; Rye only writes to real files and folders of the project."
        return Decision("create", "unowned", ("deploy-outside", message, _UNLINK, ()))
    same = here.kind == "file" and here.data == one.data and here.executable == one.executable
    row = row or _renamed(ledger, one, here)
    if row is None:
        return Decision("unchanged", "unowned", _conflict(ledger, one, here, same=same))
    if ledger.others(row) and not (same and row.item == one.item) and one.item not in ledger.run.overwrite:
        return Decision("update", "stale", ledger.of_others(one.path, one.item, row))
    if same:
        return Decision("unchanged", "ok")
    if here.kind == "file" and here.data == one.data and row.mode == ("0755" if one.executable else "0644"):
        return Decision("update", "edited")  # the bit alone, which is no edit that anyone would want to keep
    if here.kind == "file" and sha256(here.data).hexdigest() == row.sha256:
        return Decision("update", "stale", ledger.claimed(one.path, one.item) if ledger.is_claim(row) else None)
    if one.item in ledger.run.overwrite and here.kind == "file":
        return Decision("update", "edited")
    return Decision("update", "edited", ledger.drift(one.path, one.item, here, one.data))


def _differs(here: OnDisk, one: Wanted) -> Differs | None:
    if here.kind != "file":
        return None
    if here.data == one.data:
        if here.executable == one.executable:
            return None
        return "executable-bit-lost" if one.executable else "executable-bit-gained"
    return "line-ends" if other_line_ends(here.data, sha256(one.data).hexdigest()) else None


def _renamed(ledger: Ledger, one: Wanted, here: OnDisk) -> FileRow | None:
    """Return the row of a file whose name differs only in case, if the file system treats both as the same file."""
    if here.place is None:
        return None
    alike = (row for row in ledger.state.files if row.path != one.path and row.path.lower() == one.path.lower())
    return next((row for row in alike if row.item == one.item and ledger.disk(row.path).place == here.place), None)


def _conflict(ledger: Ledger, one: Wanted, here: OnDisk, *, same: bool) -> Why | None:
    is_named = any(one.path == path or one.path.startswith(f"{path}/") for path in ledger.run.adopt)
    if same and is_named:
        return None
    message = f"{one.path} already exists, and Rye did not write it."
    if is_named:
        message += " Its content differs from the item's, so it cannot be adopted."
    elif one.item in ledger.run.overwrite:
        message += " --overwrite-edited only replaces files that Rye wrote."
    if same:
        hint = f"Its content is the same, so `rye deploy --adopt {one.path}` takes it over."
    elif one.is_original:
        hint = f"The item comes from this file. Leave it out there: {one.exclusion}."
    elif here.kind == "file":
        hint = f"Move it away and run {one.deploying} again, or leave the item out: {one.exclusion}."
    else:
        hint = f"It is not a regular file; move it away and run {one.deploying} again."
    return "deploy-conflict", message, hint, ()


def _settle(ledger: Ledger, one: Wanted, decision: Decision) -> None:
    target = ledger.row_target(one)
    ledger.checked.append(Checked(one.path, decision.state, one.item, target, _differs(ledger.disk(one.path), one)))
    if ledger.is_held(one):
        return
    ledger.changes.append(FileChange(one.path, decision.change, one.item, one.version, target))
    owner = ledger.owner.get(one.path)
    if owner is not None and owner.item != one.item:
        ledger.new_rows.pop((owner.path, owner.item), None)
    ledger.add_row(one, target)
    if decision.change != "unchanged":
        ledger.writes.append(Write(one.path, one.data, one.executable))
        ledger.note_folders(one.path)


def _look_for_strangers(ledger: Ledger, files: Sequence[Wanted], below: Below) -> None:
    ours = {one.path for one in ledger.wanted} | {row.path for row in ledger.state.files}
    places = {ledger.disk(path).place for path in ours}
    folders = {folder for path in ours for folder in _folders_above(path)}
    for one in files:
        home, _, name = one.path.rpartition("/")
        if name not in KINDS.main_files():
            continue
        strange = (path for path, place in below(home).items() if path not in ours and place not in places)
        for path in dict.fromkeys(_whole_folder(path, folders) for path in strange):
            within, target = path.removeprefix(f"{home}/"), ledger.row_target(one)
            ledger.checked.append(Checked(visible(path), "unowned", one.item, target, stranger=within))


def _whole_folder(path: str, folders: Collection[str]) -> str:
    """The path, or the outermost folder above it that is none of ``folders``, with a slash at its end."""
    return next((f"{folder}/" for folder in reversed(_folders_above(path)) if folder not in folders), path)


def _folders_above(path: str) -> list[str]:
    """The folders above a path, the innermost first."""
    parts = path.split("/")
    return ["/".join(parts[:count]) for count in range(len(parts) - 1, 0, -1)]


def _remove_unwanted(ledger: Ledger) -> None:
    wanted = {one.path for one in ledger.wanted if one.form is None}
    places = {ledger.disk(path).place for path in wanted} - {None}
    for row in ledger.state.files:
        if is_entry(row) or row.path in wanted:
            continue
        here = ledger.disk(row.path)
        goes = ledger.row_goes(row)
        same = here.kind == "file" and sha256(here.data).hexdigest() == row.sha256
        if ledger.run.concerns(row.item, (row.target,)) and (goes or not ledger.run.project):
            edited = here.kind != "missing" and not same
            ledger.checked.append(Checked(row.path, "edited" if edited else "stale", row.item, row.target))
        if not goes:
            continue
        if here.kind == "missing" or here.place in places:
            ledger.gone(row)
        elif here.kind == "outside":
            message = f"{row.path} contains a symbolic link, so the file stays."
            ledger.refuse(row, ("deploy-outside", message, None, ()))
            del ledger.new_rows[row.path, row.item]
        elif same and ledger.is_claim(row):
            ledger.let_go(row, ledger.claimed(row.path, row.item))
        elif same or (here.kind == "file" and row.item in ledger.run.overwrite):
            ledger.gone(row)
            ledger.writes.append(Write(row.path, None))
        else:
            ledger.let_go(row, ledger.drift(row.path, row.item, here, None))
