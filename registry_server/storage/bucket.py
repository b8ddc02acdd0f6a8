"""Objects in a bucket of an S3-compatible service (obstore)."""

from __future__ import annotations

import http.client
import threading
import time
import urllib.error
import urllib.request
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from datetime import timedelta
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError, PreconditionError
from obstore.store import S3Store

from registry_server.settings import Settings
from registry_server.storage.first_line import first_line
from registry_server.storage.objects import Objects, Tagged
from registry_server.storage.served import served
from registry_server.storage.store_seam import ABSENT, YOUNG_SECONDS, ChangedError, portions, unless_changed
from registry_server.storage.store_watch import StoreWatch
from rye.errors import RyeError, UsageError
from rye.limits import MIB

if TYPE_CHECKING:
    from obstore import Attributes, PutMode

_FULL_BUCKET = ("507 ", "StorageFull", "QuotaExceeded", "InsufficientCapacity", "EntityTooLarge", "NoSpace")
_NO_CREDENTIALS = ("169.254.", "NoCredentials", "credential", "InvalidAccessKeyId", "SignatureDoesNotMatch")
_NO_ANSWER = ("timed out", "TimedOut")


_TIME_SECONDS = 5.0
"""How long the service may take to tell the time."""
_WRONG_TIME = ("RequestTimeTooSkewed", "RequestExpired")
REQUESTS = 64
"""Concurrent requests to the service in one ``put_all``."""
_DELETED_AT_ONCE = 1000
_RECENT_BYTES = 32 * MIB
_RECENT_SECONDS = 60.0
"""A fresh upload is usually published within seconds, and only this process's own clean-up deletes it that soon."""
_R = TypeVar("_R")
_T = TypeVar("_T")


class Bucket:
    """A prefix in an S3 bucket.

    The service makes each ``put`` durable and atomic, and ``replace`` conditional (If-Match).
    """

    is_local = False

    def __init__(self, store: S3Store, watch: StoreWatch) -> None:
        self.store = store
        self._watch = watch
        self._pool = ThreadPoolExecutor(REQUESTS, "bucket")
        self._recent = _Recent()

    def is_awaited(self, thread: int) -> bool:
        """Whether this thread waits for the service."""
        return self._watch.is_awaited(thread)

    @contextmanager
    def _request(self, operation: str) -> Iterator[None]:
        with self._watch.request(operation), _explaining_bucket():
            yield

    def get(self, path: str) -> bytes | None:
        """Return the object's bytes, from memory if this process has just uploaded it."""
        recent = self._recent.get(path)
        return recent[0] if recent is not None else self.get_tagged(path)[0]

    def get_all(self, paths: Sequence[str]) -> list[bytes | None]:
        """Get the objects concurrently."""
        return self._each(self.get, paths)

    def get_tagged(self, path: str) -> tuple[bytes | None, str]:
        """The tag is the service's entity tag."""
        with self._request("get"):
            try:
                answer = self.store.get(path)
                return bytes(answer.bytes()), answer.meta["e_tag"] or ABSENT
            except FileNotFoundError:
                return None, ABSENT

    def get_tagged_soon(self, path: str) -> Tagged:
        """Ask in another thread."""
        asked = self._pool.submit(self.get_tagged, path)

        def answer() -> tuple[bytes | None, str]:
            with self._watch.awaiting():
                return asked.result()

        return answer

    def now(self) -> float | None:
        """The ``Date`` of an answer of the service, whatever it answers: obstore shows no headers of the objects that it gets."""
        with _explaining_bucket():
            address = urlsplit(obstore.sign(self.store, "GET", "head", timedelta(seconds=60)))
        request = urllib.request.Request(f"{address.scheme}://{address.netloc}/", method="HEAD")
        try:
            with urllib.request.urlopen(request, timeout=_TIME_SECONDS) as answer:
                date = answer.headers.get("Date")
        except urllib.error.HTTPError as error:  # the service tells the time even to strangers
            date = error.headers.get("Date")
            error.close()
        except (OSError, ValueError, http.client.HTTPException):
            return None
        try:
            return parsedate_to_datetime(date or "").timestamp()
        except (TypeError, ValueError, OverflowError):
            return None

    def put(self, path: str, content: bytes) -> None:
        """Write the object; the service answers once it is durable."""
        with self._request("put"):
            self.store.put(path, content, attributes=_attributes(path), use_multipart=False)

    def replace(self, path: str, content: bytes, tag: str) -> str:
        """Write the object with If-Match, or If-None-Match for ``ABSENT``."""
        with self._request("replace"):
            try:
                mode: PutMode = "create" if tag == ABSENT else {"e_tag": tag}
                written = self.store.put(path, content, attributes=_attributes(path), mode=mode)
            except (AlreadyExistsError, PreconditionError) as error:
                raise ChangedError(path) from error
            return written["e_tag"] or ABSENT

    def replace_all(self, objects: Sequence[tuple[str, bytes, str]]) -> list[str | None]:
        """Write the objects concurrently."""
        return self._each(lambda entry: unless_changed(self.replace, *entry), objects)

    def put_soon(self, path: str, content: bytes) -> None:
        """Write the object, which the service makes durable at once, and remember it: it will be needed soon."""
        self.put(path, content)
        self._recent.keep(path, content)

    def settle(self, paths: Sequence[str]) -> None:
        """Do nothing: the service made each object durable before it answered."""

    def remembered(self, paths: Iterable[str]) -> list[tuple[str, bytes, float]]:
        """Return those that are in memory."""
        return [(path, *recent) for path in paths if (recent := self._recent.get(path)) is not None]

    def remember(self, objects: Iterable[tuple[str, bytes, float]]) -> None:
        """Keep them in memory, with the times at which they were written."""
        for path, content, written in objects:
            self._recent.keep(path, content, written)

    def take_all(self, other: Objects, moves: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
        """Return all pairs: objects are not copied inside the bucket."""
        return list(moves)

    def put_all(self, objects: Iterable[tuple[str, bytes]], ahead: Sequence[tuple[str, bytes]] = ()) -> None:
        """Write the objects concurrently; a young object with the same bytes is not written again."""
        for some in portions(objects):
            self._each(lambda entry: self._settle(*entry), some)

    def _settle(self, path: str, content: bytes) -> None:
        """Create the object, in one request if it is new; otherwise compare it with the existing one."""
        try:
            self.replace(path, content, ABSENT)
        except ChangedError:
            if not self._is_young_and_same(path, content):
                self.put(path, content)

    def _each(self, work: Callable[[_T], _R], values: Sequence[_T]) -> list[_R]:
        """Run ``work`` for each value concurrently. The first error is raised once no work is running."""
        if len(values) <= 1:
            return [work(value) for value in values]
        with self._watch.awaiting():
            return self._all(work, values)

    def _all(self, work: Callable[[_T], _R], values: Sequence[_T]) -> list[_R]:
        done = [self._pool.submit(work, value) for value in values]
        wait(done, return_when=FIRST_EXCEPTION)
        failed = next((error for future in done if future.done() and (error := future.exception())), None)
        if failed is not None:
            for future in done:
                future.cancel()
            wait(done)
            raise failed
        return [future.result() for future in done]

    def _is_young_and_same(self, path: str, content: bytes) -> bool:
        """An old object is written again even if it is the same, so that clean-up does not delete it."""
        with self._request("get"):
            try:
                answer = self.store.get(path)
                age = time.time() - answer.meta["last_modified"].timestamp()
                return age < YOUNG_SECONDS and bytes(answer.bytes()) == content
            except FileNotFoundError:
                return False

    def delete(self, path: str) -> None:
        """Remove the object, if it exists."""
        self._recent.forget(path)
        with self._request("delete"):
            try:
                self.store.delete(path)
            except FileNotFoundError:
                return

    def delete_all(self, paths: Iterable[str]) -> None:
        """Remove the objects, up to 1000 in one request."""
        some = list(paths)
        for path in some:
            self._recent.forget(path)
        with self._request("delete"):
            for start in range(0, len(some), _DELETED_AT_ONCE):
                with suppress(FileNotFoundError):
                    self.store.delete(some[start : start + _DELETED_AT_ONCE])

    def listing(self, prefix: str = "") -> Iterator[tuple[str, int, float]]:
        """List the objects, page by page."""
        with _explaining_bucket():
            for page in self.store.list(prefix or None):
                for entry in page:
                    yield entry["path"], entry["size"], entry["last_modified"].timestamp()

    def modified_all(self, paths: Sequence[str]) -> list[float | None]:
        """Ask for the objects concurrently."""
        return self._each(self.modified, paths)

    def make_older(self, path: str, modified: float) -> None:
        """Do nothing: a bucket sets all times itself."""
        del path, modified

    def modified(self, path: str) -> float | None:
        """The service's modification time, or this process's own for what it has just uploaded."""
        recent = self._recent.get(path)
        if recent is not None:
            return recent[1]
        with self._request("head"):
            try:
                return self.store.head(path)["last_modified"].timestamp()
            except FileNotFoundError:
                return None


class _Recent:
    """Objects that this process has just written, up to 32 MiB and one minute. Safe to use from several threads."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, tuple[bytes, float]] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def get(self, path: str) -> tuple[bytes, float] | None:
        """Return its bytes and when they were written."""
        with self._lock:
            recent = self._kept.get(path)
        return recent if recent is not None and time.time() - recent[1] < _RECENT_SECONDS else None

    def keep(self, path: str, content: bytes, written: float | None = None) -> None:
        with self._lock:
            self._drop(path)
            self._kept[path] = (content, time.time() if written is None else written)
            self._bytes += len(content)
            while self._bytes > _RECENT_BYTES:
                self._drop(next(iter(self._kept)))

    def forget(self, path: str) -> None:
        with self._lock:
            self._drop(path)

    def _drop(self, path: str) -> None:
        dropped = self._kept.pop(path, None)
        self._bytes -= len(dropped[0]) if dropped is not None else 0


def open_bucket(settings: Settings, part: str, watch: StoreWatch | None = None) -> Bucket:
    """Open the bucket in the setting ``objects``; ``part``: the folder below its prefix. Raises RyeError.

    ``watch``: told of every request.
    """
    if not settings.objects.startswith("s3://"):
        raise UsageError(
            "bad-setting", f"objects is {settings.objects!r}.", "Leave it empty, or give s3://bucket/prefix."
        )
    bucket, _, prefix = settings.objects.removeprefix("s3://").partition("/")
    options: dict[str, str] = {}
    if settings.s3_endpoint:
        options["endpoint"] = settings.s3_endpoint
    if settings.s3_region:
        options["region"] = settings.s3_region
    is_plain = settings.s3_endpoint.startswith("http://")
    seconds = max(settings.store_wait_seconds, 1.0)
    with _explaining_bucket():
        store = S3Store(
            bucket,
            prefix="/".join(filter(None, [prefix.strip("/"), part])),
            client_options={
                "allow_http": is_plain,
                "connect_timeout": timedelta(seconds=min(seconds, 5.0)),
                "timeout": timedelta(seconds=seconds),
            },
            retry_config={"max_retries": 3, "retry_timeout": timedelta(seconds=seconds)},
            **options,  # type: ignore[arg-type]
        )
    return Bucket(store, watch or StoreWatch(settings.store_wait_seconds))


def _attributes(path: str) -> Attributes:
    """The headers for a CDN or a browser that reads the object without this server."""
    file = served(f"/{path}")
    if file is None:
        return {"Cache-Control": "private, no-store"}
    return {"Cache-Control": file.cache_control, "Content-Type": file.media_type}


@contextmanager
def _explaining_bucket() -> Iterator[None]:
    """Turn the library's many error types, which carry its internals in their text, into RyeErrors of one line."""
    try:
        yield
    except (BaseError, OSError, ValueError) as error:
        reason = first_line(error)
        if any(word in reason for word in _FULL_BUCKET):
            raise RyeError(
                "storage-full", f"The bucket is full: {reason}", "Free some space, then try again."
            ) from error
        if any(word in reason for word in _WRONG_TIME):
            raise RyeError(
                "clock-jumped",
                f"The bucket refused a request because this server's clock is wrong: {reason}",
                "Publish again later. The operator sets the clock; the server continues by itself once it is right again.",
            ) from error
        if any(word in reason for word in _NO_CREDENTIALS):
            raise RyeError(
                "store-credentials",
                f"The bucket refused the registry's credentials: {reason}",
                "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give the machine a role that may use the bucket.",
            ) from error
        if any(word in str(error) for word in _NO_ANSWER):
            raise RyeError(
                "store-silent",
                "The bucket did not answer in `store_wait_seconds`.",
                "Check that the service is running and reachable at `s3_endpoint`. Then try again.",
            ) from error
        raise RyeError(
            "store-unavailable",
            f"The bucket failed: {reason}",
            "Check `objects`, `s3_endpoint` and `s3_region` in registry.toml, and that the service is running.",
        ) from error
