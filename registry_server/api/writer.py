"""A process that appends batches to the log for the server: ``python -m registry_server.api.writer``.

It reads frames (:mod:`registry_server.api.frames`) from standard input and answers each, in order, on standard output. The
first one holds the settings. It ends when its input does, after the batch at hand, so none is left behind when the server is
killed. Its input comes from the server alone, which has examined the requests; what needs the writer's lock is checked here.
"""

from __future__ import annotations

import logging
import signal
import sys
import time
from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec import Struct

from registry_server.accounts import registry_keys
from registry_server.api import logs
from registry_server.api.frames import Sent, SentSettings, frame, read_frame
from registry_server.api.interpreter import tune_interpreter
from registry_server.sequencer.clock import Believed, steady_seconds
from registry_server.sequencer.sequencer import Outcome, Receipt, Sender, Sequencer
from registry_server.storage import database
from registry_server.storage.store_factory import public_objects, upload_objects
from registry_server.storage.store_watch import StoreWatch
from rye.errors import RyeError

_log = logging.getLogger("rye.registry")
_MOST_REQUESTS = 10_000
"""Requests to the store that one answer tells of."""


Errand = Literal["work", "heartbeat"]


class Ask(Struct, frozen=True, kw_only=True):
    """What to do: a method of :class:`~registry_server.api.delegating.DelegatingSequencer`."""

    what: Errand
    clock: Believed
    """What the server compares its clock with: this process may not have been asked for months."""
    requests: list[list[Sent]] = []
    senders: list[Sender | None] | None = None
    cosigned: str = ""
    """The head that witnesses cosigned, which is shown with whatever this appends; empty: none."""
    uploads: list[tuple[str, bytes, float]] = []
    """Path, bytes and time of uploads in the server's memory, which the bucket need not be asked for."""


class Failure(Struct, frozen=True, forbid_unknown_fields=True):
    """An error; without a code, a mistake in the program."""

    code: str
    message: str
    hint: str | None = None

    @staticmethod
    def of(error: Exception) -> Failure:
        """Return it in the form that fits into a frame."""
        if isinstance(error, RyeError):
            return Failure(error.code, error.message, error.hint)
        return Failure("", f"{type(error).__name__}: {error}"[:1000])

    def error(self) -> Exception:
        """Return the error."""
        return RyeError(self.code, self.message, self.hint) if self.code else RuntimeError(self.message)


class Result(Struct, frozen=True, forbid_unknown_fields=True):
    """The outcome of one request."""

    receipt: Receipt | None = None
    failure: Failure | None = None

    @staticmethod
    def of(outcome: Outcome) -> Result:
        """Return it in the form that fits into a frame."""
        return Result(receipt=outcome) if isinstance(outcome, Receipt) else Result(failure=Failure.of(outcome))

    def outcome(self) -> Outcome:
        """Return the receipt, or the error that refused the request."""
        if self.receipt is not None:
            return self.receipt
        return self.failure.error() if self.failure is not None else RuntimeError("no outcome")


class Took(NamedTuple):
    """A step of a batch, or a request to the store, and how long it took."""

    what: str
    seconds: float
    has_failed: bool = False


class WriterAnswer(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The answer, and what has happened since the one before."""

    clock: Believed
    batches: int
    """Batches committed by this process."""
    results: list[Result] = []
    failure: Failure | None = None
    """Why nothing was written."""
    is_signed: bool = False
    """Whether the heartbeat signed a head."""
    trouble: Failure | None = None
    """Why database or store prevent writing."""
    steps: list[Took] = []
    requests: list[Took] = []
    published: list[str] = []
    """Uploads that became public."""


class Diary:
    """What happens between two answers. The threads of a bucket's requests write into it as well."""

    def __init__(self) -> None:
        self._steps: list[Took] = []
        self._requests: list[Took] = []
        self._published: list[str] = []
        self._done = 0.0

    def taken(self, _requests: int, _statements: int) -> None:
        """Note the start of a batch."""
        self._done = time.perf_counter()

    def step(self, name: str) -> None:
        """Note that a step of the batch is done."""
        now = time.perf_counter()
        self._steps.append(Took(name, now - self._done if self._done else 0.0))
        self._done = now

    def asked(self, operation: str, seconds: float, has_failed: bool) -> None:
        """Note a request to the store."""
        if len(self._requests) < _MOST_REQUESTS:
            self._requests.append(Took(operation, seconds, has_failed))

    def published(self, hashes: Iterable[str]) -> None:
        """Note uploads that became public."""
        self._published.extend(hashes)

    def tear_off(self) -> Mapping[str, Any]:
        """Return what was noted, as fields of an answer, and begin again."""
        page = {"steps": self._steps, "requests": self._requests, "published": self._published}
        self._steps, self._requests, self._published = [], [], []
        return page


class Clerk:
    """Does what the frames ask for."""

    def __init__(self, sequencer: Sequencer, diary: Diary) -> None:
        self._sequencer = sequencer
        self._diary = diary

    def answer(self, ask: Ask) -> WriterAnswer:
        """Do it. Any failure is in the answer: the server decides what becomes of the requests."""
        results: list[Result] = []
        failure, is_signed = None, False
        try:
            self._sequencer.clock.adopt(ask.clock)
            self._sequencer.learn_cosigned(ask.cosigned.encode() or None)
            if ask.what == "work":
                self._sequencer.uploads.remember(ask.uploads)
                requests = [[sent.candidate() for sent in request] for request in ask.requests]
                results = [Result.of(outcome) for outcome in self._sequencer.work(requests, ask.senders)]
            else:
                is_signed = self._sequencer.heartbeat()
        except Exception as error:  # the process must survive it, as the thread does
            if not isinstance(error, RyeError):
                _log.exception("a batch failed")
            failure = Failure.of(error)
        return self.told(results=results, failure=failure, is_signed=is_signed)

    def told(
        self, *, results: Iterable[Result] = (), failure: Failure | None = None, is_signed: bool = False
    ) -> WriterAnswer:
        """An answer with the state of this process."""
        trouble = self._sequencer.trouble
        page = self._diary.tear_off()
        return WriterAnswer(
            clock=self._sequencer.clock.believed(),
            batches=self._sequencer.batches,
            results=list(results),
            failure=failure,
            is_signed=is_signed,
            trouble=Failure.of(trouble) if trouble is not None else None,
            **page,
        )


def main() -> None:
    """Answer frames until the input ends."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # the server decides when it ends
    inward, outward = sys.stdin.buffer, sys.stdout.buffer
    first = read_frame(inward)
    if first is None:
        return
    settings = msgspec.json.decode(first, type=SentSettings).settings()
    logs.set_up(settings.log_format)
    engine = database.engine_of(
        settings.database_url, wait_seconds=settings.database_wait_seconds, idle_seconds=settings.leader_seconds
    )
    diary = Diary()
    watch = StoreWatch(settings.store_wait_seconds, diary.asked)
    sequencer = Sequencer(
        engine,
        public_objects(settings, watch),
        upload_objects(settings, watch),
        registry_keys.in_folder(settings.keys, "log"),
        settings,
        steady=steady_seconds,
        fault=diary.step,
        taken=diary.taken,
        published=diary.published,
    )
    desk = Clerk(sequencer, diary)
    tune_interpreter()
    answer = desk.told()
    while True:
        outward.write(frame(answer))
        outward.flush()
        sequencer.tidy_soon()  # what becomes public, the next answer tells
        data = read_frame(inward)
        if data is None:
            sequencer.stop()
            return
        answer = desk.answer(msgspec.json.decode(data, type=Ask))


if __name__ == "__main__":
    main()
