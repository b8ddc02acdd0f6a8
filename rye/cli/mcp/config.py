"""``rye mcp config``."""

from __future__ import annotations

import click

from rye.cli.options import Session, command
from rye.mcp.program_entries import PROGRAMS, config_entry


@command("config")
@click.argument("program", type=click.Choice(PROGRAMS))
@click.pass_obj
def config(session: Session, program: str) -> None:
    """Print the settings entry that adds this server to PROGRAM, for search and load only.

    To give an agent a directive that may execute something, use `rye deploy`.
    """
    entry = config_entry(program)
    if session.json:
        session.console.document(
            {"program": entry.program, "file": entry.file, "format": entry.format, "entry": entry.text}
        )
        return
    session.console.say(f"Add this to {entry.file}:")
    session.console.data(entry.text.rstrip())
