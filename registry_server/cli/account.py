"""``rye-registry account``: the people who sign in."""

from __future__ import annotations

from pathlib import Path

import click

from registry_server.accounts import audit_events, members, roles
from registry_server.accounts.times import now_text
from registry_server.cli.options import Output, data_option, json_option, pass_output
from registry_server.cli.registry_access import changing, reading, settings_of
from registry_server.settings import SETTINGS_FILE
from rye.errors import RyeError


@click.group(no_args_is_help=True)
def account() -> None:
    """Manage accounts: people who sign in, create tokens and approve stages."""


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
    """Create an account, and print a link that signs its owner in once. For an existing account, print another link."""
    now = now_text()
    with changing(data) as connection:
        member = next((one for one in members.listing(connection) if one.name == name), None)
        is_new = member is None
        if member is not None and member.issuer:
            raise RyeError(
                "account-exists",
                f"{name} is the name of an account that {member.issuer} signs in, where anyone can choose any name.",
                f"Choose another name, or give that account a role: rye-registry role add NAMESPACE --account {member.id}",
            )
        if member is None:
            member = members.create(connection, name, now)
        if namespace is not None:
            roles.give(connection, namespace, role, account=member.id)
        secret = members.make_link(connection, member.id, now)
        detail = {"name": name, "namespace": namespace, "role": role if namespace else None, "new": is_new}
        audit_events.record(connection, now, "account.create", f"account:{member.id}", detail=detail)
    settings, path = settings_of(data, {}), f"/-/account/link/{secret}"
    link = f"{settings.public_address}{path}"
    document: dict[str, object] = {
        "account": member.id,
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
    """Disable an account, with its sessions, links and tokens, at once. NAME: its name or ID."""
    now = now_text()
    with changing(data) as connection:
        member = members.disable(connection, members.named(connection, name).id, now)
        audit_events.record(connection, now, "account.disable", f"account:{member.id}", detail={"name": member.name})
    output.result({"account": member.id, "name": member.name, "disabled": member.disabled}, f"Disabled {member.name}.")
