"""Whether owners can prove what they state: asked when a proof is published, without the writer's lock, and again every day.

The server sends requests to places that its users choose (:mod:`rye.registry.ownership.asking` guards them), so only someone
who holds a key of the namespace can make it ask, few at a time. What it finds later changes nothing in the log: pages say
that a proof is no longer there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import sqlalchemy as sa

from registry_server.accounts.times import now_text
from registry_server.api.rounds import Rounds
from registry_server.sequencer.acceptance import Candidate, namespace_of
from registry_server.sequencer.chains import chains_of
from registry_server.sequencer.columns import text_sha256
from registry_server.sequencer.queries import OWNER_TEXT
from registry_server.storage import database
from registry_server.storage.bounded_threads import BoundedThreads
from registry_server.upkeep import owner_checks
from rye.errors import RyeError
from rye.registry.ownership.asking import PlaceAsking, check, is_on_loopback
from rye.registry.ownership.documents import ProofCheck
from rye.registry.protocol.lines import MAX_NUMBER
from rye.registry.protocol.statements import OwnerProof
from rye.registry.trust.keysets import Link
from rye.registry.trust.namespace_proofs import check_fingerprint
from rye.registry.trust.trust_error import TrustError

THREADS = 4
"""Places that are asked at the same time for requests that wait."""
WAITING = 16
ROUND_SECONDS = 300.0
"""How often proofs that are due are looked for."""


class Proving:
    """Asks places for one server."""

    def __init__(
        self,
        engine: sa.Engine,
        origin: str,
        address: Callable[[], str],
        *,
        is_on: bool,
        ask: Callable[[PlaceAsking, str, str, Link], ProofCheck] = check,
    ) -> None:
        """``address``: the registry's own. ``is_on``: the setting ``owner_proofs``."""
        self._engine = engine
        self._origin = origin
        self._address = address
        self._is_on = is_on
        self._ask = ask
        self._threads = BoundedThreads("rye-proofs", THREADS, WAITING, "Too many proofs are being checked.")
        self._rounds = Rounds("proofs", self.round, ROUND_SECONDS, "checking who owns namespaces")

    def start(self) -> None:
        """Begin to check again, in a thread."""
        if self._is_on:
            self._rounds.start()

    def stop(self) -> None:
        """Stop checking. What is due and was not begun is left to the next round, here or in another process; a check that is cut
        off is made again a day later."""
        self._rounds.stop()
        self._threads.close()

    async def require(self, candidates: Sequence[Candidate], client: str) -> None:
        """Ask the place of each new proof whether it names the namespace. ``client``: the address of who sent them.

        Candidates whose signatures do not count are left to admission, which refuses them: nobody else makes the server ask.
        Raises RyeError ``proof-not-found``, ``proof-unreachable``, ``proofs-off``, ``busy``.
        """
        for candidate in candidates:
            proof = candidate.statement
            if not isinstance(proof, OwnerProof) or not proof.proved:
                continue
            link = await asyncio.to_thread(self._link_of, candidate, proof)
            if link is None:
                continue
            if not self._is_on:
                raise RyeError(
                    "proofs-off",
                    "This registry does not check who owns a namespace.",
                    "Its operator can allow it with the setting `owner_proofs`.",
                )
            asking = PlaceAsking(loopback=self._is_local and client in ("127.0.0.1", "::1"))
            future = self._threads.submit(lambda: self._ask(asking, proof.method, proof.place, link))  # noqa: B023
            require_found(await asyncio.wrap_future(future), proof)

    def round(self, now: str | None = None) -> int:
        """Check the proofs that are due; return how many."""
        now = now or now_text()
        with database.reader(self._engine) as connection:
            due = owner_checks.due(connection, self._origin, now)
        checked = 0
        for each in due:
            if self._rounds.is_ending:
                break
            with database.change(self._engine) as connection:
                if not owner_checks.take(connection, each, now):
                    continue
            seen = self._ask(PlaceAsking(loopback=self._is_local), each.proof.method, each.proof.place, each.link)
            with database.change(self._engine) as connection:
                owner_checks.settle(connection, each, seen.outcome, now)
            checked += 1
        return checked

    @property
    def _is_local(self) -> bool:
        return is_on_loopback(self._address())

    def _link_of(self, candidate: Candidate, proof: OwnerProof) -> Link | None:
        """The keyset in force, if the proof is new and signed under it."""
        values = {"namespace": proof.namespace, "sha256": text_sha256(candidate.note.text)}
        rows = database.ask(self._engine, OWNER_TEXT, values)
        if rows and rows[0][0] is not None:
            return None
        namespace = namespace_of(proof) or ""
        chain = chains_of(self._engine, self._origin, [namespace])[namespace]
        now = datetime.now(UTC)
        try:
            signers = chain.check(MAX_NUMBER, proof, candidate.note, now)
            check_fingerprint(proof, signers.link.sha256, MAX_NUMBER)
        except TrustError:
            return None
        return signers.link if signers.link == chain.current(now) and not signers.revoked else None


def require_found(checked: ProofCheck, proof: OwnerProof) -> None:
    """Raise RyeError ``proof-not-found`` or ``proof-unreachable`` unless the place names the namespace and its keys."""
    if checked.outcome == "found":
        return
    again = f"Then run it again: rye namespace prove {proof.namespace}"
    if checked.outcome == "unreachable":
        raise RyeError("proof-unreachable", f"The registry asked {proof.place} for a proof: {checked.detail}", again)
    raise RyeError(
        "proof-not-found",
        f"The registry found no proof at {proof.place}: {checked.detail}",
        f"`rye namespace prove {proof.namespace}` says what to put there.",
    )
