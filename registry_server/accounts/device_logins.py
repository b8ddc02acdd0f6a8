"""Signing a program in from a browser (RFC 8628): it gets a code, a signed-in person confirms it, it gets a token.

The device code is 256 random bits, stored as SHA-256. The user code is eight consonants, valid for ten minutes and only on the
page where a signed-in person confirms it.
"""

from __future__ import annotations

import re
import secrets
from datetime import UTC, datetime

import sqlalchemy as sa
from msgspec import Struct

from registry_server.accounts import tokens
from registry_server.accounts.times import after
from registry_server.accounts.tokens import digest, is_over
from registry_server.storage.schema import device_logins
from rye.errors import RyeError

EXPIRES_SECONDS = 600
INTERVAL_SECONDS = 2
TOKEN_SECONDS = 90 * 86_400
_MOST_WAITING = 1000
_MOST_OF_ADDRESS = 50
_NAME_CHARACTERS = 60
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9 ._@-]")
"""The name is shown to the person who confirms: no punctuation to form sentences, no look-alike letters."""
_LETTERS = "BCDFGHJKLMNPQRSTVWXZ"
WAITING, APPROVED, DENIED, DONE = "waiting", "approved", "denied", "done"


class WaitingLogin(Struct, frozen=True):
    """A program that waits for confirmation. Its name is its own choice and proves nothing."""

    name: str
    address: str
    """The address that it asked from; empty: unknown."""
    created: str


class Begun(Struct, frozen=True):
    """The answer to the program."""

    device_code: str
    user_code: str


def begin(connection: sa.Connection, name: str, now: str, address: str = "") -> Begun:
    """Register a program that wants to be signed in.

    Raises RyeError ``busy`` if too many programs wait. If too many from this address do, the one that waits longest loses its
    place: many people, or one who plays, may share an address, and newcomers always find one.
    """
    connection.execute(device_logins.delete().where(device_logins.c.expires <= now))
    if _count(connection) >= _MOST_WAITING:
        raise RyeError("busy", "Too many programs are waiting to be signed in.", "Try again in a few minutes.")
    if address:
        _make_room(connection, address[:64])
    plain = _NOT_IN_NAMES.sub("", name).strip()[:_NAME_CHARACTERS].strip() or "rye"
    begun = Begun(secrets.token_urlsafe(32), _user_code())
    row = {
        "sha256": digest(begun.device_code),
        "user_code": begun.user_code,
        "name": plain,
        "created": now,
        "expires": after(now, EXPIRES_SECONDS),
        "state": WAITING,
        "address": address[:64],
    }
    connection.execute(device_logins.insert().values(row))
    return begun


def waiting(connection: sa.Connection, user_code: str, now: str) -> WaitingLogin | None:
    """The program waiting with this code; None if there is none."""
    row = connection.execute(sa.select(device_logins).where(device_logins.c.user_code == normal(user_code))).first()
    if row is None or row.state != WAITING or is_over(row.expires, now):
        return None
    return WaitingLogin(row.name, row.address or "", row.created)


def decide(connection: sa.Connection, user_code: str, account: str, approve: bool, now: str) -> bool:
    """Record a person's decision about a program; False if it is no longer waiting."""
    where = sa.and_(
        device_logins.c.user_code == normal(user_code), device_logins.c.state == WAITING, device_logins.c.expires > now
    )
    values = {"state": APPROVED if approve else DENIED, "account": account}
    return connection.execute(device_logins.update().where(where).values(values)).rowcount == 1


def is_known(connection: sa.Connection, device_code: str, now: str) -> bool:
    """Whether a program has this code. Checked before :func:`poll`, which writes, so that a guess causes no write."""
    return _count(connection, device_logins.c.sha256 == digest(device_code), device_logins.c.expires > now) > 0


def poll(
    connection: sa.Connection, device_code: str, now: str, moment: datetime | None = None, *, since: str | None = None
) -> tuple[str, str]:
    """A token, once, or an error of RFC 8628 §3.5: ``("token", …)`` or ``("error", "authorization_pending")`` and others.

    ``since``: the time from which the token counts; None: ``now``."""
    moment = moment or datetime.now(UTC)
    key = device_logins.c.sha256 == digest(device_code)
    row = connection.execute(sa.select(device_logins).where(key)).first()
    if row is None or row.state == DONE or is_over(row.expires, now):
        return "error", "expired_token"
    if row.state == DENIED:
        return "error", "access_denied"
    if row.state == WAITING:
        early = row.polled is not None and (moment - datetime.fromisoformat(row.polled)).total_seconds() < (
            INTERVAL_SECONDS * 0.5
        )
        connection.execute(device_logins.update().where(key).values(polled=moment.isoformat(timespec="milliseconds")))
        return "error", "slow_down" if early else "authorization_pending"
    if connection.execute(
        device_logins.update().where(key, device_logins.c.state == APPROVED).values(state=DONE)
    ).rowcount:
        begins = now if since is None else since
        return "token", tokens.create(connection, row.name, (), begins, seconds=TOKEN_SECONDS, account=row.account)
    return "error", "expired_token"


def normal(user_code: str) -> str:
    """A user code as it is stored, however a person writes it."""
    letters = "".join(letter for letter in user_code.upper() if letter in _LETTERS)
    return f"{letters[:4]}-{letters[4:8]}" if len(letters) == 8 else ""


def _make_room(connection: sa.Connection, address: str) -> None:
    mine = sa.and_(device_logins.c.address == address, device_logins.c.state == WAITING)
    newest = (
        sa.select(device_logins.c.sha256).where(mine).order_by(device_logins.c.expires.desc(), device_logins.c.sha256)
    )
    old = [row.sha256 for row in connection.execute(newest.offset(_MOST_OF_ADDRESS - 1))]
    if old:
        connection.execute(device_logins.delete().where(device_logins.c.sha256.in_(old)))


def _count(connection: sa.Connection, *where: sa.ColumnElement[bool]) -> int:
    return connection.scalar(sa.select(sa.func.count()).select_from(device_logins).where(*where)) or 0


def _user_code() -> str:
    letters = "".join(secrets.choice(_LETTERS) for _ in range(8))
    return f"{letters[:4]}-{letters[4:]}"
