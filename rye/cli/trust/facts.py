"""``rye facts``: what items mention, with file and line."""

from __future__ import annotations

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
def facts(session: Session, targets: tuple[str, ...], against: str | None) -> None:
    """List what items mention: hosts, commands, downloads that run, secrets, lasting changes to settings.

    PATH is an item, a skill's folder or a folder of items. Works offline, by rules. A fact says what a text mentions, even
    where the text forbids it. It is never a verdict: an item without facts can still do harm.
    """
    report = facts_report(session, targets, against)
    if session.json:
        session.console.document(report.as_json())
        return
    if report.difference is not None:
        added, removed = report.difference
        for sign, found in (("+ ", added), ("- ", removed)):
            for fact in found:
                session.console.data(f"{sign}{_line(session, fact)}")
        session.console.say(f"{len(added)} added, {len(removed)} removed")
        return
    every = [fact for item in report.results for fact in item.facts]
    for fact in every:
        session.console.data(_line(session, fact))
    number = counts(every)
    words = ", ".join(f"{number[level]} {level}{'' if number[level] == 1 else 's'}" for level in reversed(LEVELS))
    session.console.say(f"{words}. These are things that the texts mention, not a verdict.")


def _line(session: Session, fact: Fact) -> str:
    level = session.console.style(fact.level, _STYLE[fact.level])
    return f"{level}\t{fact.fact}\t{one_line(fact.value)}\t{one_line(fact.path)}:{fact.line}:{fact.column}"
