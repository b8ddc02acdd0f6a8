"""Each account's share of common resources: concurrent requests, slots, and uploads that nothing refers to yet.

A token without an account has its own share. Nothing here is exact across processes or restarts; it keeps one account
from starving the others.

:class:`NamespaceRoom` is how many bytes the files of one namespace's releases may take together. A file counts once for each
namespace that released it; one that was taken down does not count. The sum is that of the log, so releases that are sent at the
same moment can exceed the limit by what each of them adds.
"""

from __future__ import annotations

import re
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from contextlib import contextmanager
from dataclasses import dataclass

import sqlalchemy as sa

from registry_server.accounts import blob_owners
from registry_server.settings import Settings
from registry_server.storage import database
from registry_server.storage.schema import blob_namespaces, takedowns
from rye.errors import RyeError, UsageError
from rye.items.identity import is_segment
from rye.registry.protocol.statements import Release


@dataclass(slots=True)
class _Upload:
    """A pending upload."""

    token: str
    size: int
    writers: int = 0
    """Requests that may still write it, or that came with it and are not answered."""
    is_spare: bool = False
    """Whether it came only with requests that were refused: nobody who waits, or uploaded it for later, needs it."""


class Quotas:
    """Counts per owner (:attr:`registry_server.accounts.tokens.Account.owner`). Thread-safe."""

    def __init__(
        self, requests: int, uploads_bytes: int, places: int = 1_000_000, every_upload_bytes: int = 1 << 62
    ) -> None:
        """``uploads_bytes``: of one owner's uploads; ``every_upload_bytes``: of all together."""
        self._requests = max(requests, 1)
        self._places = max(places, 1)
        self._uploads_bytes = uploads_bytes
        self._every_upload_bytes = every_upload_bytes
        self._lock = threading.Lock()
        self._under_way: Counter[str] = Counter()
        self._at_work: Counter[str] = Counter()
        self._uploads: dict[str, _Upload] = {}
        """By SHA-256."""
        self._kept: Counter[str] = Counter()
        """Token → bytes of its pending uploads."""
        self._others = 0
        """Bytes of pending uploads that came through other processes, or before the start, as of the last listing."""

    @contextmanager
    def request(self, owner: str) -> Iterator[None]:
        """One request of this owner, from before its body arrives. Raises RyeError ``too-many-requests``."""
        with self._one_of(self._under_way, owner, self._requests):
            yield

    @contextmanager
    def place(self, owner: str) -> Iterator[None]:
        """One of the slots for writing, once the body has arrived. Raises RyeError ``too-many-requests``."""
        with self._one_of(self._at_work, owner, self._places):
            yield

    @contextmanager
    def _one_of(self, counts: Counter[str], owner: str, most: int) -> Iterator[None]:
        with self._lock:
            if counts[owner] >= most:
                raise RyeError(
                    "too-many-requests",
                    f"This account already has {most} requests running.",
                    "Wait for some of them to finish. Using several tokens does not raise the limit.",
                )
            counts[owner] += 1
        try:
            yield
        finally:
            with self._lock:
                counts[owner] -= 1
                if not counts[owner]:
                    del counts[owner]

    def fits(self, token: str, size: int) -> bool:
        """Whether the token may keep an upload of this size in addition to its others."""
        with self._lock:
            return self._kept[token] + size <= self._uploads_bytes

    def keep(self, token: str, sha256: str, size: int) -> bool:
        """Count an upload of a token that is about to be written, in place of an earlier upload of the same bytes. False: it
        does not fit, and nothing was counted."""
        with self._lock:
            if not self._has_room(token, size):
                return False
            earlier = self._uploads.get(sha256)
            self._drop(sha256)
            self._add(token, sha256, size, earlier.writers + 1 if earlier is not None else 1)
            return True

    def reserve(
        self, token: str, sizes: Mapping[str, int], exists: Callable[[str], bool] = lambda _sha256: False
    ) -> bool:
        """Count uploads of a token that are about to be written, sizes by SHA-256. Those that are pending already stay
        counted for their owner. False: the others do not fit, and nothing was counted.

        ``exists``: whether one of the others was uploaded through another process, or before the start.
        """
        with self._lock:
            new = [sha256 for sha256 in sizes if sha256 not in self._uploads]
            if not self._has_room(token, sum(sizes[sha256] for sha256 in new)):
                return False
            for sha256 in new:
                self._add(token, sha256, sizes[sha256], 0)
                self._uploads[sha256].is_spare = not exists(sha256)
            for sha256 in sizes:
                self._uploads[sha256].writers += 1
            return True

    def settle(
        self,
        hashes: Iterable[str],
        exists: Callable[[str], bool],
        give_back: Callable[[str], None] | None = None,
    ) -> None:
        """A request that :meth:`keep` or :meth:`reserve` was called for writes these no more. Those that do not exist count no
        longer, unless another request may still write them.

        ``give_back``: the request was refused; called for each that exists and that nobody needs any more, before anybody can
        begin to need it.
        """
        with self._lock:
            for sha256 in hashes:
                upload = self._uploads[sha256]
                upload.writers -= 1
                upload.is_spare &= give_back is not None
                if upload.writers:
                    continue
                if not exists(sha256):
                    self._drop(sha256)
                elif upload.is_spare and give_back is not None:
                    give_back(sha256)

    def forget(self, hashes: Iterable[str]) -> None:
        """Count these uploads no longer: they were published. Those that a request may write again stay until it has."""
        with self._lock:
            self._forget(hashes)

    def written(self) -> Set[str]:
        """Return the pending uploads that no request writes now."""
        with self._lock:
            return {sha256 for sha256, upload in self._uploads.items() if not upload.writers}

    def update(self, present: Mapping[str, int], written: Set[str]) -> None:
        """Update from a listing of the store, of sizes by SHA-256: uploads that are gone were published or have expired.

        ``written``: from :meth:`written`, before the listing began.
        """
        with self._lock:
            self._forget(written - present.keys())
            self._others = sum(size for sha256, size in present.items() if sha256 not in self._uploads)

    @property
    def kept_bytes(self) -> int:
        """Size of all pending uploads. Several processes on one store know of each other's from listings alone."""
        with self._lock:
            return self._others + self._kept.total()

    def _has_room(self, token: str, size: int) -> bool:
        everything = self._others + self._kept.total() + size
        return self._kept[token] + size <= self._uploads_bytes and everything <= self._every_upload_bytes

    def _add(self, token: str, sha256: str, size: int, writers: int) -> None:
        self._uploads[sha256] = _Upload(token, size, writers)
        self._kept[token] += size

    def _forget(self, hashes: Iterable[str]) -> None:
        for sha256 in hashes:
            if sha256 in self._uploads and not self._uploads[sha256].writers:
                self._drop(sha256)

    def _drop(self, sha256: str) -> None:
        upload = self._uploads.pop(sha256, None)
        if upload is not None:
            self._kept[upload.token] -= upload.size
            if not self._kept[upload.token]:
                del self._kept[upload.token]


_QUOTA = re.compile(r"([a-z0-9_-]+)=([1-9][0-9]{0,17})")


class NamespaceRoom:
    """The limits of namespaces in force. Raises UsageError ``bad-setting`` for a list that cannot be read."""

    def __init__(self, settings: Settings) -> None:
        self._usual = settings.namespace_bytes
        self._special: dict[str, int] = {}
        for text in settings.namespace_quotas:
            match = _QUOTA.fullmatch(text)
            if match is None or not is_segment(match[1]) or match[1] in self._special:
                raise UsageError(
                    "bad-setting",
                    f"namespace_quotas contains {text[:80]!r}.",
                    'Give each namespace once, with a number of bytes: "acme=10737418240".',
                )
            self._special[match[1]] = int(match[2])

    def check(self, engine: sa.Engine, releases: Iterable[Release]) -> None:
        """Check that what these releases add fits. Raises RyeError ``namespace-full``."""
        added: dict[str, dict[str, int]] = defaultdict(dict)
        for release in releases:
            namespace = release.identity.namespace
            if self._special.get(namespace, self._usual):
                added[namespace].update(blob_owners.sizes_of(release))
        if not added:
            return
        blob_owners.catch_up(engine)
        for namespace, sizes in added.items():
            with database.reader(engine) as connection:
                here = set(connection.scalars(_OF_NAMESPACE.where(blob_namespaces.c.namespace == namespace)))
                used = connection.scalar(_SUM.where(blob_namespaces.c.namespace == namespace)) or 0
            fresh = sum(size for sha256, size in sizes.items() if sha256 not in here)
            limit = self._special.get(namespace, self._usual)
            if fresh and used + fresh > limit:
                raise RyeError(
                    "namespace-full",
                    f"The files of {namespace} take {used:,} bytes; with {fresh:,} more they would exceed its {limit:,}.",
                    "Ask the registry's operator for more room, or to take old releases down.",
                )


_KEPT = blob_namespaces.c.sha256.not_in(sa.select(takedowns.c.sha256))
_OF_NAMESPACE = sa.select(blob_namespaces.c.sha256).where(_KEPT)
_SUM = sa.select(sa.func.sum(blob_namespaces.c.size)).where(_KEPT)
