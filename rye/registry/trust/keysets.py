"""Who owns a namespace, over time: the chain of its keysets (docs/reference/protocol.md, rye.keyset/v1).

Values in, values out.

Rules, in the order in which :func:`extend` checks them:

1. The statement is about this namespace of this registry (``index-foreign``).
2. Number 1 begins the chain; number n+1 names the hash of number n (``keyset-number``, ``keyset-chain``).
3. A threshold of its own keys signed it (``keyset-signatures``).
4. A threshold of the previous keyset's keys signed it as well (``keyset-takeover``) or, with a ``recovery`` line, the
   owners of one of the registry's roots (``recovery-signatures``).
   Where a keyset has ``require``, only its security keys count here, and for statements: a keyset that lowers it is signed by
   them as well.
5. Revocations are kept unchanged (``keyset-revocations``). One revokes the key's 32 bytes, in whichever form they signed.
6. A recovery has no effect before its time. Until then the previous keys stay in force. They can object with another
   keyset of the same number, which replaces the recovery; nothing else can follow it that early (``recovery-pending``).
   A keyset that is postdated to follow it anyway has no effect before the recovery does.

A statement about an item counts if a key of the keyset in force at its position signed it. A release needs as many keys
as the keyset's ``release-threshold`` says (:meth:`KeysetChain.check`). The keyset must be in effect by the snapshot's
time, so postdating a statement does not shorten the wait.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from rye.registry.protocol import notes
from rye.registry.protocol.lines import write_time
from rye.registry.protocol.notes import NoteError, SignedNote, VerifierKey
from rye.registry.protocol.statements import (
    Advisory,
    Deprecation,
    Keyset,
    OwnerStatement,
    Release,
    Root,
    Yank,
    namespace_key_name,
)
from rye.registry.trust.owners import Owners
from rye.registry.trust.trust_error import TrustError
from rye.signing.keys import PublicKey


class Link(Struct, frozen=True):
    """One keyset of a chain and its position in the log."""

    position: int
    keyset: Keyset
    sha256: str
    """SHA-256 of its text."""

    def in_effect(self, time: datetime) -> bool:
        """Whether it is in effect at a time: always, or after its recovery time."""
        return self.keyset.recovery is None or time >= self.keyset.recovery

    @property
    def keys(self) -> tuple[VerifierKey, ...]:
        """Those of its keys whose signatures count, under the name that their signatures have."""
        return namespace_keys(self.keyset)


class Signers(Struct, frozen=True):
    """The signers of a statement, under which keyset, and whether they still count."""

    link: Link
    keys: tuple[bytes, ...]
    """The keys of the keyset that signed, in the keyset's order."""
    revoked: bool
    """Whether too few of them are left that are not revoked for this position."""
    withdrawn: frozenset[bytes] = frozenset()
    """Those of the keys that are revoked for this position."""


class KeysetChain(Struct, frozen=True):
    """The keysets of one namespace, oldest first. Only postdated keysets can follow a pending recovery."""

    origin: str
    namespace: str
    links: tuple[Link, ...] = ()

    def effective(self, time: datetime) -> tuple[Link, ...]:
        """Return the links before the first recovery that is not in effect at this time: links after it are not
        either.
        """
        waiting = next((index for index, link in enumerate(self.links) if not link.in_effect(time)), None)
        return self.links[:waiting]

    def in_force(self, position: int, time: datetime) -> Link | None:
        """Return the keyset for a log entry: the last before its position that is in effect at the statement's time."""
        return next((link for link in reversed(self.effective(time)) if link.position < position), None)

    def current(self, time: datetime) -> Link | None:
        """Return the keyset in force for the next log entry."""
        return next(reversed(self.effective(time)), None)

    def pending(self, time: datetime) -> Link | None:
        """Return the recovery that is announced but not in effect at this time."""
        return next(iter(self.links[len(self.effective(time)) :]), None)

    def unaccepted(self, accepted: frozenset[str], time: datetime) -> Link | None:
        """Return the first recovery in effect that the user has not accepted (by the SHA-256 of its text)."""
        for link in self.effective(time):
            if link.keyset.recovery is not None and link.sha256 not in accepted:
                return link
        return None

    def check(
        self,
        position: int,
        statement: Release | Yank | Deprecation | Advisory | OwnerStatement,
        note: SignedNote,
        time: datetime,
    ) -> Signers:
        """Return the signers of a statement about this namespace or an item of it.

        ``time``: the snapshot's, for recoveries and revocations.

        Raises TrustError: ``statement-unclaimed``, ``statement-keyset``, ``statement-signer``.
        """
        link = self.in_force(position, statement.time)
        about = statement.namespace if isinstance(statement, OwnerStatement) else statement.identity
        subject = f"The statement at position {position} about {about}"
        if link is None:
            raise TrustError("statement-unclaimed", f"{subject} comes before any keyset of {self.namespace!r}.")
        if statement.keyset != link.keyset.number:
            message = f"{subject} names keyset {statement.keyset}, but {link.keyset.number} was in force."
            raise TrustError("statement-keyset", message)
        if link not in self.effective(time):
            message = f"{subject} is postdated: keyset {link.keyset.number} is not in effect before its recovery time."
            raise TrustError("statement-keyset", message)
        needed = link.keyset.release_threshold if isinstance(statement, Release) else 1
        try:
            signed = {key.key for key in notes.verify(note, link.keys, needed)}
        except NoteError as error:
            expected = ", ".join(key.vkey for key in link.keys)
            found = ", ".join(f"{line.name}+{line.key_id.hex()}" for line in note.signatures[:3])
            message = (
                f"{subject} is not signed by {'a key' if needed == 1 else f'{needed} keys'} of keyset "
                f"{link.keyset.number} of {self.namespace!r}: "
                f"its keys are {expected}, but the signatures are by {found}."
            )
            keys = {
                "expected_keys": [key.vkey for key in link.keys],
                "found_keys": [f"{line.name}+{line.key_id.hex()}" for line in note.signatures],
            }
            raise TrustError("statement-signer", message, cause=error.code, **keys) from error
        latest = self.current(time) or link
        since = {PublicKey(revocation.key).point: revocation.position for revocation in latest.keyset.revoked}
        withdrawn = frozenset(key for key in signed if position >= since.get(PublicKey(key).point, position + 1))
        revoked = len(signed) - len(withdrawn) < needed
        return Signers(link, tuple(key for key in link.keyset.keys if key in signed), revoked, withdrawn)


def extend(chain: KeysetChain, position: int, note: SignedNote, keyset: Keyset, owners: Owners) -> KeysetChain:
    """Return the chain with one more keyset, from ``note``. ``owners``: who may sign a recovery. Raises TrustError."""
    subject = f"Keyset {keyset.number} of {chain.namespace!r} (position {position})"
    if (keyset.origin, keyset.namespace) != (chain.origin, chain.namespace):
        raise TrustError(
            "index-foreign", f"The keyset at position {position} is about {keyset.namespace!r} of {keyset.origin}."
        )
    if chain.links and position <= chain.links[-1].position:
        raise TrustError("index-position", f"{subject} is not after the previous one in the log.")
    before, kept = _predecessor(chain, keyset, subject)
    if keyset.previous != (before.sha256 if before else None):
        raise TrustError("keyset-chain", f"{subject} does not name the previous keyset.")
    own = namespace_keys(keyset)
    _demand(
        note,
        own,
        keyset.threshold,
        "keyset-signatures",
        f"{subject} is not signed by {keyset.threshold} of its own keys.",
    )
    if keyset.recovery is not None:
        _check_recovery(note, position, owners, subject)
    elif before is not None:
        message = (
            f"{subject} is not signed by {before.keyset.threshold} of the keys of keyset {before.keyset.number}: "
            "someone may be taking over the namespace."
        )
        old = before.keys
        vkeys = {"old_keys": [key.vkey for key in old], "new_keys": [key.vkey for key in own]}
        _demand(note, old, before.keyset.threshold, "keyset-takeover", message, **vkeys)
    if before is not None and not set(before.keyset.revoked) <= set(keyset.revoked):
        raise TrustError("keyset-revocations", f"{subject} omits or changes an earlier revocation.")
    sha256 = hashlib.sha256(note.text.encode()).hexdigest()
    return KeysetChain(chain.origin, chain.namespace, (*kept, Link(position, keyset, sha256)))


def namespace_keys(keyset: Keyset) -> tuple[VerifierKey, ...]:
    """Return the keys of a keyset whose signatures count, under the name that their signatures have."""
    name = namespace_key_name(keyset.origin, keyset.namespace)
    return tuple(VerifierKey(name, key.raw, key.verified_only) for key in keyset.accepted_keys())


def log_keys(root: Root) -> tuple[VerifierKey, ...]:
    """Return a root's log keys under the name that their signatures have."""
    return tuple(VerifierKey(root.origin, key) for key in root.logs)


def _predecessor(chain: KeysetChain, keyset: Keyset, subject: str) -> tuple[Link | None, tuple[Link, ...]]:
    """Return the link that the keyset follows, and the links that stay."""
    links = chain.links
    if not links:
        if keyset.number != 1:
            raise TrustError("keyset-number", f"{subject} is the first of a chain, which must begin with number 1.")
        return None, links
    last = links[-1]
    waits = last.keyset.recovery
    if waits is not None and keyset.time < waits:
        if keyset.number != last.keyset.number:
            raise TrustError(
                "recovery-pending", f"{subject} follows a recovery that is not in effect before {write_time(waits)}."
            )
        return links[-2], links[:-1]
    if keyset.number != last.keyset.number + 1:
        raise TrustError("keyset-number", f"{subject} follows number {last.keyset.number}.")
    return last, links


def _check_recovery(note: SignedNote, position: int, owners: Owners, subject: str) -> None:
    if not owners.signed(note, position):
        raise TrustError("recovery-signatures", f"{subject} is a recovery that the registry's owners did not sign.")


def _demand(
    note: SignedNote, keys: Sequence[VerifierKey], threshold: int, code: str, message: str, **details: object
) -> None:
    try:
        notes.verify(note, keys, threshold)
    except NoteError as error:
        raise TrustError(code, message, cause=error.code, **details) from error
