"""``rye explain``: what an error code means and what to do, with an example."""

from __future__ import annotations

import click

from rye.cli.options import Session, command
from rye.workspace.explained import Explained, Listed, all_areas, all_codes
from rye.workspace.explained import explain as explained


@command("explain")
@click.argument("code", required=False)
@click.pass_obj
def explain(session: Session, code: str | None) -> None:
    """Explain an error CODE: what it means, what to do, an example.

    Findings show their code in brackets; `--json` prints it as `code`. The beginning of a code (S0) or an area (sources) lists
    its codes. Without CODE, a terminal shows the areas, and a program gets all codes.
    """
    if code is None:
        _list(session)
        return
    found = explained(code)
    if isinstance(found, Listed):
        _codes(session, found)
        return
    if session.json:
        session.console.document(found.as_json())
        return
    session.console.data(_page(session, found))


def _list(session: Session) -> None:
    if session.json or not session.console.on_terminal:
        _codes(session, all_codes())
        return
    session.console.table(
        [[area.name, str(len(area.codes)), area.title] for area in all_areas()], ["AREA", "CODES", "ABOUT"]
    )
    session.console.say(
        "`rye explain AREA` lists the codes of an area, `rye explain S0` those that start with S0.", "hint"
    )


def _codes(session: Session, listed: Listed) -> None:
    if session.json:
        session.console.document(listed.as_json())
        return
    session.console.table([[row.code, row.title] for row in listed.rows], ["CODE", "WHAT IT MEANS"])


def _page(session: Session, found: Explained) -> str:
    row, example = found.row, found.example
    lines = [f"{session.console.style(row.code, 'strong')}: {row.title}", "", row.text, ""]
    if example is not None:
        for head, text in example.shown:
            lines += [head, "", *(f"    {line}".rstrip() for line in text), ""]
    lines += [f"Exit status: {row.exit}", f"Read more: {row.page}"]
    return "\n".join(lines)
