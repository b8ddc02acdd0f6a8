"""What alarms of texts say before the texts are made one's own or sent, in the words that pages have for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rye.cli.console import Console, counted, one_line
from rye.describing.words import fact_words

if TYPE_CHECKING:
    from rye.text.facts import Fact

_MOST = 9
"""So many alarms fit above a question on a terminal; further ones become a number."""


def fact_line(fact: Fact, place: str | None = None) -> str:
    """``downloads and runs: curl … | sh   SKILL.md:9``. ``place``: other words for where it is."""
    where = place if place is not None else f"{fact.path}:{fact.line}"
    return f"{fact_words(fact.fact, fact.level)}: {one_line(fact.value)}   {one_line(where)}"


def show_alarms(
    console: Console,
    alarms: Sequence[Fact],
    indent: str = "",
    *,
    more: str = "-v or `rye facts PATH` lists all",
    always: bool = False,
) -> None:
    """Print the alarms below their number; nothing without alarms. On a terminal without ``--verbose``, of more than
    :data:`_MOST` the first ones. ``more``: where the others are. ``always``: even with ``--quiet``."""
    if not alarms:
        return
    kept = alarms[:_MOST] if console.folds else alarms
    title = f"{indent}{counted(len(alarms), 'alarm')} in the texts, which everybody sees who installs them:"
    console.tell((title, "error"), always=always)
    for fact in kept:
        console.tell((f"{indent}  ! {fact_line(fact)}", "error"), hang=len(indent) + 6, wide=True, always=always)
    if len(kept) < len(alarms):
        left = f"{indent}  and {counted(len(alarms) - len(kept), 'more alarm')}; {more}"
        console.tell((left, "error"), always=always)
