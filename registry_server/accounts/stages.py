"""Releases that wait for a maintainer's signature: rows, and who may see them. Their bytes are in a separate store.

A stage holds the text of an unsigned release note. Each maintainer who approves signs the same note, which is the draft with a
new time and the keyset in force; its signatures are collected here until there are as many as the keyset requires. A stage is
never served, never searched, and other releases cannot refer to it.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence

import sqlalchemy as sa
from msgspec import Struct
from msgspec.structs import replace

from registry_server.accounts.tokens import Account
from registry_server.storage.schema import stage_files, stages
from rye.errors import RyeError
from rye.registry.protocol import notes
from rye.registry.protocol.notes import SignedNote
from rye.registry.protocol.statements import Release
from rye.registry.protocol.wire import index_name

STAGED, APPROVED, REJECTED, EXPIRED = "staged", "approved", "rejected", "expired"


class Stage(Struct, frozen=True, kw_only=True):
    """One row. ``note``: what maintainers sign, with the signatures so far."""

    id: str
    namespace: str
    draft: Release
    note: SignedNote | None
    size: int
    token: str
    account: str | None
    created: str
    expires: str
    state: str
    position: int | None
    reason: str | None

    def is_waiting(self, now: str) -> bool:
        """Whether it can still be approved or rejected."""
        return self.state == STAGED and self.expires > now

    def state_at(self, now: str) -> str:
        """Its state; a stage past its time is expired even before the database records that."""
        return EXPIRED if self.state == STAGED and self.expires <= now else self.state


def files_of(release: Release) -> dict[str, int]:
    """SHA-256 and size of every file of a release."""
    return {release.file.sha256: release.file.size, **{entry.sha256: entry.size for entry in release.attached}}


def may_decide(account: Account, stage: Stage) -> bool:
    """Whether an account may see a stage and decide about it; the signature is checked separately."""
    return account.may_write(stage.namespace) and (account.has("publish") or account.has("admin"))


def may_see(account: Account, stage: Stage) -> bool:
    """The accounts that may decide, and the token that staged it."""
    return may_decide(account, stage) or (account.token != "" and account.token == stage.token)


def same_release(draft: Release, other: Release) -> bool:
    """Whether two notes differ at most in time and keyset."""
    return replace(draft, time=other.time, keyset=other.keyset) == other


def add(
    connection: sa.Connection, draft: Release, account: Account, address: str, now: str, expires: str
) -> tuple[Stage, bool]:
    """Store a draft; returns the stage and whether it is new. The same draft again gives the same stage. ``expires``: the end of
    a new one."""
    for stage in find(connection, draft.identity.namespace, index_name(draft.identity), draft.version):
        if stage.is_waiting(now) and same_release(stage.draft, draft) and stage.token == account.token:
            return stage, False
    identifier = secrets.token_hex(8)
    files = files_of(draft)
    row = {
        "id": identifier,
        "namespace": draft.identity.namespace,
        "name": index_name(draft.identity),
        "version": draft.version,
        "draft": draft.text().encode(),
        "size": sum(files.values()),
        "token": account.token,
        "account": account.account,
        "address": address,
        "created": now,
        "expires": expires,
        "state": STAGED,
    }
    connection.execute(stages.insert().values(row))
    connection.execute(stage_files.insert(), [{"stage": identifier, "sha256": sha256} for sha256 in sorted(files)])
    return get(connection, identifier), True


def hold(connection: sa.Connection) -> None:
    """Wait for other transactions that add stages, and keep them until this one ends: two requests must not both find the last
    room free, or store one draft twice. On SQLite, every writing transaction has this effect."""
    if connection.dialect.name == "postgresql":
        connection.execute(sa.text("LOCK TABLE stages IN SHARE ROW EXCLUSIVE MODE"))


def get(connection: sa.Connection, identifier: str, *, hold: bool = False) -> Stage:
    """Return a stage. ``hold``: nobody else changes it before this transaction ends. Raises RyeError ``no-such-entry``."""
    query = sa.select(stages).where(stages.c.id == identifier)
    row = connection.execute(query.with_for_update() if hold else query).first()
    if row is None:
        raise unknown(identifier)
    return _stage(row)


def find(connection: sa.Connection, namespace: str, name: str, version: str) -> list[Stage]:
    """All stages of one version of a name."""
    where = sa.and_(stages.c.namespace == namespace, stages.c.name == name, stages.c.version == version)
    return [_stage(row) for row in connection.execute(sa.select(stages).where(where).order_by(stages.c.created))]


def listing(connection: sa.Connection, account: Account, now: str, *, everything: bool, most: int) -> list[Stage]:
    """The newest stages that this account may see: pending ones, or decided ones as well."""
    query = sa.select(stages).order_by(stages.c.created.desc(), stages.c.id).limit(most)
    if not everything:
        query = query.where(stages.c.state == STAGED, stages.c.expires > now)
    decides = account.has("publish") or account.has("admin")
    if account.writable is not None or not decides:
        mine = sa.and_(stages.c.token == account.token, stages.c.token != "")
        query = query.where(sa.or_(mine, stages.c.namespace.in_(account.writable or () if decides else ())))
    return [stage for row in connection.execute(query) if may_see(account, stage := _stage(row))]


def open_bytes(connection: sa.Connection, now: str, account: Account | None = None) -> int:
    """The size of all pending stages, or of one account's (one token's, if it has no account)."""
    query = sa.select(sa.func.coalesce(sa.func.sum(stages.c.size), 0)).where(
        stages.c.state == STAGED, stages.c.expires > now
    )
    if account is not None and account.account is not None:
        query = query.where(stages.c.account == account.account)
    elif account is not None:
        query = query.where(stages.c.token == account.token)
    return int(connection.scalar(query) or 0)


def add_signatures(connection: sa.Connection, stage: Stage, note: SignedNote) -> SignedNote:
    """Add a note's signatures to those already stored and return them all. A note with another text replaces the stored one."""
    before = stage.note.signatures if stage.note is not None and stage.note.text == note.text else ()
    signers = {(line.name, line.key_id) for line in before}
    merged = SignedNote(
        note.text, (*before, *(line for line in note.signatures if (line.name, line.key_id) not in signers))
    )
    connection.execute(stages.update().where(stages.c.id == stage.id).values(note=merged.encode().encode()))
    return merged


def decide(
    connection: sa.Connection,
    identifier: str,
    state: str,
    now: str,
    *,
    position: int | None = None,
    reason: str | None = None,
) -> bool:
    """Decide a pending stage; False if it is no longer pending. What is in the log, at ``position``, is approved, although
    somebody rejected it a moment ago, when its last signature had come."""
    where = stages.c.id == identifier
    if position is None:
        where = sa.and_(where, stages.c.state == STAGED)
    values = {"state": state, "decided": now, "position": position, "reason": reason}
    return connection.execute(stages.update().where(where).values(values)).rowcount == 1


def expire(connection: sa.Connection, now: str) -> int:
    """Expire stages that were not decided in time."""
    where = sa.and_(stages.c.state == STAGED, stages.c.expires <= now)
    return connection.execute(stages.update().where(where).values(state=EXPIRED, decided=now)).rowcount


def needed_files(connection: sa.Connection, among: Sequence[str] | None = None) -> set[str]:
    """The files of pending stages."""
    query = sa.select(stage_files.c.sha256).join(stages, stages.c.id == stage_files.c.stage)
    query = query.where(stages.c.state == STAGED)
    if among is not None:
        query = query.where(stage_files.c.sha256.in_(among))
    return set(connection.scalars(query))


def unknown(identifier: str) -> RyeError:
    """The error for a stage that does not exist, and for one that this account may not see."""
    return RyeError(
        "no-such-entry",
        f"There is no stage {identifier[:80]!r}.",
        "`rye stage list` shows the pending stages.",
        what="stage",
    )


def _stage(row: sa.Row[tuple[object, ...]]) -> Stage:
    draft = Release.parse(bytes(row.draft).decode())
    note = notes.parse(bytes(row.note)) if row.note is not None else None
    return Stage(
        id=row.id,
        namespace=row.namespace,
        draft=draft,
        note=note,
        size=row.size,
        token=row.token,
        account=row.account,
        created=row.created,
        expires=row.expires,
        state=row.state,
        position=row.position,
        reason=row.reason,
    )
