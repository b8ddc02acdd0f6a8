"""The list that ``rye add SOURCE`` prints: names, what each may run or use, and descriptions."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from rye.cli.console import counted, one_line
from rye.cli.options import Session
from rye.describing import words
from rye.layout import Cell, Column
from rye.limits import SOURCES
from rye.workspace.installing.source_list import ListedItem, SourceList

_STYLES: Mapping[words.Level, str] = {"plain": "dim", "caution": "warning", "alarm": "error"}


def show_list(session: Session, found: SourceList) -> int:
    """Print the list and what to type next. Return the exit code, 0."""
    if session.json:
        session.console.document(found.as_json())
        return 0
    console = session.console
    many = len({item.kind for item in found.items}) > 1
    short = console.on_terminal and not found.whole
    rows = found.items[: SOURCES.listed_items] if short else found.items
    console.table(
        [[_name(item, many), _may(item), one_line(item.description)] for item in rows],
        ["NAME", "MAY", Column("WHAT IT IS FOR", prose=True, lines=1 if short else 2)],
    )
    given = shlex.quote(found.given)
    about = f"{found.source} has {counted(found.total, 'item')}"
    if found.words:
        matching = f"{len(found.items)} of them {'has' if len(found.items) == 1 else 'have'}"
        about += f"; {matching} {' and '.join(map(repr, found.words))}"
    console.say(f"{about}.")
    if len(rows) < len(found.items):
        more = len(found.items) - len(rows)
        console.say(f"{more} more: rye add {given} --list    WORDS after it show only what has them.")
    for note in found.notes if found.whole or console.verbose else ():
        console.say(f"{note}.", "dim")
    for item, why in found.unusable if found.whole or console.verbose else ():
        console.say(f"{item} cannot be used: {why}.", "dim")
    if found.unusable and not (found.whole or console.verbose):
        console.say(f"{counted(len(found.unusable), 'item')} cannot be used; --list says why.", "dim")
    if found.items:
        example = _name(found.items[0], many)
        console.say(f"Next: `rye add {given} {example}` installs one, and asks first; --all takes all of them.", "hint")
    return 0


def _name(item: ListedItem, with_kind: bool) -> str:
    return f"{item.kind}:{item.name}" if with_kind else item.name


def _may(item: ListedItem) -> Cell:
    """What limits an item, what of it can run and how many alarms it has, the worst first, in the words of lists on pages. The
    consent screen has every line."""
    found = words.marks(item.described)
    said = [mark.words for mark in found]
    if item.hooks:
        said.append(words.counted(item.hooks, "hook"))
    worst: words.Level = next((mark.level for mark in found if mark.level != "plain"), "plain")
    return (", ".join(said) or words.may_use(item.described).words, _STYLES[worst])
