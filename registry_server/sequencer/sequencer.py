"""The log's one writer: batches of statements in, one signed head out.

All requests that wait form one batch; a request in it that is refused fails alone, whatever it had appended is taken back. One
batch is one database transaction under the writer's lock, and goes in steps that a crash may interrupt anywhere:

1. ``begun``: the lock is held; each request is admitted in its own savepoint.
2. ``appended``: index files, shards, the snapshot and its leaf, tiles and bundles are computed, snapshot and checkpoint signed.
3. ``written``: every new immutable file, blobs included, is on the disk. Nothing refers to them yet.
4. ``committed``: the database holds entries, head and signed checkpoint. From here on the batch exists for ever.
5. ``shown``: ``/checkpoint`` and ``/head`` are replaced, each as a whole, by those of the newest transaction.
6. The requests are answered.

A crash before 4 leaves files that nothing refers to and that the next batch replaces where it needs the names; after a crash
behind 4, :meth:`Sequencer.recover` goes on with 5. Since the signed checkpoint is part of the transaction, and what the
store shows is compared with the database before 1 and replaced conditionally in 5 (:mod:`registry_server.sequencer.showing`), two
different trees of one size are never signed for anybody to see: not by a crash, not by an old backup, not by a leader that
was stopped and goes on (:mod:`registry_server.sequencer.leadership`).
"""

from __future__ import annotations

import hashlib
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
from registry_server.sequencer.leadership import confirm, holder_name, take
from registry_server.sequencer.ledger import Ledger, Published
from registry_server.sequencer.showing import Showing
from registry_server.sequencer.tree import Edge
from registry_server.settings import Settings
from registry_server.storage import database
from registry_server.storage.objects import Objects
from rye.errors import RyeError
from rye.registry.protocol import notes, wire
from rye.registry.protocol.merkle import leaf_hash
from rye.registry.protocol.statements import Checkpoint, Release, Root, Snapshot
from rye.registry.protocol.tiles import WIDTH, Tile, encode_bundle

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
class Sender:
    """Who sent a request, for the operator's records."""

    token: str
    """The token's public ID."""
    address: str
    """Of the machine that spoke to this server; a proxy's, where there is one."""


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
        self._shown = -1
        """Size of the head that this process has last written out, or found in the store."""
        self._showing = Showing(public)
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
                _log.warning("a batch of %d requests failed, each is tried alone: %s", len(batch), error)
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
        promoted: set[str] = set()
        with self._writing() as ledger:
            old = ledger.published()
            before = ledger.size
            now = self._now(old)
            self._fault("begun")
            ledger.prepare(candidate for request in requests for candidate in request)
            for request in requests:
                outcomes.append(self._admit(ledger, request, now))
            if ledger.size > before:
                _record(ledger, outcomes, senders or [None] * len(outcomes), now)
                for request, outcome in zip(requests, outcomes, strict=True):
                    if isinstance(outcome, Receipt):
                        promoted.update(blob for candidate in request for blob in blobs_of(candidate.statement))
                promoted -= ledger.taken_down(promoted).keys()  # of a replayed release
                size = self._seal(ledger, old, now, promoted)
            else:
                size = old.size if old else 0
        if size > before:
            self.batches += 1
            self._fault("committed")
        if self._shown < size:
            self.show()
            self._remove_old_partials(before, size)
        for sha256 in promoted:
            self.uploads.delete(sha256)
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
            if self._shown < published.size or shown is None or shown.size < published.size:
                self.show()
            return False
        with self._writing() as ledger:
            old = ledger.published()
            if old is not None and self._clock() - old.time < age:
                return False  # another process was faster
            self._seal(ledger, old, self._now(old), set())
        self.batches += 1
        self._fault("committed")
        self.show()
        return True

    def show(self) -> None:
        """Write ``/checkpoint`` and ``/head`` of the newest transaction, under the lock so that an older one never comes
        last.
        """
        with self._noticing(), database.writer(self.engine) as connection:
            ledger = Ledger(connection)
            published = ledger.published()
            if published is None:
                return
            self._showing.replace(ledger, published, self._fault)
            self._shown = published.size

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
        with self._writing() as ledger:
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
            head = wire.decode_head(published.document)
            self.public.put_all(self._roots(ledger))
            if any(self.public.get(f"shards/{sha256}") is None for sha256 in head.shards.values()):
                self.public.put_all(self._index_files(ledger, ledger.all_names()).values())
                self.public.put_all(self._shard_files(ledger, head.shards))
            edge = Edge(ledger.size, ledger.edge())
            self.public.put_all((tile.path, data) for tile, data in edge.tiles())
            self.public.put_all(self._bundles(ledger, ledger.size // WIDTH * WIDTH, ledger.size))
            taken_down = ledger.all_taken_down()
        self.show()
        self.remove_taken_down(taken_down)

    def remove_taken_down(self, hashes: Iterable[str]) -> None:
        """Delete blobs whose takedown is in a checkpoint that is shown."""
        for sha256 in hashes:
            self.public.delete(wire.blob_path(sha256))
            self.uploads.delete(sha256)

    @contextmanager
    def _writing(self) -> Iterator[Ledger]:
        """A transaction under the writer's lock, in this process's term, on a database that holds what the store shows."""
        with self._noticing(), database.writer(self.engine) as connection:
            term = take(connection, self._holder)
            ledger = Ledger(connection)
            self._showing.check(ledger, thorough=term.is_new)
            yield ledger
            confirm(connection, self._holder, term)

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

    def _seal(self, ledger: Ledger, old: Published | None, now: datetime, promoted: set[str]) -> int:
        """Compute, sign and write everything that follows from the new entries; returns the tree's size."""
        first = old.size if old else 0
        if old is not None:
            for namespace in ledger.recovered_between(old.time, now):
                ledger.refresh_namespace(namespace, now)
        index_files = self._index_files(ledger, ledger.touched)
        ledger.write_indexes((name, path.rpartition("/")[2], len(data)) for name, (path, data) in index_files.items())
        touched = {wire.shard_of(name) for name in ledger.touched}
        shard_files = [(f"shards/{_sha256(data)}", data, shard) for shard, data in self._shards(ledger, touched)]
        for path, _, shard in shard_files:
            ledger.write_shard(shard, path.rpartition("/")[2])
        shards = ledger.shards()
        root = ledger.roots()[-1]
        snapshot_note = self._sign(Snapshot(ledger.origin, now, root.number, wire.shards_root(shards)).text(), root)
        ledger.append_leaf(snapshot_note.encode())
        edge = Edge(first, ledger.edge())
        entries = ledger.leaves(first // WIDTH * WIDTH, ledger.size)
        for leaf in entries[first % WIDTH :]:
            edge.append(leaf_hash(leaf))
        checkpoint_note = self._sign(Checkpoint(ledger.origin, edge.size, edge.range.root()).text(), root)
        document = wire.encode_head(
            wire.Head(checkpoint_note, snapshot_note, [wire.encode_hash(node) for node in edge.last_proof], shards)
        )
        if len(document) > wire.MAX_HEAD_BYTES:
            raise RyeError("head-too-large", "The head has become larger than clients accept.", None)
        self._fault("appended")
        written = chain(
            self._blobs(promoted),
            index_files.values(),
            ((path, data) for path, data, _ in shard_files),
            ((tile.path, data) for tile, data in edge.tiles()),
            _bundles_of(entries, first // WIDTH * WIDTH),
        )
        self.public.put_all(_keeping_alive(ledger.connection, written))
        if first == 0 or any(Root.TITLE.encode() in leaf[:20] for leaf in entries[first % WIDTH :]):
            self.public.put_all(self._roots(ledger))
        ledger.write_head(Published(edge.size, now, checkpoint_note.encode(), document), edge.partial())
        self._fault("written")
        return edge.size

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

    def _index_files(self, ledger: Ledger, names: Iterable[str]) -> dict[str, tuple[str, bytes]]:
        """The path and content of each name's index file."""
        found = {}
        for name, lines in ledger.index_lines(names):
            data = wire.encode_index(lines)
            found[name] = (f"index/{_sha256(data)}", data)
        return found

    def _shards(self, ledger: Ledger, shards: Iterable[str]) -> list[tuple[str, bytes]]:
        return [(shard, wire.encode_shard(ledger.shard(shard))) for shard in sorted(shards)]

    def _shard_files(self, ledger: Ledger, shards: Iterable[str]) -> list[tuple[str, bytes]]:
        return [(f"shards/{_sha256(data)}", data) for _, data in self._shards(ledger, shards)]

    def _roots(self, ledger: Ledger) -> list[tuple[str, bytes]]:
        return [(f"root/{number}", note) for number, note in ledger.root_notes()]

    def _bundles(self, ledger: Ledger, start: int, end: int) -> list[tuple[str, bytes]]:
        return _bundles_of(ledger.leaves(start, end), start)

    def _blobs(self, hashes: Iterable[str]) -> Iterable[tuple[str, bytes]]:
        for sha256 in sorted(hashes):
            data = self.uploads.get(sha256)
            if data is not None:
                yield wire.blob_path(sha256), data
            elif self.public.get(wire.blob_path(sha256)) is None:
                raise RyeError("blob-missing", f"The blob {sha256} is gone.", "Upload it again.")

    def _remove_old_partials(self, old: int, new: int) -> None:
        """Partial tiles may go when the full one exists (tlog-tiles); the newest full tile keeps its own for slow readers."""
        for tile in range(max(old // WIDTH - 1, 0), new // WIDTH - 1):
            for width in range(1, WIDTH):
                partial = Tile(0, tile, width)
                self.public.delete(partial.path)
                self.public.delete(partial.entries_path)


def _record(ledger: Ledger, outcomes: Sequence[Outcome], senders: Sequence[Sender | None], now: datetime) -> None:
    """Keep who sent the new entries of a batch."""
    rows = [
        (result.position, sender.token, sender.address)
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


def _bundles_of(entries: Sequence[bytes], start: int) -> list[tuple[str, bytes]]:
    """Bundles of entries from position ``start``, a multiple of 256."""
    found = []
    for offset in range(0, len(entries), WIDTH):
        part = entries[offset : offset + WIDTH]
        found.append((Tile(0, (start + offset) // WIDTH, len(part)).entries_path, encode_bundle(part)))
    return found


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
