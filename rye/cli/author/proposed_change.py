"""Show proposed changes to the person's own files as a diff, and ask whether to write them.

* The diff is data (stdout); the question goes to stderr. Without a person and without ``--yes`` nothing is written.
* All changes are shown first; one answer covers them all.
* A changed line ending or byte order mark would mark every line, so it is described in words and left out of the diff.
"""

from __future__ import annotations

from collections.abc import Sequence

from rye.cli.console import one_line, printable
from rye.cli.options import Session
from rye.workspace.authoring.proposed_change import Agree, ProposedChange


def agreement(session: Session, again: str) -> Agree:
    """The callback that shows changes and asks. ``again``: the command that would write them, for the hint off a terminal."""

    def agree(proposed: Sequence[ProposedChange]) -> bool:
        for change in proposed:
            _show(session, change)
        return _agreed(session, len(proposed), again)

    return agree


def _show(session: Session, change: ProposedChange) -> None:
    console = session.console
    console.data(console.style(one_line(change.shown), "strong"))
    for what in change.changes:
        console.data(f"  {printable(what)}")
    for line in change.diff.removesuffix("\n").split("\n") if change.diff else ():
        style = {"+": "added", "-": "removed", "@": "hint"}.get(line[:1])
        text = printable(line)
        console.data(console.style(text, style) if style else text)


def _agreed(session: Session, count: int, again: str) -> bool:
    if session.yes:
        return True
    if session.interactive:
        return session.console.confirm("Write this change?" if count == 1 else f"Write these changes to {count} files?")
    session.console.say(f"Nothing was written. `{again}` makes these changes.", "hint")
    return False
