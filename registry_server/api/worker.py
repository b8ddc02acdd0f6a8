"""A process that examines requests for the server and analyses releases: ``python -m registry_server.api.worker``.

It reads frames from standard input and answers each, in order, on standard output: four bytes of length, then JSON. The
first frame holds the settings. It ends when its input does, so none is left behind when the server is killed. Its input
comes from untrusted clients; its answers are plain data, which the server decodes strictly.
"""

from __future__ import annotations

import contextlib
import logging
import signal
import sys
import time
from collections.abc import Callable, Sequence
from typing import Annotated

import msgspec
import sqlalchemy as sa
from msgspec import Meta, Struct

from registry_server.accounts.tokens import Account
from registry_server.api.examination import Examination, by_hash
from registry_server.api.frames import Sent, SentSettings, frame, read_frame
from registry_server.api.interpreter import tune_interpreter
from registry_server.pages.analysis_store import AnalysisStore
from registry_server.pages.item import analyse_release
from registry_server.storage import database
from registry_server.storage.bounded_threads import BoundedThreads
from registry_server.storage.objects import Objects
from registry_server.storage.store_factory import analysed_objects, public_objects, upload_objects
from rye.errors import RyeError
from rye.items.identity import Identity
from rye.items.search_words import SEARCH_LETTERS

_log = logging.getLogger("rye.registry")
QUIET_SECONDS = 0.5
"""How long no one must wait for this process before it analyses a release: publishes come in series, and between two of a series
is the time that a batch takes."""
LATER = 1_000
"""Publishes whose releases can wait for the thread that analyses them."""


class Start(Struct, frozen=True):
    """The first frame."""

    origin: str
    settings: SentSettings


class Released(Struct, frozen=True):
    """A release that is in the log."""

    kind: str
    id: str
    version: str


class Work(Struct, frozen=True):
    """The statements of one request, which the server has read, or releases to analyse."""

    account: Account
    statements: list[Sent] = []
    files: list[bytes] = []
    """Files that came with the statements: they may not be in the store yet."""
    keeps: bool = False
    """Whether the files are kept as uploads once they are examined."""
    released: list[Released] = []


class FileContent(Struct, frozen=True, forbid_unknown_fields=True):
    """What the file of one statement says; empty for statements without a file."""

    signer: Annotated[bytes, Meta(min_length=32, max_length=32)] | None
    keywords: Annotated[str, Meta(max_length=SEARCH_LETTERS)]


class Done(Struct, frozen=True, forbid_unknown_fields=True):
    """The answer: findings in the order of the statements, or the error that refuses the request."""

    findings: list[FileContent] = []
    code: str = ""
    message: str = ""
    hint: str | None = None


class Analyst:
    """Analyses releases for the first views of their pages. For one thread at a time."""

    def __init__(
        self,
        engine: sa.Engine,
        public: Objects,
        analyses: AnalysisStore,
        is_busy: Callable[[], bool] | None = None,
    ) -> None:
        """``is_busy``: whether publishers or readers wait for this process: they come first. None: it has no others."""
        self.engine = engine
        self.public = public
        self.analyses = analyses
        self._is_busy = is_busy
        self._busy_at = time.monotonic()
        """When somebody was last seen waiting."""

    def analyse(self, released: Sequence[Released]) -> None:
        """Analyse and store, in a quiet moment, which may be one for many. What fails is left to the first view."""
        for release in released:
            self._wait_for_quiet()
            try:
                identity = Identity(release.kind, release.id)
                analyse_release(self.engine, self.public, self.analyses, identity, release.version)
            except RyeError as error:
                _log.info("%s is not analysed ahead: %s", release, error)

    def _wait_for_quiet(self) -> None:
        if self._is_busy is None:
            return
        while True:
            if self._is_busy():
                self._busy_at = time.monotonic()
            elif time.monotonic() - self._busy_at >= QUIET_SECONDS:
                return
            time.sleep(QUIET_SECONDS / 10)


class Desk:
    """What a worker does with its requests: it examines one after the other, and analyses releases in between."""

    def __init__(self, examination: Examination, analyst: Analyst) -> None:
        self._examination = examination
        self._analyst = Analyst(analyst.engine, analyst.public, analyst.analyses, self._is_busy)
        self._analysing = BoundedThreads("rye-analyses", 1, LATER, "Too many releases wait for their analysis.")
        self._examined = -QUIET_SECONDS

    def answer(self, work: Work) -> Done:
        """Examine a request, or note releases for a quiet moment. Requests never wait for an analysis, which reads
        several files of the store."""
        if work.released:
            with contextlib.suppress(RyeError):  # too many are waiting
                self._analysing.submit(lambda: self._analyst.analyse(work.released))
            return Done()
        done = examined(self._examination, work)
        self._examined = time.monotonic()
        return done

    def close(self) -> None:
        """Let the analysis that is being made finish."""
        self._analysing.close()

    def _is_busy(self) -> bool:
        return time.monotonic() - self._examined < QUIET_SECONDS


def examined(examination: Examination, work: Work) -> Done:
    """Examine one request."""
    try:
        candidates = examination.look_into(
            work.account,
            [sent.candidate() for sent in work.statements],
            sent=by_hash(work.files),
            keeps=work.keeps,
        )
    except RyeError as error:
        return Done(code=error.code, message=error.message, hint=error.hint)
    return Done([FileContent(candidate.signer, candidate.keywords) for candidate in candidates])


def main() -> None:
    """Answer frames until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server decides when it ends
    inward, outward = sys.stdin.buffer, sys.stdout.buffer
    first = read_frame(inward)
    if first is None:
        return
    start = msgspec.json.decode(first, type=Start)
    settings = start.settings.settings()
    engine = database.engine_of(
        settings.database_url, wait_seconds=settings.database_wait_seconds, idle_seconds=settings.leader_seconds
    )
    public = public_objects(settings)
    examination = Examination(engine, start.origin, public, upload_objects(settings), settings)
    desk = Desk(examination, Analyst(engine, public, AnalysisStore(analysed_objects(settings), engine)))
    tune_interpreter()
    while (data := read_frame(inward)) is not None:
        outward.write(frame(desk.answer(msgspec.json.decode(data, type=Work))))
        outward.flush()
    desk.close()


if __name__ == "__main__":
    main()
