"""The result of a deploy for people: one line for each changed file, then what was refused and why."""

from __future__ import annotations

from rye.cli.options import Session
from rye.deployment.deploying import Check, Deployed

_STATES = {"ok": "ok", "missing": "warning", "stale": "warning", "unowned": "warning"}
_SIGNS = {"create": ("+", "added"), "update": ("~", "strong"), "remove": ("-", "removed")}


def show_deployed(session: Session, done: Deployed) -> None:
    """Print the plan or the outcome; nothing on stdout in JSON mode."""
    console = session.console
    for change in done.changed:
        sign, style = _SIGNS[change.change]
        console.line((sign, style), f" {change.path}", (f"  {change.item}@{change.version}", "dim"), wide=True)
    for widening in done.widenings:
        if widening.allowed:
            console.say(f"allowed: {widening.item} in {widening.target}: {widening.widening.message}", "warning")
    touched = {change.item for change in done.changed}
    for note in done.notes:
        if note.item not in touched and not console.verbose:
            continue
        console.say(f"{note.item} in {note.target}: {note.message}", "dim")
    for path in done.kept:
        console.warn(f"{path} was changed after rye wrote it. It stays, and rye no longer manages it.")
    seen = set()
    for row in done.refused:
        if (row.item, row.field, row.message) in seen:
            continue
        seen.add((row.item, row.field, row.message))
        names = ", ".join(
            r.target for r in done.refused if (r.item, r.field, r.message) == (row.item, row.field, row.message)
        )
        console.warn(f"{row.code}: {row.item} is not deployed to {names}: {row.message}", row.hint)
        for line in row.diff:
            console.say(f"    {line}", "dim")


def show_checked(session: Session, check: Check, *, with_targets: bool) -> None:
    """Print each file and whether it is as deployed: a table, or the one document."""
    found = check.files
    if session.json:
        files = [one.as_json() for one in found]
        session.console.document({"files": files, **({"targets": list(check.targets)} if with_targets else {})})
        return
    session.console.table(
        [[(one.state, _STATES.get(one.state, "removed")), one.path, one.item, one.target] for one in found],
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
    session.console.say(said)
