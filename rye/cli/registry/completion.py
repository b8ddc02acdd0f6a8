"""``rye completion``: print the shell's script. :mod:`rye.cli.completing` answers it."""

from __future__ import annotations

import click

from rye.cli.completing.scripts import SCRIPTS
from rye.cli.options import Session, command

_PLACES = {
    "bash": "as ~/.local/share/bash-completion/completions/rye",
    "zsh": "as _rye in a folder that $fpath lists",
    "fish": "as ~/.config/fish/completions/rye.fish",
}


@command("completion")
@click.argument("shell", type=click.Choice(list(SCRIPTS)))
@click.pass_obj
def completion(session: Session, shell: str) -> None:
    """Print a completion script for SHELL. Save it where the shell looks for completions."""
    script = SCRIPTS[shell]
    if session.json:
        session.console.document({"shell": shell, "script": script})
        return
    session.console.data(script)
    session.console.say(f"Save it {_PLACES[shell]}.")
