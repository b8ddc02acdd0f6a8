"""The running registry behind the API: engine, stores, sequencer and what requests need. Its calls block."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from typing import Any

from sqlalchemy.pool import QueuePool

from registry_server.accounts import (
    audit_events,
    audit_push,
    blob_owners,
    guarded_http,
    members,
    registry_keys,
    roles,
    tokens,
)
from registry_server.accounts.failed_sign_ins import FailedSignIns
from registry_server.accounts.issuers import check_issuer
from registry_server.accounts.quotas import Quotas
from registry_server.accounts.rate_limits import RateLimit
from registry_server.accounts.times import now_text
from registry_server.accounts.token_lookup import TokenLookup
from registry_server.accounts.tokens import Account
from registry_server.api.answers import Answers
from registry_server.api.auditing import Auditing
from registry_server.api.delegating import DelegatingSequencer
from registry_server.api.delivering import Deliverer
from registry_server.api.examination import Examination, by_hash
from registry_server.api.examiners import Examiners
from registry_server.api.exchange import Exchange, IssuerCalls, Issuers
from registry_server.api.failure_words import FailureWords
from registry_server.api.forwarded import networks
from registry_server.api.metrics import Metrics
from registry_server.api.proving import Proving
from registry_server.api.readiness import Readiness, undurable_warning
from registry_server.api.reading import Compressed
from registry_server.api.sign_in import SignIn
from registry_server.api.staging import Staging
from registry_server.api.worker import Analyst, Released
from registry_server.interop.interop_pool import InteropPool
from registry_server.migrations import opening
from registry_server.pages.analysis_store import AnalysisStore, remove_taken_down
from registry_server.pages.limits import PAGES
from registry_server.pages.listings import filling
from registry_server.pages.page_cache import PageCache
from registry_server.search.search_pool import SearchPool, search_engine
from registry_server.sequencer.acceptance import Candidate
from registry_server.sequencer.clock import steady_seconds
from registry_server.sequencer.derived_files import owed_since
from registry_server.sequencer.ledger import Ledger
from registry_server.sequencer.sequencer import Receipt, Sequencer, expiring_since
from registry_server.settings import Settings
from registry_server.storage import database
from registry_server.storage.objects import Folder
from registry_server.storage.store_factory import (
    analysed_objects,
    public_objects,
    staged_objects,
    upload_objects,
    upstream_objects,
)
from registry_server.storage.store_watch import StoreWatch
from registry_server.upstream.doors import Doors
from registry_server.witnesses import records
from registry_server.witnesses.collecting import Collector
from registry_server.witnesses.lag import Lag, lags
from registry_server.witnesses.quorum import suggested_policy
from rye.errors import RyeError
from rye.registry.protocol import wire
from rye.registry.protocol.lines import write_time
from rye.registry.protocol.statements import Keyset, Release

_log = logging.getLogger("rye.registry")
_FORMER_ANALYSES = "analyses.sqlite"
"""The file of an older version: it may contain texts that are taken down."""
_NOTED_SECONDS = 300.0
"""Precision of a token's last use."""
_NOTED_TOKENS = 10_000
_FOREIGN_SECONDS = 5.0
"""How long a namespace that another registry has counts as not claimed here."""
_SWEEP_SECONDS = 60.0
_LOOKED_AT_AGAIN = 64
"""So many expired uploads of a bucket are looked at again, all at once, before one request deletes them."""
_LEFT_BATCHES = 2
"""Full batches whose uploads a start looks for: that being committed, and the one that was being cleaned up after."""
_NOTING_SECONDS = 0.25
"""How long a request waits for its token's use to be recorded."""


class Service:
    """Opens everything on construction; :meth:`start` begins accepting writes, :meth:`close` shuts down."""

    def __init__(self, settings: Settings) -> None:
        networks(settings.trusted_proxies)  # refuse an invalid setting at start-up
        if settings.oidc_issuer:
            check_issuer(settings.oidc_issuer)
        self.settings = settings
        self.address = settings.public_address
        """The registry's address: from the settings, or the one that it listens on."""
        self.engine = opening.open_database(settings)
        with database.reader(self.engine) as connection:
            self.origin = Ledger(connection).origin
        for name in database.undurable(self.engine):
            _log.warning("%s", undurable_warning(name))
        self.metrics = Metrics()
        watch = StoreWatch(settings.store_wait_seconds, self.metrics.store_asked)
        self.public = public_objects(settings, watch)
        self.uploads = upload_objects(settings, watch)
        log_keys = registry_keys.in_folder(settings.keys, "log")
        self.quotas = Quotas(
            settings.account_requests,
            settings.account_uploads_bytes,
            min(settings.account_places, settings.concurrent_writes * 3 // 4),
            settings.uploads_bytes,
        )
        self._writing = 0
        stores = (self.public, self.uploads)
        measured: dict[str, Any] = {
            "fault": self.metrics.step,
            "taken": self.metrics.batch,
            "steady": steady_seconds,
            "published": lambda hashes: self.quotas.forget(hashes),
            "took": self.metrics.took,
            "asked": watch.ended,
        }
        self.sequencer: Sequencer = DelegatingSequencer(self.engine, *stores, log_keys, settings, **measured)
        self.answers: Answers[Receipt] = Answers()
        self.staged = staged_objects(settings, watch)
        examination = Examination(self.engine, self.origin, self.public, self.uploads, settings)
        self.analysed = analysed_objects(settings, watch)
        self._reading = search_engine(settings)
        analyses = AnalysisStore(self.analysed, self._reading)
        self.fill_lists = filling(self.public, analyses)
        analyst = Analyst(self._reading, self.public, analyses, self._is_busy)
        self.examiners = Examiners(examination, self.origin, settings, analyst)
        self.staging = Staging(
            self.engine,
            self.origin,
            self.public,
            self.staged,
            examination,
            settings,
            keep=self.keep_upload,
            let_go=self.let_go,
            clock=lambda: self.sequencer.clock,
            may_expire=self._is_clock_right,
        )
        self.token_lookup = TokenLookup(self.engine)
        self.issuers = Issuers()
        issuer = self.issuers.get(settings.oidc_issuer) if settings.oidc_issuer else None
        self.sign_in = SignIn(issuer, settings, self._latest)
        self.issuer_calls = IssuerCalls()
        self.sign_in_rate = RateLimit(settings.sign_in_tries)
        self.poll_rate = RateLimit(settings.sign_in_tries * 10)
        self.form_rate = RateLimit(settings.form_tries)
        self.exchange = Exchange(self.engine, self.issuers, settings.read != "public", self._latest)
        self.searches = SearchPool(settings)
        self.pages = PageCache(
            settings, self.engine, self.public, lambda: self.address, self._is_publishing, analyses=analyses
        )
        self.failure_words = FailureWords(settings.trusted_proxies)
        self.compressed = Compressed(PAGES.compressed_bytes)  # pages
        self.interop_pool = InteropPool(self.public, settings, lambda: self.address)
        inside = guarded_http.listed_networks(settings.webhook_networks)
        self.deliverer = Deliverer(self.engine, self.origin, partial(guarded_http.post, inside=inside))
        self.failed_sign_ins = FailedSignIns()
        send = None
        if settings.audit_push:
            audit_push.check_address(settings.audit_push)  # refuses an invalid one at start-up
            send = partial(audit_push.send, settings.audit_push, settings.audit_push_authorization, self.origin)
        self.auditing = Auditing(self.engine, self.failed_sign_ins, send)
        self.doors = Doors(settings, upstream_objects(settings, watch), self.origin, self._has_namespace)
        self._own_namespaces: dict[str, float] = {}
        self.suggested_policy = suggested_policy(settings)  # refuses an invalid one at start-up
        self.collector = Collector(self.engine, self.public, settings, self.sequencer.learn_cosigned)
        self.proving = Proving(self.engine, self.origin, lambda: self.address, is_on=settings.owner_proofs)
        self._writes = threading.BoundedSemaphore(max(settings.concurrent_writes, 1))
        self._noted: dict[str, float] = {}
        self._noting: set[asyncio.Task[None]] = set()
        self._swept = 0.0
        self._sweeping = threading.Lock()
        self.readiness = Readiness(
            self.engine, self.public, self.sequencer, settings, watch, others=self.doors.warnings
        )

    def start(self, *, accept_clock: bool = False) -> None:
        """Repair what a crash left behind, then accept writes. ``accept_clock``: the operator vouches for the clock."""
        self.collector.load()
        self.sequencer.recover(accept_clock=accept_clock)
        remove_taken_down(self.engine, self.analysed)
        (self.settings.data / _FORMER_ANALYSES).unlink(missing_ok=True)
        self.public.put(
            "config.json",
            wire.encode_config(
                wire.Config(wire.PROTOCOL_VERSION, self.origin, self.settings.api, self.suggested_policy)
            ),
        )
        self._sweep(left=self._newest_blobs())
        self.staging.sweep()
        self.sequencer.start()
        if self.settings.webhooks:
            self.deliverer.start()
        self.collector.start()
        self.proving.start()
        self.auditing.start()
        self.doors.start()
        threading.Thread(target=self._remove_leftovers, name="rye-leftovers", daemon=True).start()

    def _remove_leftovers(self) -> None:
        """Tidy the folders. Nothing reads what is removed, so nobody waits for it: a large store has millions of names."""
        for store in (self.public, self.uploads, self.staged, self.analysed, self.doors.room.store):
            if isinstance(store, Folder):
                try:
                    store.remove_leftovers()
                except RyeError as error:
                    _log.warning("removing leftovers failed: %s", error)

    def close(self, seconds: float | None = None) -> None:
        """Finish pending work, for at most ``seconds``."""
        self.searches.close()
        self.pages.close()
        self.issuer_calls.close()
        self.interop_pool.close()
        self.doors.stop()
        self.deliverer.stop()
        self.collector.stop()
        self.proving.stop()
        self.auditing.stop()
        self.sequencer.stop(seconds)
        self._reading.dispose()
        self.engine.dispose()

    def _is_publishing(self) -> bool:
        return self._writing > 0

    def _is_busy(self) -> bool:
        return self._is_publishing() or self.pages.is_making

    @contextmanager
    def writing(self, account: Account) -> Iterator[None]:
        """Take one of the slots for writing requests. Raises RyeError ``clock-jumped``, ``too-many-requests``, or ``busy``
        when all are taken."""
        self.sequencer.clock.refuse()  # first: a statement's time must not be judged by a wrong clock
        with self.quotas.place(account.owner), self._place():
            self._writing += 1
            try:
                yield
            finally:
                self._writing -= 1

    @contextmanager
    def _place(self) -> Iterator[None]:
        if not self._writes.acquire(blocking=False):
            raise RyeError("busy", "The registry is handling too many requests.", "Try again in a moment.")
        try:
            yield
        finally:
            self._writes.release()

    def _latest(self) -> float:
        return self.sequencer.clock.latest().timestamp()

    def now_text(self) -> str:
        """The time by which a token, a session, a link or a code has ended: the latest that a clock tells. One that is behind
        prolongs none of them."""
        return write_time(self.sequencer.clock.latest())

    def since_text(self, seconds: float | None) -> str:
        """The time from which a new token, session or code counts: the earliest that a clock tells. One that is ahead prolongs
        none of them. ``seconds``: how long it lasts; None: for ever. Raises RyeError ``clock-jumped`` where the clocks contradict
        each other so much that it would be over already."""
        clock = self.sequencer.clock
        since = clock.earliest()
        if seconds is not None and since + timedelta(seconds=seconds) <= clock.latest():
            clock.refuse()
        return write_time(since)

    def account(self, token: str) -> Account | None:
        """Return the account of a token; None if the token is not valid."""
        return tokens.look_up(self.engine, token, self.now_text())

    async def note_use(self, account: Account) -> None:
        """Record that the token was used, at most every few minutes and without delaying the request for long."""
        if time.monotonic() - self._noted.get(account.token, -_NOTED_SECONDS) < _NOTED_SECONDS:
            return
        if len(self._noted) > _NOTED_TOKENS:
            self._noted.clear()
        self._noted[account.token] = time.monotonic()
        noting = asyncio.create_task(asyncio.to_thread(self._note_use, account.token))
        self._noting.add(noting)
        noting.add_done_callback(self._noting.discard)
        await asyncio.wait({noting}, timeout=_NOTING_SECONDS)

    def _note_use(self, token: str) -> None:
        try:
            with database.change(self.engine) as connection:
                tokens.note_use(connection, token, now_text())
        except RyeError as error:
            _log.warning("could not record the use of a token: %s", error)

    def claimed(self, account: Account, candidates: Sequence[Candidate], receipt: Receipt) -> None:
        """Make the account that claimed a namespace its owner. If the process that appended the claim ended before it answered,
        it is a duplicate by now, and counts once, for whoever sent it first. Replaying a claim grants nothing."""
        for candidate, result in zip(candidates, receipt.results, strict=True):
            statement = candidate.statement
            if not isinstance(statement, Keyset) or statement.number != 1:
                continue
            subject = f"namespace:{statement.namespace}"
            with database.change(self.engine) as connection:
                if result.duplicate and (
                    Ledger(connection).submitter(result.position) != account.account
                    or audit_events.has_happened(connection, "namespace.claim", subject)
                ):
                    continue
                roles.give(connection, statement.namespace, "owner", account=account.account)
                detail = {"who": account.account, "role": "owner", "log": result.position}
                audit_events.record(
                    connection, now_text(), "namespace.claim", subject, actor=f"token:{account.token}", detail=detail
                )

    def session_account(self, secret: str) -> Account | None:
        """Return the account of a session, with the member's rights to read; None if the session is not valid."""
        with database.reader(self.engine) as connection:
            member = members.session_member(connection, secret, self.now_text())
            if member is None:
                return None
            held = roles.of_account(connection, member.id)
        return Account(token="", name=member.name, namespaces=(), scopes=("read",), account=member.id, roles=held)

    def _has_namespace(self, namespace: str) -> bool:
        """Whether this registry has a namespace itself. That it has none is asked again after a few seconds."""
        until = self._own_namespaces.get(namespace)
        if until is None or until < time.monotonic():
            with database.reader(self.engine) as connection:
                is_own = bool(Ledger(connection).chain(namespace).links)
            until = float("inf") if is_own else time.monotonic() + _FOREIGN_SECONDS
            self._own_namespaces[namespace] = until
        return until == float("inf")

    def blob_owners(self, sha256: str) -> frozenset[str]:
        """Return the namespaces that released a file."""
        return blob_owners.owners(self.engine, sha256)

    def roles_in(self, namespace: str) -> list[roles.Given]:
        """Return who has a role in a namespace."""
        with database.reader(self.engine) as connection:
            return roles.listing(connection, namespace)

    def keep_upload(self, account: Account, sha256: str, content: bytes) -> bool:
        """Keep bytes until a statement refers to them; returns whether they were new. Raises RyeError."""
        if hashlib.sha256(content).hexdigest() != sha256:
            raise RyeError(
                "blob-mismatch", "The bytes do not have this SHA-256.", "They were damaged in transit. Send them again."
            )
        if self._may_refer(account, sha256) and self.public.get(wire.blob_path(sha256)) == content:
            return False  # a pending upload is written again instead, which restarts its retention period
        self._keep(account, sha256, content)
        return True

    def _keep(self, account: Account, sha256: str, content: bytes) -> None:
        try:
            self.quotas.keep(account.owner, sha256, len(content))
        except RyeError:
            self._sweep(always=True)
            self.quotas.keep(account.owner, sha256, len(content))
        self._write(account, sha256, content)

    def _write(self, account: Account, sha256: str, content: bytes) -> None:
        """Write an upload that has been counted."""
        try:
            self.uploads.put_soon(sha256, content)  # durable before the batch that publishes it is committed
        finally:
            self.settle(account, [sha256])
        self._sweep()

    def reserve(self, account: Account, contents: Sequence[bytes]) -> list[str] | None:
        """Count files that came with statements as this account's uploads; the process that examines them writes
        them.

        Returns their hashes, for :meth:`settle` once the request is answered. None: :meth:`keep_uploads` is to keep them, because
        it takes a look at the store. Raises RyeError.
        """
        self._check_sizes(contents)
        if not self.uploads.is_local or self._is_sweep_due():
            return None
        sizes = {sha256: len(content) for sha256, content in by_hash(contents).items()}
        return list(sizes) if self.quotas.reserve(account.owner, sizes, self._is_uploaded) else None

    def settle(self, account: Account, hashes: Sequence[str], *, is_refused: bool = False) -> None:
        """These uploads of the account are written, or are not going to be: those that do not exist count no longer.

        ``is_refused``: neither they nor the statements that came with them are in the log. Those that nobody else needs expire
        in some minutes, and count until then. They are not deleted at once: a batch, of any server, may have found one a
        moment ago, and takes nothing that expires as soon as that (:func:`registry_server.sequencer.sequencer.expiring_since`).
        """
        self.quotas.settle(
            account.owner,
            hashes,
            lambda sha256: not self.uploads.is_local or self._is_uploaded(sha256),
            self._expire_soon if is_refused else None,
        )

    def let_go(self, account: Account, hashes: Iterable[str]) -> None:
        """The account needs these uploads no more. They expire as in :meth:`settle`, unless somebody else needs them."""
        self.quotas.let_go(account.owner, hashes, self._expire_soon)

    def _is_uploaded(self, sha256: str) -> bool:
        return self.uploads.modified(sha256) is not None

    def _expire_soon(self, sha256: str) -> None:
        self.uploads.make_older(sha256, expiring_since(self.settings))

    def _check_sizes(self, contents: Sequence[bytes]) -> None:
        if any(len(content) > self.settings.blob_bytes for content in contents):
            raise RyeError(
                "request-too-large",
                f"A file has more than {self.settings.blob_bytes:,} bytes.",
                "Make the file smaller.",
            )

    def keep_uploads(self, account: Account, contents: Sequence[bytes]) -> None:
        """Keep files that came with the statements that refer to them. Raises RyeError."""
        self._check_sizes(contents)
        for content in contents:
            sha256 = hashlib.sha256(content).hexdigest()
            if self.public.is_local or not self._is_counted(account, sha256, len(content)):
                self.keep_upload(account, sha256, content)
            else:  # in a bucket, writing the bytes again costs less than asking whether they are public
                self._write(account, sha256, content)

    def _is_counted(self, account: Account, sha256: str, size: int) -> bool:
        """Count an upload, if it fits without a look at what has expired."""
        try:
            self.quotas.keep(account.owner, sha256, size)
        except RyeError:
            return False
        return True

    def _may_refer(self, account: Account, sha256: str) -> bool:
        """Whether a release of this account may refer to published bytes; otherwise it must upload them."""
        if self.settings.read != "namespaces" or account.readable is None:
            return True
        return any(account.may_read(namespace) for namespace in self.blob_owners(sha256))

    def taken_down(self, sha256: str) -> str | None:
        """Return why a blob was taken down; None if it was not."""
        with database.reader(self.engine) as connection:
            return Ledger(connection).taken_down([sha256]).get(sha256)

    def counted(self, candidates: Sequence[Candidate], receipt: Receipt) -> None:
        """Count appended statements, and analyse the releases among them for their pages."""
        self.metrics.counted(candidates, receipt)
        released = [
            Released(statement.identity.kind, statement.identity.id, statement.version)
            for candidate, result in zip(candidates, receipt.results, strict=True)
            if isinstance(statement := candidate.statement, Release) and not result.duplicate
        ]
        if released:
            self.examiners.analyse(released)

    @contextmanager
    def signing_in(self, way: str, address: str) -> Iterator[None]:
        """A block that signs somebody in, or raises RyeError. Both are counted, and failures become audit events."""
        try:
            yield
        except RyeError as error:
            self.sign_in_ended(way, address, error.code)
            raise
        self.sign_in_ended(way, address, None)

    def sign_in_ended(self, way: str, address: str, code: str | None) -> None:
        """Count an attempt to sign in. ``code``: why it failed; None: it did not."""
        self.metrics.signed_in(way, "ok" if code is None else "refused")
        if code is not None:
            self.failed_sign_ins.note(way, code, address, now_text())

    def refused(self, code: str) -> None:
        """Count a refused request."""
        self.metrics.refused(code)

    async def metrics_text(self) -> bytes:
        """Return the metrics. They are available even while the registry is not ready."""
        try:
            ready = await self.readiness.ask()
        except RyeError:
            ready = None
        pool = self.engine.pool
        if isinstance(pool, QueuePool):
            self.metrics.connections(pool.checkedout(), pool.checkedin())
        if ready is not None:
            self.metrics.witnesses(await asyncio.to_thread(self.witness_lags, ready.size))
        return self.metrics.text(
            size=ready.size if ready is not None else None,
            age=ready.head_age_seconds if ready is not None else None,
            batches=self.sequencer.batches,
            queue=self.sequencer.waiting,
            searches=self.searches.taken,
            kept=self.quotas.kept_bytes,
            ready=ready is not None,
            drifts=self.sequencer.clock.drifts,
            unsent=self.auditing.waiting,
            doors=self.doors.states(),
            upstream_bytes=self.doors.room.size,
        )

    def witness_lags(self, size: int) -> list[Lag]:
        """How far each witness is behind a log of this size."""
        with database.reader(self.engine) as connection:
            return lags(records.listing(connection), size, time.time())

    def _newest_blobs(self) -> Set[str]:
        """The files of the newest releases. A server that was killed between a batch's commit and its clean-up left their
        uploads."""
        with database.reader(self.engine) as connection:
            ledger = Ledger(connection)
            published = ledger.published()
            size = published.size if published is not None else 0
            return owed_since(ledger, max(size - _LEFT_BATCHES * self.settings.batch_statements, 0), size).blobs

    def _sweep(self, *, always: bool = False, left: Set[str] = frozenset()) -> None:
        """Delete expired uploads that nothing refers to and count the rest, unless that was done a moment ago.

        ``left``: files of releases, which are public once the store shows the newest head. Their uploads are deleted as well, as
        after each batch: one that found such an upload finds the public file instead.
        """
        with self._sweeping:
            if not always and not self._is_sweep_due():
                return
            self._swept = time.monotonic()
            may_expire = self._is_clock_right() and self._is_settled()
            written = self.quotas.written()
            present: dict[str, int] = {}
            expired: dict[str, int] = {}
            limit = time.time() - self.settings.uploads_hours * 3600
            for path, size, modified in list(self.uploads.listing()):
                is_over = may_expire and (path in left or modified < limit)
                (expired if is_over else present)[path] = size

            def expire(path: str) -> None:
                modified = self.uploads.modified(path)
                if modified is None or path in left or modified < limit:
                    self.uploads.delete(path)
                else:
                    present[path] = expired[path]

            if self.uploads.is_local:  # somebody may have brought one again since it was listed
                for path in expired:
                    self.quotas.unless_written(path, expire)
            else:
                self._delete_again_looked_at(expired, present, limit, left)
            self.quotas.update(present, written)

    def _delete_again_looked_at(
        self, expired: Mapping[str, int], present: dict[str, int], limit: float, left: Set[str]
    ) -> None:
        """Delete expired uploads of a bucket, and add to ``present`` those that somebody brought again since they were listed.

        A bucket deletes whatever is there. So an upload that nobody touched for ``uploads_hours`` can be lost if another server
        writes it again between the second look at some of them and the request that deletes these: its batch finds it missing
        and refuses, or, if it has found it just before, its release lacks the file until it is published again.
        """
        paths = list(expired)
        for some in (paths[at : at + _LOOKED_AT_AGAIN] for at in range(0, len(paths), _LOOKED_AT_AGAIN)):
            times = dict(zip(some, self.uploads.modified_all(some), strict=True))
            idle = self.quotas.without_writers(some)
            over = [path for path in idle if path in left or (modified := times[path]) is None or modified < limit]
            self.uploads.delete_all(over)
            present.update({path: expired[path] for path in set(some).difference(over)})

    def _is_sweep_due(self) -> bool:
        return not self._swept or time.monotonic() - self._swept >= _SWEEP_SECONDS

    def _is_clock_right(self) -> bool:
        """Whether nothing contradicts the clock. With one that is ahead, what others have just brought would be old."""
        try:
            self.sequencer.clock.refuse()
        except RyeError:
            return False
        return True

    def _is_settled(self) -> bool:
        """Whether the store has the newest head. Until then, uploads may belong to releases that are already
        committed."""
        try:
            return self.sequencer.is_shown()
        except RyeError:
            return False
