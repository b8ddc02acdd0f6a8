"""How many tokens one account may have.

What a person has already promised to a program counts as a token: the program fetches it within minutes. Two requests of one
account wait for each other, so that they cannot both take the last place.
"""

from __future__ import annotations

import sqlalchemy as sa

from registry_server.accounts.device_logins import APPROVED
from registry_server.storage.schema import accounts, device_logins, tokens
from rye.errors import RyeError


def check_room(connection: sa.Connection, account: str, most: int, now: str) -> None:
    """Check that an account may have one more token, and keep the place until this transaction ends. Raises RyeError
    ``too-many``."""
    connection.execute(sa.select(accounts.c.id).where(accounts.c.id == account).with_for_update(key_share=True))
    good = sa.or_(tokens.c.expires.is_(None), tokens.c.expires > now)
    taken = _count(connection, tokens, tokens.c.account == account, tokens.c.revoked.is_(None), good)
    promised = (device_logins.c.account == account, device_logins.c.state == APPROVED, device_logins.c.expires > now)
    if taken + _count(connection, device_logins, *promised) >= most:
        raise RyeError(
            "too-many", f"The account has {most} tokens.", "Revoke those that are no longer used.", what="tokens"
        )


def _count(connection: sa.Connection, table: sa.Table, *where: sa.ColumnElement[bool]) -> int:
    return connection.scalar(sa.select(sa.func.count()).select_from(table).where(*where)) or 0
