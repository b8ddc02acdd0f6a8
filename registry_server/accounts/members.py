"""People with an account, their single-use sign-in links, and their sessions.

Secrets of links and sessions are 256 random bits; the database holds only their SHA-256.
"""

from __future__ import annotations

import hmac
import re
import secrets

import sqlalchemy as sa
from msgspec import Struct

from registry_server.accounts.times import after
from registry_server.accounts.tokens import digest, is_over
from registry_server.storage.schema import account_links, accounts, device_logins, sessions, tokens
from rye.errors import RyeError

LINK_SECONDS = 72 * 3600
"""How long a link is valid."""
SESSION_SECONDS = 12 * 3600
_NAME_CHARACTERS = 100
_ID = re.compile(r"[0-9a-f]{16}")


class AccountMember(Struct, frozen=True):
    """One person. ``issuer`` empty: the operator created the account."""

    id: str
    name: str
    issuer: str
    subject: str
    created: str
    disabled: str | None


def create(connection: sa.Connection, name: str, now: str) -> AccountMember:
    """Create an account for the operator. Raises RyeError ``invalid-value``, ``already-exists``."""
    if not name or len(name) > _NAME_CHARACTERS or not name.isprintable() or name != name.strip():
        raise RyeError(
            "invalid-value", "An account's name is 1 to 100 printable characters.", None, what="account name"
        )
    if is_id(name):
        raise RyeError(
            "invalid-value",
            f"{name} could be mistaken for an account's ID.",
            "Choose another name.",
            what="account name",
        )
    if connection.scalar(sa.select(accounts.c.id).where(accounts.c.name == name)) is not None:
        raise RyeError(
            "already-exists",
            f"The account {name} already exists.",
            "`rye-registry account list` shows all accounts.",
            what="account",
        )
    return _new(connection, name, now)


def _new(connection: sa.Connection, name: str, now: str, issuer: str = "", subject: str = "") -> AccountMember:
    identifier = secrets.token_hex(8)
    row = {
        "id": identifier,
        "issuer": issuer,
        "subject": subject or identifier,
        "name": name,
        "created": now,
    }
    connection.execute(accounts.insert().values(row))
    return get(connection, identifier)


def of_issuer(connection: sa.Connection, issuer: str, subject: str, wanted: str, now: str) -> AccountMember:
    """The account of a person whom an issuer vouches for, created at their first sign-in under a free name.

    Another transaction may create it, or take the name, at the same moment (:func:`registry_server.storage.database.changing`).
    Raises RyeError ``account-disabled``.
    """
    where = sa.and_(accounts.c.issuer == issuer, accounts.c.subject == subject)
    identifier = connection.scalar(sa.select(accounts.c.id).where(where))
    if identifier is None:
        shown = "".join(letter for letter in wanted if letter.isprintable()).strip()
        plain = shown[: _NAME_CHARACTERS - 10].strip() or "member"
        name, number = (f"{plain}-1" if is_id(plain) else plain), 1
        while connection.scalar(sa.select(accounts.c.id).where(accounts.c.name == name)) is not None:
            number += 1
            name = f"{plain}-{number}"
        return _new(connection, name, now, issuer, subject)
    member = get(connection, identifier)
    if member.disabled is not None:
        raise _disabled(member)
    return member


def get(connection: sa.Connection, identifier: str) -> AccountMember:
    """Return an account by its ID. Raises RyeError ``no-such-entry``."""
    row = connection.execute(sa.select(accounts).where(accounts.c.id == identifier)).first()
    if row is None:
        raise _unknown(identifier)
    return _member(row)


def is_id(name: str) -> bool:
    """Whether a string has the form of an account ID; account names must not."""
    return _ID.fullmatch(name) is not None


def named(connection: sa.Connection, name: str) -> AccountMember:
    """Return an account by its ID or name: an ID is never read as a name. Raises RyeError ``no-such-entry``."""
    column = accounts.c.id if is_id(name) else accounts.c.name
    row = connection.execute(sa.select(accounts).where(column == name)).first()
    if row is None:
        raise _unknown(name)
    return _member(row)


def active(connection: sa.Connection, name: str) -> AccountMember:
    """Return an account that is not disabled, by its ID or name. Raises RyeError ``no-such-entry``,
    ``account-disabled``."""
    member = named(connection, name)
    if member.disabled is not None:
        raise _disabled(member)
    return member


def listing(connection: sa.Connection, offset: int = 0, most: int | None = None) -> list[AccountMember]:
    """All accounts, or one page of them, oldest first."""
    query = sa.select(accounts).order_by(accounts.c.created, accounts.c.id).offset(offset).limit(most)
    return [_member(row) for row in connection.execute(query)]


def count(connection: sa.Connection) -> int:
    """The number of accounts, disabled ones included."""
    return connection.scalar(sa.select(sa.func.count()).select_from(accounts)) or 0


def disable(connection: sa.Connection, identifier: str, now: str) -> AccountMember:
    """Disable an account: delete its sessions and links, with the programs that it approved, and revoke all its tokens."""
    member = get(connection, identifier)
    connection.execute(accounts.update().where(accounts.c.id == identifier).values(disabled=member.disabled or now))
    _end_access(connection, identifier, now)
    return get(connection, identifier)


def enable(connection: sa.Connection, identifier: str, now: str) -> AccountMember:
    """Enable a disabled account. Its roles count again; its sessions, links and tokens stay ended."""
    _end_access(connection, identifier, now)  # also those from a request that ran while the account was disabled
    connection.execute(accounts.update().where(accounts.c.id == identifier).values(disabled=None))
    return get(connection, identifier)


def _end_access(connection: sa.Connection, identifier: str, now: str) -> None:
    connection.execute(sessions.delete().where(sessions.c.account == identifier))
    connection.execute(account_links.delete().where(account_links.c.account == identifier))
    connection.execute(device_logins.delete().where(device_logins.c.account == identifier))
    still = sa.and_(tokens.c.account == identifier, tokens.c.revoked.is_(None))
    connection.execute(tokens.update().where(still).values(revoked=now))


# -- links ---------------------------------------------------------------------------------------------------------------


def make_link(connection: sa.Connection, account: str, now: str) -> str:
    """The secret of a link that signs this account in once; earlier links become invalid."""
    connection.execute(account_links.delete().where(account_links.c.account == account, account_links.c.used.is_(None)))
    secret = secrets.token_urlsafe(32)
    row = {"sha256": digest(secret), "account": account, "expires": after(now, LINK_SECONDS)}
    connection.execute(account_links.insert().values(row))
    return secret


def link_account(connection: sa.Connection, secret: str, now: str) -> AccountMember | None:
    """The account of a link; None if the link is unknown, used or expired."""
    row = connection.execute(sa.select(account_links).where(account_links.c.sha256 == digest(secret))).first()
    if row is None or row.used is not None or is_over(row.expires, now):
        return None
    member = get(connection, row.account)
    return member if member.disabled is None else None


def use_link(connection: sa.Connection, secret: str, now: str) -> AccountMember:
    """Use up a link. Raises RyeError ``link-used`` if it is invalid, and for the second of two concurrent uses."""
    member = link_account(connection, secret, now)
    unused = sa.and_(account_links.c.sha256 == digest(secret), account_links.c.used.is_(None))
    if member is None or connection.execute(account_links.update().where(unused).values(used=now)).rowcount != 1:
        raise RyeError(
            "link-used", "This link was used or has expired.", "Ask the registry's operator for another one."
        )
    return member


# -- sessions ------------------------------------------------------------------------------------------------------------


def open_session(connection: sa.Connection, account: str, now: str) -> str:
    """The secret of a new session. Deletes expired sessions."""
    connection.execute(sessions.delete().where(sessions.c.expires <= now))
    secret = secrets.token_urlsafe(32)
    row = {"sha256": digest(secret), "account": account, "created": now, "expires": after(now, SESSION_SECONDS)}
    connection.execute(sessions.insert().values(row))
    return secret


def session_member(connection: sa.Connection, secret: str, now: str) -> AccountMember | None:
    """The member of a session; None if it is unknown or expired."""
    row = connection.execute(sa.select(sessions).where(sessions.c.sha256 == digest(secret))).first()
    if row is None or is_over(row.expires, now):
        return None
    member = get(connection, row.account)
    return member if member.disabled is None else None


def hold_session(connection: sa.Connection, secret: str, now: str) -> AccountMember | None:
    """Like :func:`session_member`. The account cannot be disabled before this transaction ends; on SQLite, every writing
    transaction has this effect."""
    holder = sa.select(sessions.c.account).where(sessions.c.sha256 == digest(secret)).scalar_subquery()
    connection.execute(sa.select(accounts.c.id).where(accounts.c.id == holder).with_for_update(key_share=True))
    return session_member(connection, secret, now)


def close_session(connection: sa.Connection, secret: str) -> None:
    """Delete a session; an unknown one is ignored."""
    connection.execute(sessions.delete().where(sessions.c.sha256 == digest(secret)))


def form_proof(secret: str) -> str:
    """What a form of this session must carry, so that no other site can send it.

    It is another one on each page. A proxy may compress pages, and then the size of a page tells whether a guess that stands on
    the same page, in a text that others wrote, begins like the proof (BREACH). One that is never shown again cannot be guessed
    bit by bit.
    """
    return _form_proof(secret, secrets.token_hex(_NONCE // 2))


def is_form_proof(secret: str, proof: str) -> bool:
    """Whether this session's pages can carry such a proof."""
    return hmac.compare_digest(_form_proof(secret, proof[:_NONCE]).encode(), proof.encode())


_NONCE = 16
"""Digits at the beginning of a proof that are chosen at random."""


def _form_proof(secret: str, nonce: str) -> str:
    digest = hmac.digest(secret.encode(), b"rye form\n" + nonce.encode("utf-8", "replace"), "sha256").hex()
    return nonce + digest[: 64 - _NONCE]


def _member(row: sa.Row[tuple[object, ...]]) -> AccountMember:
    return AccountMember(row.id, row.name, row.issuer, row.subject, row.created, row.disabled)


def _disabled(member: AccountMember) -> RyeError:
    return RyeError(
        "account-disabled",
        f"The account {member.name} is disabled.",
        "Ask the registry's operator, who can run `rye-registry account enable NAME`.",
    )


def _unknown(name: str) -> RyeError:
    return RyeError(
        "no-such-entry",
        f"There is no account {name[:80]!r}.",
        "`rye-registry account list` shows all accounts.",
        what="account",
    )
