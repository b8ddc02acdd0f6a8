"""``rye-registry team``: accounts that share roles."""

from __future__ import annotations

from pathlib import Path

import click

from registry_server.accounts import administration, roles
from registry_server.accounts.administration import By
from registry_server.accounts.times import now_text
from registry_server.cli.listing import ListColumn, show_list
from registry_server.cli.options import Output, data_option, json_option, pass_output
from registry_server.cli.registry_access import changing, reading


@click.group(no_args_is_help=True)
def team() -> None:
    """Manage teams: accounts that share roles."""


@team.command("create")
@click.argument("name")
@data_option
@json_option
@pass_output
def team_create(output: Output, name: str, data: Path) -> None:
    """Create a team."""
    with changing(data) as connection:
        administration.create_team(connection, name, By(now_text()))
    output.result({"team": name, "members": []}, f"Created the team {name}.")


@team.command("delete")
@click.argument("name")
@data_option
@json_option
@pass_output
def team_delete(output: Output, name: str, data: Path) -> None:
    """Delete a team and its roles."""
    with changing(data) as connection:
        administration.delete_team(connection, name, By(now_text()))
    output.result({"team": name, "deleted": True}, f"Deleted the team {name}.")


@team.command("add")
@click.argument("name")
@click.argument("account")
@data_option
@json_option
@pass_output
def team_add(output: Output, name: str, account: str, data: Path) -> None:
    """Add ACCOUNT to the team NAME."""
    with changing(data) as connection:
        member, changed = administration.join_team(connection, name, account, By(now_text()))
    words = f"{member.name} is in {name}." if changed else f"{member.name} was already in {name}; nothing changed."
    output.result({"team": name, "account": member.name, "changed": changed}, words)


@team.command("remove")
@click.argument("name")
@click.argument("account")
@data_option
@json_option
@pass_output
def team_remove(output: Output, name: str, account: str, data: Path) -> None:
    """Remove ACCOUNT from the team NAME."""
    with changing(data) as connection:
        member, changed = administration.leave_team(connection, name, account, By(now_text()))
    words = f"{member.name} is not in {name}." if changed else f"{member.name} was not in {name}; nothing changed."
    output.result({"team": name, "account": member.name, "changed": changed}, words)


@team.command("list")
@data_option
@json_option
@pass_output
def team_list(output: Output, data: Path) -> None:
    """List all teams and their members."""
    with reading(data) as connection:
        teams = roles.team_listing(connection)
    rows = [{"team": name, "members": inside} for name, inside in teams.items()]
    cells = [(name, ", ".join(inside) or "no members") for name, inside in teams.items()]
    show_list(output, {"teams": rows}, (ListColumn("team"), ListColumn("members", wraps=True)), cells, "No teams.")
