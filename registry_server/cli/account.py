"""``rye-registry account``: people who sign in."""

from __future__ import annotations

from pathlib import Path

import click

from registry_server.accounts import audit_events, members, roles
from registry_server.accounts.times import now_text
from registry_server.cli.options import Output, data_option, json_option, pass_output
from registry_server.cli.registry_access import changing, reading, settings_of


@click.group(no_args_is_help=True)
def account() -> None:
    """Accounts: people who sign in, make tokens and approve stages."""


@account.command("create")
@click.argument("name")
@click.option("--namespace", help="Give the account a role in this namespace.")
@click.option(
    "--role", type=click.Choice(roles.ROLES), default="owner", show_default=True, help="The role, with --namespace."
)
@data_option
@json_option
@pass_output
def account_create(output: Output, name: str, namespace: str | None, role: str, data: Path) -> None:
    """Make an account, and print a link that signs its owner in, once. Again for one that exists: another link."""
    now = now_text()
    with changing(data) as connection:
        member = next((one for one in members.listing(connection) if one.name == name), None)
        is_new = member is None
        if member is None:
            member = members.create(connection, name, now)
        if namespace is not None:
            roles.give(connection, namespace, role, account=member.id)
        secret = members.make_link(connection, member.id, now)
        detail = {"name": name, "namespace": namespace, "role": role if namespace else None, "new": is_new}
        audit_events.record(connection, now, "account.create", f"account:{member.id}", detail=detail)
    link = f"{settings_of(data, {}).public_address}/-/account/link/{secret}"
    document: dict[str, object] = {"account": member.id, "name": name, "namespace": namespace, "link": link}
    output.result(document, link)
    output.say(f"Give {name} this link. It is good once, for {members.LINK_SECONDS // 3600} hours.")


@account.command("list")
@data_option
@json_option
@pass_output
def account_list(output: Output, data: Path) -> None:
    """List all accounts with their roles."""
    with reading(data) as connection:
        found = [(member, roles.of_account(connection, member.id)) for member in members.listing(connection)]
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
        for member, held in found
    ]
    lines = [
        f"{member.id}  {'disabled' if member.disabled else 'active  '}  {member.name}"
        f"{f' ({member.issuer} {member.subject})' if member.issuer else ''}  "
        + (", ".join(f"{role} of {namespace}" for namespace, role in held) or "no role")
        for member, held in found
    ]
    output.result({"accounts": rows}, "\n".join(lines) or "No accounts.")


@account.command("disable")
@click.argument("name")
@data_option
@json_option
@pass_output
def account_disable(output: Output, name: str, data: Path) -> None:
    """End an account: its sessions, links and tokens are worthless at once. NAME: its name or ID."""
    now = now_text()
    with changing(data) as connection:
        member = members.disable(connection, members.named(connection, name).id, now)
        audit_events.record(connection, now, "account.disable", f"account:{member.id}", detail={"name": member.name})
    output.result({"account": member.id, "name": member.name, "disabled": member.disabled}, f"Disabled {member.name}.")
