"""``rye usage``: what was used of a project's items, from what is on this machine."""

from __future__ import annotations

from xml.sax.saxutils import escape

import click
import msgspec

from rye.cli.console import one_line
from rye.cli.options import Session, command
from rye.deployment.usage import UsageAnswer
from rye.deployment.usage import usage as usage_of
from rye.layout import Column
from rye.limits import USAGE
from rye.runtime.usage import Usage
from rye.workspace.named_file import NamedFile
from rye.workspace.new_file import write_new

_FONT = 'font-family="sans-serif" font-size="9"'
_WIDTH, _HEIGHT, _TOP, _LEFT = 28, 120, 40, 10


@command("usage")
@click.option(
    "--days", type=click.IntRange(1, USAGE.days), default=30, metavar="N", help="Report the last N days (default: 30)."
)
@click.option(
    "--program",
    "programs",
    multiple=True,
    type=click.Choice(["claude"]),
    help="Also read what this agent program left on this machine; repeatable.",
)
@click.option("--svg", metavar="FILE", help="Write a picture of the uses by week.")
@click.pass_obj
def usage(session: Session, days: int, programs: tuple[str, ...], svg: str | None) -> None:
    """Show how often each item was used here, and what the unused ones cost.

    Read are the logs of this project's runs (.ai/runs), and with --program claude the transcripts of Claude Code's sessions in
    this project. Nothing leaves this machine.
    """
    answer = usage_of(session, days, programs)
    if svg is not None:
        write_new(NamedFile(session.path(svg), svg), picture(answer.usage))
        session.console.say(f"wrote {one_line(svg)}")
    if session.json:
        session.console.document({**msgspec.to_builtins(answer.usage), "notes": list(answer.notes)})
    else:
        _show(session, answer)


def _show(session: Session, answer: UsageAnswer) -> None:
    console, found = session.console, answer.usage
    if found.items:
        console.table(
            [
                [
                    row.item,
                    str(row.uses),
                    str(row.denied),
                    row.last_used or "never",
                    str(row.tokens),
                    _size(row.carries),
                ]
                for row in found.items
            ],
            [Column("ITEM"), "USES", "DENIED", "LAST USED", "TOKENS", "CARRIES"],
        )
    console.say(f"Since {found.since}: {found.tokens:,} tokens, ${found.spend}.")
    if found.unused:
        names = "1 item was" if len(found.unused) == 1 else f"{len(found.unused)} items were"
        each = "is" if len(found.unused) == 1 else "are"
        console.say(
            f"{names} not used in {found.days} days. The name and description that an agent program may carry {each} about "
            f"{found.unused_tokens:,} tokens in each context. `rye remove ID` removes an installed one."
        )
    for note in answer.notes:
        console.warn(note)


def _size(tokens: int | None) -> str:
    return "unknown" if tokens is None else f"{tokens:,}"


def picture(found: Usage) -> str:
    """Bars of uses and refused calls by week, as SVG."""
    busiest = max((week.uses + week.denied for week in found.weeks), default=0)
    most = busiest or 1
    bars = []
    for number, week in enumerate(found.weeks):
        x = _LEFT + number * _WIDTH
        used, denied = (round(count * _HEIGHT / most, 1) for count in (week.uses, week.denied))
        said = escape(f"{week.week}: used {week.uses:,}, denied {week.denied:,}, tokens {week.tokens:,}")
        bars.append(
            f'<g><title>{said}</title><rect x="{x}" y="{_TOP + _HEIGHT - used:g}" width="20" height="{used:g}" fill="#2f6f4f"/>'
            f'<rect x="{x}" y="{_TOP + _HEIGHT - used - denied:g}" width="20" height="{denied:g}" fill="#b3402a"/>'
            f'<text x="{x + 10}" y="{_TOP + _HEIGHT + 14}" text-anchor="middle">{escape(week.week[-3:])}</text></g>'
        )
    width, height = max(2 * _LEFT + _WIDTH * len(found.weeks), 340), _TOP + _HEIGHT + 30
    title = f"Uses by week since {found.since}, denied ones in red; busiest week: {busiest:,}"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" {_FONT}>',
            f"<title>{escape(title)}</title>",
            f'<rect width="{width}" height="{height}" fill="#ffffff"/><text x="{_LEFT}" y="20">{escape(title)}</text>',
            *bars,
            "</svg>",
            "",
        ]
    )
