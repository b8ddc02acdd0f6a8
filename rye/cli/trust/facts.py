"""``rye facts``: what items mention, with file and line."""

from __future__ import annotations

from collections.abc import Sequence

import click

from rye.cli.console import one_line
from rye.cli.options import Session, command
from rye.text.facts import LEVELS, Fact, counts
from rye.workspace.items.item_facts import facts_report

_STYLE = {"note": "dim", "caution": "warning", "alarm": "error"}


@command("facts")
@click.argument("targets", nargs=-1, required=True, metavar="PATH…|ID")
@click.option("--against", metavar="OLD", help="Compare with this path or item, and list what was added and removed.")
@click.pass_obj
def facts(session: Session, targets: tuple[str, ...], against: str | None) -> int:
    """List what items mention: hosts, commands, downloads that run, secrets, lasting changes to settings.

    PATH is an item, a skill's folder or a folder of items. Works offline, by rules. A fact says what a text mentions, even
    where the text forbids it. It is never a verdict: an item without facts can still do harm. An item among others that
    cannot be read is listed at the end (exit 1).
    """
    report = facts_report(session, targets, against)
    if session.json:
        session.console.document(report.as_json())
        return 1 if report.unread else 0
    if report.difference is not None:
        added, removed = report.difference
        for sign, found in (("+ ", added), ("- ", removed)):
            _show(session, found, sign)
        session.console.say(f"{len(added)} added, {len(removed)} removed")
        return 0
    every = [fact for item in report.results for fact in item.facts]
    _show(session, every)
    number = counts(every)
    words = ", ".join(f"{number[level]} {level}{'' if number[level] == 1 else 's'}" for level in reversed(LEVELS))
    session.console.say(f"{words}. These are things that the texts mention, not a verdict.")
    if report.unread:
        number_unread = len(report.unread)
        session.console.say(
            f"{number_unread} item{'' if number_unread == 1 else 's'} could not be read, so nothing is known of "
            f"{'it' if number_unread == 1 else 'them'}:",
            "warning",
        )
        for item in report.unread:
            session.console.say(one_line(f"  {item.path}: {item.error.message}"), "warning")
    return 1 if report.unread else 0


def _show(session: Session, found: Sequence[Fact], sign: str = "") -> None:
    """Print one row per fact; on a terminal the worst come first."""
    if session.console.on_terminal:
        found = sorted(found, key=lambda fact: LEVELS.index(fact.level), reverse=True)
    session.console.table(
        [
            [
                (f"{sign}{fact.level}", _STYLE[fact.level]),
                fact.fact,
                one_line(fact.value),
                f"{one_line(fact.path)}:{fact.line}:{fact.column}",
            ]
            for fact in found
        ],
        ["LEVEL", "FACT", "VALUE", "PLACE"],
    )
