"""Upload tokens: who may send statements. A token authorizes the upload and nothing else; authorship is the signature's matter.

A token is ``rye_<id>_<secret>``: 16 hex digits that find it, 43 base64url characters (256 random bits) that prove it. The
database holds the SHA-256 of the whole; a slow hash would protect nothing more, because the secret is random.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from registry_server.storage.schema import token_namespaces, tokens
from rye.errors import RyeError
from rye.items.identity import is_segment

_TOKEN = re.compile(r"rye_([0-9a-f]{16})_[A-Za-z0-9_-]{43}")
_UNKNOWN = hashlib.sha256(b"").hexdigest()


@dataclass(frozen=True, slots=True)
class Account:
    """What a token stands for. ``namespaces`` empty: any."""

    token: str
    name: str
    namespaces: tuple[str, ...]
    created: str = ""
    revoked: str | None = None

    def may_write(self, namespace: str) -> bool:
        return not self.namespaces or namespace in self.namespaces

    def as_json(self) -> dict[str, object]:
        return {
            "token": self.token,
            "name": self.name,
            "namespaces": list(self.namespaces),
            "created": self.created,
            "revoked": self.revoked,
        }


def create(connection: sa.Connection, name: str, namespaces: Sequence[str], now: str) -> str:
    """Make a token and return it: the only time that it is seen. Raises RyeError for a bad name or namespace."""
    if not name or len(name) > 100 or not name.isprintable():
        raise RyeError("bad-token-name", "A token's name is 1 to 100 printable characters.", None)
    for namespace in namespaces:
        if not is_segment(namespace):
            raise RyeError("bad-namespace", f"{namespace!r} is no namespace.", "Use a-z, 0-9, - and _, at most 64.")
    identifier = secrets.token_hex(8)
    token = f"rye_{identifier}_{secrets.token_urlsafe(32)}"
    connection.execute(tokens.insert().values(id=identifier, name=name, sha256=_digest(token), created=now))
    for namespace in sorted(set(namespaces)):
        connection.execute(token_namespaces.insert().values(token=identifier, namespace=namespace))
    return token


def check(connection: sa.Connection, token: str) -> Account | None:
    """The account of ``token``; None when it is malformed, unknown, wrong or revoked (which of these is not told)."""
    identifier = token_id(token)
    if identifier is None:
        return None
    row = connection.execute(sa.select(tokens).where(tokens.c.id == identifier)).first()
    is_right = matches(token, row.sha256 if row else None)
    if row is None or not is_right or row.revoked is not None:
        return None
    return _account(connection, row)


def token_id(token: str) -> str | None:
    """The digits that find a token; None when it has not a token's form."""
    match = _TOKEN.fullmatch(token)
    return match[1] if match else None


def matches(token: str, sha256: str | None) -> bool:
    """Whether the token has this digest; as long as ever where there is none."""
    return hmac.compare_digest(_digest(token), sha256 or _UNKNOWN)


def listing(connection: sa.Connection) -> list[Account]:
    """All tokens, revoked ones too, the oldest first."""
    rows = connection.execute(sa.select(tokens).order_by(tokens.c.created, tokens.c.id)).all()
    return [_account(connection, row) for row in rows]


def revoke(connection: sa.Connection, identifier: str, now: str) -> Account:
    """Make a token worthless from now on. ``identifier``: its 16 digits, or the token itself. Raises RyeError."""
    match = _TOKEN.fullmatch(identifier)
    identifier = match[1] if match else identifier
    row = connection.execute(sa.select(tokens).where(tokens.c.id == identifier)).first()
    if row is None:
        raise RyeError("unknown-token", f"There is no token {identifier!r}.", "rye-registry token list shows them.")
    when = row.revoked or now
    connection.execute(tokens.update().where(tokens.c.id == identifier).values(revoked=when))
    account = _account(connection, row)
    return Account(account.token, account.name, account.namespaces, account.created, when)


def _account(connection: sa.Connection, row: sa.Row[tuple[object, ...]]) -> Account:
    names = connection.scalars(
        sa.select(token_namespaces.c.namespace)
        .where(token_namespaces.c.token == row.id)
        .order_by(sa.literal_column("1"))
    ).all()
    return Account(row.id, row.name, tuple(names), row.created, row.revoked)


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
