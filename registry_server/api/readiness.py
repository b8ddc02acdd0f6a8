"""Whether the registry can publish: the answer of ``/readyz``.

Ready means: the database answers and has a head, the store answers and has one, the head is younger than 36 hours, the
last write did not fail because database or store was unavailable, and the thread that appends has made progress
recently. This server's clock is believed, the newest head is not in the future, and the root has not expired.

Only one check runs at a time, however many clients ask, and its result is reused briefly: a hanging store costs one
thread, not one per probe.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime

import sqlalchemy as sa
from msgspec import Struct

from registry_server.sequencer.ledger import Ledger
from registry_server.sequencer.sequencer import Sequencer
from registry_server.settings import Settings
from registry_server.storage import database
from registry_server.storage.objects import Objects
from rye.errors import RyeError
from rye.registry.protocol.lines import write_time
from rye.registry.protocol.wire import ReadyAnswer

HEAD_SECONDS = 36 * 3600
"""A head older than this shows that signing has stopped: clients warn at 72 hours."""
PROBE_SECONDS = 5.0
"""How long database and store together may take to answer."""
_GOOD_SECONDS = 0.25


class _Outcome(Struct, frozen=True):
    answer: ReadyAnswer | None = None
    problem: RyeError | None = None


class Readiness:
    """Runs the checks for one event loop."""

    def __init__(
        self,
        engine: sa.Engine,
        public: Objects,
        sequencer: Sequencer,
        settings: Settings,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._engine = engine
        self._public = public
        self._sequencer = sequencer
        self._settings = settings
        self._clock = clock
        self._asking: asyncio.Task[_Outcome] | None = None
        self._known: tuple[float, _Outcome] | None = None

    async def ask(self) -> ReadyAnswer:
        """Return the state of a ready registry. Raises RyeError with whatever keeps it from publishing."""
        if self._sequencer.trouble is not None:
            raise self._sequencer.trouble
        latest = self._known
        outcome = latest[1] if latest is not None and time.monotonic() - latest[0] < _GOOD_SECONDS else None
        if outcome is None:
            if self._asking is None or self._asking.done():
                self._asking = asyncio.create_task(asyncio.to_thread(self._probe))
            done, _ = await asyncio.wait({self._asking}, timeout=PROBE_SECONDS)
            if not done:
                raise RyeError(
                    "store-unavailable",
                    f"Database and store did not answer within {PROBE_SECONDS:g} seconds.",
                    "Check that both are running and reachable; the server's log says more.",
                )
            outcome = self._asking.result()
        if outcome.answer is None:
            raise outcome.problem or RyeError("internal", "The probe returned no result.", None)
        return outcome.answer

    def _probe(self) -> _Outcome:
        try:
            outcome = _Outcome(self._look())
        except RyeError as error:
            outcome = _Outcome(problem=error)
        except Exception as error:  # /readyz must report any failure, even a bug in a check, as "not ready"
            outcome = _Outcome(problem=RyeError("internal", f"The probe failed: {type(error).__name__}.", None))
        self._known = (time.monotonic(), outcome)
        return outcome

    def _look(self) -> ReadyAnswer:
        with database.reader(self._engine) as connection:
            ledger = Ledger(connection)
            published, roots = ledger.published(), ledger.roots()
        if published is None:
            raise RyeError("database-unavailable", "The registry has no head.", "rye-registry verify")
        if self._public.get("head") is None:
            raise RyeError("store-unavailable", "The store has no head.", "rye-registry rebuild")
        self._sequencer.clock.check_shown(published.time, ledger.database_time)
        now = self._clock()
        if roots and now >= roots[-1].expires:
            raise RyeError(
                "root-expired",
                f"Root {roots[-1].number} expired at {write_time(roots[-1].expires)}: no head can be signed under it.",
                "The owners sign a new one: rye-registry root renew",
            )
        age = int((now - published.time).total_seconds())
        if age > HEAD_SECONDS:
            raise RyeError(
                "head-old",
                f"The newest head is {age // 3600} hours old; the server should sign a new one every day.",
                "The server's log says why signing fails; `rye-registry serve` signs a new one when it starts.",
            )
        self._check_sequencer()
        return ReadyAnswer("ok", published.size, age)

    def _check_sequencer(self) -> None:
        allowed = self._settings.heartbeat_check_seconds + self._settings.answer_seconds
        silent = self._sequencer.silent_seconds()
        if silent is None or silent > allowed:
            words = "has ended" if silent is None else f"has made no progress for {silent:.0f} seconds"
            raise RyeError(
                "sequencer-stuck",
                f"The thread that appends to the log {words}.",
                "Restart the server. No acknowledged publish is lost.",
            )
