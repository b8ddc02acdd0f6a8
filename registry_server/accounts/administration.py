"""What an operator changes, each with its audit event: the same for ``rye-registry`` and for ``/api/v1/admin/``.

Every function works inside the caller's transaction, so a change and its event are written together or not at all. What is
already as the operator wants it is no error, and no event.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import sqlalchemy as sa
from msgspec import Struct

from registry_server.accounts import audit_events, groups, members, publishers, roles, tokens, webhooks
from registry_server.accounts.groups import TeamGroup, TeamMoves
from registry_server.accounts.members import AccountMember
from registry_server.accounts.publishers import Publisher
from registry_server.accounts.tokens import Account
from registry_server.accounts.webhooks import Webhook
from rye.errors import RyeError
from rye.registry.transport.guarded import Network


class By(Struct, frozen=True):
    """Who makes a change, and when."""

    now: str
    actor: str = audit_events.OPERATOR
    address: str = ""


class Holder(Struct, frozen=True):
    """Who has a role: an account, or else a team."""

    words: str
    """How messages and events name it."""
    account: str | None
    """The account's ID."""
    team: str | None


class Invitation(Struct, frozen=True):
    """An account, and the secret of the link that signs its owner in once."""

    member: AccountMember
    secret: str


# -- accounts and tokens -------------------------------------------------------------------------------------------------


def invite(connection: sa.Connection, name: str, namespace: str | None, role: str, by: By) -> Invitation:
    """Create an account and a link, or another link for the account that the operator created under this name.

    ``namespace``: give it ``role`` there. Raises RyeError ``already-exists`` for the name of an account that an issuer
    signs in, ``account-disabled``, ``invalid-value``.
    """
    member = next((other for other in members.listing(connection) if other.name == name), None)
    is_new = member is None
    if member is not None and member.issuer:
        raise RyeError(
            "already-exists",
            f"{name} is the name of an account that {member.issuer} signs in, where anyone can choose any name.",
            f"Choose another name, or give that account a role: rye-registry role add NAMESPACE --account {member.id}",
            what="account",
        )
    member = members.create(connection, name, by.now) if member is None else members.active(connection, member.id)
    if namespace is not None:
        roles.give(connection, namespace, role, account=member.id)
    secret = members.make_link(connection, member.id, by.now)
    detail = {"name": name, "namespace": namespace, "role": role if namespace else None, "new": is_new}
    _record(connection, by, "account.create", f"account:{member.id}", detail)
    return Invitation(member, secret)


def disable_account(connection: sa.Connection, account: str, by: By) -> tuple[AccountMember, bool]:
    """Disable an account, by its name or ID, with its sessions, links and tokens. Return it, and whether it was active.

    Raises RyeError ``no-such-entry``.
    """
    before = members.named(connection, account)
    member = members.disable(connection, before.id, by.now)
    if before.disabled is None:
        _record(connection, by, "account.disable", f"account:{member.id}", {"name": member.name})
    return member, before.disabled is None


def enable_account(connection: sa.Connection, account: str, by: By) -> tuple[AccountMember, bool]:
    """Enable a disabled account, by its name or ID. Return it, and whether it was disabled. Raises RyeError
    ``no-such-entry``."""
    before = members.named(connection, account)
    if before.disabled is None:
        return before, False
    member = members.enable(connection, before.id, by.now)
    _record(connection, by, "account.enable", f"account:{member.id}", {"name": member.name})
    return member, True


def create_token(
    connection: sa.Connection,
    name: str,
    scopes: Sequence[str],
    namespaces: Sequence[str],
    seconds: float | None,
    account: str | None,
    by: By,
) -> tuple[str, Account]:
    """Create a token; return it and what it stands for. ``account``: the name or ID of its owner, None: the operator.

    Raises RyeError ``no-such-entry``, ``account-disabled``, and those of :func:`registry_server.accounts.tokens.create`.
    """
    owner = members.active(connection, account).id if account is not None else None
    secret = tokens.create(connection, name, namespaces, by.now, scopes=scopes, seconds=seconds, account=owner)
    created = tokens.check(connection, secret, by.now)
    assert created is not None
    detail = {"name": name, "scopes": list(created.scopes), "namespaces": list(created.namespaces), "account": owner}
    _record(connection, by, "token.create", f"token:{created.token}", detail)
    return secret, created


def revoke_token(connection: sa.Connection, identifier: str, by: By) -> tuple[Account, bool]:
    """Revoke any token, and all that descend from it: those that it created over HTTP, those that they created, and so on.

    Return it, and whether any of them was not revoked yet. Raises RyeError ``no-such-entry``.
    """
    is_new = not tokens.is_revoked(connection, identifier)
    revoked = tokens.revoke(connection, identifier, by.now)
    gone = []
    # Revoking a token waits for the one that it is creating at this moment: ask again until there is none.
    while active := [
        identity
        for identity in _descendants(connection, revoked.token)
        if tokens.is_active(connection, identity, by.now)
    ]:
        gone += [tokens.revoke(connection, identity, by.now) for identity in active]
    # Events come last: their lock before another token's could be a deadlock with the call that is creating one.
    if is_new:
        _record(connection, by, "token.revoke", f"token:{revoked.token}", {"name": revoked.name})
    for descendant in gone:
        detail = {"name": descendant.name, "descends_from": revoked.token}
        _record(connection, by, "token.revoke", f"token:{descendant.token}", detail)
    return revoked, is_new or bool(gone)


def _descendants(connection: sa.Connection, token: str) -> list[str]:
    """The IDs of all tokens that descend from a token."""
    children: dict[str, list[str]] = {}
    for creator, created in audit_events.tokens_by_creator(connection):
        children.setdefault(creator, []).append(created)
    descendants = {token: None}
    waiting = [token]
    while waiting:
        fresh = [child for child in children.get(waiting.pop(0), ()) if child not in descendants]
        descendants.update(dict.fromkeys(fresh))
        waiting += fresh
    return [child for child in descendants if child != token]


# -- teams and roles -----------------------------------------------------------------------------------------------------


def create_team(connection: sa.Connection, name: str, by: By) -> None:
    """Create an empty team. Raises RyeError ``invalid-value``, ``already-exists``."""
    roles.create_team(connection, name, by.now)
    _record(connection, by, "team.create", f"team:{name}")


def delete_team(connection: sa.Connection, name: str, by: By) -> None:
    """Delete a team and its roles. Raises RyeError ``no-such-entry``."""
    roles.delete_team(connection, name)
    _record(connection, by, "team.delete", f"team:{name}")


def join_team(connection: sa.Connection, name: str, account: str, by: By) -> tuple[AccountMember, bool]:
    """Add an account to a team. Return it, and whether it is new there. Raises RyeError ``no-such-entry``."""
    member = members.named(connection, account)
    is_new = roles.join(connection, name, member.id)
    if is_new:
        _record(connection, by, "team.add", f"team:{name}", {"account": member.id})
    return member, is_new


def leave_team(connection: sa.Connection, name: str, account: str, by: By) -> tuple[AccountMember, bool]:
    """Remove an account that was added by hand from a team. Return it, and whether it was there. Raises RyeError
    ``no-such-entry``."""
    member = members.named(connection, account)
    was_inside = roles.leave(connection, name, member.id)
    if was_inside:
        _record(connection, by, "team.remove", f"team:{name}", {"account": member.id})
    return member, was_inside


def map_group(connection: sa.Connection, issuer: str, group: str, team: str, by: By) -> TeamGroup:
    """Put a group of an issuer into a team. Raises RyeError ``invalid-value``, ``no-such-entry``, ``already-exists``."""
    made = groups.map_group(connection, issuer, group, team, by.now)
    _record(connection, by, "team.map", f"team:{team}", {"group": group, "issuer": issuer})
    return made


def unmap_group(connection: sa.Connection, group: TeamGroup, by: By) -> list[str]:
    """Take a group out of a team. Return the IDs of the accounts that were in the team because of it."""
    gone = groups.unmap(connection, group)
    detail = {"group": group.group, "issuer": group.issuer, "accounts": gone}
    _record(connection, by, "team.unmap", f"team:{group.team}", detail)
    return gone


def record_moved(connection: sa.Connection, member: AccountMember, moved: TeamMoves, by: By) -> None:
    """Record which teams an account joined and left because of its groups."""
    detail = {"joined": list(moved.joined), "left": list(moved.left)}
    _record(connection, by, "account.groups", f"account:{member.id}", detail)


def holder(connection: sa.Connection, account: str | None, team: str | None) -> Holder:
    """The account (by its name or ID) or else the team. Raises RyeError ``no-such-entry``."""
    if account is not None:
        member = members.named(connection, account)
        return Holder(member.name, member.id, None)
    roles.require_team(connection, str(team))
    return Holder(f"team {team}", None, team)


def give_role(connection: sa.Connection, namespace: str, role: str, who: Holder, by: By) -> bool:
    """Give a role in a namespace, replacing the one that there is. Return whether that is a change. Raises RyeError
    ``invalid-value``.
    """
    is_new = roles.give(connection, namespace, role, account=who.account, team=who.team)
    if is_new:
        _record(connection, by, "role.add", f"namespace:{namespace}", {"who": who.words, "role": role})
    return is_new


def take_role(connection: sa.Connection, namespace: str, who: Holder, by: By) -> bool:
    """Remove a role. Return whether there was one."""
    was_there = roles.take(connection, namespace, account=who.account, team=who.team)
    if was_there:
        _record(connection, by, "role.remove", f"namespace:{namespace}", {"who": who.words})
    return was_there


# -- webhooks and trusted publishers -------------------------------------------------------------------------------------


def add_webhook(
    connection: sa.Connection,
    url: str,
    namespace: str,
    events: Sequence[str],
    by: By,
    inside: Sequence[Network] = (),
) -> Webhook:
    """Add a webhook. ``inside``: networks whose addresses it may have. Raises RyeError ``invalid-value``,
    ``private-address``."""
    webhook = webhooks.add(connection, url, namespace, events, by.now, inside)
    _record(connection, by, "webhook.add", f"webhook:{webhook.id}", webhook.as_json())
    return webhook


def remove_webhook(connection: sa.Connection, identifier: str, by: By) -> Webhook:
    """Remove a webhook. Raises RyeError ``no-such-entry``."""
    gone = webhooks.remove(connection, identifier)
    _record(connection, by, "webhook.remove", f"webhook:{gone.id}", gone.as_json())
    return gone


def add_publisher(
    connection: sa.Connection,
    namespace: str,
    issuer: str,
    repository: str,
    workflow: str,
    environment: str,
    scopes: Sequence[str],
    by: By,
) -> Publisher:
    """Trust a workflow. ``issuer``: ``github``, ``gitlab`` or an address. Raises RyeError for invalid values, and
    ``already-exists``."""
    issuer = publishers.SHORT.get(issuer, issuer)
    publisher = publishers.add(connection, namespace, issuer, repository, workflow, environment, scopes, by.now)
    _record(connection, by, "publisher.add", f"namespace:{namespace}", publisher.as_json())
    return publisher


def remove_publisher(connection: sa.Connection, identifier: str, by: By) -> Publisher:
    """Stop trusting a workflow. Raises RyeError ``no-such-entry``."""
    gone = publishers.remove(connection, identifier)
    _record(connection, by, "publisher.remove", f"namespace:{gone.namespace}", gone.as_json())
    return gone


def _record(
    connection: sa.Connection, by: By, action: str, subject: str, detail: Mapping[str, object] | None = None
) -> None:
    audit_events.record(connection, by.now, action, subject, actor=by.actor, address=by.address, detail=detail)
