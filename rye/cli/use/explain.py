"""``rye explain``: what an error code means and what to do, with an example."""

from __future__ import annotations

import click

from rye.cli.options import Session, command
from rye.workspace.explained import Explained, all_codes
from rye.workspace.explained import explain as explained


@command("explain")
@click.argument("code", required=False)
@click.pass_obj
def explain(session: Session, code: str | None) -> None:
    """Explain an error CODE: what it means, what to do, an example; without a code, list all of them.

    Codes stand in brackets after findings, and as `code` in what `--json` prints.
    """
    if code is None:
        _list(session)
        return
    found = explained(code)
    if session.json:
        session.console.document(found.as_json())
        return
    session.console.data(_page(session, found))


def _list(session: Session) -> None:
    if session.json:
        rows = [
            {"code": row.code, "exit": row.exit, "title": row.title, "area": area.name}
            for area in all_codes()
            for row in area.codes
        ]
        session.console.document({"codes": rows})
        return
    for number, area in enumerate(all_codes()):
        session.console.say(("\n" if number else "") + area.title, "strong")
        session.console.table([[row.code, row.title] for row in area.codes], ["CODE", "WHAT IT MEANS"])


def _page(session: Session, found: Explained) -> str:
    row, example = found.row, found.example
    lines = [f"{session.console.style(row.code, 'strong')}: {row.title}", "", row.text, ""]
    if example is not None:
        for head, text in example.shown:
            lines += [head, "", *(f"    {line}".rstrip() for line in text), ""]
    lines += [f"Exit status: {row.exit}", f"Read more: {row.page}"]
    return "\n".join(lines)
