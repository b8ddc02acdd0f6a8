"""Where requests are examined: threads of this process and, under load, worker processes, which do not share its GIL.

A quiet registry never starts a worker. One that ends or does not answer is replaced, at most every few seconds, and its
requests are examined here. A worker's findings are trusted like our own: it runs the same code on the same machine.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sys
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

import msgspec

from registry_server.accounts.tokens import Account
from registry_server.api.examination import Examination, by_hash
from registry_server.api.frames import LENGTH_BYTES, Sent, SentSettings, frame
from registry_server.api.worker import LATER, QUIET_SECONDS, Analyst, Done, Released, Start, Work
from registry_server.sequencer.acceptance import Candidate
from registry_server.settings import Settings
from registry_server.storage.bounded_threads import BoundedThreads
from rye.errors import RyeError
from rye.text.json_reading import UNDECODABLE

_log = logging.getLogger("rye.registry")

BUSY = 4
"""Concurrent examinations before starting a worker pays off."""
ALONE = 1
"""Concurrent examinations that a thread takes on although there are workers: the way to another process is only longer."""
QUEUED = 64
"""Requests that can wait for one worker; further ones are examined here."""
NOBODY = Account(token="", name="", namespaces=())
"""For work that is no request."""
TOLD = 50
"""Releases that a worker is told of at a time: it analyses them even if requests come meanwhile that it does not see."""
AGAIN_SECONDS = 10.0
"""The shortest time between two starts."""
START_SECONDS = 20.0
"""The longest time from a worker's start to its first answer."""
STUCK_SECONDS = 20.0
"""How long a worker may take for one request; after that it is killed and the request refused."""
CLOSING_SECONDS = 1.0
"""How long closing waits for an analysis."""
COMMAND = (sys.executable, "-P", "-m", "registry_server.api.worker")


class Gone(Exception):
    """The worker ended before it answered."""


class TookTooLong(Exception):
    """The worker was killed because of this request."""


class Examiners:
    """Belongs to one event loop."""

    def __init__(
        self, examination: Examination, origin: str, settings: Settings, analyst: Analyst | None = None
    ) -> None:
        """``analyst`` None: releases are analysed in workers only."""
        self._examination = examination
        self._analyst = analyst
        self._analysing = BoundedThreads("rye-analyses", 1, LATER, "Too many releases wait for their analysis.")
        self._origin = origin
        self._settings = settings
        self._most = min(settings.examiners, os.cpu_count() or 1)
        self._workers: list[_Worker] = []
        self._starting: asyncio.Task[None] | None = None
        self._started = -AGAIN_SECONDS
        self._under_way = 0
        self._examined = -QUIET_SECONDS
        """When the last request was."""
        self._released: list[Released] = []
        """Logged, to be told to a worker."""
        self._telling: asyncio.TimerHandle | None = None

    async def examine(
        self, account: Account, texts: Sequence[str], files: Sequence[bytes] = (), *, keeps: bool = False
    ) -> list[Candidate]:
        """Run every check of a request that needs no lock.

        ``files``: those that came with it; they may not be in the store yet. ``keeps``: whether they are put there, once nothing
        is wrong with them. Raises RyeError for the first fault.
        """
        candidates = self._examination.read(texts)
        self._under_way += 1
        try:
            worker = self._choose()
            if worker is not None:
                try:
                    work = Work(account, list(map(Sent.of, candidates)), list(files), keeps)
                    return _with_findings(candidates, await self._ask(worker, work))
                except Gone:
                    _log.warning("a process that examines requests ended; its request is examined here")
            look_into = partial(self._examination.look_into, account, candidates, sent=by_hash(files), keeps=keeps)
            return await asyncio.to_thread(look_into)
        finally:
            self._under_way -= 1
            self._examined = time.monotonic()

    def analyse(self, released: Sequence[Released]) -> None:
        """Analyse releases that have just been logged, when it is quiet, without anyone waiting.

        A worker does it, which is told of many at once, or without workers a thread. What is too much is left to the first views
        of the pages.
        """
        if not self._workers:
            self._analyse_here(released)
            return
        self._released += released[: max(LATER - len(self._released), 0)]
        self._tell_later()

    def _tell_later(self) -> None:
        if self._telling is None:
            self._telling = asyncio.get_running_loop().call_later(QUIET_SECONDS, self._tell)

    def _tell(self) -> None:
        """Tell a worker of some, unless a request was just examined here, which the worker does not see."""
        self._telling = None
        worker = self._least_busy()
        if worker is None:
            some, self._released = self._released, []
            self._analyse_here(some)
        elif time.monotonic() - self._examined >= QUIET_SECONDS:
            some, self._released = self._released[:TOLD], self._released[TOLD:]
            worker.ask(Work(NOBODY, released=some)).add_done_callback(asyncio.Future.exception)
        if self._released:
            self._tell_later()

    def _analyse_here(self, released: Sequence[Released]) -> None:
        if (analyst := self._analyst) is not None:
            with contextlib.suppress(RyeError):  # too many are waiting
                self._analysing.submit(lambda: analyst.analyse(released))

    async def close(self) -> None:
        """End the workers, and wait a moment for the analysis that is being made."""
        if self._telling is not None:
            self._telling.cancel()
        self._analysing.close()
        until = time.monotonic() + CLOSING_SECONDS
        while self._analysing.taken and time.monotonic() < until:
            await asyncio.sleep(0.01)
        if self._starting is not None:
            self._starting.cancel()
        await asyncio.gather(*(worker.end() for worker in self._workers))

    def _choose(self) -> _Worker | None:
        """The worker for a request; None: this process examines."""
        worker = self._least_busy()
        if (
            self._under_way > BUSY
            and len(self._workers) < self._most
            and (self._starting is None or self._starting.done())
            and time.monotonic() - self._started > AGAIN_SECONDS
        ):
            self._started = time.monotonic()
            self._starting = asyncio.create_task(self._start())
        if self._under_way <= ALONE:
            return None
        return worker if worker is not None and len(worker.waiting) < QUEUED else None

    def _least_busy(self) -> _Worker | None:
        self._workers = [worker for worker in self._workers if worker.is_alive]
        return min(self._workers, key=lambda worker: len(worker.waiting), default=None)

    async def _start(self) -> None:
        """Start the missing workers; each takes requests once it has answered an empty one."""
        start = Start(self._origin, SentSettings.of(self._settings))
        for _ in range(self._most - len(self._workers)):
            worker = None
            try:
                worker = await _Worker.start(start)
                await asyncio.wait_for(worker.ask(Work(NOBODY)), START_SECONDS)
            except (OSError, Gone, TimeoutError, asyncio.CancelledError) as error:
                if worker is not None:
                    await worker.end()
                if isinstance(error, asyncio.CancelledError):
                    raise
                _log.warning("could not start a process to examine requests: %s", error or type(error).__name__)
                return
            self._workers.append(worker)

    async def _ask(self, worker: _Worker, work: Work) -> Done:
        """The worker's answer. Raises Gone, or RyeError ``publish-timeout`` for the request that the worker is stuck
        on."""
        future = worker.ask(work)
        try:
            while not future.done():
                await asyncio.wait({future}, timeout=max(worker.seconds_left(), 0.01))
                if not future.done() and worker.seconds_left() <= 0:
                    _log.error("a process that examines requests did not answer in time and is ended")
                    await worker.end()
            return future.result()
        except TookTooLong:
            raise RyeError(
                "publish-timeout",
                f"Examining the statements took more than {STUCK_SECONDS:.0f} seconds; the registry gave up.",
                "Send fewer statements at a time. If a single one takes this long, tell the registry's operator.",
            ) from None


@dataclass(eq=False, slots=True)
class _Worker:
    """One process and the requests that it has not answered yet, in order."""

    process: asyncio.subprocess.Process
    waiting: deque[asyncio.Future[Done]] = field(default_factory=deque)
    is_alive: bool = True
    since: float = 0.0
    """When it started on the first of these requests."""
    reading: asyncio.Task[None] | None = None

    @classmethod
    async def start(cls, start: Start) -> _Worker:
        process = await asyncio.create_subprocess_exec(
            *COMMAND,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        worker = cls(process)
        worker._write(frame(start))
        worker.reading = asyncio.create_task(worker._read())
        return worker

    def ask(self, work: Work) -> asyncio.Future[Done]:
        """Send a request and return the future of its answer. It fails with Gone if the worker ends first."""
        future: asyncio.Future[Done] = asyncio.get_running_loop().create_future()
        if not self.is_alive:
            future.set_exception(Gone())
            return future
        if not self.waiting:
            self.since = time.monotonic()
        self.waiting.append(future)
        self._write(frame(work))
        return future

    def seconds_left(self) -> float:
        """Return the seconds that are left for the current request."""
        return self.since + STUCK_SECONDS - time.monotonic()

    async def end(self) -> None:
        """Kill the process. If it is stuck, the current request fails with TookTooLong; all others fail with Gone."""
        if self.is_alive and self.waiting and self.seconds_left() <= 0:
            stuck = self.waiting.popleft()
            if not stuck.done():
                stuck.set_exception(TookTooLong())
        self.is_alive = False
        if self.process.returncode is None:
            self.process.kill()
        if self.reading is not None:
            await self.reading
        await self.process.wait()

    def _write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)

    async def _read(self) -> None:
        assert self.process.stdout is not None
        try:
            while True:
                size = int.from_bytes(await self.process.stdout.readexactly(LENGTH_BYTES), "big")
                done = msgspec.json.decode(await self.process.stdout.readexactly(size), type=Done)
                future = self.waiting.popleft()
                self.since = time.monotonic()
                if not future.done():
                    future.set_result(done)
        except (asyncio.IncompleteReadError, IndexError, OSError, *UNDECODABLE):
            self.is_alive = False
            if self.process.returncode is None:
                self.process.kill()
            for future in self.waiting:
                if not future.done():
                    future.set_exception(Gone())
            self.waiting.clear()


def _with_findings(candidates: Sequence[Candidate], done: Done) -> list[Candidate]:
    if done.code:
        raise RyeError(done.code, done.message, done.hint)
    if len(done.findings) != len(candidates):
        raise Gone
    return [
        Candidate(candidate.note, candidate.statement, content.signer, content.keywords)
        for candidate, content in zip(candidates, done.findings, strict=True)
    ]
