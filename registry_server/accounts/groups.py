"""Groups of the identity provider that are teams here.

Rules:

1. An operator says which group is in which team. A group counts for one issuer, and names are compared character by character:
   one that only looks the same is another group.
2. Only a list of texts says which groups a person is in. Anything else, and no claim at all, means none.
3. The newest statement counts: an identity token or a list that was written before what is known of an account changes nothing.
4. Who was added to a team by hand stays. Whoever is in it because of a group leaves it with the group, or when the group is no
   longer in the team.
"""

from __future__ import annotations

import secrets
import unicodedata
from collections.abc import Callable, Collection, Sequence
from datetime import UTC, datetime

import sqlalchemy as sa
from msgspec import Struct

from registry_server.accounts import roles
from registry_server.accounts.issuers import Claims
from registry_server.accounts.members import AccountMember
from registry_server.storage.schema import accounts, team_groups, team_members
from rye.errors import RyeError
from rye.registry.protocol.lines import write_time

_NAME_CHARACTERS = 400


class TeamGroup(Struct, frozen=True):
    """A group that is in a team. ``issuer`` empty: a group of accounts that the operator created."""

    id: str
    issuer: str
    group: str
    team: str
    created: str

    def as_json(self) -> dict[str, object]:
        """The group as ``rye-registry team groups --json`` shows it."""
        return {name: getattr(self, name) for name in self.__struct_fields__}


class TeamMoves(Struct, frozen=True):
    """The teams that an account joined and left because of its groups."""

    joined: tuple[str, ...] = ()
    left: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.joined or self.left)


def map_group(connection: sa.Connection, issuer: str, group: str, team: str, now: str) -> TeamGroup:
    """Put a group into a team. Raises RyeError ``invalid-value``, ``no-such-entry``, ``already-exists``."""
    is_plain = group.isprintable() and group == group.strip() == unicodedata.normalize("NFC", group)
    if not 0 < len(group) <= _NAME_CHARACTERS or not is_plain:
        raise RyeError(
            "invalid-value",
            f"{group[:80]!r} is not the name of a group.",
            f"Give it as the identity token does: 1 to {_NAME_CHARACTERS} printable characters.",
            what="group",
        )
    roles.require_team(connection, team)
    if any((row.issuer, row.group, row.team) == (issuer, group, team) for row in listing(connection)):
        raise RyeError(
            "already-exists",
            f"The group {group} is already in the team {team}.",
            "`rye-registry team groups` shows all groups.",
            what="group",
        )
    made = TeamGroup(secrets.token_hex(8), issuer, group, team, now)
    row = {"id": made.id, "issuer": issuer, "group_name": group, "team": team, "created": now}
    connection.execute(team_groups.insert().values(row))
    return made


def unmap(connection: sa.Connection, group: TeamGroup) -> list[str]:
    """Take a group out of a team, and everyone who is in the team because of it. Return the IDs of these accounts."""
    # The mapping first: a sign-in that holds it must end before its members can be looked for.
    connection.execute(team_groups.delete().where(team_groups.c.id == group.id))
    of_issuer = sa.select(accounts.c.id).where(accounts.c.issuer == group.issuer)
    where = (
        team_members.c.team == group.team,
        team_members.c.group_name == group.group,
        team_members.c.account.in_(of_issuer),
    )
    gone = list(connection.scalars(sa.select(team_members.c.account).where(*where)))
    connection.execute(team_members.delete().where(*where))
    return gone


def with_id(connection: sa.Connection, identifier: str) -> TeamGroup:
    """Return a group by its ID. Raises RyeError ``no-such-entry``."""
    return _only(connection, identifier, lambda row: row.id == identifier)


def named(connection: sa.Connection, issuer: str, group: str, team: str) -> TeamGroup:
    """Return a group by its names. Raises RyeError ``no-such-entry``."""
    return _only(connection, group, lambda row: (row.issuer, row.group, row.team) == (issuer, group, team))


def listing(connection: sa.Connection) -> list[TeamGroup]:
    """All groups, by team."""
    query = sa.select(team_groups).order_by(team_groups.c.team, team_groups.c.group_name, team_groups.c.issuer)
    return [_group(row) for row in connection.execute(query)]


def in_claims(claims: Claims, name: str) -> frozenset[str]:
    """The groups that an identity token names (rule 2)."""
    value = claims.get(name)
    if not isinstance(value, list) or not all(isinstance(group, str) for group in value):
        return frozenset()
    return frozenset(value)


def written(claims: Claims, now: str) -> str:
    """When an identity token was issued; at most now, as the issuer's clock may be a little ahead."""
    return min(write_time(datetime.fromtimestamp(int(claims["iat"]), UTC)), now)


def move(connection: sa.Connection, member: AccountMember, groups: Collection[str], time: str) -> TeamMoves | None:
    """Put an account into the teams of its groups, and out of those of others. ``time``: when somebody wrote the groups down.

    None: something newer is known (rule 3).
    """
    is_newer = sa.or_(accounts.c.groups_time.is_(None), accounts.c.groups_time <= time)
    noted = accounts.update().where(accounts.c.id == member.id, is_newer).values(groups_time=time)
    if connection.execute(noted).rowcount == 0:
        return None
    # Held until the end, so that nobody joins a team by a group that is being taken out of it.
    held = sa.select(team_groups).where(team_groups.c.issuer == member.issuer).with_for_update(read=True)
    wanted = _wanted([_group(row) for row in connection.execute(held)], groups)
    before = _present(connection, member.id)
    gone, fresh = _by_group(before) - wanted, wanted - before
    for team, group in sorted(gone):
        here = (team_members.c.team == team, team_members.c.account == member.id, team_members.c.group_name == group)
        connection.execute(team_members.delete().where(*here))
    for team, group in sorted(fresh):
        connection.execute(team_members.insert().values(team=team, account=member.id, group_name=group))
    return _moved(before, before - gone | fresh)


def foreseen(connection: sa.Connection, member: AccountMember, groups: Collection[str]) -> TeamMoves:
    """What :func:`move` would do to an account of which nothing newer is known."""
    before = _present(connection, member.id)
    of_issuer = [row for row in listing(connection) if row.issuer == member.issuer]
    return _moved(before, before - _by_group(before) | _wanted(of_issuer, groups))


def behind(connection: sa.Connection, team: str, account: str) -> list[str]:
    """The groups because of which an account is in a team."""
    query = sa.select(team_members.c.group_name).where(
        team_members.c.team == team, team_members.c.account == account, team_members.c.group_name != ""
    )
    return sorted(connection.scalars(query))


_Pairs = frozenset[tuple[str, str]]
"""Teams, each with the group because of which somebody is in it; empty: by hand."""


def _present(connection: sa.Connection, account: str) -> _Pairs:
    query = sa.select(team_members.c.team, team_members.c.group_name).where(team_members.c.account == account)
    return frozenset((row.team, row.group_name) for row in connection.execute(query))


def _by_group(pairs: _Pairs) -> _Pairs:
    return frozenset(pair for pair in pairs if pair[1])


def _wanted(mapped: Sequence[TeamGroup], groups: Collection[str]) -> _Pairs:
    return frozenset((row.team, row.group) for row in mapped if row.group in groups)


def _moved(before: _Pairs, after: _Pairs) -> TeamMoves:
    inside, later = ({team for team, _ in pairs} for pairs in (before, after))
    return TeamMoves(tuple(sorted(later - inside)), tuple(sorted(inside - later)))


def _only(connection: sa.Connection, called: str, is_it: Callable[[TeamGroup], bool]) -> TeamGroup:
    row = next(filter(is_it, listing(connection)), None)
    if row is None:
        raise RyeError(
            "no-such-entry",
            f"There is no such group of a team: {called[:80]!r}.",
            "`rye-registry team groups` shows all groups.",
            what="group",
        )
    return row


def _group(row: sa.Row[tuple[object, ...]]) -> TeamGroup:
    return TeamGroup(row.id, row.issuer, row.group_name, row.team, row.created)
