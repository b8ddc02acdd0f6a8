"""What the server counts and measures, in Prometheus' text format. No label names an item, a token or an address; witnesses have
public names.

Requests are labelled by :func:`route_of`, batches by the steps of :mod:`registry_server.sequencer.sequencer`, so the
number of series is bounded whatever clients request.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest

from registry_server.api.forwarded import is_from_here
from registry_server.sequencer.acceptance import Candidate
from registry_server.sequencer.sequencer import Receipt
from registry_server.storage.served import served
from registry_server.upstream.doors import DoorState
from registry_server.witnesses.lag import Lag
from rye.registry.protocol.joined import joined_files

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
_SIZES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"})
_ALONE = frozenset({"/", "/livez", "/readyz", "/metrics", "/openapi.json"})
_CALLS = frozenset({"blobs", "statements", "search", "similar", "whoami", "oidc", "stages", "device", "downloads"})
_READERS = frozenset({".well-known", "git", "apm", "renovate", "osv"})
_STEPS = {"begun": "lock", "appended": "append", "committed": "commit", "written": "store", "shown": "show"}
"""Step of the sequencer → what the time before it was spent on."""


def route_of(path: str) -> str:
    """The route that a path belongs to: one of about twenty labels."""
    if path in _ALONE:
        return path
    file = served(path)
    if file is not None:
        first, _, rest = file.path.partition("/")
        return f"/{first}/…" if rest else f"/{first}"
    if joined_files(path[1:]) is not None:
        return "/joined/…"
    parts = path.split("/", 4)
    if len(parts) > 3 and parts[1:3] == ["api", "v1"]:
        return f"/api/v1/{parts[3]}" if parts[3] in _CALLS else "/api/v1/…"
    if len(parts) > 2 and parts[1] in _READERS:
        return f"/{parts[1]}/…"
    if len(parts) > 3 and parts[2] == ".well-known":
        return "/NAMESPACE/.well-known/…"
    return f"/{parts[1]}/…" if len(parts) > 2 and parts[1] in ("api", "-", "upstream") else "other"


def may_read(scope: Any, setting: str, trusted_proxies: str) -> bool:
    """Whether a request may see ``/metrics``: ``loopback`` means only from this machine and not through a proxy."""
    if setting != "loopback":
        return setting == "public"
    return is_from_here(scope, trusted_proxies)


class Metrics:
    """The collectors of one server. Thread-safe."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        with_registry: dict[str, Any] = {"registry": self._registry}
        self._requests = Counter("rye_requests", "Requests answered.", ["method", "route", "status"], **with_registry)
        self._latency = Histogram(
            "rye_request_seconds", "From a request's head to its whole answer.", ["method", "route"],
            buckets=_SECONDS, **with_registry,
        )  # fmt: skip
        self._statements = Counter("rye_statements", "Statements appended.", ["type"], **with_registry)
        self._duplicates = Counter("rye_duplicates", "Statements that were already in the log.", **with_registry)
        self._refusals = Counter("rye_refusals", "Requests refused.", ["code"], **with_registry)
        self._batch_statements = Histogram(
            "rye_batch_statements", "Statements in a batch.", buckets=_SIZES, **with_registry
        )
        self._batch_requests = Histogram("rye_batch_requests", "Requests in a batch.", buckets=_SIZES, **with_registry)
        self._batch_seconds = Histogram(
            "rye_batch_seconds",
            "Time of a batch by part: lock (waiting for the writer's lock), append, commit, store (its files), show (the head).",
            ["part"], buckets=_SECONDS, **with_registry,
        )  # fmt: skip
        self._store_seconds = Histogram(
            "rye_store_seconds", "Time of a request to the bucket.", ["operation"], buckets=_SECONDS, **with_registry
        )
        self._store_failures = Counter(
            "rye_store_failures", "Requests to the bucket that failed.", ["operation"], **with_registry
        )
        self._sign_ins = Counter("rye_sign_ins", "Attempts to sign in.", ["way", "result"], **with_registry)
        self._bearers_refused = Counter(
            "rye_bearers_refused", "Requests with a token that is unknown, expired or revoked.", **with_registry
        )
        self._connections = Gauge(
            "rye_database_connections", "Connections to the database in the pool.", ["state"], **with_registry
        )
        ProcessCollector(**with_registry)
        self._batches = Gauge("rye_batches", "Batches committed by this process.", **with_registry)
        self._queue = Gauge("rye_queue_requests", "Requests that wait for a batch.", **with_registry)
        self._searches = Gauge("rye_searches", "Searches running or waiting.", **with_registry)
        self._size = Gauge("rye_log_size", "Entries in the log.", **with_registry)
        self._age = Gauge("rye_head_age_seconds", "Age of the newest snapshot.", **with_registry)
        self._kept = Gauge(
            "rye_uploads_bytes", "Uploaded blobs that nothing refers to yet: what this process knows.", **with_registry
        )
        self._unsent = Gauge(
            "rye_audit_events_unsent", "Audit events that were not sent to audit_push yet.", **with_registry
        )
        self._ready = Gauge("rye_ready", "1: the registry can publish (/readyz).", **with_registry)
        self._drift = Gauge(
            "rye_clock_drift_seconds",
            "How far this server's clock is ahead of a witness.",
            ["witness"],
            **with_registry,
        )
        self._lag_seconds = Gauge(
            "rye_witness_lag_seconds",
            "Seconds since a witness that is behind last cosigned; 0: it is not behind.",
            ["witness"],
            **with_registry,
        )
        self._lag_entries = Gauge(
            "rye_witness_lag_entries",
            "Entries of the log that a witness has not cosigned.",
            ["witness"],
            **with_registry,
        )
        self._upstream_age = Gauge(
            "rye_upstream_head_age_seconds", "Age of the head of another registry that is shown.", ["upstream"],
            **with_registry,
        )  # fmt: skip
        self._upstream_ok = Gauge(
            "rye_upstream_ok", "1: the newest head of another registry was read.", ["upstream"], **with_registry
        )
        self._upstream_bytes = Gauge("rye_upstream_bytes", "Files of other registries that are kept.", **with_registry)
        self._step_done = 0.0
        self._parts = {step: self._batch_seconds.labels(part) for step, part in _STEPS.items()}
        self._answered: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}
        """The series of each kind of answer: looking one up by its labels costs more than counting."""

    def answered(self, method: str, path: str, status: int, seconds: float) -> None:
        """Count an answered request and its time."""
        method, route = method if method in _METHODS else "other", route_of(path)
        counted = self._answered.get((method, route, status))
        if counted is None:
            counted = self._requests.labels(method, route, str(status)), self._latency.labels(method, route)
            self._answered[method, route, status] = counted
        counted[0].inc()
        counted[1].observe(seconds)

    def counted(self, candidates: Sequence[Candidate], receipt: Receipt) -> None:
        """Count the statements of a request, appended ones by type."""
        for candidate, result in zip(candidates, receipt.results, strict=True):
            if result.duplicate:
                self._duplicates.inc()
            else:
                self._statements.labels(candidate.statement.TITLE.partition("/")[0]).inc()

    def store_asked(self, operation: str, seconds: float, has_failed: bool) -> None:
        """Count a request to the bucket: one of the operations of :class:`registry_server.storage.store_watch.StoreWatch`."""
        self._store_seconds.labels(operation).observe(seconds)
        if has_failed:
            self._store_failures.labels(operation).inc()

    def signed_in(self, way: str, result: str) -> None:
        """Count an attempt to sign in. ``way``: ``link``, ``issuer``, ``device`` or ``exchange``; ``result``: ``ok`` or
        ``refused``."""
        self._sign_ins.labels(way, result).inc()

    def bearer_refused(self) -> None:
        """Count a request with a token that is not valid."""
        self._bearers_refused.inc()

    def connections(self, used: int, idle: int) -> None:
        """Note the connections of the database's pool."""
        self._connections.labels("used").set(used)
        self._connections.labels("idle").set(idle)

    def witnesses(self, lags: Sequence[Lag]) -> None:
        """Note how far the configured witnesses are behind, and forget those that were removed."""
        self._lag_seconds.clear()
        self._lag_entries.clear()
        for lag in lags:
            self._lag_seconds.labels(lag.name).set(lag.seconds)
            self._lag_entries.labels(lag.name).set(lag.entries)

    def refused(self, code: str) -> None:
        """Count a refused request by its error code."""
        self._refusals.labels(code).inc()

    def batch(self, requests: int, statements: int) -> None:
        """Note the start of a batch. Only the thread that appends calls this and :meth:`step`."""
        self._batch_requests.observe(requests)
        self._batch_statements.observe(statements)
        self._step_done = time.perf_counter()

    def step(self, name: str) -> None:
        """Note that a step of the batch is done."""
        now = time.perf_counter()
        if self._step_done:
            self.took(name, now - self._step_done)
        self._step_done = now if name != "shown" else 0.0

    def took(self, step: str, seconds: float) -> None:
        """Note how long a step of a batch took."""
        part = self._parts.get(step)
        if part is not None:
            part.observe(seconds)

    def text(
        self,
        *,
        size: int | None,
        age: int | None,
        batches: int,
        queue: int,
        searches: int,
        kept: int,
        ready: bool,
        drifts: Mapping[str, float],
        unsent: int,
        doors: Sequence[DoorState] = (),
        upstream_bytes: int = 0,
    ) -> bytes:
        """Return all metrics with the current state. ``size``, ``age``: None if the registry is not ready."""
        for witness, drift in drifts.items():
            self._drift.labels(witness).set(drift)
        self._upstream_age.clear()
        self._upstream_ok.clear()
        for door in doors:
            self._upstream_age.labels(door.name).set(door.age if door.age is not None else float("nan"))
            self._upstream_ok.labels(door.name).set(0 if door.trouble else 1)
        self._upstream_bytes.set(upstream_bytes)
        if size is not None:
            self._size.set(size)
        self._age.set(age if age is not None else float("nan"))
        self._batches.set(batches)
        self._queue.set(queue)
        self._searches.set(searches)
        self._kept.set(kept)
        self._unsent.set(unsent)
        self._ready.set(1 if ready else 0)
        return generate_latest(self._registry)
