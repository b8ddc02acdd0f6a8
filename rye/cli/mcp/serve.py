"""``rye mcp serve``. The one command that imports the protocol's SDK, an extra of the package."""

from __future__ import annotations

from importlib.util import find_spec

import click

from rye.cli.options import Session, command
from rye.errors import RyeError


@command("serve")
@click.option("--as", "as_", metavar="ID", help="The directive whose rights count. Without it: search and load only.")
@click.option("--http", metavar="HOST:PORT", help="Serve over HTTP; rights come from bearer tokens (`rye mcp token`).")
@click.option("--expand", is_flag=True, help="Give each tool that the rights name a tool of its own.")
@click.option("--read-only", is_flag=True, help="Search and load only, whatever the directive may do.")
@click.pass_obj
def serve(session: Session, as_: str | None, http: str | None, expand: bool, read_only: bool) -> None:
    """Serve this project's items to an agent program, on standard input and output.

    What the program's model may do is decided here, by the rights of one directive, and every call is written down in .ai/runs.
    """
    if find_spec("mcp") is None:
        raise RyeError(
            "extra-missing",
            "The package mcp is not installed; only `rye mcp serve` needs it.",
            "Install rye with its extra: pip install 'rye[mcp]'.",
        )
    from rye.mcp.serving import ServeRequest  # the SDK takes a second, and may not be there
    from rye.mcp.serving import serve as run_server

    run_server(
        session,
        ServeRequest(as_, http, expand, read_only),
        lambda line: click.echo(line, err=True),  # for the agent program's log, whatever --quiet says
        lambda url: session.console.answer({"url": url}, f"listening on {url}"),
    )
