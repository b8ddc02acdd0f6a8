"""The log's only writer: batches of statements in, one signed head out.

All waiting requests form one batch. A request that is refused fails alone: whatever it had appended is undone. One
batch is one database transaction under the writer's lock, with steps between which a crash can happen at any point:

1. ``begun``: the lock is held, and the store has every file that the newest head needs; each request is admitted
   separately.
2. ``appended``: index files, name map, the snapshot and its leaf, tiles and bundles are computed; snapshot and
   checkpoint are signed. The uploads that become public are known to exist.
3. ``committed``: the uploads are durable, and the database contains entries, head and signed checkpoint. From here on
   the batch is permanent. The lock is released.
4. ``written``: the files that follow from the batch, including blobs, are durable in the store, many at a time.
5. ``shown``: ``/checkpoint`` and ``/head`` are replaced atomically.
6. The requests are answered.

The database is the source of truth, and files are a function of it. A crash before step 3 leaves nothing. After a later
crash, the next writer finds that the store shows less than the database has, and first writes the missing files. So a
head is shown only when every file that it needs exists, and no file ever belongs to a batch that was not committed. The
signed checkpoint is part of the transaction, and what the store shows is compared with the database before step 1 (a
bucket's, if this process showed it: beside steps 1 and 2, and before step 3) and replaced conditionally in step 5
(:mod:`registry_server.sequencer.head_publication`). So no client can ever see two different signed trees of one size:
not after a crash, not after restoring an old backup, not from a leader that was suspended and continues
(:mod:`registry_server.sequencer.leadership`).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from functools import cache, partial
from itertools import chain

import sqlalchemy as sa

from registry_server.accounts.registry_keys import PrivateKey
from registry_server.sequencer.acceptance import Candidate, blobs_of
from registry_server.sequencer.admission import admit
from registry_server.sequencer.batching import TROUBLE, Batches, Expected, Outcome, Receipt, Sender, is_trouble
from registry_server.sequencer.behind import Behind
from registry_server.sequencer.catching_up import blobs, catch_up, move_blobs, put_back
from registry_server.sequencer.clock import CLOCK_ERRORS, Clock
from registry_server.sequencer.cosigned_head import shown_files
from registry_server.sequencer.head_publication import HeadPublication
from registry_server.sequencer.leadership import (
    FOUND_REVISION,
    LEADER,
    Pinger,
    confirm,
    fence,
    holder_name,
    require_revision,
    take,
)
from registry_server.sequencer.ledger import Ledger, Published
from registry_server.sequencer.sealing import Sealed, Sealer, old_partials
from registry_server.settings import Settings
from registry_server.storage import database
from registry_server.storage.objects import Objects
from registry_server.storage.room import has_room
from rye.errors import RyeError
from rye.registry.protocol import wire
from rye.registry.protocol.statements import Checkpoint, Release
from rye.registry.protocol.wire import WireError

__all__ = ["TROUBLE", "Fault", "Outcome", "Receipt", "Sender", "Sequencer"]

_log = logging.getLogger("rye.registry")

_EXPIRY_SECONDS = 600.0
"""An upload that expires sooner does not become public: it could be deleted before that."""

#: Called with the name of each finished step. A test raises in it or ends the process, to see what a crash leaves.
Fault = Callable[[str], None]


class _ShownElse(Exception):
    """The store shows another head than the one that this process showed."""


class Sequencer:
    """Appends to the log. :meth:`append` does the whole work; :meth:`submit` collects concurrent requests into
    batches.
    """

    def __init__(
        self,
        engine: sa.Engine,
        public: Objects,
        uploads: Objects,
        log_keys: Sequence[PrivateKey],
        settings: Settings,
        *,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        steady: Callable[[], float] | None = None,
        fault: Fault = lambda _step: None,
        taken: Callable[[int, int], None] = lambda _requests, _statements: None,
        published: Callable[[Iterable[str]], None] = lambda _hashes: None,
    ) -> None:
        """``steady``: what the clock is compared with between batches; None for a clock without witnesses.

        ``taken``: called with the requests and statements of each batch before it begins. ``published``: with the uploads that
        became public and are uploads no longer.
        """
        self.engine = engine
        self.public = public
        self.uploads = uploads
        self.settings = settings
        self.batches = 0
        """Number of committed batches."""
        self.trouble: RyeError | None = None
        """Why the last attempt to write failed, if the database, the store or the key folder was the reason, or why the next
        one will; None after a success."""
        self.clock = Clock(settings, clock, steady, public.now)
        self._fault = fault
        self._taken = taken
        self._published = published
        self._publication = HeadPublication(public)
        self._pinger = Pinger(
            settings.leader_seconds, lambda thread: public.is_awaited(thread) or uploads.is_awaited(thread)
        )
        self._sealer = Sealer(log_keys, with_audit=settings.audit_in_head)
        self._keyless: RyeError | None = None
        """Why no head can be signed, as last seen: the newest root lists none of the log keys that are here."""
        self._holder = holder_name()
        self._queue = Batches(
            self, settings.batch_statements, settings.heartbeat_check_seconds, settings.batch_interval_seconds
        )
        self._beside = ThreadPoolExecutor(1, "settling")
        self._behind = Behind(engine)
        """Does what no batch waits for."""
        self._is_recovered = True
        self._elsewhere = [name for upstream in settings.upstream for name in upstream.namespaces]
        self._published_blobs: set[str] = set()
        self._old_files: list[str] = []

    # -- requests -----------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start to accept requests. Call :meth:`recover` first."""
        self._behind.start()
        self._queue.start()

    def stop(self, seconds: float | None = None) -> bool:
        """Finish the waiting requests, then stop; False if that takes longer than ``seconds``.

        Unfinished work is then as after a crash.
        """
        self._behind.stop()
        if not self._queue.stop(seconds):
            return False
        self._behind.finish(seconds)
        return True

    def submit(
        self, candidates: Sequence[Candidate], sender: Sender | None = None, expected: Expected | None = None
    ) -> Future[Receipt]:
        """Submit one request. ``expected``: from :meth:`expecting`, whose request this is.

        Its result is a receipt once its entries are in a signed, durable checkpoint, or a RyeError.
        """
        return self._queue.submit(candidates, sender, expected)

    def silent_seconds(self) -> float | None:
        """Return the seconds since the appending thread last did something; None if it is not running."""
        return self._queue.silent_seconds()

    @property
    def waiting(self) -> int:
        """Requests that wait for a batch."""
        return self._queue.waiting

    def retry(self) -> Future[None]:
        """Look soon whether writing works again after :attr:`trouble`; done when the attempt is over."""
        return self._queue.beat_soon()

    @property
    def cosigned(self) -> bytes | None:
        """The head that witnesses cosigned, as last learned."""
        return self._publication.cosigned

    def learn_cosigned(self, document: bytes | None) -> None:
        """Take a head that witnesses cosigned, to be shown soon; None: none is any more. No publish waits for it."""
        if self._publication.cosigned != document:
            self._publication.cosigned = document
            if self._queue.silent_seconds() is not None:
                self._queue.beat_soon()

    def expecting(self) -> AbstractContextManager[Expected]:
        """A block around the examination of a request that may be submitted: a batch waits for it briefly."""
        return self._queue.expecting()

    # -- the work -----------------------------------------------------------------------------------------------------

    def append(
        self, requests: Sequence[Sequence[Candidate]], senders: Sequence[Sender | None] | None = None
    ) -> list[Outcome]:
        """Append one batch: for each request a receipt, or the error that refused it alone.

        Raises if nothing was written.

        ``senders``: who sent each request, if known.
        """
        outcomes = self.work(requests, senders)
        self.tidy()
        return outcomes

    def work(self, requests: Sequence[Sequence[Candidate]], senders: Sequence[Sender | None] | None) -> list[Outcome]:
        """The part of :meth:`append` that an answer has to wait for."""
        self._taken(len(requests), sum(map(len, requests)))
        self._behind.give_way()
        try:
            return self._work(requests, senders, beside=True)
        except _ShownElse:
            return self._work(requests, senders, beside=False)

    def _work(
        self, requests: Sequence[Sequence[Candidate]], senders: Sequence[Sender | None] | None, *, beside: bool
    ) -> list[Outcome]:
        """``beside``: the store may be asked for its head while the batch is computed. Raises _ShownElse if it shows another."""
        outcomes: list[Outcome] = []
        sealed: Sealed | None = None
        with self._writing(beside=beside) as (ledger, _):
            newest = ledger.published()
            before = ledger.size
            now = self._now(newest)
            self._fault("begun")
            candidates = (candidate for request in requests for candidate in request)
            ledger.prepare(candidates, newest.time if newest else now, now)
            for request in requests:
                outcomes.append(self._admit(ledger, request, now))
            if ledger.size > before:
                _record(ledger, outcomes, senders or [None] * len(outcomes), now)
                uploaded = self._uploaded(ledger, requests, outcomes)
                settled = self._beside.submit(self.uploads.settle, sorted(uploaded)) if uploaded else None
                try:
                    sealed = self._sealer.seal(ledger, newest, now, uploaded, self._fault)
                finally:
                    if settled is not None:
                        settled.result()
                newest = sealed.published
            else:
                self._bring_back(ledger, requests, outcomes)
        if sealed is not None:
            self._finish(sealed)
        elif newest is not None and self._publication.is_behind(newest):
            self._show(newest)
        size = newest.size if newest else 0
        return [Receipt(outcome.results, size) if isinstance(outcome, Receipt) else outcome for outcome in outcomes]

    def heartbeat(self) -> bool:
        """Sign a new snapshot if the newest is older than the setting; returns whether it did.

        Also shows a head that is not shown yet.
        """
        age = timedelta(seconds=self.settings.heartbeat_seconds)
        self._behind.later(self._ask_store)
        self._behind.settle()
        with self._noticing(), database.reader(self.engine) as connection:
            ledger = Ledger(connection)
            published = ledger.published()
            self._check_clock(ledger)
            self._publication.check(ledger)
            self._look_for_key(ledger)
        if not self._is_recovered:
            self._recover()
            self._is_recovered = True
            return False
        if published is not None and self.clock.now() - published.time < age:
            cosigned = self._publication.cosigned is not self._publication.written
            if self._is_behind(published) or cosigned or self._may_work_again():
                self.show()  # after an error, only a write can tell whether writing works again
            if self._keyless is not None:
                self.trouble = self._keyless
                raise self._keyless
            return False
        with self._writing() as (ledger, _):
            old = ledger.published()
            if old is not None and self.clock.now() - old.time < age:
                return False  # another process was faster
            sealed = self._sealer.seal(ledger, old, self._now(old), frozenset(), self._fault)
        self._finish(sealed)
        self.tidy()
        return True

    def _is_behind(self, published: Published) -> bool:
        """Whether the store shows less than this head. Raises RyeError."""
        if not self._publication.is_behind(published):
            return False
        with self._noticing(), database.reader(self.engine) as connection:
            # Another process may have shown it since this one looked at `/checkpoint`.
            self._publication.check_checkpoint(Ledger(connection))
        return self._publication.is_behind(published)

    def show(self) -> None:
        """Bring the store up to the newest head: first the files that it needs, then the head itself."""
        with self._writing(signs=False) as (ledger, _):
            published = ledger.published()
        if published is not None:
            self._show(published)

    def is_shown(self) -> bool:
        """Whether the store shows the newest head. Raises RyeError ``database-behind`` or ``store-foreign``."""
        with self._noticing(), database.reader(self.engine) as connection:
            ledger = Ledger(connection)
            published = ledger.published()
            return published is not None and HeadPublication(self.public).shows(ledger, published)

    def recover(self, *, accept_clock: bool = False) -> None:
        """After a start: show the newest head, after writing any static file that it needs and that is missing.

        ``accept_clock``: the operator vouches for the clock. Raises RyeError ``clock-jumped`` if the operator has to.
        With a clock that another witness contradicts, or a log that is in the future, nothing is written now: the next
        heartbeat tries again. Without a log key the files are served, and :attr:`trouble` says why nothing can be published.
        """
        self.clock.accepted = accept_clock
        self._ask_store()
        try:
            self._recover()
        except RyeError as error:
            if error.code not in CLOCK_ERRORS or self.clock.needs_operator(error):
                raise
            self._is_recovered = False
            _log.error("nothing is signed: %s", error)
            return
        with database.reader(self.engine) as connection:
            self._look_for_key(Ledger(connection))
        if self._keyless is not None:
            self.trouble = self._keyless
            _log.error("nothing can be published: %s %s", self._keyless, self._keyless.hint)
        if accept_clock:
            try:
                self.heartbeat()  # a head that is too old is replaced at once, so that the next start needs nobody
            except RyeError as error:
                _log.error("no head is signed: %s", error)

    def _recover(self) -> None:
        with self._writing() as (ledger, shown):
            published = ledger.published()
            self._publication.check(ledger, thorough=True)
            if published is None:
                return
            if ledger.size != published.size:
                raise RyeError(
                    "database-damaged",
                    f"The log has {ledger.size} entries, but its signed checkpoint covers {published.size}.",
                    "Nothing was changed. Restore the database: rye-registry restore --from BACKUP",
                )
            if shown is not None and shown.size == published.size:
                put_back(ledger, published, self.public)
            taken_down = ledger.all_taken_down()
            sealed = None
            if not _is_current(published):
                sealed = self._sealer.seal(ledger, published, self._now(published), frozenset(), self._fault)
        if sealed is not None:
            self._finish(sealed)
            self.tidy()
        else:
            self._show(published)
        self.remove_taken_down(taken_down)

    def remove_taken_down(self, hashes: Iterable[str]) -> None:
        """Delete blobs whose takedown is in a shown checkpoint."""
        gone = list(hashes)
        self.public.delete_all(map(wire.blob_path, gone))
        self.uploads.delete_all(gone)

    # -- steps of a batch ---------------------------------------------------------------------------------------------

    def step_back(self, candidate: Candidate) -> Receipt:
        """Append the owners' step back in time alone, and sign the first head that is not in the future.

        Raises RyeError ``clock-step``, ``clock-signer``, and everything that prevents a batch.
        """
        self._ask_store()
        with self._writing(signs=False) as (ledger, _):
            now = self.clock.check_step(ledger.database_time).astimezone(UTC).replace(microsecond=0)
            self._fault("begun")
            newest = ledger.published()
            admitted = admit(ledger, candidate, now)
            sealed = self._sealer.seal(ledger, newest, now, frozenset(), self._fault)
        self._finish(sealed)
        self.tidy()
        return Receipt((admitted,), sealed.published.size)

    @contextmanager
    def _writing(self, *, signs: bool = True, beside: bool = False) -> Iterator[tuple[Ledger, Checkpoint | None]]:
        """A transaction under the writer's lock, in this process's term, on a database that contains what the store
        shows.

        Yields the ledger and the head that the store shows. The store has all files of the newest head, whatever it
        shows.

        ``beside``: if this process showed the newest head itself, a bucket is asked during the block whether it still shows
        it, and the answer is awaited before anything is committed. Raises _ShownElse if it does not.
        """
        asked = database.writer_asking(self.engine, LEADER, FOUND_REVISION, *Ledger.OPENING)
        with (
            self._noticing(),
            asked as (connection, (leader, revision, *opening)),
            self._pinger.speaking_for(connection),
        ):
            require_revision(revision)
            term = take(connection, self._holder, leader)
            ledger = Ledger(connection, opening)
            if signs:
                self._check_clock(ledger)
            ledger.fence = fence(connection, self._holder, term)
            published = ledger.published()
            asked_for = self._publication.check_beside(published) if beside and not term.is_new else None
            if asked_for is not None:
                same, is_same = asked_for
                yield ledger, same
                if not is_same():
                    raise _ShownElse
            else:
                shown = self._publication.check(ledger, thorough=term.is_new)
                if published is not None and (shown is None or shown.size < published.size):
                    catch_up(ledger, shown, self.public, self.uploads)
                yield ledger, shown
            if not ledger.is_fenced:
                confirm(connection, self._holder, term)

    def _may_work_again(self) -> bool:
        """Whether a head that can be written would mean that the next batch can be, too, after :attr:`trouble`.

        Not on a disk that is still full, because a batch is much larger, and not without a log key, because a head that is
        signed already is shown without one.
        """
        if self.trouble is None or (self._keyless is not None and self.trouble.code == self._keyless.code):
            return False
        return self.trouble.code != "storage-full" or has_room(self.settings)

    def _look_for_key(self, ledger: Ledger) -> None:
        """Remember whether a head could be signed now."""
        try:
            self._sealer.check_key(ledger)
            self._keyless = None
        except RyeError as error:
            self._keyless = error

    @contextmanager
    def _noticing(self) -> Iterator[None]:
        """Remember why the database or the store prevents writing. Only showing a head clears that."""
        try:
            yield
        except RyeError as error:
            if is_trouble(error):
                self.trouble = error
            raise

    def _check_clock(self, ledger: Ledger) -> None:
        """Raise RyeError ``clock-jumped`` or ``clock-ahead`` if nothing may be signed now."""
        published = ledger.published()
        self.clock.check(published.time if published is not None else None, ledger.database_time)

    def _ask_store(self) -> None:
        """Ask the store for its time. A store that does not answer is noticed where it is needed."""
        try:
            self.clock.ask_store()
        except RyeError as error:
            _log.warning("the store did not tell the time: %s", error)

    def _now(self, old: Published | None) -> datetime:
        """The clock in whole seconds, never before the newest snapshot: time in the log does not go backwards.

        Raises RyeError ``clock-jumped`` if it has jumped since the batch began.
        """
        now = self.clock.refuse().astimezone(UTC).replace(microsecond=0)
        return max(now, old.time) if old else now

    def _admit(self, ledger: Ledger, request: Sequence[Candidate], now: datetime) -> Outcome:
        skew = timedelta(seconds=self.settings.clock_skew_seconds)
        if all(isinstance(candidate.statement, Release) for candidate in request):
            # Releases reach the tables only with the whole batch, so a refused one is undone in memory.
            mark = ledger.mark()
            try:
                return Receipt(tuple(admit(ledger, candidate, now, skew, self._elsewhere) for candidate in request), 0)
            except RyeError as error:
                ledger.take_back(mark)
                return error
        ledger.flush()
        mark = ledger.mark()
        savepoint = ledger.connection.begin_nested()
        try:
            results = tuple(admit(ledger, candidate, now, skew, self._elsewhere) for candidate in request)
            ledger.flush()
        except RyeError as error:
            savepoint.rollback()
            ledger.take_back(mark)
            ledger.rolled_back()
            return error
        savepoint.commit()
        return Receipt(results, 0)

    def _uploaded(
        self, ledger: Ledger, requests: Sequence[Sequence[Candidate]], outcomes: Sequence[Outcome]
    ) -> frozenset[str]:
        """Return the uploads that become public with the admitted requests. Raises RyeError ``blob-missing``.

        After the commit it would be too late to find one missing, so none of them may be about to expire.
        """
        wanted = _public_with(ledger, requests, outcomes)
        uploaded = self._lasting(wanted)
        others = [sha256 for sha256 in wanted if sha256 not in uploaded]
        present = self.public.modified_all([wire.blob_path(sha256) for sha256 in others])
        for sha256, modified in zip(others, present, strict=True):
            if modified is None:
                raise RyeError(
                    "blob-missing", f"The uploaded blob {sha256} has expired.", "Upload it again: rye publish does."
                )
        return frozenset(uploaded)

    def _lasting(self, hashes: Sequence[str]) -> set[str]:
        """Return those of the uploads that exist and are not about to expire."""
        oldest = expiring_since(self.settings)
        times = zip(hashes, self.uploads.modified_all(hashes), strict=True)
        return {sha256 for sha256, modified in times if modified is not None and modified > oldest}

    def _bring_back(self, ledger: Ledger, requests: Sequence[Sequence[Candidate]], outcomes: Sequence[Outcome]) -> None:
        """Make the uploads public that came with nothing but duplicates, durably, and with the lock held, so that no takedown
        comes between. Usually there are none: files of duplicates are kept only if the public ones are missing or damaged
        (:mod:`registry_server.api.examination`), as after an incomplete restore."""
        uploaded = self._lasting(_public_with(ledger, requests, outcomes))
        if uploaded:
            with self._noticing():
                self.uploads.settle(sorted(uploaded))
                self.public.put_all(blobs(uploaded, self.public, self.uploads))
            self._published_blobs |= uploaded

    def _finish(self, sealed: Sealed) -> None:
        """After the commit: write files, then the head, then delete what is no longer needed."""
        self.batches += 1
        self._keyless = None
        self._fault("committed")
        published = sealed.published
        with self._noticing():
            moved = move_blobs(sealed.blobs, self.public, self.uploads)
            heads = list(shown_files(published.document, published.checkpoint, self._publication.cosigned).items())
            self.public.put_all(chain(moved, sealed.files), heads)
        self._fault("written")
        self._show(published)
        self._published_blobs |= sealed.blobs
        self._old_files += old_partials(sealed.before, published.size)

    def tidy(self) -> None:
        """Delete what shown batches made superfluous.

        Anything left after an error is cleaned up later, or does no harm.
        """
        moved, files = self._published_blobs, self._old_files
        self._published_blobs, self._old_files = set(), []
        self._tidy(moved, files)

    def tidy_soon(self) -> None:
        """The same after a batch that has been answered, without the next one waiting for a disk, a bucket or the database's
        file."""
        moved, files = self._published_blobs, self._old_files
        self._published_blobs, self._old_files = set(), []
        if moved or files:
            self._behind.later(partial(self._tidy, moved, files))
        self._behind.after_batch()

    def _tidy(self, moved: set[str], files: Sequence[str]) -> None:
        try:
            if moved:
                self.uploads.delete_all(moved)
                self._published(moved)
            if files:
                self.public.delete_all(files)
        except RyeError as error:
            _log.warning("files that are no longer needed could not be deleted: %s", error)

    def _show(self, published: Published) -> None:
        """Replace ``/checkpoint`` and ``/head``, unless the store shows a later head.

        Every file that it needs exists. A folder cannot compare and replace a file in one step, so for a folder this process
        holds the writer's lock, and for a bucket only while it compares what the store shows.
        """
        with self._noticing(), ExitStack() as stack:

            @cache
            def locked() -> sa.Connection:
                connection = stack.enter_context(database.writer(self.engine))
                stack.enter_context(self._pinger.speaking_for(connection))
                return connection

            if self.public.is_local:
                locked()
            self._publication.replace(lambda: Ledger(locked()), published, self._fault)
        self.trouble = self._keyless


def _public_with(ledger: Ledger, requests: Sequence[Sequence[Candidate]], outcomes: Sequence[Outcome]) -> list[str]:
    """Return the files that are public with the admitted requests: a replayed release does not bring back what was taken down."""
    wanted = {
        blob
        for request, outcome in zip(requests, outcomes, strict=True)
        if isinstance(outcome, Receipt)
        for candidate in request
        for blob in blobs_of(candidate.statement)
    }
    return sorted(wanted - ledger.taken_down(wanted).keys())


def expiring_since(settings: Settings) -> float:
    """The time of modification from which on back an upload does not become public: it is soon deleted."""
    kept = settings.uploads_hours * 3600.0
    return time.time() - kept + min(_EXPIRY_SECONDS, kept / 2)


def _is_current(published: Published) -> bool:
    """Whether clients of this version accept the head's format. A head of protocol 1 is replaced at once."""
    try:
        return wire.decode_head(published.document).map == published.map
    except WireError:
        return False


def _record(ledger: Ledger, outcomes: Sequence[Outcome], senders: Sequence[Sender | None], now: datetime) -> None:
    """Record who sent the new entries of a batch."""
    rows = [
        (result.position, sender.token, sender.account, sender.address)
        for outcome, sender in zip(outcomes, senders, strict=True)
        if isinstance(outcome, Receipt) and sender is not None
        for result in outcome.results
        if not result.duplicate
    ]
    ledger.record_submissions(rows, now)
