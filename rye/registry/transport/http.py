""":class:`rye.registry.transport.seam.Transport` over HTTP: retries, deadlines and size limits.

Daemon threads fetch the files of a wave, each over its own keep-alive connection. The caller's thread watches the
clock. A file past its deadline is abandoned together with its thread, wherever that hangs (name lookup, slow headers,
an endless body), so no server can hold up the client longer than the limits allow.

Many small files of one wave are requested together (:mod:`rye.registry.protocol.joined`), once the server has answered in this
run. One that answers anything else than these files is asked for each of them, and for no more of them together.
"""

from __future__ import annotations

import contextlib
import os
import queue
import random
import ssl
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from urllib.parse import urljoin, urlsplit

from rye.limits import RegistryLimits
from rye.registry.protocol import joined
from rye.registry.transport.bearer_token import bearer
from rye.registry.transport.http_connection import (
    NO_HEADERS,
    Answer,
    AnswerTimeout,
    BrokenAnswer,
    Connection,
    DirectConnection,
    ForeignCertificate,
    NoConnection,
    trusted_authorities,
)
from rye.registry.transport.seam import (
    ASK_AGAIN,
    Fetched,
    FetchError,
    NoAnswer,
    Request,
    Tagged,
    endless,
    is_safe_path,
    not_found,
    too_large,
)
from rye.text.lazy import lazy_pattern

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_REPEATED = frozenset({408, 425, 429, 500, 502, 503, 504})
_TICK_SECONDS = 0.25
_LEAST_TICK_SECONDS = 0.005
_ROUND_TRIPS = 5
"""Round trips from an open connection to the end of a small answer, with TLS and a margin."""
_TOKEN_WANTED = "fetch-unauthorized"
Token = str | Callable[[], str | None] | None
_TAG = lazy_pattern(r'(?:W/)?"[\x21\x23-\x7e]{0,200}"')
"""An entity tag that is sent back: ASCII, and too short to hide much in it."""


class HttpTransport:
    """Files below an ``https`` (or permitted ``http``) address.

    Raises RyeError (``invalid-value``) for an invalid token.
    """

    def __init__(self, address: str, limits: RegistryLimits, *, token: Token = None):
        """``token``: sent to this host only, with every request; a function is called when the registry asks for one
        (401).
        """
        self._address = address.rstrip("/") + "/"
        self._limits = limits
        self._headers = {"Accept-Encoding": "identity", "User-Agent": "rye", "Accept": "*/*"}
        self._redirects = limits.redirects
        self._token: Callable[[], str | None] | None = None
        if callable(token):
            self._token = cache(token)
        elif token is not None:
            self._send_token(token)
        self._asking = threading.Lock()
        self._tls: ssl.SSLContext | None = None
        self._connections: deque[Connection] = deque()
        self._left = limits.total_seconds
        self._answered = False
        """Whether the server has answered anything in this run."""
        self._distance = 0.0
        """The longest time in seconds to open a connection; 0 before the first."""
        self._joins = True
        """Whether the server may have several files in one answer: False once it had none."""
        self._quiet = limits.stall_seconds
        """How long nothing at all may arrive from a server that has answered."""

    def fetch_many(self, requests: Sequence[Request]) -> list[Fetched]:
        """Fetch all of these files, in order (:class:`~rye.registry.transport.seam.Transport`)."""
        together = self._fetch_joined(requests)
        alone = [request for request in requests if request not in together]
        wave = _Wave(alone, self._limits.file_seconds, self._limits.answer_seconds)
        singles = iter(self._fetch_wave(wave) if alone else ())
        return [together[request] if request in together else _data_of(next(singles)) for request in requests]

    def _fetch_joined(self, requests: Sequence[Request]) -> dict[Request, bytes]:
        """What came with others in one answer."""
        if len(requests) < self._limits.joined_from or not (self._joins and self._answered):
            return {}
        files: dict[Request, bytes] = {}
        groups = _groups(requests, self._limits.joined_from)
        wave = _Wave([_joined(group) for group in groups], self._limits.file_seconds, self._limits.answer_seconds)
        for group, fetched in zip(groups, self._fetch_wave(wave) if groups else (), strict=True):
            data = _data_of(fetched)
            parts = joined.split(data, len(group)) if not isinstance(data, FetchError) else None
            if parts is None:
                self._joins = False
                continue
            files.update((each, part) for each, part in zip(group, parts, strict=True) if len(part) <= each.max_bytes)
        return files

    def fetch_if_changed(self, request: Request, tag: str | None, seconds: float) -> Tagged | FetchError:
        """Fetch one file, unless it still has the tag (:class:`~rye.registry.transport.seam.ConditionalTransport`)."""
        return self._fetch_wave(_Wave([request], seconds, seconds, tag))[0]

    def hurry(self, seconds: float) -> None:
        """Wait no longer for a server that says nothing more (:class:`~rye.registry.transport.seam.ConditionalTransport`)."""
        self._quiet = min(self._quiet, seconds)

    def _fetch_wave(self, wave: _Wave) -> list[Tagged | FetchError]:
        requests = wave.requests
        if self._tls is None and self._address.startswith("https:"):
            try:
                self._tls = trusted_authorities()  # slow to load, so once for all connections
            except OSError as error:
                return [_no_authorities(request, error) for request in requests]
        for _ in range(min(self._limits.concurrency, len(requests))):
            self._start(wave)
        begun = time.monotonic()
        try:
            return self._watch(wave, begun + self._left)
        finally:
            self._left -= time.monotonic() - begun  # only waves count: a person may pause between two

    def close(self) -> None:
        """Close idle connections."""
        while self._connections:
            self._connections.pop().close()

    def _start(self, wave: _Wave) -> None:
        threading.Thread(target=self._work, args=(wave,), daemon=True, name="rye-fetch").start()

    def _watch(self, wave: _Wave, deadline: float) -> list[Tagged | FetchError]:
        results: dict[int, Tagged | FetchError] = {}
        begun = time.monotonic()
        tick = min(_TICK_SECONDS, wave.seconds / 8, wave.answer_seconds / 8, self._quiet / 8)
        while len(results) < len(wave.requests):
            try:
                index, fetched = wave.done.get(timeout=self._until_next_look(wave, begun, tick))
                results.setdefault(index, fetched)
                continue
            except queue.Empty:
                now = time.monotonic()
            if now >= deadline:
                wave.waiting.clear()
                for index, request in enumerate(wave.requests):
                    results.setdefault(
                        index, _deadline(request, self._address, self._limits.total_seconds, "all files together")
                    )
                break
            if not self._answered and now - begun > (patience := self._patience(wave.answer_seconds)):
                wave.waiting.clear()
                for index, request in enumerate(wave.requests):
                    results.setdefault(index, _deadline(request, self._address, patience, "the first answer"))
                break
            if now - max(begun, wave.heard) > (patience := self._patience(self._quiet)):
                wave.waiting.clear()
                for index, request in enumerate(wave.requests):
                    results.setdefault(index, _quiet(request, self._address, patience))
                break
            for index, started in list(wave.started.items()):
                if index not in results and now - started > (patience := self._patience(wave.seconds)):
                    results[index] = _deadline(wave.requests[index], self._address, patience, "one file")
                    self._start(wave)  # replaces the thread that hangs
        return [results[index] for index in range(len(wave.requests))]

    def _until_next_look(self, wave: _Wave, begun: float, tick: float) -> float:
        """Seconds until the next check: a tick, or less if the wait for the first answer ends sooner."""
        if self._answered:
            return tick
        left = begun + self._patience(wave.answer_seconds) - time.monotonic()
        return max(_LEAST_TICK_SECONDS, min(tick, left))

    def _patience(self, seconds: float) -> float:
        """A short wait, longer for a distant host: a TLS handshake and an answer take some round trips."""
        return max(seconds, min(seconds + _ROUND_TRIPS * self._distance, self._limits.answer_seconds))

    def _note_distance(self, seconds: float) -> None:
        self._distance = max(self._distance, seconds)

    def _work(self, wave: _Wave) -> None:
        try:
            connection = self._connections.pop() if self._connections else self._new_connection()
        except Exception as error:  # otherwise every request that no thread takes would wait for its deadline
            while wave.waiting:
                with contextlib.suppress(IndexError):
                    index = wave.waiting.popleft()
                    failed = FetchError("fetch-unreachable", f"{wave.requests[index].path}: {error!r:.200}.")
                    wave.done.put((index, failed))
            return
        while True:
            try:
                index = wave.waiting.popleft()
            except IndexError:
                self._connections.append(connection)
                return
            wave.started[index] = time.monotonic()
            request = wave.requests[index]
            try:
                fetched = self._fetch(connection, request, wave.started[index], wave)
            except Exception as error:  # a thread that dies silently would look like a slow server
                fetched = FetchError("fetch-unreachable", f"{request.path} could not be fetched: {error!r:.200}.")
            if not isinstance(fetched, NoAnswer):
                wave.heard = max(wave.heard, time.monotonic())
            wave.done.put((index, fetched))

    def _new_connection(self) -> Connection:
        if not _is_proxied():
            return DirectConnection(self._address, self._headers, self._limits, self._tls, self._note_distance)
        self._note_distance(self._limits.answer_seconds)  # the distance behind the proxy is unknown
        from rye.registry.transport.proxied_connection import ProxiedConnection

        return ProxiedConnection(self._headers, self._limits, self._tls)

    def _fetch(self, connection: Connection, request: Request, started: float, wave: _Wave) -> Tagged | FetchError:
        if not is_safe_path(request.path):
            return FetchError("fetch-unsafe", f"{request.path!r} is not a path below the registry.")
        pause = self._limits.retry_seconds
        for attempt in range(self._limits.retries + 1):
            fetched, wait = self._attempt(connection, request, wave)
            if wait:  # the server asks for a pause
                wave.heard = max(wave.heard, time.monotonic() + min(wait, self._limits.retry_after_seconds))
            if wait is None or attempt == self._limits.retries:
                return fetched
            wait = max(wait, pause * (1 + random.random() / 2))
            if (
                time.monotonic() - started + wait > self._patience(wave.seconds)
                or wait > self._limits.retry_after_seconds
            ):
                return fetched
            time.sleep(wait)
            pause *= 2
        return fetched

    def _attempt(
        self, connection: Connection, request: Request, wave: _Wave
    ) -> tuple[Tagged | FetchError, float | None]:
        """Try once: the result, and the least wait before a retry (None: a retry would not help)."""
        fetched, wait = self._try(connection, request, wave)
        if isinstance(fetched, FetchError) and fetched.code == _TOKEN_WANTED and self._take_token():
            fetched, wait = self._try(connection, request, wave)
        return fetched, wait

    def _take_token(self) -> bool:
        """Send the token from now on; False if there is none."""
        if self._token is None:
            return False
        with self._asking:
            token = self._token()
            if token is not None:
                self._send_token(token)
            return token is not None

    def _send_token(self, token: str) -> None:
        self._headers["Authorization"] = bearer(token)
        self._redirects = 0  # a token must not follow redirects

    def _try(self, connection: Connection, request: Request, wave: _Wave) -> tuple[Tagged | FetchError, float | None]:
        address, tag = self._address + request.path, wave.tag
        condition = NO_HEADERS if tag is None else {"If-None-Match": tag}
        unheard, began = None if not self._answered else 0.0, False
        try:
            for _ in range(self._redirects + 1):
                with connection.get(address, condition) as answer:
                    self._answered = began = True
                    if answer.status == 304 and tag is not None:
                        return Tagged(None, tag, _date_of(answer)), None
                    if answer.status not in _REDIRECTS:
                        return self._read(answer, request, wave)
                    target = urljoin(address, answer.headers.get("location", ""))
                if not _same_place(address, target):
                    message = (
                        f"{request.path} is redirected to {urlsplit(target).netloc[:100]!r}, which is another server."
                    )
                    return FetchError(
                        "fetch-redirect", message, "If you trust that server, use its address instead."
                    ), None
                address = target
            return FetchError("fetch-redirect", f"{request.path} is redirected too many times."), None
        except AnswerTimeout as error:
            again = unheard if not began else None  # who begins to answer and then hangs would do so again
            return _unreachable(request, self._address, f"no answer in time ({error})"), again
        except BrokenAnswer as error:
            message = f"The answer for {request.path} is truncated or is not HTTP: {error!s:.200}."
            return NoAnswer("fetch-truncated", message), 0.0
        except ForeignCertificate as error:
            return _foreign_certificate(request, self._address, str(error)[:200]), None
        except NoConnection as error:
            return _unreachable(request, self._address, str(error)[:200]), unheard
        except OSError as error:
            return _unreachable(request, self._address, (error.strerror or str(error))[:200]), 0.0
        except ValueError as error:
            return FetchError(
                "fetch-redirect", f"{request.path} is redirected to an invalid address: {error!s:.200}."
            ), None

    def _read(self, answer: Answer, request: Request, wave: _Wave) -> tuple[Tagged | FetchError, float | None]:
        if answer.status in (404, 410):
            return not_found(request.path), None
        if answer.status == 401:
            message = (
                f"The registry at {urlsplit(self._address).netloc} is for members: {request.path} needs a valid token."
            )
            hint = (
                f"Store one with `rye login {self._address.rstrip('/')} --token -`. The first time, add --fingerprint HASH "
                "with the hash that the registry's operator publishes. In CI, set RYE_TOKEN."
            )
            return FetchError(_TOKEN_WANTED, message, hint), None
        if answer.status != 200:
            message = f"The registry answered {answer.status} for {request.path}."
            if answer.status not in _REPEATED and answer.status < 500:
                return FetchError("fetch-status", message), None
            error = NoAnswer("fetch-status", message, reason=f"status {answer.status} for {request.path}")
            return error, _retry_after(answer) if answer.status in _REPEATED else None
        if answer.headers.get("content-encoding", "identity").lower() != "identity":
            return FetchError(
                "fetch-status", f"The registry compressed {request.path}, although the request did not allow it."
            ), None
        if answer.length is not None and answer.length > request.max_bytes:
            return too_large(request), None
        limits, begun, data = self._limits, time.monotonic(), bytearray()
        for piece in answer.body:
            data += piece
            wave.heard = max(wave.heard, time.monotonic())
            if len(data) > request.max_bytes:
                return endless(request), None  # a stated length that is too large is refused above
            elapsed = time.monotonic() - begun
            if elapsed > limits.speed_grace_seconds and len(data) < elapsed * limits.minimum_speed:
                message = f"{request.path} arrives too slowly, at less than {limits.minimum_speed:,} bytes per second."
                return NoAnswer("fetch-slow", message, "Try again later, or use a mirror."), None
        return Tagged(bytes(data), _tag_of(answer), _date_of(answer)), None


class _Wave:
    """What the threads of one wave share."""

    def __init__(self, requests: Sequence[Request], seconds: float, answer_seconds: float, tag: str | None = None):
        """``seconds``: for one file, retries included; ``answer_seconds``: for the first answer, if there was none
        yet.
        """
        self.requests = requests
        self.seconds = seconds
        self.answer_seconds = answer_seconds
        self.tag = tag
        self.waiting = deque(range(len(requests)))
        self.started: dict[int, float] = {}
        self.heard = 0.0
        """When the last byte of a file arrived, or until when the server asked for a pause. The head of an answer is not enough:
        who sends nothing else would be waited for again and again."""
        self.done: queue.SimpleQueue[tuple[int, Tagged | FetchError]] = queue.SimpleQueue()


_PROXIES = frozenset(("http_proxy", "https_proxy", "all_proxy"))


def _proxies(host: str | None = None) -> dict[str, str]:
    """The proxies by scheme that are configured, in the environment or in the settings of macOS or Windows. With ``host``, none
    if it is reached without them."""
    if sys.platform not in ("darwin", "win32") and _PROXIES.isdisjoint(name.lower() for name in os.environ):
        return {}  # importing urllib.request takes longer than fetching a file
    from urllib.request import getproxies, proxy_bypass

    return {} if host is not None and proxy_bypass(host) else getproxies()


def _is_proxied() -> bool:
    return not {"http", "https", "all"}.isdisjoint(_proxies())


def _through(address: str) -> str:
    """Which proxy a request goes through, without its password, as the end of a sentence; empty if none."""
    parts = urlsplit(address)
    proxies = _proxies(parts.hostname or "")
    proxy = urlsplit(proxies.get(parts.scheme) or proxies.get("all") or "")
    if not proxy.hostname:
        return ""
    return f", through the proxy {proxy.netloc.rpartition('@')[2][:100]}, which HTTPS_PROXY or a setting like it names"


def _same_place(one: str, other: str) -> bool:
    a, b = urlsplit(one), urlsplit(other)
    return (a.scheme, a.hostname, a.port) == (b.scheme, b.hostname, b.port) and not b.username


def _retry_after(answer: Answer) -> float:
    """Seconds to wait as the server asks; 0 if it does not say."""
    value = answer.headers.get("retry-after", "").strip()
    if value.isascii() and value.isdigit():
        return float(value[:9])
    try:
        when = parsedate_to_datetime(value)
    except (TypeError, ValueError):
        return 0.0
    return max(0.0, (when.astimezone(UTC) - datetime.now(UTC)).total_seconds())


def _groups(requests: Iterable[Request], least: int) -> list[list[Request]]:
    """The requests that are made together, where one folder has at least ``least`` of them."""
    wanted: dict[str, dict[str, Request]] = {folder: {} for folder in joined.FOLDERS}
    for request in requests:
        folder, _, name = request.path.partition("/")
        if folder in wanted and joined.is_joinable(name):
            wanted[folder].setdefault(name, request)
    groups: list[list[Request]] = []
    for some in wanted.values():
        left = 0
        for request in some.values() if len(some) >= least else ():
            left -= request.max_bytes + joined.LENGTH_BYTES
            if left < 0 or len(groups[-1]) == joined.MOST_FILES:
                groups.append([])
                left = joined.MOST_BYTES - request.max_bytes - joined.LENGTH_BYTES
            groups[-1].append(request)
    return [group for group in groups if len(group) > 1]


def _joined(group: Sequence[Request]) -> Request:
    folder = group[0].path.partition("/")[0]
    path = joined.joined_path(folder, [request.path.rpartition("/")[2] for request in group])
    return Request(path, sum(request.max_bytes + joined.LENGTH_BYTES for request in group))


def _data_of(fetched: Tagged | FetchError) -> Fetched:
    """The content of a file that was requested without a tag."""
    if isinstance(fetched, FetchError):
        return fetched
    return b"" if fetched.data is None else fetched.data


def _tag_of(answer: Answer) -> str | None:
    tag = answer.headers.get("etag", "")
    return tag if _TAG.fullmatch(tag) else None


def _date_of(answer: Answer) -> datetime | None:
    try:
        return parsedate_to_datetime(answer.headers.get("date", "")).astimezone(UTC)
    except (TypeError, ValueError, OverflowError):
        return None


def _deadline(request: Request, address: str, seconds: float, what: str) -> FetchError:
    late = f"did not arrive within {round(seconds, 1):g} seconds, the limit for {what}"
    return NoAnswer("fetch-deadline", f"{request.path} {late}{_through(address)}.")


def _quiet(request: Request, address: str, seconds: float) -> FetchError:
    late = f"did not arrive, and nothing else did for {round(seconds, 1):g} seconds"
    return NoAnswer("fetch-deadline", f"{request.path} {late}{_through(address)}.")


def _foreign_certificate(request: Request, address: str, reason: str) -> FetchError:
    host = urlsplit(address).netloc
    return FetchError(
        "fetch-unreachable",
        f"{request.path} could not be fetched: the server at {host} has no valid certificate for it: {reason}.",
        "Someone may be intercepting this network: do not continue unless you know why. If your organization has its own "
        "certificate authority, name its file in SSL_CERT_FILE.",
    )


def _unreachable(request: Request, address: str, reason: str) -> FetchError:
    host, reason = urlsplit(address).netloc, reason + _through(address)
    return NoAnswer(
        "fetch-unreachable",
        f"{request.path} could not be fetched from {host}: {reason}.",
        ASK_AGAIN,
        reason=reason,
    )


def _no_authorities(request: Request, error: OSError) -> FetchError:
    return FetchError(
        "fetch-unreachable",
        f"{request.path} could not be fetched: the certificate authorities cannot be read: {error!s:.200}.",
        "Correct or unset SSL_CERT_FILE and SSL_CERT_DIR.",
    )
