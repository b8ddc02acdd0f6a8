"""The log's one writer: batches of statements in, one signed head out.

All requests that wait form one batch; a request in it that is refused fails alone, whatever it had appended is taken back. One
batch is one database transaction under the writer's lock, and goes in steps that a crash may interrupt anywhere:

1. ``begun``: the lock is held, and the store has every file that the newest head needs; each request is admitted by itself.
2. ``appended``: index files, name map, the snapshot and its leaf, tiles and bundles are computed, snapshot and checkpoint
   signed. Uploads that become public are known to be there.
3. ``committed``: the database holds entries, head and signed checkpoint. From here on the batch exists for ever. The lock
   is free.
4. ``written``: the files that follow from the batch, blobs included, are in the store, many at a time.
5. ``shown``: ``/checkpoint`` and ``/head`` are replaced, each as a whole, by the batch's own.
6. The requests are answered.

The database is the truth and files are a function of it. A crash before 3 leaves nothing; after one behind 3, whoever writes
next finds that the store shows less than the database has, and first writes what is owed since (rule 1). So a head is shown
only when every file that it needs is there, and no file is ever of a batch that was not committed. Since the signed
checkpoint is part of the transaction, and what the store shows is compared with the database before 1 and replaced
conditionally in 5 (:mod:`registry_server.sequencer.showing`), two different trees of one size are never signed for anybody to
see: not by a crash, not by an old backup, not by a leader that was stopped and goes on
(:mod:`registry_server.sequencer.leadership`).
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import chain

import sqlalchemy as sa

from registry_server.accounts.keys import PrivateKey
from registry_server.sequencer.acceptance import Candidate, blobs_of
from registry_server.sequencer.admission import Admitted, admit
from registry_server.sequencer.derived_files import (
    File,
    bundle_files,
    files_since,
    has_root,
    index_files,
    map_files,
    owed_since,
    root_files,
)
from registry_server.sequencer.leadership import confirm, holder_name, take
from registry_server.sequencer.ledger import Ledger, Published
from registry_server.sequencer.name_nodes import NameNodes
from registry_server.sequencer.showing import Showing
from registry_server.sequencer.tree import Edge
from registry_server.settings import Settings
from registry_server.storage import database
from registry_server.storage.objects import Objects
from rye.errors import RyeError
from rye.registry.protocol import notes, wire
from rye.registry.protocol.merkle import leaf_hash
from rye.registry.protocol.name_map import MapEntry, node_path
from rye.registry.protocol.statements import Checkpoint, Release, Root, Snapshot
from rye.registry.protocol.tiles import WIDTH, Tile
from rye.registry.protocol.wire import WireError

_log = logging.getLogger("rye.registry")

TROUBLE = frozenset(
    {
        "database-behind",
        "database-busy",
        "database-damaged",
        "database-unavailable",
        "log-key-missing",
        "storage-full",
        "store-credentials",
        "store-foreign",
        "store-unavailable",
    }
)
"""Errors of the database or the store, not of a request: all that waits fails, and it is for the operator to act."""
_BLOBS_AT_ONCE = 16
"""Blobs in memory at once, of some MiB each."""
_EXPIRY_SECONDS = 600.0
"""An upload that expires sooner does not become public: it could be gone before it does."""
_SILENCE_SECONDS = 2.0
"""How long a batch may be at work on files before it tells PostgreSQL that it is alive."""

#: Told the name of each step that is done; a test raises in it, or ends the process, to see what a crash leaves.
Fault = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Receipt:
    """What one request came to: a result for each of its statements, and a checkpointed size that covers them."""

    results: tuple[Admitted, ...]
    size: int


@dataclass(frozen=True, slots=True)
class Sealed:
    """A batch that is computed and signed, and what it asks of the store once it is committed."""

    before: int
    """Size of the log before it."""
    published: Published
    files: list[File]
    blobs: frozenset[str]
    """Uploads that become public."""


@dataclass(frozen=True, slots=True)
class Sender:
    """Who sent a request, for the operator's records."""

    token: str
    """The token's public ID."""
    address: str
    """Of the machine that spoke to this server; a proxy's, where there is one that is not trusted to tell."""
    account: str | None = None
    """Whose token it is; None: one that the operator made for nobody."""


Outcome = Receipt | Exception
_Waiting = tuple[tuple[Candidate, ...], Future[Receipt], Sender | None]


class Sequencer:
    """Appends. :meth:`append` is the whole work; :meth:`submit` brings concurrent requests together into batches."""

    def __init__(
        self,
        engine: sa.Engine,
        public: Objects,
        uploads: Objects,
        log_keys: Sequence[PrivateKey],
        settings: Settings,
        *,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        fault: Fault = lambda _step: None,
    ) -> None:
        self.engine = engine
        self.public = public
        self.uploads = uploads
        self.settings = settings
        self.batches = 0
        """Batches that were committed."""
        self._log_keys = tuple(log_keys)
        self._clock = clock
        self._fault = fault
        self._showing = Showing(public)
        self._name_nodes = NameNodes()
        self._holder = holder_name()
        self.trouble: RyeError | None = None
        """Why the last attempt to write failed, where it was not the request's fault: database or store."""
        self._queue: queue.SimpleQueue[_Waiting | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    # -- requests -----------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to take requests. :meth:`recover` comes first."""
        self._thread = threading.Thread(target=self._run, name="sequencer", daemon=True)
        self._thread.start()

    def stop(self, seconds: float | None = None) -> bool:
        """Finish what waits, then stop; False when that takes longer than ``seconds``. What is cut off then is as after a
        crash.
        """
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join(seconds)
            if self._thread.is_alive():
                return False
            self._thread = None
        return True

    def submit(self, candidates: Sequence[Candidate], sender: Sender | None = None) -> Future[Receipt]:
        """Hand in one request. Its result comes when its entries are in a signed, durable checkpoint; or a RyeError."""
        future: Future[Receipt] = Future()
        self._queue.put((tuple(candidates), future, sender))
        return future

    def _run(self) -> None:
        while True:
            try:
                first = self._queue.get(timeout=max(self.settings.heartbeat_check_seconds, 0.05))
            except queue.Empty:
                self._beat()
                continue
            batch, stopping = [], first is None
            waiting = first
            count = 0
            while waiting is not None:
                batch.append(waiting)
                count += len(waiting[0])
                if count >= self.settings.batch_statements:
                    break
                try:
                    waiting = self._queue.get_nowait()
                except queue.Empty:
                    break
                stopping = waiting is None
            if batch:
                self._serve(batch)
            if stopping:
                return

    def _serve(self, batch: list[_Waiting]) -> None:
        """Append a batch and answer it; nothing that a request does or its sender cancels ends the thread."""
        # From here on nobody can cancel; who did before, because the answer took too long, is left out.
        batch = [entry for entry in batch if entry[1].set_running_or_notify_cancel()]
        requests = [candidates for candidates, _, _ in batch]
        senders = [sender for _, _, sender in batch]
        try:
            outcomes = self.append(requests, senders)
        except Exception as error:
            if _is_trouble(error):
                outcomes = [error] * len(batch)
                self._give_up_waiting(error)
            elif len(batch) == 1:
                outcomes = [error]
                if not isinstance(error, RyeError):
                    _log.exception("a request failed")
            else:
                _log.warning(
                    "a batch of %d requests failed, each is tried alone: %s",
                    len(batch),
                    error,
                    exc_info=not isinstance(error, RyeError),
                )
                outcomes = [self._alone(request, sender) for request, _, sender in batch]
        for (_, future, _), outcome in zip(batch, outcomes, strict=True):
            if isinstance(outcome, Receipt):
                future.set_result(outcome)
            else:
                future.set_exception(outcome)

    def _give_up_waiting(self, error: Exception) -> None:
        """Requests that waited behind a batch which found no database or store need not wait for the same again."""
        _log.warning("nothing can be published: %s", error)
        waiting: list[_Waiting | None] = []
        while True:
            try:
                waiting.append(self._queue.get_nowait())
            except queue.Empty:
                break
        for entry in waiting:
            if entry is None:
                self._queue.put(None)  # stop comes last
            elif entry[1].set_running_or_notify_cancel():
                entry[1].set_exception(error)

    def _alone(self, request: tuple[Candidate, ...], sender: Sender | None) -> Outcome:
        """One request of a batch that failed as a whole; what the batch had committed all the same is a duplicate now."""
        try:
            return self.append([request], [sender])[0]
        except Exception as error:
            if not isinstance(error, RyeError):
                _log.exception("a request failed")
            return error

    def _beat(self) -> None:
        try:
            self.heartbeat()
        except RyeError as error:
            _log.warning("the heartbeat failed; it will be tried again: %s", error)
        except Exception:
            _log.exception("the heartbeat failed; it will be tried again")

    # -- the work -----------------------------------------------------------------------------------------------------

    def append(
        self, requests: Sequence[Sequence[Candidate]], senders: Sequence[Sender | None] | None = None
    ) -> list[Outcome]:
        """Append one batch: for each request a receipt, or the error that refused it alone. Raises when nothing was written.

        ``senders``: who sent each request, where it is known.
        """
        outcomes: list[Outcome] = []
        sealed: Sealed | None = None
        with self._writing() as (ledger, shown):
            newest = ledger.published()
            before = ledger.size
            now = self._now(newest)
            self._fault("begun")
            ledger.prepare(candidate for request in requests for candidate in request)
            for request in requests:
                outcomes.append(self._admit(ledger, request, now))
            if ledger.size > before:
                _record(ledger, outcomes, senders or [None] * len(outcomes), now)
                sealed = self._seal(ledger, newest, now, self._uploaded(ledger, requests, outcomes))
                newest = sealed.published
        if sealed is not None:
            self._finish(sealed)
        elif newest is not None and (shown is None or shown.size < newest.size):
            self._show(newest)
        size = newest.size if newest else 0
        return [Receipt(outcome.results, size) if isinstance(outcome, Receipt) else outcome for outcome in outcomes]

    def heartbeat(self) -> bool:
        """Sign a fresh snapshot when the newest is older than the setting; returns whether it did. Shows a head that waits."""
        age = timedelta(seconds=self.settings.heartbeat_seconds)
        with database.reader(self.engine) as connection:
            ledger = Ledger(connection)
            published = ledger.published()
            with self._noticing():
                shown = self._showing.check(ledger)
        if published is not None and self._clock() - published.time < age:
            if shown is None or shown.size < published.size:
                self.show()
            return False
        with self._writing() as (ledger, _):
            old = ledger.published()
            if old is not None and self._clock() - old.time < age:
                return False  # another process was faster
            sealed = self._seal(ledger, old, self._now(old), frozenset())
        self._finish(sealed)
        return True

    def show(self) -> None:
        """Bring the store up to the newest head: first whatever it needs, then the head itself."""
        with self._writing() as (ledger, _):
            published = ledger.published()
        if published is not None:
            self._show(published)

    def _show(self, published: Published) -> None:
        """Replace ``/checkpoint`` and ``/head``, unless the store shows a later head. Every file that it needs is there."""
        with self._noticing(), database.writer(self.engine) as connection:
            self._showing.replace(Ledger(connection), published, self._fault)

    def is_shown(self) -> bool:
        """Whether the store shows the newest head. Raises RyeError ``database-behind`` or ``store-foreign``."""
        with self._noticing(), database.reader(self.engine) as connection:
            ledger = Ledger(connection)
            self._showing.check(ledger, thorough=True)
            published = ledger.published()
            return (
                published is not None
                and self.public.get("head") == published.document
                and self.public.get("checkpoint") == published.checkpoint
            )

    def recover(self) -> None:
        """After a start: show the newest head, having put back whatever static file it needs and is missing."""
        with self._writing() as (ledger, shown):
            published = ledger.published()
            self._showing.check(ledger, thorough=True)
            if published is None:
                return
            if ledger.size != published.size:
                raise RyeError(
                    "database-damaged",
                    f"The log has {ledger.size} entries, its signed checkpoint {published.size}.",
                    "Restore the database from a backup: rye-registry restore. Nothing was changed.",
                )
            if shown is not None and shown.size == published.size:
                self._put_back(ledger, published)
            taken_down = ledger.all_taken_down()
            sealed = None
            if not _is_current(published):
                sealed = self._seal(ledger, published, self._now(published), frozenset())
        if sealed is not None:
            self._finish(sealed)
        else:
            self._show(published)
        self.remove_taken_down(taken_down)

    def _put_back(self, ledger: Ledger, published: Published) -> None:
        """Files that a head which is shown needs, and that somebody took away: those that a look at a few finds missing."""
        self.public.put_all(root_files(ledger))
        if self.public.get(node_path(published.map)) is None:
            self.public.put_all(index_files(ledger, ledger.all_names()).values())
            self.public.put_all(map_files(ledger.map_nodes()))
        edge = Edge(ledger.size, ledger.edge())
        self.public.put_all((tile.path, data) for tile, data in edge.tiles())
        first = ledger.size // WIDTH * WIDTH
        self.public.put_all(bundle_files(ledger.leaves(first, ledger.size), first))

    def remove_taken_down(self, hashes: Iterable[str]) -> None:
        """Delete blobs whose takedown is in a checkpoint that is shown."""
        for sha256 in hashes:
            self.public.delete(wire.blob_path(sha256))
            self.uploads.delete(sha256)

    @contextmanager
    def _writing(self) -> Iterator[tuple[Ledger, Checkpoint | None]]:
        """A transaction under the writer's lock, in this process's term, on a database that holds what the store shows.

        With it comes the head that the store shows. The store has all files of the newest head, whatever it shows.
        """
        with self._noticing(), database.writer(self.engine) as connection:
            term = take(connection, self._holder)
            ledger = Ledger(connection)
            shown = self._showing.check(ledger, thorough=term.is_new)
            published = ledger.published()
            if published is not None and (shown is None or shown.size < published.size):
                self._catch_up(ledger, shown)
            yield ledger, shown
            confirm(connection, self._holder, term)

    def _catch_up(self, ledger: Ledger, shown: Checkpoint | None) -> None:
        """Write what committed batches owe the store: after a crash, or for a process that has not come to it yet."""
        owed = owed_since(ledger, shown.size if shown else 0, ledger.size)
        files = chain(self._blobs(owed.blobs), files_since(ledger, self.public, shown, owed))
        self.public.put_all(_keeping_alive(ledger.connection, files))

    @contextmanager
    def _noticing(self) -> Iterator[None]:
        """Remember whether database and store let this process write."""
        try:
            yield
        except RyeError as error:
            if _is_trouble(error):
                self.trouble = error
            raise
        self.trouble = None

    # -- steps of a batch ---------------------------------------------------------------------------------------------

    def _now(self, old: Published | None) -> datetime:
        """The clock in whole seconds, never before the newest snapshot: time does not run backwards in the log."""
        now = self._clock().astimezone(UTC).replace(microsecond=0)
        return max(now, old.time) if old else now

    def _admit(self, ledger: Ledger, request: Sequence[Candidate], now: datetime) -> Outcome:
        skew = timedelta(seconds=self.settings.clock_skew_seconds)
        if all(isinstance(candidate.statement, Release) for candidate in request):
            # Nothing of a release is in a table before the batch is: a refused one is forgotten without the database.
            mark = ledger.mark()
            try:
                return Receipt(tuple(admit(ledger, candidate, now, skew) for candidate in request), 0)
            except RyeError as error:
                ledger.take_back(mark)
                return error
        ledger.flush()
        mark = ledger.mark()
        savepoint = ledger.connection.begin_nested()
        try:
            results = tuple(admit(ledger, candidate, now, skew) for candidate in request)
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
        """The uploads that become public with the admitted requests. Raises RyeError ``blob-missing``.

        After the commit it would be too late to find that one is gone, so none of them may be about to expire.
        """
        wanted = {
            blob
            for request, outcome in zip(requests, outcomes, strict=True)
            if isinstance(outcome, Receipt)
            for candidate in request
            for blob in blobs_of(candidate.statement)
        }
        rest = sorted(wanted - ledger.taken_down(wanted).keys())  # those of a replayed release stay away
        kept = self.settings.uploads_hours * 3600.0
        oldest = time.time() - kept + min(_EXPIRY_SECONDS, kept / 2)
        times = dict(zip(rest, self.uploads.modified_all(rest), strict=True))
        uploaded = {sha256 for sha256, modified in times.items() if modified is not None and modified > oldest}
        others = [sha256 for sha256 in rest if sha256 not in uploaded]
        present = self.public.modified_all([wire.blob_path(sha256) for sha256 in others])
        for sha256, modified in zip(others, present, strict=True):
            if modified is None:
                raise RyeError("blob-missing", f"The blob {sha256} is gone.", "Upload it again.")
        return frozenset(uploaded)

    def _seal(self, ledger: Ledger, old: Published | None, now: datetime, blobs: frozenset[str]) -> Sealed:
        """Compute and sign everything that follows from the new entries, and put the head into the database."""
        first = old.size if old else 0
        if old is not None:
            for namespace in ledger.recovered_between(old.time, now):
                ledger.refresh_namespace(namespace, now)
        indexes = index_files(ledger, ledger.touched)
        changed = [MapEntry(name, path.rpartition("/")[2], len(data)) for name, (path, data) in indexes.items()]
        ledger.write_indexes((entry.name, entry.sha256, entry.size) for entry in changed)
        names = self._name_nodes.change(ledger, old.map if old else None, changed, first)
        root = ledger.roots()[-1]
        snapshot_note = self._sign(Snapshot(ledger.origin, now, root.number, names.root).text(), root)
        ledger.append_leaf(snapshot_note.encode())
        edge = Edge(first, ledger.edge())
        entries = ledger.leaves(first // WIDTH * WIDTH, ledger.size)
        for leaf in entries[first % WIDTH :]:
            edge.append(leaf_hash(leaf))
        checkpoint_note = self._sign(Checkpoint(ledger.origin, edge.size, edge.range.root()).text(), root)
        document = wire.encode_head(
            wire.Head(checkpoint_note, snapshot_note, [wire.encode_hash(node) for node in edge.last_proof], names.root)
        )
        if len(document) > wire.MAX_HEAD_BYTES:
            raise RyeError("head-too-large", "The head has become larger than clients accept.", None)
        self._fault("appended")
        new = entries[first % WIDTH :]
        files = [
            *indexes.values(),
            *map_files(names.files),
            *((tile.path, data) for tile, data in edge.tiles()),
            *bundle_files(entries, first // WIDTH * WIDTH),
            *(root_files(ledger) if first == 0 or has_root(new) else ()),
        ]
        published = Published(edge.size, now, checkpoint_note.encode(), document, names.root)
        ledger.write_head(published, edge.partial())
        return Sealed(first, published, files, blobs)

    def _finish(self, sealed: Sealed) -> None:
        """After the commit: files, then the head, then deleting what is no longer needed."""
        self.batches += 1
        self._fault("committed")
        with self._noticing():
            self.public.put_all(chain(self._blobs(sealed.blobs), sealed.files))
        self._fault("written")
        self._show(sealed.published)
        try:
            self.uploads.delete_all(sealed.blobs)
            self.public.delete_all(_old_partials(sealed.before, sealed.published.size))
        except RyeError as error:
            _log.warning("files that are no longer needed could not be deleted: %s", error)

    def _sign(self, text: str, root: Root) -> str:
        """A note signed by every log key of ours that the root in force lists."""
        signers = [key.signer for key in self._log_keys if key.verifier.key in root.logs]
        if not signers:
            raise RyeError(
                "log-key-missing",
                f"No log key of root {root.number} is in the key folder.",
                "Put the log's key file back into the keys folder, or publish a root that lists the key that is there.",
            )
        return notes.sign(text, signers).encode()

    def _blobs(self, hashes: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """Uploads with their public paths. One that is gone from both stores is a hole that `verify` reports."""
        wanted = sorted(hashes)
        for start in range(0, len(wanted), _BLOBS_AT_ONCE):
            some = wanted[start : start + _BLOBS_AT_ONCE]
            for sha256, data in zip(some, self.uploads.get_all(some), strict=True):
                path = wire.blob_path(sha256)
                if data is not None:
                    yield path, data
                elif self.public.modified(path) is None:
                    _log.error(
                        "the blob %s is gone, though a release in the log has it; restore it from a backup", sha256
                    )


def _is_current(published: Published) -> bool:
    """Whether clients of this version read the head; one that was signed under protocol 1 gets a successor at once."""
    try:
        return wire.decode_head(published.document).map == published.map
    except WireError:
        return False


def _old_partials(old: int, new: int) -> list[str]:
    """Partial tiles may go when the full one exists (tlog-tiles); the newest full tile keeps its own for slow readers."""
    tiles = range(max(old // WIDTH - 1, 0), new // WIDTH - 1)
    partials = [Tile(0, tile, width) for tile in tiles for width in range(1, WIDTH)]
    return [path for partial in partials for path in (partial.path, partial.entries_path)]


def _record(ledger: Ledger, outcomes: Sequence[Outcome], senders: Sequence[Sender | None], now: datetime) -> None:
    """Keep who sent the new entries of a batch."""
    rows = [
        (result.position, sender.token, sender.account, sender.address)
        for outcome, sender in zip(outcomes, senders, strict=True)
        if isinstance(outcome, Receipt) and sender is not None
        for result in outcome.results
        if not result.duplicate
    ]
    ledger.record_submissions(rows, now)


def _is_trouble(error: Exception) -> bool:
    """Whether no request can be blamed: to try each alone would only take longer."""
    return isinstance(error, RyeError) and error.code in TROUBLE


def _keeping_alive(connection: sa.Connection, objects: Iterable[tuple[str, bytes]]) -> Iterator[tuple[str, bytes]]:
    """The objects one by one, with a word to the database now and then: a slow store is not a leader that hangs."""
    last = time.monotonic()
    for entry in objects:
        if time.monotonic() - last > _SILENCE_SECONDS:
            database.keep_alive(connection)
            last = time.monotonic()
        yield entry
