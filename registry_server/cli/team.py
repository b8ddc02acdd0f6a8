"""``rye-registry team``: accounts that share roles."""

from __future__ import annotations

from pathlib import Path

import click

from registry_server.accounts import administration, groups, roles
from registry_server.accounts.administration import By
from registry_server.accounts.times import now_text
from registry_server.cli.listing import ListColumn, show_list
from registry_server.cli.options import Output, data_option, json_option, pass_output
from registry_server.cli.registry_access import changing, reading, settings_of
from rye.text.display import visible


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
        behind = groups.behind(connection, name, member.id)
    words = f"{member.name} is not in {name}." if changed else f"{member.name} was not in {name}; nothing changed."
    if behind:
        words = (
            f"{member.name} is still in {name}, because of {_listed(behind)}; only the identity provider changes that."
        )
    output.result({"team": name, "account": member.name, "changed": changed, "groups": behind}, words)


@team.command("map")
@click.argument("group")
@click.argument("name", metavar="TEAM")
@data_option
@json_option
@pass_output
def team_map(output: Output, group: str, name: str, data: Path) -> None:
    """Put everyone in GROUP of the identity provider into TEAM, from their next sign-in or `account sync` on.

    GROUP is written exactly as in identity tokens. Without the setting `oidc_issuer` it is a group of `account sync`.
    """
    issuer = settings_of(data, {}).oidc_issuer
    with changing(data) as connection:
        made = administration.map_group(connection, issuer, group, name, By(now_text()))
    output.result(made.as_json(), f"The group {visible(group)} is in the team {name}.")
    if issuer:
        output.say("Everyone in it joins the team at their next sign-in, or with `rye-registry account sync`.")
    else:
        output.say(
            "warning: `oidc_issuer` is not set in registry.toml, so nobody signs in with groups: only a list for "
            "`rye-registry account sync` that names no issuer puts anyone into this group. For the groups of an identity "
            f"provider, set it, and run the same command again. `rye-registry team unmap GROUP {name} --issuer ''` takes this "
            "one away."
        )


@team.command("unmap")
@click.argument("group")
@click.argument("name", metavar="TEAM")
@click.option("--issuer", help="Of this identity provider. Default: the setting `oidc_issuer`.")
@data_option
@json_option
@pass_output
def team_unmap(output: Output, group: str, name: str, issuer: str | None, data: Path) -> None:
    """Take GROUP out of TEAM, with everyone who is there because of it, at once."""
    wanted = issuer if issuer is not None else settings_of(data, {}).oidc_issuer
    with changing(data) as connection:
        mapped = groups.named(connection, wanted, group, name)
        gone = administration.unmap_group(connection, mapped, By(now_text()))
    count = f"{len(gone)} account{'' if len(gone) == 1 else 's'}"
    words = f"The group {visible(group)} is no longer in the team {name}: {count} lost it."
    output.result({**mapped.as_json(), "accounts": gone}, words)


@team.command("groups")
@data_option
@json_option
@pass_output
def team_groups(output: Output, data: Path) -> None:
    """List which groups of the identity provider are in which teams."""
    with reading(data) as connection:
        mapped = groups.listing(connection)
    columns = (ListColumn("team"), ListColumn("issuer"), ListColumn("group", wraps=True))
    cells = [(row.team, row.issuer or "(none)", visible(row.group)) for row in mapped]
    show_list(output, {"groups": [row.as_json() for row in mapped]}, columns, cells, "No groups.")


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


def _listed(behind: list[str]) -> str:
    return ", ".join(f"the group {visible(group)}" for group in behind)
