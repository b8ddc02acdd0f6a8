"""Whether the registry can publish: the answer of ``/readyz``.

Ready means: the database answers and has a head, the store answers, and soon enough, and has one that the database
contains, the head is younger than 36 hours, the last write did not fail because database or store was unavailable, and the
thread that appends has made progress recently. This server's clock is believed, the newest head is not in the future, and the
root has not expired. After a failed write, a check lets the thread that appends try again. Database and store are asked at
the same time, so that one that is silent is not taken for the other. Only one check runs at a time, however many clients ask,
and its result is reused briefly: a hanging store costs one thread, not one per probe.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Generic, TypeVar

import sqlalchemy as sa
from msgspec import Struct

from registry_server.sequencer.head_publication import check_size, shown_checkpoint
from registry_server.sequencer.ledger import Ledger, Published
from registry_server.sequencer.sequencer import Sequencer
from registry_server.settings import Settings
from registry_server.storage import database
from registry_server.storage.objects import Objects
from registry_server.storage.store_watch import StoreWatch
from registry_server.witnesses import records
from registry_server.witnesses.lag import LAG_SECONDS, Lag, lags
from registry_server.witnesses.records import WitnessRow
from rye.errors import RyeError
from rye.registry.protocol.lines import write_time
from rye.registry.protocol.statements import Checkpoint, Root
from rye.registry.protocol.wire import ReadyAnswer

HEAD_SECONDS = 36 * 3600
"""A head older than this shows that signing has stopped: clients warn at 72 hours."""
PROBE_SECONDS = 5.0
"""How long database and store may take to answer."""
RETRY_SECONDS = 2.0
"""How long a check waits for an attempt to write again."""
_GOOD_SECONDS = 0.25
_T = TypeVar("_T")


def undurable_warning(name: str) -> str:
    """What it means that PostgreSQL's setting ``fsync`` or ``full_page_writes`` is off."""
    return f"PostgreSQL runs with {name} = off: a crash of its machine can lose what this registry has acknowledged."


def _slow(what: str) -> RyeError:
    return RyeError(
        "store-slow",
        f"{what} half of `store_wait_seconds` or more. Publishing needs several requests.",
        "Look at the bucket's service and at the network between it and this server.",
    )


class _Told(Struct, frozen=True):
    """What the database says."""

    published: Published | None
    """The newest head."""
    root: Root | None
    """The newest root."""
    time: float | None
    """Its clock, in seconds since 1970; None if it has none."""
    undurable: list[str]
    """What PostgreSQL has switched off."""
    witnesses: list[WitnessRow]
    """Those that the operator configured."""


class _Outcome(Struct, frozen=True):
    answer: ReadyAnswer | None = None
    problem: RyeError | None = None


class _Thread(Generic[_T]):
    """One call in a thread. While it runs, whoever asks waits for that one."""

    def __init__(self, call: Callable[[], _T]) -> None:
        self._call = call
        self._running: asyncio.Task[_T] | None = None

    def result(self) -> asyncio.Task[_T]:
        if self._running is None or self._running.done():
            self._running = asyncio.create_task(asyncio.to_thread(self._call))
            self._running.add_done_callback(lambda task: task.cancelled() or task.exception())  # nobody may be waiting
        return self._running


class Readiness:
    """Runs the checks for one event loop."""

    def __init__(
        self,
        engine: sa.Engine,
        public: Objects,
        sequencer: Sequencer,
        settings: Settings,
        watch: StoreWatch,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        *,
        others: Callable[[], list[str]] = list,
    ) -> None:
        """``others``: returns warnings about other registries that this one serves; none of them makes it unready."""
        self._engine = engine
        self._public = public
        self._sequencer = sequencer
        self._settings = settings
        self._watch = watch
        self._clock = clock
        self._others = others
        self._store = _Thread(self._ask_store)
        self._database = _Thread(self._ask_database)
        self._asking: asyncio.Task[_Outcome] | None = None
        self._known: tuple[float, _Outcome] | None = None

    async def ask(self) -> ReadyAnswer:
        """Return the state of a ready registry. Raises RyeError with whatever keeps it from publishing."""
        if self._sequencer.trouble is not None:
            await asyncio.wait({asyncio.wrap_future(self._sequencer.retry())}, timeout=RETRY_SECONDS)
        if self._sequencer.trouble is not None:
            raise self._sequencer.trouble
        latest = self._known
        outcome = latest[1] if latest is not None and time.monotonic() - latest[0] < _GOOD_SECONDS else None
        if outcome is None:
            if self._asking is None or self._asking.done():
                self._asking = asyncio.create_task(self._probe())
            outcome = await asyncio.shield(self._asking)
        if outcome.answer is None:
            raise outcome.problem or RyeError("internal", "The probe returned no result.", None)
        return outcome.answer

    async def _probe(self) -> _Outcome:
        try:
            outcome = _Outcome(await self._look())
        except RyeError as error:
            outcome = _Outcome(problem=error)
        except Exception as error:  # /readyz must report any failure, even a bug in a check, as "not ready"
            outcome = _Outcome(problem=RyeError("internal", f"The probe failed: {type(error).__name__}.", None))
        self._known = (time.monotonic(), outcome)
        return outcome

    async def _look(self) -> ReadyAnswer:
        store, data = self._store.result(), self._database.result()
        await asyncio.wait({store, data}, timeout=PROBE_SECONDS)
        if not data.done():
            raise RyeError(
                "database-silent",
                f"The database did not answer within {PROBE_SECONDS:g} seconds.",
                "Check that it is running, not stopped or out of connections, and reachable.",
            )
        if not store.done():
            raise RyeError(
                "store-silent",
                f"The store did not answer within {PROBE_SECONDS:g} seconds.",
                "Check that its service is running and reachable.",
            )
        told, (shown, seconds) = data.result(), store.result()
        others = await asyncio.to_thread(self._others)
        published = told.published
        if published is None:
            raise RyeError("database-unavailable", "The registry has no head.", "rye-registry verify")
        if shown is None:
            raise RyeError("store-unavailable", "The store has no head.", "rye-registry rebuild")
        self._sequencer.clock.check_shown(published.time, told.time)
        now = self._clock()
        if told.root is not None and now >= told.root.expires:
            raise RyeError(
                "root-expired",
                f"Root {told.root.number} expired at {write_time(told.root.expires)}: no head can be signed under it.",
                "The owners sign a new one: rye-registry root renew",
            )
        if shown.size > published.size:  # or both grew meanwhile: what the store shows was in the database before
            await asyncio.to_thread(self._compare, shown)
        if self._watch.is_slow(seconds):
            raise _slow(f"The store took {seconds:.1f} seconds for one request, which is")
        age = int((now - published.time).total_seconds())
        if age > HEAD_SECONDS:
            raise RyeError(
                "head-old",
                f"The newest head is {age // 3600} hours old; the server should sign a new one every day.",
                "The server's log says why signing fails; `rye-registry serve` signs a new one when it starts.",
            )
        self._check_sequencer()
        return ReadyAnswer(
            "ok",
            published.size,
            age,
            [*self._warnings(told.undurable, lags(told.witnesses, published.size, now.timestamp())), *others][:20],
        )

    def _ask_store(self) -> tuple[Checkpoint | None, float]:
        """The head that the store shows, and how long it took."""
        began = time.monotonic()
        shown = shown_checkpoint("head", self._public.get("head"))
        return shown, 0.0 if self._public.is_local else time.monotonic() - began

    def _ask_database(self) -> _Told:
        with database.reader(self._engine) as connection:
            ledger = Ledger(connection)
            roots = ledger.roots()
            published, root, told = ledger.published(), roots[-1] if roots else None, ledger.database_time
            witnesses = records.listing(connection)
        return _Told(published, root, told, database.undurable(self._engine), witnesses)

    def _compare(self, shown: Checkpoint) -> None:
        with database.reader(self._engine) as connection:
            check_size(Ledger(connection), shown)

    def _warnings(self, undurable: list[str], witnesses: list[Lag]) -> list[str]:
        """What should be changed although the registry can publish. Witnesses that lag stop no publish."""
        warnings = [undurable_warning(name) for name in undurable]
        warnings += [lag.words() for lag in witnesses if lag.seconds > LAG_SECONDS][:10]
        slowest = self._watch.slowest()
        if slowest is not None:
            warnings.append(
                _slow(f"In the last minute, the store took {slowest:.1f} seconds for a request, which is").message
            )
        return warnings

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
