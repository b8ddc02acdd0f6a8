"""Looking up a token without waiting and without a thread: for the event loop, when the database is a local file.

It has its own read-only connection, which never waits for a lock. If anything prevents an answer (a lock, a replaced file,
another database), the ordinary look-up takes over (:func:`registry_server.accounts.tokens.check`).
"""

from __future__ import annotations

import os
import sqlite3
from urllib.parse import quote

import sqlalchemy as sa

from registry_server.accounts import roles
from registry_server.accounts.tokens import Account, is_over, matches, token_id

_ROW = (
    "SELECT t.id, t.name, t.sha256, t.created, t.revoked, t.scopes, t.expires, t.last_used, t.account, a.disabled, "
    "a.name "
    "FROM tokens t LEFT JOIN accounts a ON a.id = t.account WHERE t.id = ?"
)
_NAMESPACES = "SELECT namespace FROM token_namespaces WHERE token = ? ORDER BY 1"


class Unanswered(Exception):
    """The token needs the ordinary look-up."""


class TokenLookup:
    """Looks tokens up over one connection. Use it from one thread only."""

    def __init__(self, engine: sa.Engine) -> None:
        self._place = engine.url.database if engine.dialect.name == "sqlite" else None
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None

    def check(self, token: str, now: str | None = None) -> Account | None:
        """The account of ``token``; None if the token is not valid, by ``now`` or the wall clock. Raises Unanswered."""
        identifier = token_id(token)
        if identifier is None:
            return None
        try:
            execute = self._open().execute
            row = execute(_ROW, (identifier,)).fetchone()
            names = execute(_NAMESPACES, (identifier,)).fetchall() if row is not None else []
            member = row[8] if row is not None else None
            held = execute(roles.OF_ACCOUNT, (member, member)).fetchall() if member is not None else []
        except (sqlite3.Error, OSError) as error:
            self.close()
            raise Unanswered from error
        is_right = matches(token, row[2] if row is not None else None)
        if row is None or not is_right or row[4] is not None or is_over(row[6], now) or row[9] is not None:
            return None
        return Account(
            token=row[0],
            name=row[1],
            namespaces=tuple(name for (name,) in names),
            created=row[3],
            revoked=row[4],
            scopes=tuple(row[5].split()),
            expires=row[6],
            last_used=row[7],
            account=member,
            roles=roles.strongest(held),
            account_name=row[10],
        )

    def close(self) -> None:
        """Close the connection; the next look-up opens a new one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _open(self) -> sqlite3.Connection:
        if self._place is None:
            raise Unanswered
        facts = os.stat(self._place)
        if self._connection is None or self._file != (facts.st_dev, facts.st_ino):
            self.close()
            address = f"file:{quote(os.path.abspath(self._place))}?mode=ro"
            self._connection = sqlite3.connect(address, uri=True, timeout=0, isolation_level=None)
            self._file = (facts.st_dev, facts.st_ino)
        return self._connection
