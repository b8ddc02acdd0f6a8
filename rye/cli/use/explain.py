"""``rye explain``: what an error code means and what to do, with an example."""

from __future__ import annotations

import click

from rye.cli.options import Session, command
from rye.errors import UsageError
from rye.layout import Column
from rye.shipped import page_place
from rye.workspace.explained import Explained, Listed, all_areas, all_codes
from rye.workspace.explained import explain as explained


@command("explain")
@click.argument("code", required=False)
@click.option("--all", "everything", is_flag=True, help="List every code.")
@click.pass_obj
def explain(session: Session, code: str | None, everything: bool) -> None:
    """Explain an error CODE: what it means, what to do, an example.

    Findings show their code in brackets; `--json` prints it as `code`. The beginning of a code (S0) or an area (sources) lists
    its codes. Without CODE, the areas are listed; with `--json`, every code.
    """
    if code is not None and everything:
        raise UsageError("contradiction", "--all and a code contradict each other.", "Leave one of them out.")
    if code is None:
        _list(session, everything)
        return
    found = explained(code)
    if isinstance(found, Listed):
        _codes(session, found)
        return
    if found.former is not None:
        session.console.say(found.former)
    if session.json:
        session.console.document(found.as_json())
        return
    _show_page(session, found)


def _list(session: Session, everything: bool) -> None:
    console = session.console
    if session.json or (everything and not console.on_terminal):
        _codes(session, all_codes())
        return
    if everything:
        for number, area in enumerate(all_areas()):
            if number:
                console.data()
            console.line((f"{area.name}: {area.title}", "strong"))
            _codes(session, Listed(area.codes))
        return
    console.table(
        [[area.name, str(len(area.codes)), area.title] for area in all_areas()],
        ["AREA", "CODES", Column("ABOUT", prose=True, lines=9)],
    )
    console.say(
        "`rye explain CODE` explains a code, `rye explain AREA` lists the codes of an area, `rye explain S0` those that start "
        "with S0, `rye explain --all` every code.",
        "hint",
    )


def _codes(session: Session, listed: Listed) -> None:
    if session.json:
        session.console.document(listed.as_json())
        return
    session.console.table(
        [[row.code, row.title] for row in listed.rows], ["CODE", Column("WHAT IT MEANS", prose=True, lines=9)]
    )


def _show_page(session: Session, found: Explained) -> None:
    """Print the page of a code. Prose wraps on a terminal; examples stay as they are."""
    console, row, example = session.console, found.row, found.example
    console.line((row.code, "strong"), f": {row.title}")
    console.data()
    for line in row.text.split("\n"):
        console.line(line, hang=0)
    console.data()
    for head, text in example.shown if example is not None else ():
        console.line(head, hang=0)
        console.data()
        for line in text:
            console.data(f"    {line}".rstrip())
        console.data()
    if row.what:
        console.line(f"what: {', '.join(row.what)}", hang=0)
    console.data(f"Exit status: {row.exit}")
    console.data(f"Read more: {page_place(row.page)}")
