"""``rye lsp``: the one command that imports the editor protocol's library, an extra of the package."""

from __future__ import annotations

import click

from rye.cli.options import Session, command


@command("lsp")
@click.option("--stdio", is_flag=True, help="Use standard input and output. Always on; some editors pass it.")
@click.pass_obj
def lsp(session: Session, stdio: bool) -> int:
    """Run a language server: findings while you type, completion, explanations and quick fixes.

    Your editor starts it; see docs/how-to/editors.md. It writes no files, uses no network and runs no items.
    """
    del stdio
    from rye.lsp.server import serve  # the library takes half a second, and may not be installed (rye.extras)

    return serve(session.environment)
