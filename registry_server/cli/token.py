"""``rye-registry token``: tokens, which allow uploading and reading."""

from __future__ import annotations

from pathlib import Path

import click

from registry_server.accounts import administration, members, tokens
from registry_server.accounts.administration import By
from registry_server.accounts.scopes import DEFAULT_SCOPES, SCOPES, parse_scopes
from registry_server.accounts.times import now_text, read_span
from registry_server.cli.listing import ListColumn, show_list
from registry_server.cli.options import Output, data_option, json_option, pass_output
from registry_server.cli.registry_access import changing, reading

_COLUMNS = (
    ListColumn("token"),
    ListColumn("state", "{:7}"),
    ListColumn("name"),
    ListColumn("namespaces"),
    ListColumn("scopes"),
    ListColumn("valid"),
    ListColumn("last used", "last used {}"),
    ListColumn("account", "of {}"),
)


@click.group(no_args_is_help=True)
def token() -> None:
    """Manage tokens, which allow uploading and reading."""


@token.command("create")
@click.argument("name", default="token")
@click.option(
    "--namespace",
    "namespaces",
    multiple=True,
    help="Bind the token to this namespace; repeatable. Default: any namespace.",
)
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    metavar="SCOPE",
    help=f"What it may do: {', '.join(SCOPES)}. Repeatable, or separated by commas. Default: all but admin.",
)
@click.option(
    "--expires", default=tokens.LIFETIME, show_default=True, help="How long it is valid: 12h, 7d, 4w, or never."
)
@click.option(
    "--account",
    metavar="NAME",
    help="The account that owns it; the token then can do no more than the account's roles allow.",
)
@data_option
@json_option
@pass_output
def token_create(
    output: Output,
    name: str,
    namespaces: tuple[str, ...],
    scopes: tuple[str, ...],
    expires: str,
    account: str | None,
    data: Path,
) -> None:
    """Create a token and print it. It is shown only this once."""
    seconds = read_span(expires)
    wanted = parse_scopes(scopes) or DEFAULT_SCOPES
    with changing(data) as connection:
        by = By(now_text())
        secret, created = administration.create_token(connection, name, wanted, namespaces, seconds, account, by)
    document = {**created.as_json(), "id": created.token, "token": secret}
    output.result(document, secret)
    until = f"It is valid until {created.expires}." if created.expires else "It never expires."
    output.say(
        f"Keep it secret. {until} Log in with it: `rye login ADDRESS --token -` "
        "(it reads the token from standard input)."
    )


@token.command("list")
@data_option
@json_option
@pass_output
def token_list(output: Output, data: Path) -> None:
    """List all tokens, without their secrets."""
    with reading(data) as connection:
        listed = tokens.listing(connection)
        names = {member.id: member.name for member in members.listing(connection)}
    rows = [
        (
            row.token,
            tokens.state_of(row),
            row.name,
            ", ".join(row.namespaces) or "any namespace",
            " ".join(row.scopes),
            f"until {row.expires}" if row.expires else "never expires",
            row.last_used or "never",
            names[row.account] if row.account else "",
        )
        for row in listed
    ]
    document = [{**row.as_json(), "id": row.token, "state": tokens.state_of(row)} for row in listed]
    show_list(output, {"tokens": document}, _COLUMNS, rows, "No tokens.")


@token.command("revoke")
@click.argument("token_id")
@data_option
@json_option
@pass_output
def token_revoke(output: Output, token_id: str, data: Path) -> None:
    """Revoke a token, effective at once. TOKEN_ID: its 16 digits from `token list`."""
    with changing(data) as connection:
        account, changed = administration.revoke_token(connection, token_id, By(now_text()))
    said = f"{account.token} ({account.name})"
    words = f"Revoked {said}." if changed else f"{said} was already revoked; nothing changed."
    output.result({**account.as_json(), "changed": changed}, words)
