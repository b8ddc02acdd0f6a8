"""Who has signed a release that waits, who still can, and from which account each signature came.

A key has no name but its fingerprint. The audit event of each approval names the account that sent the signature, which need not
be the key's owner: the registry knows no owners of keys.
"""

from __future__ import annotations

from collections.abc import Mapping

import sqlalchemy as sa
from msgspec import Struct

from registry_server.accounts import audit_events, roles
from registry_server.accounts.stages import Stage
from registry_server.storage.schema import accounts, tokens
from rye.registry.protocol.notes import SignedNote, VerifierKey, verify
from rye.registry.trust.keysets import Link
from rye.signing.keys import PublicKey

SIGNED = "stage.sign"
"""The action of the audit events."""
_LOOKED_AT = 50_000
"""Newest audit events that are searched."""


class KeySigner(Struct, frozen=True, kw_only=True):
    """A key whose signature counts."""

    fingerprint: str
    hardware: bool
    """Whether it is a security key (FIDO)."""
    signed: bool
    by: str | None
    """The name of the account that sent the signature, or of the token, if it has no account; null: it is not recorded."""
    time: str | None
    """When."""


class Approver(Struct, frozen=True):
    """An account or a team that may send a signature."""

    name: str
    role: str
    is_team: bool
    has_sent: bool
    """Whether a signature that counts came from this account. Teams send none: their members do."""


class StageSigners(Struct, frozen=True):
    """Who has signed a stage, and who still can."""

    namespace: str
    staged_by: str | None
    """The name of the account that staged it, or of the token, if it has no account; null: neither is there any more."""
    keyset: int
    needed: int
    keys: tuple[KeySigner, ...]
    """Those that signed first."""
    approvers: tuple[Approver, ...]

    @property
    def missing(self) -> int:
        """How many more must sign."""
        return max(self.needed - sum(key.signed for key in self.keys), 0)


def fingerprints(note: SignedNote, link: Link) -> list[str]:
    """Return the keys of a keyset that signed a note. Raises NoteError for a wrong signature."""
    return [_fingerprint(key) for key in link.keys if key in verify(note, link.keys)]


def signers_of(connection: sa.Connection, stage: Stage, link: Link, counted: SignedNote | None) -> StageSigners:
    """Return who has signed. ``link``: the keyset in force; ``counted``: the note whose signatures count, None: none does."""
    signed = set(fingerprints(counted, link)) if counted is not None else set()
    sent = _sent(connection, stage)
    keys = [
        KeySigner(
            fingerprint=fingerprint,
            hardware=key.hardware,
            signed=fingerprint in signed,
            by=sent[fingerprint][0] if fingerprint in signed and fingerprint in sent else None,
            time=sent[fingerprint][1] if fingerprint in signed and fingerprint in sent else None,
        )
        for key in link.keyset.accepted_keys()
        for fingerprint in [key.fingerprint]
    ]
    people = {key.by for key in keys if key.signed}
    approvers = [
        Approver(given.account or given.team or "", given.role, given.team is not None, given.account in people)
        for given in roles.listing(connection, stage.namespace)
        if given.role in roles.WRITERS
    ]
    return StageSigners(
        stage.namespace,
        _name(connection, f"token:{stage.token}" if stage.token else f"account:{stage.account}"),
        link.keyset.number,
        link.keyset.release_threshold,
        tuple(sorted(keys, key=lambda key: not key.signed)),
        tuple(approvers),
    )


def _sent(connection: sa.Connection, stage: Stage) -> Mapping[str, tuple[str, str]]:
    """Return from where the newest signature of each key came, and when, by the key's fingerprint."""
    found: dict[str, tuple[str, str]] = {}
    for event in audit_events.about(connection, SIGNED, f"stage:{stage.id}", _LOOKED_AT):
        who = _name(connection, event.actor)
        keys = event.detail.get("keys")
        if who is not None and isinstance(keys, list):
            found.update((str(key), (who, event.time)) for key in keys)
    return found


def _name(connection: sa.Connection, actor: str) -> str | None:
    sort, _, identifier = actor.partition(":")
    if sort == "account":
        return connection.scalar(sa.select(accounts.c.name).where(accounts.c.id == identifier))
    query = sa.select(sa.func.coalesce(accounts.c.name, tokens.c.name))
    query = query.select_from(tokens.outerjoin(accounts, accounts.c.id == tokens.c.account))
    return connection.scalar(query.where(tokens.c.id == identifier)) if sort == "token" else None


def _fingerprint(key: VerifierKey) -> str:
    return PublicKey(key.key, key.verified_only).fingerprint
