"""``rye mcp serve``: the one command that imports the protocol's SDK, an extra of the package."""

from __future__ import annotations

from importlib.util import find_spec

import click

from rye.cli.options import Session, command
from rye.extras import extra_missing

_OPEN = (
    "Without a token, every program on this machine can search and read this project's items here; it cannot run anything. "
    "More needs a token: `rye mcp token`."
)
_DEMANDED = "Every request needs a token: `rye mcp token`."


@command("serve")
@click.option("--as", "as_", metavar="ID", help="The directive whose rights apply. Without it: search and load only.")
@click.option("--http", metavar="HOST:PORT", help="Serve over HTTP; rights come from bearer tokens (`rye mcp token`).")
@click.option("--expand", is_flag=True, help="Offer each tool that the rights name as a separate tool.")
@click.option("--read-only", is_flag=True, help="Allow search and load only, whatever the directive may do.")
@click.pass_obj
def serve(session: Session, as_: str | None, http: str | None, expand: bool, read_only: bool) -> None:
    """Serve this project's items to an agent program, on standard input and output.

    The rights of one directive decide what the program's model may do. Every call is logged in .ai/runs.
    """
    if find_spec("mcp") is None:
        raise extra_missing("mcp", "mcp")
    from rye.mcp.serving import ServeRequest  # the SDK takes a second, and may not be installed
    from rye.mcp.serving import serve as run_server

    run_server(
        session,
        ServeRequest(as_, http, expand, read_only),
        lambda line: click.echo(line, err=True),  # for the agent program's log, whatever --quiet says
        lambda url, demanded: session.console.answer(
            {"url": url, "token_required": demanded},
            f"listening on {url}\n{_DEMANDED if demanded else _OPEN}",
        ),
    )
