"""``rye mcp config``."""

from __future__ import annotations

import click

from rye.cli.options import Session, command
from rye.mcp.program_entries import PROGRAMS, config_entry


@command("config")
@click.argument("program", type=click.Choice(PROGRAMS))
@click.pass_obj
def config(session: Session, program: str) -> None:
    """Print the entry that tells PROGRAM of this server: search and load, and no execution.

    A directive that may execute something is given to an agent by `rye deploy`.
    """
    entry = config_entry(program)
    if session.json:
        session.console.document(
            {"program": entry.program, "file": entry.file, "format": entry.format, "entry": entry.text}
        )
        return
    session.console.say(f"put this into {entry.file}:")
    session.console.data(entry.text.rstrip())
