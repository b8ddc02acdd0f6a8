"""``rye completion``: the shell's script on stdout, as click makes it."""

from __future__ import annotations

import click

from rye.cli.options import Session, command

_PLACES = {
    "bash": "~/.local/share/bash-completion/completions/rye",
    "zsh": "a folder of $fpath, as _rye",
    "fish": "~/.config/fish/completions/rye.fish",
}


@command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_obj
def completion(session: Session, shell: str) -> None:
    """Print a completion script for SHELL; save it where the shell looks for completions."""
    from click.shell_completion import get_completion_class

    from rye.cli.main import program

    found = get_completion_class(shell)
    assert found is not None  # click knows the three
    script = found(program(), {}, "rye", "_RYE_COMPLETE").source()
    if session.json:
        session.console.document({"shell": shell, "script": script})
        return
    session.console.data(script)
    session.console.say(f"Save it as {_PLACES[shell]}.")
