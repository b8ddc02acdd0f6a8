"""The server's sequencer under load: it has a process of its own append the batches (:mod:`registry_server.api.writer`).

Handling requests and appending a batch compute a millisecond or more for each publish; in one process they would share an
interpreter's lock. The queue stays here. A quiet registry never starts the process, and appends in a thread; so does one with a
single publisher, for whom the way to another process is only longer.

If the process ends, its batch is appended here. Whatever it had committed by then is a duplicate with the same receipt, so
nothing is lost, forked or refused because of it: to the log it is one more server that crashed. Another process is started
when there is load again, at most every few seconds. A process that does not answer for as long as readiness allows is killed
first, so two never append at the same time.
"""

from __future__ import annotations

import logging
import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from registry_server.api.frames import LENGTH_BYTES, Sent, SentSettings, frame
from registry_server.api.writer import Ask, Errand, WriterAnswer
from registry_server.sequencer.acceptance import Candidate, blobs_of
from registry_server.sequencer.sequencer import Outcome, Sender, Sequencer
from rye.errors import RyeError
from rye.text.json_reading import UNDECODABLE

_log = logging.getLogger("rye.registry")

CROWD = 3
"""Requests in a batch from which on the process pays off."""
ALONE = 10
"""Batches of one request in a row after which one publisher is at work: the thread answers it sooner."""
AGAIN_SECONDS = 10.0
"""The shortest time between two starts."""
START_SECONDS = 20.0
"""The longest time from its start to its first answer."""
END_SECONDS = 2.0
"""How long it may take to end, once it has been told to."""
COMMAND = (sys.executable, "-P", "-m", "registry_server.api.writer")
_PIECE = 1 << 18


class Gone(Exception):
    """The process ended, or was killed, before it answered what it was asked."""


class WriterProcess:
    """The process. One thread at a time uses it."""

    def __init__(self, settings: SentSettings) -> None:
        """Start it. Raises OSError."""
        self.process = subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._inward, self._outward = self.process.stdout.fileno(), self.process.stdin.fileno()
        os.set_blocking(self._outward, False)
        self._buffer = bytearray()
        self._first = frame(settings)

    def hello(self) -> WriterAnswer:
        """Its first answer. Raises Gone."""
        return self._exchange(self._first, START_SECONDS)

    def ask(self, ask: Ask, seconds: float) -> WriterAnswer:
        """Its answer. Raises Gone, also when that took longer than ``seconds``; then it has been killed."""
        return self._exchange(frame(ask), seconds)

    def end(self) -> None:
        """Let it finish for a moment, then kill it. It does not exist any more when this returns."""
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()
        try:
            self.process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._kill()

    def _exchange(self, data: bytes, seconds: float) -> WriterAnswer:
        until = time.monotonic() + seconds
        try:
            self._send(data, until)
            head = self._take(LENGTH_BYTES, until)
            return msgspec.json.decode(self._take(int.from_bytes(head, "big"), until), type=WriterAnswer)
        except (OSError, EOFError, *UNDECODABLE) as error:
            self._kill()
            raise Gone(str(error) or type(error).__name__) from error

    def _send(self, data: bytes, until: float) -> None:
        rest = memoryview(data)
        while rest:
            self._wait(self._outward, select.POLLOUT, until)
            rest = rest[os.write(self._outward, rest[:_PIECE]) :]

    def _take(self, size: int, until: float) -> bytes:
        while len(self._buffer) < size:
            self._wait(self._inward, select.POLLIN, until)
            piece = os.read(self._inward, _PIECE)
            if not piece:
                raise EOFError("it ended")
            self._buffer += piece
        taken = bytes(self._buffer[:size])
        del self._buffer[:size]
        return taken

    @staticmethod
    def _wait(descriptor: int, event: int, until: float) -> None:
        waiting = select.poll()
        waiting.register(descriptor, event)
        if not waiting.poll(max(until - time.monotonic(), 0.0) * 1000):
            raise TimeoutError("it did not answer in time")

    def _kill(self) -> None:
        self.process.kill()
        self.process.wait()


class DelegatingSequencer(Sequencer):
    """A sequencer whose batches another process appends while there is load."""

    def __init__(
        self,
        *stores_and_keys: Any,
        took: Callable[[str, float], None],
        asked: Callable[[str, float, bool], None],
        **options: Any,
    ) -> None:
        """``took``: told how long each step of a batch took in the other process. ``asked``: of its requests to the store.

        Everything else is :class:`~registry_server.sequencer.sequencer.Sequencer`'s.
        """
        super().__init__(*stores_and_keys, **options)
        self._took = took
        self._asked = asked
        self._may_start = self.settings.writer_process and hasattr(select, "poll") and (os.cpu_count() or 1) > 1
        self._seconds = self.settings.heartbeat_check_seconds + self.settings.answer_seconds
        self._writer: WriterProcess | None = None
        self._ready: WriterProcess | None = None
        """One that has answered and takes the next batch."""
        self._starting: threading.Thread | None = None
        self._started = -AGAIN_SECONDS
        self._batches_before = 0
        self._alone = 0
        """Batches of one request in a row."""
        self._has_appended = False
        """Whether the newest batch was appended here."""
        self._is_stopping = False

    def work(self, requests: Sequence[Sequence[Candidate]], senders: Sequence[Sender | None] | None) -> list[Outcome]:
        """Have the other process append the batch, or append it here."""
        self._alone = self._alone + 1 if len(requests) == 1 else 0
        if self._take_over():
            self._behind.give_way()
            sent = [[Sent.of(candidate) for candidate in request] for request in requests]
            blobs = {blob for request in requests for candidate in request for blob in blobs_of(candidate.statement)}
            uploads = self.uploads.remembered(sorted(blobs))
            answer = self._ask("work", requests=sent, senders=list(senders) if senders else None, uploads=uploads)
            if answer is not None:
                self._has_appended = False
                self._taken(len(requests), sum(map(len, requests)))
                for step, seconds, _ in answer.steps:
                    self._took(step, seconds)
                if answer.failure is not None:
                    raise answer.failure.error()
                return [result.outcome() for result in answer.results]
        self._has_appended = True
        outcomes = super().work(requests, senders)
        if len(requests) >= CROWD:
            self._start_soon()
        return outcomes

    def tidy_soon(self) -> None:
        """Clean up after a batch that was appended here; after its own, the other process does."""
        if self._has_appended:
            super().tidy_soon()

    def heartbeat(self) -> bool:
        """Sign a new head if the newest is too old, where batches are appended."""
        if self._take_over():
            answer = self._ask("heartbeat")
            if answer is not None:
                if answer.failure is not None:
                    raise answer.failure.error()
                return answer.is_signed
        return super().heartbeat()

    def stop(self, seconds: float | None = None) -> bool:
        """Finish the waiting requests, then end the thread and the process."""
        self._is_stopping = True
        is_done = super().stop(seconds)
        if self._starting is not None:
            self._starting.join(START_SECONDS)
        for writer in (self._writer, self._ready):
            if writer is not None and is_done:
                writer.end()
            elif writer is not None:
                writer.process.kill()
        self._writer = self._ready = None
        return is_done

    def _take_over(self) -> bool:
        """Whether the other process appends now."""
        if self._ready is not None:
            self._writer, self._ready = self._ready, None
            self._batches_before = self._alone = 0
        return self._writer is not None and self._alone <= ALONE

    def _ask(self, what: Errand, **work: Any) -> WriterAnswer | None:
        """The other process's answer; None if it is gone. ``work``: more fields of the question."""
        writer = self._writer
        assert writer is not None
        ask = Ask(what=what, clock=self.clock.believed(), cosigned=(self.cosigned or b"").decode(), **work)
        try:
            answer = writer.ask(ask, self._seconds)
            if answer.failure is None and len(answer.results) != len(ask.requests):
                raise Gone("it answered for other requests")
        except Gone as gone:
            _log.warning("the process that appends to the log is gone (%s); the server appends", gone)
            writer.end()
            self._writer = None
            return None
        self.clock.adopt(answer.clock)
        self.batches += answer.batches - self._batches_before
        self._batches_before = answer.batches
        trouble = answer.trouble.error() if answer.trouble is not None else None
        self.trouble = trouble if isinstance(trouble, RyeError) else None
        for operation, seconds, has_failed in answer.requests:
            self._asked(operation, seconds, has_failed)
        if answer.published:
            self._published(answer.published)
        return answer

    def _start_soon(self) -> None:
        if (
            self._may_start
            and self._is_recovered
            and not self._is_stopping
            and self._ready is None
            and (self._starting is None or not self._starting.is_alive())
            and time.monotonic() - self._started > AGAIN_SECONDS
        ):
            self._started = time.monotonic()
            self._starting = threading.Thread(target=self._start, name="starting-writer", daemon=True)
            self._starting.start()

    def _start(self) -> None:
        writer = None
        try:
            writer = WriterProcess(SentSettings.of(self.settings))
            writer.hello()
        except (OSError, Gone) as error:
            _log.warning("could not start a process that appends to the log: %s", error)
            if writer is not None:
                writer.end()
            return
        self._ready = writer
