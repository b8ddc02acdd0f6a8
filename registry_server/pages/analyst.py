"""The thread that analyses releases before anyone opens their pages, so that the first view is as cheap as later ones.

It follows the log. Only this thread writes and removes stored analyses (:mod:`registry_server.pages.analysis_store`).

Publishing comes first, then readers: a publish never waits for an analysis, and releases are analysed ahead of time
only after a moment without a publish and without a page that needed an analysis. If that moment never comes, the first
view of a page makes the analysis.

A takedown removes what is stored. One thread follows takedowns and writes rows: a row is not written if its takedown is
already in the log, and is removed if the takedown comes later.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime

import sqlalchemy as sa

from registry_server.pages.analysis_store import AnalysisStore
from registry_server.pages.item import files_of
from registry_server.pages.limits import PAGES
from registry_server.pages.registry_view import Reader, RegistryView, Site
from registry_server.pages.release_analysis import analyse
from registry_server.sequencer.ledger import Ledger
from registry_server.storage import database
from registry_server.storage.objects import Objects
from registry_server.storage.prepared import Prepared
from registry_server.storage.schema import takedowns
from rye.errors import RyeError
from rye.registry.protocol import notes, statements
from rye.registry.protocol.statements import Release

_log = logging.getLogger("rye.registry")


class Analyst:
    """AnalysisStore the releases of one server ahead of time."""

    def __init__(
        self,
        engine: sa.Engine,
        store: Objects,
        analyses: AnalysisStore,
        is_publishing: Callable[[], bool] = lambda: False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``is_publishing``: whether a publishing request is running."""
        self._engine = engine
        self._store = store
        self._analyses = analyses
        self._is_publishing = is_publishing
        self._clock = clock
        self._busy = clock() - PAGES.analysis_quiet_seconds
        """When something was last published or a page last needed an analysis."""
        self._asked_for = 0
        self._taken_down = 0
        """The log position up to which takedowns have been followed."""
        self._news = threading.Event()
        self._ending = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start the thread."""
        self._thread = threading.Thread(target=self._run, name="analyses", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread and close the file. What has not been written will be analysed again."""
        self._ending.set()
        self._news.set()
        if self._thread is not None:
            self._thread.join(_STOP_SECONDS)
        self._analyses.close()

    def published(self) -> None:
        """Note that something was published."""
        self._busy = self._clock()
        self._news.set()

    @property
    def is_quiet(self) -> bool:
        """Whether nothing has been published and no page has needed an analysis for a moment."""
        if self._asked_for != self._analyses.asked_for:
            self._asked_for = self._analyses.asked_for
            self._busy = self._clock()
        return not self._is_publishing() and self._clock() - self._busy >= PAGES.analysis_quiet_seconds

    def follow_takedowns(self) -> None:
        """Remove what was taken down since the last call. What cannot be removed is tried again at the next call.

        Raises RyeError when the database does not answer.
        """
        with database.reader(self._engine) as connection:
            size = Ledger(connection).size
            rows = _TAKEDOWNS.rows(connection, {"start": self._taken_down})
        if all(self._analyses.remove(f"{name}@{version}") for name, version in sorted(set(rows))):
            self._taken_down = size

    def round(self) -> bool:
        """Analyse the next few releases of the log and write queued analyses. Return whether there may be more to do.

        It ends early when it is no longer quiet. Raises RyeError when the database or the store does not answer.
        """
        if not self._analyses.is_stored:
            return False
        self._write()
        with database.reader(self._engine) as connection:
            ledger = Ledger(connection)
            size, known = ledger.size, self._analyses.entries()
            start = known if known is not None and known <= size else max(size - PAGES.analysed_entries, 0)
            leaves = ledger.leaves(start, min(start + PAGES.analysed_at_once, size))
        done = start
        for leaf in leaves:
            if self._ending.is_set() or not self.is_quiet:
                break
            if leaf.startswith(Release.TITLE.encode()):
                self._analyse(leaf)
            done += 1
        self._write()
        if done != known:
            self._analyses.set_entries(done)
        return done < size

    def _analyse(self, leaf: bytes) -> None:
        """Analyse one release, unless it is already stored or clients refuse the item's history."""
        began = time.monotonic()
        release = statements.parse(notes.parse(leaf).text)
        assert isinstance(release, Release)
        try:
            with database.reader(self._engine) as connection:
                look = RegistryView(connection, self._store, Site("", "", ""), Reader(), datetime.now(UTC))
                history = look.history(release.identity)
                records = history.records if history is not None else ()
                record = next((record for record in records if record.version == release.version), None)
                if record is None or record.takedown is not None or self._analyses.has(record):
                    return
                files = files_of(look, record)
            if None not in files.values():
                self._analyses.put(record, analyse(record, files), is_asked_for=False)
        except RyeError as error:
            _log.info("%s %s is not analysed ahead: %s", release.identity, release.version, error)
        self._ending.wait((time.monotonic() - began) * (1 / PAGES.analysis_share - 1))

    def _write(self) -> None:
        waiting = self._analyses.take_waiting()
        if not waiting:
            return
        with database.reader(self._engine) as connection:
            gone = Ledger(connection).taken_down(sha256 for row in waiting for sha256 in row.files)
        self._analyses.write([row for row in waiting if row.files.isdisjoint(gone)])

    def _run(self) -> None:
        looked = -PAGES.analysis_look_seconds
        while not self._ending.is_set():
            is_more = False
            try:
                if self._clock() - looked >= PAGES.analysis_look_seconds:
                    looked = self._clock()
                    self.follow_takedowns()
                is_more = not self.is_quiet or self.round()
            except RyeError as error:
                _log.warning("releases are not analysed ahead: %s", error)
            except Exception:  # pages do without it, so a bug here must be logged and not end the thread
                _log.exception("releases are not analysed ahead")
            if is_more:
                self._ending.wait(0 if self.is_quiet else PAGES.analysis_quiet_seconds)
            else:
                self._news.wait(PAGES.analysis_look_seconds)
                self._news.clear()


_STOP_SECONDS = 1.0
_TAKEDOWNS = Prepared(
    sa.select(takedowns.c.name, takedowns.c.version).where(takedowns.c.position >= sa.bindparam("start"))
)
