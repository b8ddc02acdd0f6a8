"""``rye diff --origin`` and ``rye update --origin``: forks and the items that they were made from."""

from __future__ import annotations

from rye.cli.console import one_line
from rye.cli.options import Session
from rye.workspace.authoring.origin_updating import OriginDiff, OriginUpdate, diff_origins, update_origins
from rye.workspace.registries.not_asked import not_asked_document


def diff_forks(session: Session, names: tuple[str, ...]) -> int:
    """Print what was changed here and what the author changed, for each fork. Return 1 if one of them could not be compared."""
    done = diff_origins(session, names)
    if session.json:
        rows = [_diff_document(one) for one in done.found]
        session.console.document({"forks": rows, **not_asked_document(done.not_asked)})
        return 1 if done.left_out else 0
    for one in done.found:
        _show_diff(session, one)
    if not done.found:
        session.console.say("No forks. `rye fork ID` makes one of an installed item.")
    return 1 if done.left_out else 0


def _diff_document(one: OriginDiff) -> dict[str, object]:
    return {
        "item": one.label,
        "origin": str(one.origin.item),
        "version": one.origin.version,
        "newest": one.newest,
        "own": one.own,
        "author": one.author,
    }


def _show_diff(session: Session, one: OriginDiff) -> None:
    console = session.console
    console.data(f"{one.label}, from {one.origin.item} {one.origin.version}")
    for title, text in (("changed here", one.own), (f"changed by the author, up to {one.newest}", one.author)):
        console.data(console.style(f"{title}:" if text else f"nothing {title}", "strong"))
        for line in text.removesuffix("\n").split("\n") if text else ():
            style = {"+": "added", "-": "removed", "@": "info"}.get(line[:1])
            shown = one_line(line)
            console.data(console.style(shown, style) if style else shown)


def update_forks(session: Session, names: tuple[str, ...], approved: tuple[str, ...]) -> int:
    """Merge the newest originals into forks. Return 1 if a person has to settle conflicts."""
    done = update_origins(session, names, approved)
    if session.json:
        session.console.document({"forks": [_update_document(one) for one in done]})
    else:
        for one in done:
            _show_update(session, one)
        if not done:
            session.console.say("No forks. `rye fork ID` makes one of an installed item.")
    return 1 if any(one.conflicts for one in done) else 0


def _update_document(one: OriginUpdate) -> dict[str, object]:
    return {
        "item": one.label,
        "old": one.old,
        "new": one.new,
        "changed": list(one.changed),
        "conflicts": list(one.conflicts),
    }


def _show_update(session: Session, one: OriginUpdate) -> None:
    console = session.console
    if one.old == one.new and not one.changed:
        console.data(f"{one.label} has the newest original, {one.new}")
        return
    console.data(f"{one.label}: {one.old} → {one.new}")
    for path in one.changed:
        console.data(f"  changed {path}")
    for conflict in one.conflicts:
        console.say(one_line(f"  conflict in {conflict}"), "warning")
    if one.conflicts:
        console.say("Settle the conflicts first.", "hint")
    console.say(f"Read what changed, then sign it: `rye sign {one.shown}`.", "hint")
