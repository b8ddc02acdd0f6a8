"""``rye-registry team``: accounts that share roles."""

from __future__ import annotations

from pathlib import Path

import click

from registry_server.accounts import audit_events, members, roles
from registry_server.accounts.times import now_text
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
    now = now_text()
    with changing(data) as connection:
        roles.create_team(connection, name, now)
        audit_events.record(connection, now, "team.create", f"team:{name}")
    output.result({"team": name, "members": []}, f"Created the team {name}.")


@team.command("delete")
@click.argument("name")
@data_option
@json_option
@pass_output
def team_delete(output: Output, name: str, data: Path) -> None:
    """Delete a team and its roles."""
    with changing(data) as connection:
        roles.delete_team(connection, name)
        audit_events.record(connection, now_text(), "team.delete", f"team:{name}")
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
        member = members.named(connection, account)
        if roles.join(connection, name, member.id):
            audit_events.record(connection, now_text(), "team.add", f"team:{name}", detail={"account": member.id})
    output.result({"team": name, "account": member.name}, f"{member.name} is in {name}.")


@team.command("remove")
@click.argument("name")
@click.argument("account")
@data_option
@json_option
@pass_output
def team_remove(output: Output, name: str, account: str, data: Path) -> None:
    """Remove ACCOUNT from the team NAME."""
    with changing(data) as connection:
        member = members.named(connection, account)
        if roles.leave(connection, name, member.id):
            audit_events.record(connection, now_text(), "team.remove", f"team:{name}", detail={"account": member.id})
    output.result({"team": name, "account": member.name}, f"{member.name} is not in {name}.")


@team.command("list")
@data_option
@json_option
@pass_output
def team_list(output: Output, data: Path) -> None:
    """List all teams and their members."""
    with reading(data) as connection:
        found = roles.team_listing(connection)
    rows = [{"team": name, "members": inside} for name, inside in found.items()]
    lines = [f"{name}  {', '.join(inside) or 'no members'}" for name, inside in found.items()]
    output.result({"teams": rows}, "\n".join(lines) or "No teams.")
