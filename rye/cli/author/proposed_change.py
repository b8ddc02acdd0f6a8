"""Showing proposed changes of the person's own files as a diff, and asking whether to write them.

* The diff is data (stdout); the question goes to stderr. Without a person and without ``--yes`` nothing is written.
* All changes are shown first, then agreed to at once.
* Line endings and a byte order mark would mark every line: they are said in words, the diff is of the text.
"""

from __future__ import annotations

from collections.abc import Sequence

from rye.cli.console import one_line, printable
from rye.cli.options import Session
from rye.workspace.authoring.proposed_change import Agree, ProposedChange


def agreement(session: Session, again: str) -> Agree:
    """What shows changes and asks. ``again`` is the command that would write them, for the hint where nobody can be asked."""

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
    session.console.say(f"Nothing was written. `{again}` writes what is shown.", "hint")
    return False
