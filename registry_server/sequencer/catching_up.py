"""Brings the store up to what is committed: after a crash, at a start, or on behalf of a process that has not done
it yet.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

import sqlalchemy as sa

from registry_server.sequencer.derived_files import (
    bundle_files,
    files_since,
    index_files,
    map_files,
    owed_since,
    root_files,
)
from registry_server.sequencer.ledger import Ledger, Published
from registry_server.sequencer.tree import Edge
from registry_server.storage import database
from registry_server.storage.objects import Objects
from rye.registry.protocol import wire
from rye.registry.protocol.name_map import node_path
from rye.registry.protocol.statements import Checkpoint
from rye.registry.protocol.tiles import WIDTH

_log = logging.getLogger("rye.registry")
_BLOBS_AT_ONCE = 16
"""Blobs in memory at once, of a few MiB each."""
_SILENCE_SECONDS = 2.0
"""How long a batch may work on files before it pings PostgreSQL to show that it is alive."""


def catch_up(ledger: Ledger, shown: Checkpoint | None, public: Objects, uploads: Objects) -> None:
    """Write every file that the newest head needs and the shown one did not need."""
    owed = owed_since(ledger, shown.size if shown else 0, ledger.size)
    uploads.settle(sorted(owed.blobs))
    files = chain(blobs(owed.blobs, public, uploads), files_since(ledger, public, shown, owed))
    public.put_all(_keeping_alive(ledger.connection, files))


def put_back(ledger: Ledger, published: Published, public: Objects) -> None:
    """Write files that the shown head needs and that a spot check finds missing."""
    lost_map = public.get(node_path(published.map)) is None
    first = ledger.size // WIDTH * WIDTH
    public.put_all(
        chain(
            root_files(ledger),
            index_files(ledger, ledger.all_names()).values() if lost_map else (),
            map_files(ledger.map_nodes()) if lost_map else (),
            ((tile.path, data) for tile, data in Edge(ledger.size, ledger.edge()).tiles()),
            bundle_files(ledger.leaves(first, ledger.size), first),
        )
    )


def move_blobs(hashes: Iterable[str], public: Objects, uploads: Objects) -> Iterator[tuple[str, bytes]]:
    """Give durable uploads their public paths; returns the objects that must be written for it."""
    rest = public.take_all(uploads, [(sha256, wire.blob_path(sha256)) for sha256 in sorted(hashes)])
    return blobs((sha256 for sha256, _ in rest), public, uploads)


def blobs(hashes: Iterable[str], public: Objects, uploads: Objects) -> Iterator[tuple[str, bytes]]:
    """Yield uploads with their public paths, without those that a power cut damaged.

    One that is missing from both stores is logged, and ``verify`` reports it.
    """
    wanted = sorted(hashes)
    for start in range(0, len(wanted), _BLOBS_AT_ONCE):
        some = wanted[start : start + _BLOBS_AT_ONCE]
        contents = uploads.get_all(some)
        whole = {
            sha256: data
            for sha256, data in zip(some, contents, strict=True)
            if data is not None and hashlib.sha256(data).hexdigest() == sha256
        }
        yield from ((wire.blob_path(sha256), data) for sha256, data in whole.items())
        _report_missing([sha256 for sha256 in some if sha256 not in whole], public)


def _report_missing(hashes: Sequence[str], public: Objects) -> None:
    times = public.modified_all([wire.blob_path(sha256) for sha256 in hashes])
    for sha256, modified in zip(hashes, times, strict=True):
        if modified is None:
            _log.error(
                "the blob %s is missing, although a release in the log names it; restore it from a backup", sha256
            )


def _keeping_alive(connection: sa.Connection, objects: Iterable[tuple[str, bytes]]) -> Iterator[tuple[str, bytes]]:
    """Yield the objects, telling the database now and then that a slow store does not mean a dead leader."""
    last = time.monotonic()
    for entry in objects:
        if time.monotonic() - last > _SILENCE_SECONDS:
            database.keep_alive(connection)
            last = time.monotonic()
        yield entry
