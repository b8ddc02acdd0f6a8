"""Who examines requests: threads of this process, and under load worker processes, which the interpreter's lock does not hold up.

A quiet registry never starts a worker. One that ends or does not answer is replaced, at most every few seconds; what it was
at work on is examined here. A worker's findings count as much as our own: it runs the same code, on the same machine.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, fields

import msgspec

from registry_server.accounts.tokens import Account
from registry_server.api.examination import Examination
from registry_server.api.worker import LENGTH_BYTES, Done, Start, Work, frame
from registry_server.sequencer.acceptance import Candidate
from registry_server.settings import Settings
from rye.errors import RyeError

_log = logging.getLogger("rye.registry")

BUSY = 4
"""Requests under examination at once before a worker is worth its start."""
QUEUED = 64
"""Requests that wait for one worker; more are examined here."""
AGAIN_SECONDS = 10.0
"""Between two starts."""


class Gone(Exception):
    """The worker ended before it had answered."""


class Examiners:
    """Belongs to one event loop."""

    def __init__(self, examination: Examination, origin: str, settings: Settings) -> None:
        self._examination = examination
        self._origin = origin
        self._settings = settings
        self._most = min(settings.examiners, max((os.cpu_count() or 1) - 1, 1))
        self._workers: list[_Worker] = []
        self._starting: asyncio.Task[None] | None = None
        self._started = -AGAIN_SECONDS
        self._under_way = 0

    async def examine(self, account: Account, texts: Sequence[str]) -> list[Candidate]:
        """Everything about a request that needs no lock. Raises RyeError for its first fault."""
        candidates = self._examination.read(texts)
        self._under_way += 1
        try:
            worker = self._choose()
            if worker is not None:
                try:
                    return _with_findings(candidates, await self._ask(worker, account, texts))
                except Gone:
                    _log.warning("a process that examines requests ended; its request is examined here")
            return await asyncio.to_thread(self._examination.look_into, account, candidates)
        finally:
            self._under_way -= 1

    async def close(self) -> None:
        """End the workers."""
        if self._starting is not None:
            self._starting.cancel()
        await asyncio.gather(*(worker.end() for worker in self._workers))

    def _choose(self) -> _Worker | None:
        """The worker with the least to do; None: this process examines."""
        self._workers = [worker for worker in self._workers if worker.is_alive]
        if (
            self._under_way > BUSY
            and len(self._workers) < self._most
            and (self._starting is None or self._starting.done())
            and time.monotonic() - self._started > AGAIN_SECONDS
        ):
            self._started = time.monotonic()
            self._starting = asyncio.create_task(self._start())
        worker = min(self._workers, key=lambda worker: len(worker.waiting), default=None)
        return worker if worker is not None and len(worker.waiting) < QUEUED else None

    async def _start(self) -> None:
        """Start as many as are missing; they take requests once they have answered an empty one."""
        values = {item.name: getattr(self._settings, item.name) for item in fields(Settings) if item.name != "data"}
        start = Start(self._origin, str(self._settings.data), values)
        for _ in range(self._most - len(self._workers)):
            try:
                worker = await _Worker.start(start)
                await asyncio.wait_for(worker.ask(Work(Account("", "", ()), [])), self._settings.answer_seconds)
            except (OSError, Gone, TimeoutError) as error:
                _log.warning("no process to examine requests could be started: %s", error or type(error).__name__)
                return
            self._workers.append(worker)

    async def _ask(self, worker: _Worker, account: Account, texts: Sequence[str]) -> Done:
        work = Work(account, list(texts))
        try:
            return await asyncio.wait_for(asyncio.shield(worker.ask(work)), self._settings.answer_seconds)
        except TimeoutError:
            await worker.end()
            raise RyeError(
                "publish-timeout", "The statements were not examined in time.", "Send the same request again."
            ) from None


@dataclass(eq=False, slots=True)
class _Worker:
    """One process and the requests that it has not answered yet, in order."""

    process: asyncio.subprocess.Process
    waiting: deque[asyncio.Future[Done]] = field(default_factory=deque)
    is_alive: bool = True
    reading: asyncio.Task[None] | None = None

    @classmethod
    async def start(cls, start: Start) -> _Worker:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "registry_server.api.worker"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        worker = cls(process)
        worker._write(frame(start))
        worker.reading = asyncio.create_task(worker._read())
        return worker

    def ask(self, work: Work) -> asyncio.Future[Done]:
        """The answer, later; or Gone."""
        future: asyncio.Future[Done] = asyncio.get_running_loop().create_future()
        if not self.is_alive:
            future.set_exception(Gone())
            return future
        self.waiting.append(future)
        self._write(frame(work))
        return future

    async def end(self) -> None:
        """End the process; what it has not answered is Gone."""
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
                if not future.done():
                    future.set_result(done)
        except (asyncio.IncompleteReadError, msgspec.ValidationError, msgspec.DecodeError, IndexError, OSError):
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
        Candidate(candidate.note, candidate.statement, found.signer, found.keywords)
        for candidate, found in zip(candidates, done.findings, strict=True)
    ]
