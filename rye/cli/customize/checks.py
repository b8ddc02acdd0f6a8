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


def show_checks(session: Session, checks: Sequence[Check]) -> None:
    """Print the checks. Those that had nothing to check share one line, unless ``-v`` asks for each."""
    together = [] if session.console.verbose else [check for check in checks if check.empty]
    if len(together) < 2:
        together = []
    for check in checks:
        if check not in together:
            _show_check(session, check)
    if together:
        names = ", ".join(check.name for check in together)
        session.console.line((MARKS["ok"], "ok"), f" nothing to check: {names}", hang=2)


def _show_check(session: Session, check: Check) -> None:
    lines = printable(check.message).split("\n")
    session.console.line((MARKS[check.status], check.status), f" {check.name}: {lines[0]}")
    for line in lines[1:]:
        session.console.line(f"    {line}", hang=6)
    if check.hint and not session.quiet:
        session.console.say(f"  {check.hint}", "hint")
