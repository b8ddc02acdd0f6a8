"""What this registry saw when it looked again whether owners' proofs are still there.

It is this server's own knowledge, not in the log: another server, or a client, may see something else, and asks by itself.
"""

from __future__ import annotations

from datetime import UTC, datetime

import sqlalchemy as sa
from msgspec import Struct

from registry_server.accounts.times import after
from registry_server.sequencer.ledger import Ledger
from registry_server.storage.schema import owner_checks, owner_statements
from rye.registry.ownership.documents import Outcome
from rye.registry.protocol.lines import read_time
from rye.registry.protocol.statements import OwnerProof
from rye.registry.trust.keysets import Link
from rye.registry.trust.namespace_proofs import judge_owners
from rye.registry.trust.trust_error import TrustError

AGAIN_SECONDS = 86_400
"""How often a proof is checked again."""
AT_ONCE = 20
"""Proofs of one round."""
NAMESPACES = 10_000
"""Namespaces that are looked through in one round."""


class Due(Struct, frozen=True):
    """A proof to check."""

    proof: OwnerProof
    position: int
    link: Link
    """The keyset in force."""


class LastCheck(Struct, frozen=True):
    """What was seen last at a place."""

    outcome: str
    since: datetime
    checked: datetime


def due(connection: sa.Connection, origin: str, now: str) -> list[Due]:
    """Return proofs about keysets in force that were not checked for a day."""
    ledger = Ledger(connection)
    published = ledger.published()
    if published is None or ledger.origin != origin:
        return []
    namespaces = connection.execute(sa.select(owner_statements.c.namespace).distinct().limit(NAMESPACES)).scalars()
    rows = {
        (row.namespace, row.place): row
        for row in connection.execute(
            sa.select(owner_checks).where(owner_checks.c.checked > after(now, -AGAIN_SECONDS))
        )
    }
    proofs = []
    for namespace, lines in ledger.owner_lines(namespaces).items():
        chain = ledger.chain(namespace)
        current = chain.current(published.time)
        try:
            owners = judge_owners(chain, lines, published.time)
        except TrustError:
            continue  # clients refuse these statements: there is nothing to show
        for stated in owners.current:
            row = rows.get((namespace, stated.proof.place))
            is_fresh = stated.proof.time > read_time(after(now, -AGAIN_SECONDS))
            if current is not None and not is_fresh and (row is None or row.position != stated.position):
                proofs.append(Due(stated.proof, stated.position, current))
    return proofs[:AT_ONCE]


def take(connection: sa.Connection, due: Due, now: str) -> bool:
    """Reserve a proof for this process, by noting that it is checked now; False if another process did."""
    here = sa.and_(owner_checks.c.namespace == due.proof.namespace, owner_checks.c.place == due.proof.place)
    row = connection.execute(sa.select(owner_checks).where(here)).first()
    if row is None:
        values = {"namespace": due.proof.namespace, "place": due.proof.place, "position": due.position}
        time = due.proof.time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        connection.execute(owner_checks.insert().values(**values, outcome="found", since=time, checked=now))
        return True
    if row.checked > after(now, -AGAIN_SECONDS) and row.position == due.position:
        return False
    is_other = row.position != due.position
    values = {"checked": now, "position": due.position, **({"outcome": "found", "since": now} if is_other else {})}
    unchanged = sa.and_(here, owner_checks.c.checked == row.checked)
    return connection.execute(owner_checks.update().where(unchanged).values(**values)).rowcount == 1


def settle(connection: sa.Connection, due: Due, outcome: Outcome, now: str) -> None:
    """Note what was seen. ``since`` changes only with the outcome."""
    here = sa.and_(owner_checks.c.namespace == due.proof.namespace, owner_checks.c.place == due.proof.place)
    differs = sa.and_(here, owner_checks.c.outcome != outcome)
    connection.execute(owner_checks.update().where(differs).values(outcome=outcome, since=now))
    connection.execute(owner_checks.update().where(here).values(checked=now))


def seen(connection: sa.Connection, namespace: str) -> dict[tuple[str, int], LastCheck]:
    """Return what was seen last, by place and the proof's position."""
    rows = connection.execute(sa.select(owner_checks).where(owner_checks.c.namespace == namespace))
    return {
        (row.place, row.position): LastCheck(row.outcome, read_time(row.since), read_time(row.checked)) for row in rows
    }
