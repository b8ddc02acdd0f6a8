"""Checks on the screen: mark, name and finding on stdout; what to do about it on stderr."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rye.cli.console import counted, printable
from rye.cli.options import Session
from rye.customization.doctor import MARKS, Check


def counts_of(checks: Sequence[Check]) -> str:
    """The number of checks, of errors and of warnings."""
    states = Counter(check.status for check in checks)
    bad = ", ".join(counted(states[each], each) for each in ("error", "warning") if states[each])
    return f"{counted(len(checks), 'check')}: {bad or 'all is well'}"


def show_check(session: Session, check: Check) -> None:
    """Print one check."""
    lines = printable(check.message).split("\n")
    session.console.line((MARKS[check.status], check.status), f" {check.name}: {lines[0]}")
    for line in lines[1:]:
        session.console.line(f"    {line}", hang=6)
    if check.hint and not session.quiet:
        session.console.say(f"  {check.hint}", "hint")
