"""What the owners of a namespace have stated about themselves, judged from the file ``/owners/<namespace>``.

The file has the form of an index file. It is in no name map, so leaving a line out is not noticed here but by an auditor, who
makes the file from the log; no line can be added or changed, because each is proved to be in the log.

Rules, for each line in the log's order:

1. It is a statement of this registry about this namespace (``index-statement``, ``index-foreign``).
2. A key of the keyset in force signed it (:meth:`KeysetChain.check`); the keyset's number never decreases, and a proof names that
   keyset's fingerprint (``statement-keyset``). A statement that only revoked keys signed does not count.
3. A text that was there before has no effect when it is repeated.
4. The last description counts, and the last proof of each place.

A proof whose keyset is no longer the one in force is out of date: the place still names the old keys.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from msgspec import Struct

from rye.registry.protocol.statements import Description, OwnerProof, OwnerStatement
from rye.registry.protocol.wire import IndexLine
from rye.registry.trust.keysets import KeysetChain
from rye.registry.trust.trust_error import TrustError
from rye.registry.trust.trusted import read_line

FOLDER = "owners"


class StatedProof(Struct, frozen=True):
    """A proof that the owners stated and did not withdraw."""

    proof: OwnerProof
    position: int
    is_current: bool
    """Whether it is about the keyset in force."""


class NamespaceOwners(Struct, frozen=True):
    """What the owners of one namespace say about themselves, and since when the name is theirs."""

    namespace: str
    claimed: datetime | None
    """The time of the first keyset; None: no one has claimed the name."""
    description: Description | None = None
    proofs: tuple[StatedProof, ...] = ()
    """By place."""

    @property
    def current(self) -> tuple[StatedProof, ...]:
        """The proofs about the keyset in force."""
        return tuple(stated for stated in self.proofs if stated.is_current)


def owners_path(namespace: str) -> str:
    """Return the path of the file that lists what a namespace's owners stated."""
    return f"{FOLDER}/{namespace}"


def judge_owners(chain: KeysetChain, entries: Iterable[IndexLine], time: datetime) -> NamespaceOwners:
    """Return what counts. ``chain``: the namespace's keysets; ``time``: the snapshot's. Raises TrustError."""
    description: Description | None = None
    proofs: dict[str, StatedProof] = {}
    current = chain.current(time)
    said: set[str] = set()
    number = 0
    for line in entries:
        entry = read_line(line, owners_path(chain.namespace))
        statement = entry.statement
        if not isinstance(statement, OwnerStatement):
            raise TrustError("index-foreign", f"/{owners_path(chain.namespace)} contains a {statement.TITLE}.")
        if (statement.origin, statement.namespace) != (chain.origin, chain.namespace):
            raise TrustError(
                "index-foreign",
                f"/{owners_path(chain.namespace)} contains a statement about {statement.namespace} of {statement.origin}.",
            )
        if entry.note.text in said:
            continue
        said.add(entry.note.text)
        signers = chain.check(line.log, statement, entry.note, time)
        link = signers.link
        check_fingerprint(statement, link.sha256, line.log)
        if link.keyset.number < number:
            raise TrustError(
                "statement-keyset", f"The statement at position {line.log} goes back to keyset {link.keyset.number}."
            )
        number = link.keyset.number
        if signers.revoked:
            continue
        if isinstance(statement, Description):
            description = statement
        elif statement.proved:
            proofs[statement.place] = StatedProof(statement, line.log, link == current)
        else:
            proofs.pop(statement.place, None)
    claimed = chain.links[0].keyset.time if chain.links else None
    return NamespaceOwners(chain.namespace, claimed, description, tuple(proofs[place] for place in sorted(proofs)))


def check_fingerprint(statement: OwnerStatement, sha256: str, position: int) -> None:
    """Rule 2 for a proof: it names the fingerprint of the keyset in force. Raises TrustError ``statement-keyset``."""
    if isinstance(statement, OwnerProof) and statement.fingerprint != sha256:
        raise TrustError(
            "statement-keyset",
            f"The proof at position {position} names the fingerprint {statement.fingerprint}, but that of keyset "
            f"{statement.keyset} is {sha256}.",
        )
