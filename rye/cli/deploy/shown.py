"""The result of a deploy for people: one line for each item and program, then what was refused and why. ``-v`` shows files."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

from rye.cli.console import counted, one_line
from rye.cli.options import Session
from rye.deployment.comparing import Compared
from rye.deployment.deploying import Check, Deployed
from rye.deployment.plan_values import FileChange, Refused

_STATES = {"ok": "ok", "missing": "warning", "stale": "warning", "unowned": "warning"}
_SIGNS = {"create": ("+", "added"), "update": ("~", "strong"), "remove": ("-", "removed")}
_LISTED = 2
"""So many files of one item stand by their names; of more, their folder and number."""

T = TypeVar("T")


def show_deployed(session: Session, done: Deployed) -> None:
    """Print the plan or the outcome; nothing on stdout in JSON mode."""
    console = session.console
    for same in _grouped(done.changed, lambda change: (change.item, change.target)):
        sign, style = _SIGNS[_change_of(same)]
        label = f"{same[0].item}@{same[0].version}"
        if console.verbose:
            for change in same:
                sign, style = _SIGNS[change.change]
                console.line((sign, style), f" {change.path}", (f"  {label}", "dim"), wide=True)
        else:
            where = _files([change.path for change in same])
            console.line((sign, style), f" {label}  {same[0].target}", (f"  {where}", "dim"), wide=True)
    for widening in done.widenings:
        if widening.allowed:
            console.say(f"allowed: {widening.item} in {widening.target}: {widening.widening.message}", "warning")
    for note in done.notes if console.verbose else done.new_notes:
        console.say(f"{note.item} in {note.target}: {note.message}", "dim")
    for one in done.kept:
        console.warn(f"{one_line(one.message)} It stays, and Rye no longer manages it.")
    brief = () if console.verbose else done.known
    _show_refused(session, [row for row in done.refused if row not in brief])
    _show_known(session, [(row.item, row.target) for row in brief])


def show_recorded(
    session: Session, recorded: Sequence[str], unrecorded: Sequence[str], *, deploys: bool, dry_run: bool
) -> None:
    """Say which of the targets named on the command line rye.toml names from now on, and which it does not. ``deploys``: whether
    anything is deployed."""
    if recorded:
        would = "would be recorded" if dry_run else "recorded"
        said = f"{would} in rye.toml as a target: {', '.join(recorded)}. `rye add`, `update` and `remove` deploy there, too."
        session.console.say(said, "hint")
    if unrecorded:
        said = f"Not recorded in rye.toml: {', '.join(unrecorded)} (that takes a terminal, and a deploy of all items)."
        kept = " What is deployed is kept up to date all the same." if deploys else ""
        session.console.say(said + kept, "dim")


def _show_refused(session: Session, refused: Sequence[Refused]) -> None:
    """Print each reason once: for all programs that it is about, and for all files that differ in their names alone."""
    console = session.console

    def reason(row: Refused) -> Hashable:
        if row.diff or console.verbose:
            return row.item, row.field, row.message
        return row.item, row.code, row.message.replace(row.field, "")

    for same in _grouped(refused, reason):
        row, hint = same[0], same[0].hint
        names = ", ".join(dict.fromkeys(each.target for each in same))
        others = len({each.message for each in same}) - 1
        more = f" The same is true of {counted(others, 'more file')} (-v names them)." if others else ""
        if others and hint is not None:
            hint = hint.replace(row.field, posixpath.commonpath([each.field for each in same]) or row.field)
        console.warn(f"{row.code}: {row.item} is not deployed to {names}: {row.message}{more}", hint)
        for line in row.diff:
            console.say(f"    {line}", "dim")


def _show_known(session: Session, pairs: Iterable[tuple[str, str]]) -> None:
    """Remind of what programs cannot have, which was said in full before."""
    for same in _grouped(dict.fromkeys(pairs), lambda pair: pair[1]):
        items = [item for item, _ in same]
        more = f" and {len(items) - _LISTED} more" if len(items) > _LISTED else ""
        said = f"Still not deployed to {same[0][1]}: {', '.join(items[:_LISTED])}{more} (`rye deploy -v` says why)."
        session.console.say(said, "dim")


def show_checked(session: Session, check: Check, *, with_targets: bool) -> None:
    """Print what is as deployed in one line for each item and program, and the rest by file: a table, or the one document."""
    found = check.files
    if session.json:
        files = [one.as_json() for one in found]
        session.console.document({"files": files, **({"targets": list(check.targets)} if with_targets else {})})
        return
    each_file = session.console.verbose > 0
    groups = _grouped(found, lambda one: (one.item, one.target, one.state, one.path if each_file else ""))
    session.console.table(
        [
            [
                (same[0].state, _STATES.get(same[0].state, "removed")),
                _files([one.path for one in same]),
                same[0].item,
                same[0].target,
            ]
            for same in groups
        ],
        ["STATE", "PATH", "ITEM", "TARGET"],
    )
    wrong = sum(one.state != "ok" for one in found)
    if not found:
        where = f" for {', '.join(check.targets)}" if check.targets else ""
        said = f"nothing is deployed, and there is nothing to deploy{where}"
    elif wrong:
        said = (
            f"{wrong} of {len(found)} files {'is' if wrong == 1 else 'are'} not as deployed; "
            f"`{check.command} --dry-run` shows what would change"
        )
    else:
        said = f"{len(found)} {'file is' if len(found) == 1 else 'files are'} as deployed"
    for one in found:
        explained = one.explained(check.command) if one.state != "ok" else None
        if explained is not None:
            session.console.warn(f"{one.path} {explained[0]}.", explained[1])
    _show_known(session, check.left)
    session.console.say(said)


def show_compared(session: Session, found: Compared) -> None:
    """Say what an installation leaves to ``rye deploy``; nothing if there is nothing."""
    if found.differences:
        count = len(found.differences)
        said = f"{counted(count, 'deployed file')} {'is' if count == 1 else 'are'} not what is installed now"
        writes = "`rye deploy` writes them."
        does = "`rye deploy --check` says more." if any(one.is_stranger for one in found.differences) else writes
        session.console.warn(f"{said}: {_files([one.path for one in found.differences])}.", does)
    if found.waiting:
        items = list(dict.fromkeys(one.item for one in found.waiting))
        names = ", ".join(dict.fromkeys(one.target for one in found.waiting))
        more = f" and {len(items) - _LISTED} more" if len(items) > _LISTED else ""
        session.console.say(f"Next: `rye deploy` writes {', '.join(items[:_LISTED])}{more} for {names}.", "hint")


def _change_of(changes: Sequence[FileChange]) -> str:
    """What happened to an item as a whole: ``update`` unless the same happened to all its files."""
    names = {change.change for change in changes}
    return names.pop() if len(names) == 1 else "update"


def _files(paths: Sequence[str]) -> str:
    """The paths; of more than two, their number and the folder that has them all."""
    if len(paths) <= _LISTED:
        return ", ".join(paths)
    shared = posixpath.commonpath([path.partition("#")[0] for path in paths])
    return f"{shared}/ ({len(paths)} files)" if shared else f"{len(paths)} files"


def _grouped(rows: Iterable[T], key: Callable[[T], Hashable]) -> list[list[T]]:
    """The rows with the same key, in the order of the first of each."""
    groups: dict[Hashable, list[T]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return list(groups.values())
