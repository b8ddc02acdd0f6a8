"""Each account's share of common resources: concurrent requests, slots, and uploads that nothing refers to yet.

A token without an account has its own share. Nothing here is exact across processes or restarts; it keeps one account
from starving the others. Several servers on one store know of each other's uploads from listings alone, without their owners: an
account has its share at each of them, and all together can exceed theirs by what the others accept between two listings.

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
from dataclasses import dataclass, field

import sqlalchemy as sa

from registry_server.accounts import blob_owners
from registry_server.settings import Settings
from registry_server.storage import database
from registry_server.storage.schema import blob_namespaces, takedowns
from rye.errors import RyeError, UsageError
from rye.items.identity import is_segment
from rye.registry.protocol.statements import Release


@dataclass(slots=True)
class _Hold:
    """An owner's part in a pending upload, which counts for this owner."""

    writers: int = 0
    """Requests that may still write it, or that came with it and are not answered."""
    is_wanted: bool = False
    """Whether the owner uploaded it for later, or with statements that may be in the log."""


@dataclass(slots=True)
class _Upload:
    """A pending upload, which counts once for all of them together."""

    size: int
    is_older: bool = False
    """Whether it came through another process, or before the start: nobody here knows who waits for it."""
    holds: dict[str, _Hold] = field(default_factory=dict)
    """By owner; one at least."""

    @property
    def is_needed(self) -> bool:
        return self.is_older or any(hold.writers or hold.is_wanted for hold in self.holds.values())


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
        """Owner → bytes of the pending uploads that count for it."""
        self._here = 0
        """Bytes of :attr:`_uploads`."""
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

    def keep(self, owner: str, sha256: str, size: int) -> None:
        """Count an upload that is about to be written, which this owner wants to be there later. Raises RyeError
        ``uploads-full``: it does not fit, and nothing was counted."""
        with self._lock:
            refusal = self._refusal(owner, {sha256: size})
            if refusal is not None:
                raise refusal
            hold = self._hold(owner, sha256, size)
            hold.writers += 1
            hold.is_wanted = True
            self._leave_to_others(sha256)

    def reserve(
        self, owner: str, sizes: Mapping[str, int], exists: Callable[[str], bool] = lambda _sha256: False
    ) -> bool:
        """Count uploads that are about to be written for statements of this owner, sizes by SHA-256. False: they do not fit,
        and nothing was counted.

        ``exists``: whether one that is not pending was uploaded through another process, or before the start.
        """
        with self._lock:
            if self._refusal(owner, sizes) is not None:
                return False
            for sha256, size in sizes.items():
                is_new = sha256 not in self._uploads
                self._hold(owner, sha256, size).writers += 1
                if is_new:
                    self._uploads[sha256].is_older = exists(sha256)
            return True

    def settle(
        self,
        owner: str,
        hashes: Iterable[str],
        exists: Callable[[str], bool],
        give_back: Callable[[str], None] | None = None,
    ) -> None:
        """A request of this owner that :meth:`keep` or :meth:`reserve` was called for writes these no more. Those that do not
        exist count no longer, unless another request may still write them.

        ``give_back``: the request was refused; called for each that exists and that nobody needs any more, before anybody can
        begin to need it. It counts until it is gone.
        """
        with self._lock:
            for sha256 in hashes:
                upload = self._uploads[sha256]
                hold = upload.holds[owner]
                hold.writers -= 1
                hold.is_wanted |= give_back is None
                if not hold.writers and not exists(sha256):
                    self._drop(sha256, owner)
                else:
                    self._give_back(sha256, give_back)

    def let_go(self, owner: str, hashes: Iterable[str], give_back: Callable[[str], None]) -> None:
        """This owner needs these uploads no more. ``give_back``: as for :meth:`settle`. Uploads that it has no part in are left
        alone."""
        with self._lock:
            for sha256 in hashes:
                upload = self._uploads.get(sha256)
                if upload is not None and owner in upload.holds:
                    upload.holds[owner].is_wanted = False
                    self._give_back(sha256, give_back)

    def forget(self, hashes: Iterable[str]) -> None:
        """Count these uploads no longer: they were published. Those that a request may write again stay until it has."""
        with self._lock:
            self._forget(hashes)

    def unless_written(self, sha256: str, expire: Callable[[str], None]) -> None:
        """Call ``expire``, unless a request may write the upload now, and before one can begin to."""
        with self._lock:
            if not self._has_writers(sha256):
                expire(sha256)

    def without_writers(self, hashes: Iterable[str]) -> list[str]:
        """Return those of the uploads that no request of this process may write now."""
        with self._lock:
            return [sha256 for sha256 in hashes if not self._has_writers(sha256)]

    def written(self) -> Set[str]:
        """Return the pending uploads that no request writes now."""
        with self._lock:
            return {sha256 for sha256 in self._uploads if not self._has_writers(sha256)}

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
            return self._others + self._here

    def _refusal(self, owner: str, sizes: Mapping[str, int]) -> RyeError | None:
        """Why the uploads that do not count yet do not fit, for this owner or for all together; None: they do."""
        fresh = {sha256: size for sha256, size in sizes.items() if sha256 not in self._uploads}
        own = sum(size for sha256, size in sizes.items() if sha256 in fresh or owner not in self._uploads[sha256].holds)
        if self._kept[owner] + own > self._uploads_bytes:
            return RyeError(
                "uploads-full",
                "This token has uploaded too many bytes that no statement refers to yet.",
                "Publish what you uploaded. The operator can raise `account_uploads_bytes`.",
            )
        if self._others + self._here + sum(fresh.values()) > self._every_upload_bytes:
            return RyeError(
                "uploads-full",
                "The registry has too many uploaded bytes that no statement refers to yet.",
                "Publish what you uploaded, or try again tomorrow. The operator can raise `uploads_bytes`.",
            )
        return None

    def _has_writers(self, sha256: str) -> bool:
        upload = self._uploads.get(sha256)
        return upload is not None and any(hold.writers for hold in upload.holds.values())

    def _hold(self, owner: str, sha256: str, size: int) -> _Hold:
        """The owner's part in an upload, which counts from now on."""
        upload = self._uploads.get(sha256)
        if upload is None:
            upload = self._uploads[sha256] = _Upload(size)
            self._here += size
        if owner not in upload.holds:
            upload.holds[owner] = _Hold()
            self._kept[owner] += upload.size
        return upload.holds[owner]

    def _give_back(self, sha256: str, give_back: Callable[[str], None] | None) -> None:
        self._leave_to_others(sha256)
        if give_back is not None and not self._uploads[sha256].is_needed:
            give_back(sha256)

    def _leave_to_others(self, sha256: str) -> None:
        """Count an upload no longer for owners who need it no more, as long as it counts for another."""
        holds = self._uploads[sha256].holds
        for owner, hold in list(holds.items()):
            if not hold.writers and not hold.is_wanted and len(holds) > 1:
                self._drop(sha256, owner)

    def _forget(self, hashes: Iterable[str]) -> None:
        for sha256 in hashes:
            upload = self._uploads.get(sha256)
            for owner, hold in list(upload.holds.items()) if upload is not None else ():
                if not hold.writers:
                    self._drop(sha256, owner)

    def _drop(self, sha256: str, owner: str) -> None:
        upload = self._uploads[sha256]
        del upload.holds[owner]
        self._kept[owner] -= upload.size
        if not self._kept[owner]:
            del self._kept[owner]
        if not upload.holds:
            del self._uploads[sha256]
            self._here -= upload.size


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
