"""``rye-registry role``: who may upload to a namespace, and who may read it."""

from __future__ import annotations

from pathlib import Path

import click
import sqlalchemy as sa

from registry_server.accounts import administration, roles
from registry_server.accounts.administration import By, Holder
from registry_server.accounts.times import now_text
from registry_server.cli.listing import ListColumn, show_list
from registry_server.cli.options import Output, data_option, json_option, pass_output
from registry_server.cli.registry_access import changing, reading
from rye.errors import UsageError

_account = click.option("--account", metavar="NAME", help="The account.")
_team = click.option("--team", metavar="NAME", help="The team.")


@click.group(no_args_is_help=True)
def role() -> None:
    """Manage roles of accounts and teams in namespaces: owner, publisher, reader."""


@role.command("add")
@click.argument("namespace")
@_account
@_team
@click.option("--role", "wanted", type=click.Choice(roles.ROLES), required=True, help="The role.")
@data_option
@json_option
@pass_output
def role_add(output: Output, namespace: str, account: str | None, team: str | None, wanted: str, data: Path) -> None:
    """Give an account or a team a role in NAMESPACE, replacing its current one."""
    with changing(data) as connection:
        who = _who(connection, account, team)
        changed = administration.give_role(connection, namespace, wanted, who, By(now_text()))
    document: dict[str, object] = {"namespace": namespace, "who": who.words, "role": wanted, "changed": changed}
    held = f"{wanted} of {namespace}"
    words = f"{who.words} is {held}." if changed else f"{who.words} was already {held}; nothing changed."
    output.result(document, words)


@role.command("remove")
@click.argument("namespace")
@_account
@_team
@data_option
@json_option
@pass_output
def role_remove(output: Output, namespace: str, account: str | None, team: str | None, data: Path) -> None:
    """Remove the role of an account or a team in NAMESPACE."""
    with changing(data) as connection:
        who = _who(connection, account, team)
        removed = administration.take_role(connection, namespace, who, By(now_text()))
    words = f"{who.words} {'no longer has a role' if removed else 'had no role'} in {namespace}."
    output.result({"namespace": namespace, "who": who.words, "removed": removed}, words)


@role.command("list")
@click.argument("namespace", required=False)
@data_option
@json_option
@pass_output
def role_list(output: Output, namespace: str | None, data: Path) -> None:
    """List the roles in NAMESPACE, or all roles."""
    with reading(data) as connection:
        given = roles.listing(connection, namespace)
    rows = [{"namespace": row.namespace, "role": row.role, "account": row.account, "team": row.team} for row in given]
    cells = [(row.namespace, row.role, row.account if row.account is not None else f"team {row.team}") for row in given]
    show_list(
        output, {"roles": rows}, (ListColumn("namespace"), ListColumn("role"), ListColumn("who")), cells, "No roles."
    )


def _who(connection: sa.Connection, account: str | None, team: str | None) -> Holder:
    """Return the account or team that the options name."""
    if (account is None) == (team is None):
        raise UsageError(
            "usage",
            "Give either --account NAME or --team NAME.",
            "`rye-registry role add --help` shows how it is used.",
        )
    return administration.holder(connection, account, team)
