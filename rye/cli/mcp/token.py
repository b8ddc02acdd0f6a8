"""``rye mcp token``."""

from __future__ import annotations

import click

from rye.cli.options import Session, command
from rye.mcp.tokens import make_token


@command("token")
@click.option("--as", "as_", required=True, metavar="ID", help="The directive whose rights the token gives.")
@click.option("--ttl", default="8h", show_default=True, metavar="AGE", help="How long it is valid: 30m, 8h, 1d.")
@click.option("--may-approve", is_flag=True, help="Let the client that has it answer what a person is asked.")
@click.pass_obj
def token(session: Session, as_: str, ttl: str, may_approve: bool) -> None:
    """Create a bearer token for `rye mcp serve --http` in this project.

    Anyone who has it can do what the directive may do, until it expires or the directive changes. What needs a person's
    approval waits for `rye approve`; with --may-approve, the client's own answer is enough, and the log says so.
    """
    made = make_token(session, as_, ttl, may_approve=may_approve)
    if session.json:
        session.console.document({"token": made.token, "as": made.label, "expires": made.expires})
        return
    session.console.say(f"for {made.label}, until {made.expires}")
    session.console.data(made.token)
