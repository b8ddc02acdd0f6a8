"""``rye-registry account``: the people who sign in."""

from __future__ import annotations

from pathlib import Path

import click

from registry_server.accounts import administration, directory_list, members, roles
from registry_server.accounts.administration import By
from registry_server.accounts.times import now_text
from registry_server.cli.listing import ListColumn, show_list
from registry_server.cli.options import Output, data_option, json_option, pass_output
from registry_server.cli.registry_access import changing, reading, settings_of
from registry_server.settings import SETTINGS_FILE
from rye.errors import RyeError, UsageError

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


@account.command("sync")
@click.option(
    "--from",
    "listed",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="The list, which another program wrote from your directory.",
)
@click.option(
    "--most",
    type=click.IntRange(0),
    help="From how many accounts it may take something. Default: a tenth of the active ones, but at least one.",
)
@click.option("--dry-run", is_flag=True, help="Show what would happen, and change nothing.")
@data_option
@json_option
@pass_output
def account_sync(output: Output, listed: Path, most: int | None, dry_run: bool, data: Path) -> None:
    """Disable everyone who is not on a list of who is still there, and move the others between teams by their groups."""
    content = _content(listed)
    with changing(data) as connection:
        now = now_text()
        planned = directory_list.plan(connection, content, now)
        if not dry_run:
            directory_list.check_share(planned, most)
            directory_list.carry_out(connection, planned, By(now))
    disabled = [change.member.name for change in planned.changes if change.is_disabled]
    document: dict[str, object] = {
        "disabled": disabled,
        "joined": {change.member.name: list(change.moved.joined) for change in planned.changes if change.moved.joined},
        "left": {change.member.name: list(change.moved.left) for change in planned.changes if change.moved.left},
        "newer": directory_list.names(planned.newer),
        "still_disabled": directory_list.names(planned.still_disabled),
        "done": not dry_run,
    }
    lines = [
        *(f"{'would disable' if dry_run else 'disabled'}  {name}" for name in disabled),
        *(_moves(change) for change in planned.changes if change.moved),
        *(f"newer than the list, left alone  {name}" for name in directory_list.names(planned.newer)),
        *(f"listed, but disabled here  {name}" for name in directory_list.names(planned.still_disabled)),
    ]
    output.result(document, "\n".join(lines) or "Everything is as the list says.")


def _moves(change: directory_list.ListedChange) -> str:
    moved = [*(f"+{team}" for team in change.moved.joined), *(f"-{team}" for team in change.moved.left)]
    return f"teams  {change.member.name}  {' '.join(moved)}"


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(directory_list.LIST_BYTES + 1)
    except OSError as error:
        raise RyeError("unreadable", f"{path} cannot be read: {error.strerror}.", "Check the path.") from error
