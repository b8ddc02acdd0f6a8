"""Roles of accounts and teams in namespaces. A role allows uploading and reading; authorship is decided by keys."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import sqlalchemy as sa
from msgspec import Struct

from registry_server.storage.schema import accounts, namespace_roles, team_groups, team_members, teams
from rye.errors import RyeError
from rye.items.identity import is_segment

ROLES = ("owner", "publisher", "reader")
"""Strongest first. Owners can also decide about stages and grant read access."""
WRITERS = frozenset({"owner", "publisher"})
OF_ACCOUNT = (
    "SELECT namespace, role FROM namespace_roles WHERE account = ? "
    "OR team IN (SELECT team FROM team_members WHERE account = ?)"
)
"""The query of :func:`of_account`, for SQLite's own driver (:mod:`registry_server.accounts.token_lookup`)."""


class Given(Struct, frozen=True):
    """A role as it was granted."""

    namespace: str
    role: str
    account: str | None
    """The account's name."""
    team: str | None


def strongest(rows: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Namespace and role, each namespace once with its strongest role, sorted."""
    best: dict[str, str] = {}
    for namespace, role in rows:
        if namespace not in best or ROLES.index(role) < ROLES.index(best[namespace]):
            best[namespace] = role
    return tuple(sorted(best.items()))


def of_account(connection: sa.Connection, account: str) -> tuple[tuple[str, str], ...]:
    """The roles of an account, including its teams'."""
    own_teams = sa.select(team_members.c.team).where(team_members.c.account == account)
    where = sa.or_(namespace_roles.c.account == account, namespace_roles.c.team.in_(own_teams))
    rows = connection.execute(sa.select(namespace_roles.c.namespace, namespace_roles.c.role).where(where))
    return strongest((row.namespace, row.role) for row in rows)


Owning = list[tuple[str | None, str | None]]
"""Owners of a namespace: the ID of an account, or a team."""


class Held(Struct, frozen=True):
    """What an account has."""

    roles: tuple[tuple[str, str], ...]
    """Namespace and role, including its teams'."""
    teams: tuple[str, ...]


def of_accounts(connection: sa.Connection, some: Sequence[str]) -> dict[str, Held]:
    """The roles and teams of accounts, by their IDs, in two queries for all of them."""
    inside: dict[str, list[str]] = {account: [] for account in some}
    members = sa.select(team_members.c.account, team_members.c.team).where(team_members.c.account.in_(some)).distinct()
    for row in connection.execute(members.order_by(team_members.c.team)):
        inside[row.account].append(row.team)
    teams_of_all = sa.select(team_members.c.team).where(team_members.c.account.in_(some))
    where = sa.or_(namespace_roles.c.account.in_(some), namespace_roles.c.team.in_(teams_of_all))
    given: dict[tuple[str | None, str | None], list[tuple[str, str]]] = {}
    for row in connection.execute(sa.select(namespace_roles).where(where)):
        given.setdefault((row.account, row.team), []).append((row.namespace, row.role))
    return {
        account: Held(
            strongest(
                [*given.get((account, None), ()), *(role for team in own for role in given.get((None, team), ()))]
            ),
            tuple(own),
        )
        for account, own in inside.items()
    }


def role_of(
    connection: sa.Connection, namespace: str, *, account: str | None = None, team: str | None = None
) -> str | None:
    """The role that was given to an account (by its ID) or a team in a namespace; None if none was."""
    who = namespace_roles.c.account == account if account is not None else namespace_roles.c.team == team
    return connection.scalar(sa.select(namespace_roles.c.role).where(namespace_roles.c.namespace == namespace, who))


def owning(connection: sa.Connection, namespace: str) -> Owning:
    """The holders through whose roles people who can sign in own a namespace; at most two of them. If there is one, its role can
    be neither removed nor lowered."""
    active = sa.select(accounts.c.id).where(accounts.c.disabled.is_(None))
    manned = sa.select(team_members.c.team).where(team_members.c.account.in_(active))
    query = sa.select(namespace_roles.c.account, namespace_roles.c.team).where(
        namespace_roles.c.namespace == namespace,
        namespace_roles.c.role == "owner",
        sa.or_(namespace_roles.c.account.in_(active), namespace_roles.c.team.in_(manned)),
    )
    return [(row.account, row.team) for row in connection.execute(query.limit(2))]


def hold(connection: sa.Connection, namespace: str) -> None:
    """Wait for other transactions that hold the roles in a namespace, and keep them until this one ends. Without it, PostgreSQL
    lets two owners remove each other at the same moment: each still sees the other. On SQLite, every writing transaction has
    this effect."""
    rows = sa.select(namespace_roles.c.number).where(namespace_roles.c.namespace == namespace)
    connection.execute(rows.order_by(namespace_roles.c.number).with_for_update())


def has_owner(connection: sa.Connection, namespace: str) -> bool:
    """Whether a person who can sign in owns a namespace, directly or through a team."""
    return bool(owning(connection, namespace))


def give(
    connection: sa.Connection, namespace: str, role: str, *, account: str | None = None, team: str | None = None
) -> bool:
    """Give an account (by its ID) or a team a role, replacing its previous role in the namespace. Return whether that changed
    anything. Raises RyeError.
    """
    if not is_segment(namespace):
        raise RyeError(
            "invalid-value",
            f"{namespace[:80]!r} is not a namespace.",
            "Use a-z, 0-9, - and _, at most 64.",
            what="namespace",
        )
    if role not in ROLES:
        raise RyeError("invalid-value", f"{role[:80]!r} is not a role.", f"Roles: {', '.join(ROLES)}.", what="role")
    if role_of(connection, namespace, account=account, team=team) == role:
        return False
    take(connection, namespace, account=account, team=team)
    connection.execute(namespace_roles.insert().values(namespace=namespace, role=role, account=account, team=team))
    return True


def take(connection: sa.Connection, namespace: str, *, account: str | None = None, team: str | None = None) -> bool:
    """Remove a role. Return whether there was one."""
    who = namespace_roles.c.account == account if account is not None else namespace_roles.c.team == team
    done = connection.execute(namespace_roles.delete().where(namespace_roles.c.namespace == namespace, who))
    return done.rowcount > 0


def listing(connection: sa.Connection, namespace: str | None = None) -> list[Given]:
    """All roles, or those in one namespace."""
    query = (
        sa.select(namespace_roles, accounts.c.name.label("person"))
        .outerjoin(accounts, accounts.c.id == namespace_roles.c.account)
        .order_by(namespace_roles.c.namespace, namespace_roles.c.number)
    )
    if namespace is not None:
        query = query.where(namespace_roles.c.namespace == namespace)
    return [Given(row.namespace, row.role, row.person, row.team) for row in connection.execute(query)]


# -- teams ---------------------------------------------------------------------------------------------------------------


def create_team(connection: sa.Connection, name: str, now: str) -> None:
    """Create an empty team. Raises RyeError ``invalid-value``, ``already-exists``."""
    if not is_segment(name):
        raise RyeError(
            "invalid-value",
            f"{name[:80]!r} is not a valid team name.",
            "Use a-z, 0-9, - and _, at most 64.",
            what="team",
        )
    if connection.scalar(sa.select(teams.c.name).where(teams.c.name == name)) is not None:
        raise RyeError(
            "already-exists",
            f"The team {name} already exists.",
            "`rye-registry team list` shows all teams.",
            what="team",
        )
    connection.execute(teams.insert().values(name=name, created=now))


def delete_team(connection: sa.Connection, name: str) -> None:
    """Delete a team, its groups, its memberships and its roles. Raises RyeError ``no-such-entry``."""
    require_team(connection, name)
    connection.execute(team_groups.delete().where(team_groups.c.team == name))
    connection.execute(namespace_roles.delete().where(namespace_roles.c.team == name))
    connection.execute(team_members.delete().where(team_members.c.team == name))
    connection.execute(teams.delete().where(teams.c.name == name))


def join(connection: sa.Connection, team: str, account: str) -> bool:
    """Add an account to a team by hand; False if it was already added. Raises RyeError ``no-such-entry``."""
    require_team(connection, team)
    if connection.scalar(sa.select(team_members.c.team).where(*_by_hand(team, account))) is not None:
        return False
    connection.execute(team_members.insert().values(team=team, account=account, group_name=""))
    return True


def leave(connection: sa.Connection, team: str, account: str) -> bool:
    """Remove an account that was added to a team by hand; False if it was not. Raises RyeError ``no-such-entry``."""
    require_team(connection, team)
    return connection.execute(team_members.delete().where(*_by_hand(team, account))).rowcount > 0


def _by_hand(team: str, account: str) -> tuple[sa.ColumnElement[bool], ...]:
    return team_members.c.team == team, team_members.c.account == account, team_members.c.group_name == ""


def teams_of(connection: sa.Connection, account: str) -> list[str]:
    """The teams that an account is in, sorted."""
    query = sa.select(team_members.c.team).where(team_members.c.account == account).distinct()
    return list(connection.scalars(query.order_by(team_members.c.team)))


def require_team(connection: sa.Connection, name: str) -> None:
    """Check that a team exists. Raises RyeError ``no-such-entry``."""
    if connection.scalar(sa.select(teams.c.name).where(teams.c.name == name)) is None:
        raise RyeError(
            "no-such-entry",
            f"There is no team {name[:80]!r}.",
            f"Create it: rye-registry team create {name[:80]}"
            if is_segment(name)
            else "`rye-registry team list` shows all teams.",
            what="team",
        )


def team_listing(connection: sa.Connection) -> dict[str, list[str]]:
    """The members' names of each team."""
    members_of: dict[str, list[str]] = {
        name: [] for name in connection.scalars(sa.select(teams.c.name).order_by(teams.c.name))
    }
    for row in connection.execute(_MEMBERS):
        members_of[row.team].append(row.name)
    return members_of


def members_of(connection: sa.Connection, team: str) -> list[str]:
    """The names of a team's members; none if there is no such team."""
    return [row.name for row in connection.execute(_MEMBERS.where(team_members.c.team == team))]


_MEMBERS = (
    sa.select(team_members.c.team, accounts.c.name)
    .join(accounts, accounts.c.id == team_members.c.account)
    .distinct()
    .order_by(accounts.c.name)
)
