"""Checks on the screen: mark, name and finding on stdout; what to do about it on stderr."""

from __future__ import annotations

from rye.cli.console import printable
from rye.cli.options import Session
from rye.customization.doctor import MARKS, Check


def show_check(session: Session, check: Check) -> None:
    """Print one check."""
    mark = session.console.style(MARKS[check.status], check.status)
    lines = printable(check.message).split("\n")
    session.console.data(f"{mark} {check.name}: {lines[0]}")
    for line in lines[1:]:
        session.console.data(f"    {line}")
    if check.hint and not session.quiet:
        session.console.say(f"  {check.hint}", "hint")
