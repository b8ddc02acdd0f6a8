"""``rye lsp``. The one command that imports the editor protocol's library, an extra of the package."""

from __future__ import annotations

import click

from rye.cli.options import Session, command


@command("lsp")
@click.option("--stdio", is_flag=True, help="Speak on standard input and output. Always so; editors like to say it.")
@click.pass_obj
def lsp(session: Session, stdio: bool) -> int:
    """Serve an editor: findings while you type, completion, explanations and quick fixes.

    An editor starts it; see docs/how-to/editors.md. It writes no file, uses no network and runs nothing.
    """
    del session, stdio
    from rye.lsp.server import serve  # the library takes half a second, and may not be there (rye.extras)

    return serve()
