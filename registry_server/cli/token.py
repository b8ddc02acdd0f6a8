"""``rye-registry token``: who may send statements."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import click

from registry_server.accounts import tokens
from registry_server.cli.options import Output, data_option, json_option, pass_output
from registry_server.cli.registry_access import changing, reading


@click.group(no_args_is_help=True)
def token() -> None:
    """Upload tokens: who may send statements."""


@token.command("create")
@click.argument("name")
@click.option(
    "--namespace", "namespaces", multiple=True, help="Bind the token to this namespace; repeatable. None: any."
)
@data_option
@json_option
@pass_output
def token_create(output: Output, name: str, namespaces: tuple[str, ...], data: Path) -> None:
    """Make a token and print it: the only time that it is shown."""
    with changing(data) as connection:
        made = tokens.create(connection, name, namespaces, _now())
    output.result({"token": made, "name": name, "namespaces": sorted(set(namespaces))}, made)
    output.say(
        "Keep it secret. Log in with it: `rye login ADDRESS --token -` (it reads the token from standard input)."
    )


@token.command("list")
@data_option
@json_option
@pass_output
def token_list(output: Output, data: Path) -> None:
    """List all tokens, without their secrets."""
    with reading(data) as connection:
        found = tokens.listing(connection)
    rows = [
        f"{account.token}  {'revoked' if account.revoked else 'active '}  {account.name}  "
        f"{', '.join(account.namespaces) or 'any namespace'}"
        for account in found
    ]
    output.result({"tokens": [account.as_json() for account in found]}, "\n".join(rows) or "No tokens.")


@token.command("revoke")
@click.argument("token_id")
@data_option
@json_option
@pass_output
def token_revoke(output: Output, token_id: str, data: Path) -> None:
    """Make a token worthless. TOKEN_ID: its 16 digits, as `token list` shows them."""
    with changing(data) as connection:
        account = tokens.revoke(connection, token_id, _now())
    output.result(account.as_json(), f"Revoked {account.token} ({account.name}).")


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
