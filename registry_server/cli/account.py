"""``rye-registry account``: the people who sign in."""

from __future__ import annotations

from pathlib import Path

import click

from registry_server.accounts import administration, members, roles
from registry_server.accounts.administration import By
from registry_server.accounts.times import now_text
from registry_server.cli.listing import ListColumn, show_list
from registry_server.cli.options import Output, data_option, json_option, pass_output
from registry_server.cli.registry_access import changing, reading, settings_of
from registry_server.settings import SETTINGS_FILE
from rye.errors import UsageError

_COLUMNS = (ListColumn("account"), ListColumn("state", "{:8}"), ListColumn("name"), ListColumn("roles", wraps=True))


@click.group(no_args_is_help=True)
def account() -> None:
    """Manage accounts: people who sign in, create tokens and approve stages."""


@account.command("create")
@click.argument("name")
@click.option("--namespace", help="Give the account a role in this namespace.")
@click.option("--role", type=click.Choice(roles.ROLES), help="The role, with --namespace.  [default: owner]")
@data_option
@json_option
@pass_output
def account_create(output: Output, name: str, namespace: str | None, role: str | None, data: Path) -> None:
    """Create an account, and print a link that signs its owner in once. For an existing account, print another link."""
    if role is not None and namespace is None:
        raise UsageError("usage", "--role needs --namespace.", f"Add --namespace NAME: {name} becomes its {role}.")
    with changing(data) as connection:
        invitation = administration.invite(connection, name, namespace, role or "owner", By(now_text()))
    settings, path = settings_of(data, {}), f"/-/account/link/{invitation.secret}"
    link = f"{settings.public_address}{path}"
    document: dict[str, object] = {
        "account": invitation.member.id,
        "name": name,
        "namespace": namespace,
        "link": link,
        "path": path,
    }
    output.result(document, link)
    output.say(f"Send {name} this link. It works once, within {members.LINK_SECONDS // 3600} hours.")
    if not settings.address:
        output.say(
            f"warning: the registry has no public address, so the link works only on this machine, while the server listens "
            f"on port {settings.port}. Set the address in {settings.data / SETTINGS_FILE}, then run the command again:"
            '\n  address = "https://registry.example.org"'
        )


@account.command("list")
@data_option
@json_option
@pass_output
def account_list(output: Output, data: Path) -> None:
    """List all accounts with their roles."""
    with reading(data) as connection:
        accounts = [(member, roles.of_account(connection, member.id)) for member in members.listing(connection)]
    rows = [
        {
            "account": member.id,
            "name": member.name,
            "issuer": member.issuer,
            "subject": member.subject,
            "created": member.created,
            "disabled": member.disabled,
            "roles": [{"namespace": namespace, "role": role} for namespace, role in held],
        }
        for member, held in accounts
    ]
    cells = [
        (
            member.id,
            "disabled" if member.disabled else "active",
            f"{member.name} ({member.issuer} {member.subject})" if member.issuer else member.name,
            ", ".join(f"{role} of {namespace}" for namespace, role in held) or "no role",
        )
        for member, held in accounts
    ]
    show_list(output, {"accounts": rows}, _COLUMNS, cells, "No accounts.")


@account.command("disable")
@click.argument("name")
@data_option
@json_option
@pass_output
def account_disable(output: Output, name: str, data: Path) -> None:
    """Disable an account, with its sessions, links and tokens, at once. NAME: its name or ID."""
    with changing(data) as connection:
        member, changed = administration.disable_account(connection, name, By(now_text()))
    document: dict[str, object] = {"account": member.id, "name": member.name, "disabled": member.disabled}
    words = f"Disabled {member.name}." if changed else f"{member.name} was already disabled; nothing changed."
    output.result({**document, "changed": changed}, words)


@account.command("enable")
@click.argument("name")
@data_option
@json_option
@pass_output
def account_enable(output: Output, name: str, data: Path) -> None:
    """Enable a disabled account. NAME: its name or ID.

    Its roles count again. Its sessions, links and tokens stay ended, so it has to sign in again.
    """
    with changing(data) as connection:
        member, changed = administration.enable_account(connection, name, By(now_text()))
    document: dict[str, object] = {"account": member.id, "name": member.name, "disabled": member.disabled}
    held = f"Enabled {member.name}, with its roles. Its tokens stay revoked."
    output.result(
        {**document, "changed": changed}, held if changed else f"{member.name} is not disabled; nothing changed."
    )
