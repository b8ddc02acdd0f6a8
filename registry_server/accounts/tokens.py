"""Tokens: who may upload and read. A token grants access only; authorship is proven by signatures.

A token is ``rye_<id>_<secret>``: 16 hex digits that identify it, 43 base64url characters (256 random bits) that prove it. The
database holds the SHA-256 of the whole; a slow hash would add no protection, because the secret is random.

A token may do what all three allow: its scopes, the namespaces that it is bound to and, if it belongs to an account, the
account's current roles (:mod:`registry_server.accounts.roles`). Removing a role or disabling an account therefore affects every
token at once.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import sqlalchemy as sa

from registry_server.accounts import roles
from registry_server.accounts.scopes import DEFAULT_SCOPES
from registry_server.accounts.times import after, now_text
from registry_server.storage import database
from registry_server.storage.prepared import Prepared, Row
from registry_server.storage.schema import accounts, namespace_roles, team_members, token_namespaces, tokens
from rye.errors import RyeError
from rye.items.identity import is_segment

_NAMED = 5
"""How many tokens of a name a hint lists."""
LIFETIME = "90d"
"""The default lifetime of a token."""
_TOKEN = re.compile(r"rye_([0-9a-f]{16})_[A-Za-z0-9_-]{43}")
_UNKNOWN = hashlib.sha256(b"").hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """The identity and rights behind a token or a session. ``namespaces`` empty: any."""

    token: str
    """The token's public ID; empty for a session."""
    name: str
    namespaces: tuple[str, ...]
    created: str = ""
    revoked: str | None = None
    scopes: tuple[str, ...] = DEFAULT_SCOPES
    expires: str | None = None
    last_used: str | None = None
    account: str | None = None
    """The account that owns the token; None: the operator's token, limited only by its own scopes and namespaces."""
    roles: tuple[tuple[str, str], ...] = ()
    """Namespaces and current roles of that account."""
    account_name: str | None = None
    """What people call that account."""

    @property
    def owner(self) -> str:
        """Whose share of common resources it uses: the account's, so that more tokens do not mean more shares."""
        return f"account {self.account}" if self.account is not None else self.token

    def is_good(self, now: str) -> bool:
        """Whether it has neither expired nor been revoked."""
        return self.revoked is None and not is_over(self.expires, now)

    def has(self, scope: str) -> bool:
        """Whether it has this scope."""
        return scope in self.scopes

    def is_bound_to(self, namespace: str) -> bool:
        """Whether the token's own list allows the namespace."""
        return not self.namespaces or namespace in self.namespaces

    def may_write(self, namespace: str) -> bool:
        """Whether it may send statements about this namespace, scopes aside."""
        return self.is_bound_to(namespace) and (
            self.account is None or dict(self.roles).get(namespace) in roles.WRITERS
        )

    def may_read(self, namespace: str) -> bool:
        """Whether it may read the bytes of this namespace, scopes aside."""
        return self.is_bound_to(namespace) and (self.account is None or namespace in dict(self.roles))

    @property
    def writable(self) -> tuple[str, ...] | None:
        """The namespaces that :meth:`may_write` allows; None: all."""
        if self.account is None:
            return self.namespaces or None
        return tuple(name for name, role in self.roles if role in roles.WRITERS and self.is_bound_to(name))

    @property
    def readable(self) -> tuple[str, ...] | None:
        """The namespaces that it may read, scopes aside; None: all."""
        if self.account is None:
            return self.namespaces or None
        return tuple(namespace for namespace, _ in self.roles if self.is_bound_to(namespace))

    def as_json(self) -> dict[str, object]:
        """The token as ``rye-registry token list --json`` shows it; the secret is not known here."""
        return {
            "token": self.token,
            "name": self.name,
            "namespaces": list(self.namespaces),
            "scopes": list(self.scopes),
            "account": self.account,
            "created": self.created,
            "expires": self.expires,
            "last_used": self.last_used,
            "revoked": self.revoked,
        }


def create(
    connection: sa.Connection,
    name: str,
    namespaces: Sequence[str],
    now: str,
    *,
    scopes: Sequence[str] = DEFAULT_SCOPES,
    seconds: float | None = None,
    account: str | None = None,
) -> str:
    """Create a token and return it, the only time that it is shown. ``seconds``: its lifetime, None for unlimited.

    Raises RyeError for a bad name, a bad namespace, or no scope.
    """
    if not name or len(name) > 100 or not name.isprintable():
        raise RyeError("invalid-value", "A token's name is 1 to 100 printable characters.", None, what="token name")
    for namespace in namespaces:
        if not is_segment(namespace):
            raise RyeError(
                "invalid-value",
                f"{namespace!r} is not a namespace.",
                "Use a-z, 0-9, - and _, at most 64.",
                what="namespace",
            )
    if not scopes:
        raise RyeError(
            "invalid-value", "A token needs at least one scope.", "Add one, such as --scope read", what="scope"
        )
    identifier = secrets.token_hex(8)
    token = f"rye_{identifier}_{secrets.token_urlsafe(32)}"
    row = {
        "id": identifier,
        "name": name,
        "sha256": digest(token),
        "account": account,
        "scopes": " ".join(scopes),
        "created": now,
        "expires": None if seconds is None else after(now, seconds),
    }
    connection.execute(tokens.insert().values(row))
    for namespace in sorted(set(namespaces)):
        connection.execute(token_namespaces.insert().values(token=identifier, namespace=namespace))
    return token


def check(connection: sa.Connection, token: str, now: str | None = None, *, hold: bool = False) -> Account | None:
    """The account of ``token``; None if it is malformed, unknown, wrong, expired or revoked, without saying which.

    ``hold``: the token cannot be revoked before this transaction ends. On SQLite, every writing transaction has this effect.
    """
    identifier = token_id(token)
    if identifier is None:
        return None
    if hold:
        connection.execute(sa.select(tokens.c.id).where(tokens.c.id == identifier).with_for_update())
    return _proven(token, _EVERYTHING.rows(connection, {"token": identifier}), now)


def look_up(engine: sa.Engine, token: str, now: str | None = None) -> Account | None:
    """Like :func:`check`, in one round trip to the database."""
    identifier = token_id(token)
    return (
        _proven(token, database.ask(engine, _EVERYTHING, {"token": identifier}), now)
        if identifier is not None
        else None
    )


def _proven(token: str, rows: Sequence[Row], now: str | None = None) -> Account | None:
    """The account in the rows of :data:`_EVERYTHING` if the token is good."""
    row = next((row for row in rows if row[0] == _TOKEN_ROW), None)
    is_right = matches(token, row[3] if row is not None else None)
    if row is None or not is_right:
        return None
    _, identifier, name, _, created, revoked, scopes, expires, last_used, account, disabled, account_name = row
    if revoked is not None or disabled is not None or is_over(expires, now):
        return None
    return Account(
        token=identifier,
        name=name,
        namespaces=tuple(sorted(row[1] for row in rows if row[0] == _NAMESPACE_ROW)),
        created=created,
        revoked=revoked,
        scopes=tuple(scopes.split()),
        expires=expires,
        last_used=last_used,
        account=account,
        roles=roles.strongest((row[1], row[2]) for row in rows if row[0] == _ROLE_ROW),
        account_name=account_name,
    )


_TOKEN_ROW, _NAMESPACE_ROW, _ROLE_ROW = 0, 1, 2
_WIDTH = 11
"""Columns of the rows below, after the kind."""


def _part(kind: int, columns: Sequence[sa.ColumnElement[Any]]) -> sa.Select[Any]:
    rest = (sa.null() for _ in range(_WIDTH - len(columns)))
    return sa.select(sa.literal_column(str(kind)).label("kind"), *columns, *rest)


_THIS = sa.bindparam("token", type_=sa.String(16))
_HOLDER = sa.select(tokens.c.account).where(tokens.c.id == _THIS).scalar_subquery()
_EVERYTHING = Prepared(
    sa.union_all(
        _part(
            _TOKEN_ROW,
            (
                tokens.c.id,
                tokens.c.name,
                tokens.c.sha256,
                tokens.c.created,
                tokens.c.revoked,
                tokens.c.scopes,
                tokens.c.expires,
                tokens.c.last_used,
                tokens.c.account,
                accounts.c.disabled,
                accounts.c.name,
            ),
        )
        .select_from(tokens.outerjoin(accounts, accounts.c.id == tokens.c.account))
        .where(tokens.c.id == _THIS),
        _part(_NAMESPACE_ROW, (token_namespaces.c.namespace,)).where(token_namespaces.c.token == _THIS),
        _part(_ROLE_ROW, (namespace_roles.c.namespace, namespace_roles.c.role)).where(
            sa.or_(
                namespace_roles.c.account == _HOLDER,
                namespace_roles.c.team.in_(sa.select(team_members.c.team).where(team_members.c.account == _HOLDER)),
            )
        ),
    )
)
"""Everything about one token: its row, its namespaces, and the current roles of its account."""


def is_active(connection: sa.Connection, identifier: str, now: str) -> bool:
    """Whether there is a token with this ID that has neither expired nor been revoked."""
    row = connection.execute(sa.select(tokens.c.revoked, tokens.c.expires).where(tokens.c.id == identifier)).first()
    return row is not None and row.revoked is None and not is_over(row.expires, now)


def token_id(token: str) -> str | None:
    """The ID in a token; None if the text does not have the form of a token."""
    match = _TOKEN.fullmatch(token)
    return match[1] if match else None


def matches(token: str, sha256: str | None) -> bool:
    """Whether the token has this digest, in constant time even if there is no digest."""
    return hmac.compare_digest(digest(token), sha256 or _UNKNOWN)


def is_over(expires: str | None, now: str | None = None) -> bool:
    """Whether a time has passed."""
    return expires is not None and expires <= (now or now_text())


def is_revoked(connection: sa.Connection, identifier: str) -> bool:
    """Whether there is a token with this ID, or this token, that was revoked."""
    identifier = token_id(identifier) or identifier
    return connection.scalar(sa.select(tokens.c.revoked).where(tokens.c.id == identifier)) is not None


def state_of(account: Account, now: str | None = None) -> Literal["active", "revoked", "expired"]:
    """``active``, ``revoked`` or ``expired``."""
    if account.revoked:
        return "revoked"
    return "expired" if is_over(account.expires, now) else "active"


def note_use(connection: sa.Connection, identifier: str, now: str) -> None:
    """Record that a token was used."""
    connection.execute(tokens.update().where(tokens.c.id == identifier).values(last_used=now))


def count(connection: sa.Connection, account: str | None = None) -> int:
    """The number of tokens, or of those of one account, including revoked ones."""
    query = sa.select(sa.func.count()).select_from(tokens)
    return connection.scalar(query.where(tokens.c.account == account) if account is not None else query) or 0


def listing(
    connection: sa.Connection, account: str | None = None, offset: int = 0, most: int | None = None
) -> list[Account]:
    """All tokens, or those of one account, or one page of them, including revoked ones, oldest first."""
    query = sa.select(tokens).order_by(tokens.c.created, tokens.c.id).offset(offset).limit(most)
    if account is not None:
        query = query.where(tokens.c.account == account)
    return [_account(connection, row) for row in connection.execute(query).all()]


def revoke(connection: sa.Connection, identifier: str, now: str, account: str | None = None) -> Account:
    """Revoke a token. ``identifier``: its 16 digits, or the token itself; ``account``: only a token of this account.

    Raises RyeError ``no-such-entry``.
    """
    identifier = token_id(identifier) or identifier
    row = connection.execute(sa.select(tokens).where(tokens.c.id == identifier)).first()
    if row is None or (account is not None and row.account != account):
        called = sa.select(tokens.c.id).where(tokens.c.name == identifier, tokens.c.revoked.is_(None)).limit(_NAMED)
        named = list(connection.scalars(called.order_by(tokens.c.id))) if account is None else []
        hint = f"Tokens of this name: {', '.join(named)}." if named else "`rye-registry token list` shows all tokens."
        raise RyeError("no-such-entry", f"There is no token with the ID {identifier!r}.", hint, what="token")
    when = row.revoked or now
    connection.execute(tokens.update().where(tokens.c.id == identifier).values(revoked=when))
    again = connection.execute(sa.select(tokens).where(tokens.c.id == identifier)).one()
    return _account(connection, again)


def digest(secret: str) -> str:
    """The digest of a secret that the database stores."""
    return hashlib.sha256(secret.encode()).hexdigest()


def _account(connection: sa.Connection, row: sa.Row[tuple[object, ...]]) -> Account:
    names = connection.scalars(
        sa.select(token_namespaces.c.namespace)
        .where(token_namespaces.c.token == row.id)
        .order_by(sa.literal_column("1"))
    ).all()
    held = roles.of_account(connection, row.account) if row.account is not None else ()
    return Account(
        token=row.id,
        name=row.name,
        namespaces=tuple(names),
        created=row.created,
        revoked=row.revoked,
        scopes=tuple(row.scopes.split()),
        expires=row.expires,
        last_used=row.last_used,
        account=row.account,
        roles=held,
    )
