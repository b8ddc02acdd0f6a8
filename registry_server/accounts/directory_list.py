"""A list of who is still there, with their groups, from any directory: what it says, and what follows for accounts.

The file is JSON, at most 16 MiB, without unknown fields::

    {"format": "rye.accounts/v1", "issuer": "https://id.example.org", "time": "2026-01-02T03:04:05Z",
     "accounts": [{"subject": "248289761001", "groups": ["platform"]}]}

Rules:

1. ``issuer`` and ``subject`` are those of the identity tokens, as ``account list`` shows them. For accounts that the operator
   created, ``issuer`` is empty and ``subject`` is the account's ID. Accounts of other issuers are left alone.
2. ``time`` is when the directory was read: not in the future, at most a day ago, and not before the list that was applied last.
3. An account that is not listed is disabled. One that is listed but disabled stays so: only an operator enables it.
4. Whoever was created, or signed in, after the list was written, is left alone.
5. A list that takes something from more people than expected is refused as a whole: it is empty, or half of it is missing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import timedelta
from typing import Literal

import sqlalchemy as sa
from msgspec import Struct

from registry_server.accounts import administration, audit_events, groups, members
from registry_server.accounts.administration import By
from registry_server.accounts.groups import TeamMoves
from registry_server.accounts.members import AccountMember
from registry_server.accounts.times import after, seconds_between
from registry_server.storage.schema import accounts, registry
from rye.errors import RyeError
from rye.limits import MIB
from rye.registry.protocol.lines import read_time
from rye.text.json_reading import JsonError, read_typed_json

LIST_BYTES = 16 * MIB
_MOST_SECONDS = timedelta(days=1).total_seconds()
_AHEAD_SECONDS = 600
"""How far the directory's clock may be ahead."""
_SHARE = 10
"""One of so many active accounts may lose something, unless the operator expects more."""


class ListedAccount(Struct, frozen=True, forbid_unknown_fields=True):
    """Somebody who is still there."""

    subject: str
    groups: list[str]


class AccountList(Struct, frozen=True, forbid_unknown_fields=True):
    """The whole list."""

    format: Literal["rye.accounts/v1"]
    issuer: str
    time: str
    accounts: list[ListedAccount]


class ListedChange(Struct, frozen=True):
    """What happens to one account."""

    member: AccountMember
    groups: frozenset[str]
    moved: TeamMoves
    is_disabled: bool

    @property
    def takes(self) -> bool:
        """Whether it takes something from the account."""
        return self.is_disabled or bool(self.moved.left)


class SyncPlan(Struct, frozen=True, kw_only=True):
    """What follows from a list, in the order of the accounts."""

    listed: AccountList
    sha256: str
    changes: tuple[ListedChange, ...]
    newer: tuple[AccountMember, ...]
    """Rule 4."""
    still_disabled: tuple[AccountMember, ...]
    """Rule 3: listed, and disabled here."""
    active: int
    """Accounts of the issuer that were active before."""


def read(data: bytes) -> AccountList:
    """Parse a list. Raises RyeError ``account-list-malformed``."""
    try:
        if len(data) > LIST_BYTES:
            raise JsonError(f"it is larger than {LIST_BYTES:,} bytes")
        listed = read_typed_json(data, AccountList)
        read_time(listed.time)
    except (JsonError, RyeError) as error:
        raise _malformed(str(error)[:200]) from error
    subjects = [account.subject for account in listed.accounts]
    if len(set(subjects)) < len(subjects):
        raise _malformed("it names an account twice")
    return listed


def plan(connection: sa.Connection, data: bytes, now: str) -> SyncPlan:
    """What follows from a list. On PostgreSQL, the issuer's accounts cannot change until the transaction ends.

    Raises RyeError ``account-list-malformed``, ``account-list-old``, ``no-such-entry``.
    """
    listed = read(data)
    if listed.time > after(now, _AHEAD_SECONDS):
        raise _old(f"It was written at {listed.time}, which is in the future.")
    if seconds_between(listed.time, now) > _MOST_SECONDS:
        raise _old(f"It was written at {listed.time}, more than a day ago.")
    last = connection.scalar(sa.select(registry.c.value).where(registry.c.key == _key(listed.issuer)))
    if last is not None and listed.time < last:
        raise _old(f"It was written at {listed.time}, before the one of {last} that was applied.")
    rows = connection.execute(
        sa.select(accounts).where(accounts.c.issuer == listed.issuer).order_by(accounts.c.id).with_for_update()
    ).all()
    if not rows:
        raise RyeError(
            "no-such-entry",
            f"No account here is of the issuer {listed.issuer[:200]!r}.",
            "`rye-registry account list` shows the issuers of all accounts.",
            what="account",
        )
    groups_of = {account.subject: frozenset(account.groups) for account in listed.accounts}
    changes, newer, still_disabled = [], [], []
    for row in rows:
        member = members.get(connection, row.id)
        there = groups_of.get(member.subject)
        if max(member.created, row.groups_time or "") > listed.time:
            newer.append(member)
            continue
        if there is not None and member.disabled is not None:
            still_disabled.append(member)
        own = there or frozenset()
        is_disabled = there is None and member.disabled is None
        changes.append(ListedChange(member, own, groups.foreseen(connection, member, own), is_disabled))
    return SyncPlan(
        listed=listed,
        sha256=hashlib.sha256(data).hexdigest(),
        changes=tuple(changes),
        newer=tuple(newer),
        still_disabled=tuple(still_disabled),
        active=sum(row.disabled is None for row in rows),
    )


def check_share(planned: SyncPlan, most: int | None) -> None:
    """Rule 5. ``most``: from how many people the operator expects it to take something. Raises RyeError
    ``account-list-short``.
    """
    allowed = max(planned.active // _SHARE, 1) if most is None else most
    losing = sum(change.takes for change in planned.changes)
    if losing > allowed:
        raise RyeError(
            "account-list-short",
            f"The list would take something from {losing} accounts of {planned.active}; at most {allowed} are expected.",
            "Nothing was changed. See whom it names with --dry-run. If the list is complete, repeat the command with "
            f"--most {losing}",
        )


def carry_out(connection: sa.Connection, planned: SyncPlan, by: By) -> None:
    """Disable accounts and move them between teams, each with its audit event. In the transaction of the plan."""
    for change in planned.changes:
        moved = groups.move(connection, change.member, change.groups, planned.listed.time)
        if moved:
            administration.record_moved(connection, change.member, moved, by)
        if change.is_disabled:
            administration.disable_account(connection, change.member.id, by)
    connection.execute(registry.delete().where(registry.c.key == _key(planned.listed.issuer)))
    connection.execute(registry.insert().values(key=_key(planned.listed.issuer), value=planned.listed.time))
    detail = {
        "issuer": planned.listed.issuer,
        "time": planned.listed.time,
        "sha256": planned.sha256,
        "disabled": sum(change.is_disabled for change in planned.changes),
        "moved": sum(bool(change.moved) for change in planned.changes),
    }
    audit_events.record(
        connection, by.now, "account.sync", "accounts", actor=by.actor, address=by.address, detail=detail
    )


def names(some: Sequence[AccountMember]) -> list[str]:
    """The names of accounts."""
    return [member.name for member in some]


def _key(issuer: str) -> str:
    return f"account-list-{hashlib.sha256(issuer.encode()).hexdigest()[:16]}"


def _malformed(reason: str) -> RyeError:
    return RyeError(
        "account-list-malformed",
        f"The list of accounts cannot be used: {reason}.",
        "Write it as docs/how-to/registry-teams.md shows. Nothing was changed.",
    )


def _old(reason: str) -> RyeError:
    return RyeError("account-list-old", reason, "Nothing was changed. Read the directory again, and write a new list.")
