"""How ``rye-registry`` prints lists: on a terminal as tables with headings, fitted to its width, with unprintable characters
escaped; elsewhere one line per row, for programs.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click
from msgspec import Struct

from registry_server.cli.options import Output
from registry_server.cli.screen import has_colour, width
from rye.layout import Column, Line, table
from rye.text.display import visible

_MOST_LINES = 1000
"""Nothing that these commands list is shown elsewhere in full, so cells wrap and are never cut."""


class ListColumn(Struct, frozen=True):
    """A column of a list."""

    title: str
    piped: str = "{}"
    """How a cell is written where no heading explains it."""
    wraps: bool = False
    """Whether the column may take several lines. Only for the last one."""


def show_list(
    output: Output,
    document: dict[str, object],
    columns: Sequence[ListColumn],
    rows: Sequence[Sequence[str]],
    empty: str,
) -> None:
    """Print a list: the document with ``--json``, otherwise the rows, or ``empty`` if there are none."""
    if output.json or not rows or not sys.stdout.isatty():
        output.result(document, piped(columns, rows) or empty)
        return
    styled = has_colour()
    for line in on_terminal(columns, rows, width()):
        click.echo("".join(click.style(text, dim=True) if style and styled else text for text, style in line))


def piped(columns: Sequence[ListColumn], rows: Sequence[Sequence[str]]) -> str:
    """One line per row. Two spaces separate the cells, and empty cells are left out."""
    return "\n".join(
        "  ".join(column.piped.format(cell) for column, cell in zip(columns, row, strict=True) if cell) for row in rows
    )


def on_terminal(columns: Sequence[ListColumn], rows: Sequence[Sequence[str]], most: int) -> list[Line]:
    """A table of at most ``most`` columns, without the table's columns in which every cell is empty."""
    used = [number for number in range(len(columns)) if any(row[number] for row in rows)]
    header = [Column(columns[number].title, prose=columns[number].wraps, lines=_MOST_LINES) for number in used]
    return table([[visible(row[number]) for number in used] for row in rows], header, most)
