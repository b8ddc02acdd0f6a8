"""Stored analyses of releases, so that a page need not read and examine the release's bytes.

Rules:

* An analysis follows from the signed note, its keyset, the bytes and the code
  (:mod:`registry_server.pages.release_analysis`). It is stored under the SHA-256 of the note, which names every byte,
  with a digest over itself, keyset and code. A torn or damaged one, and one of other code, does not count; the next
  view of the page replaces it.
* The store is never served, is trusted as much as the database, and is in no backup. Only pages for people read it;
  clients check the bytes themselves.
* A takedown removes the analysis. Whoever writes one looks at the log again after writing: either they see the
  takedown, or the takedown comes later and removes what they wrote.
"""

from __future__ import annotations

import hashlib
import logging

import sqlalchemy as sa

from registry_server.pages import page_layout
from registry_server.pages.limits import PAGES
from registry_server.pages.lru_cache import LruCache
from registry_server.pages.release_analysis import Analysis, decode, encode
from registry_server.sequencer.ledger import Ledger
from registry_server.storage import database
from registry_server.storage.objects import Objects
from registry_server.storage.prepared import Prepared
from registry_server.storage.schema import log_entries, releases, takedowns
from rye.errors import RyeError
from rye.registry.trust.records import ReleaseRecord, release_files
from rye.storage.verdicts import running_code

_log = logging.getLogger("rye.registry")
_DIGEST_BYTES = 32


class AnalysisStore:
    """The stored analyses of one registry. Thread-safe."""

    def __init__(self, store: Objects, engine: sa.Engine, code: bytes | None = None) -> None:
        """``code``: identifies the code; tests pass their own."""
        self._store = store
        self._engine = engine
        self._code = code
        self._recent: LruCache[bytes, Analysis] = LruCache(PAGES.recent_analyses_bytes)

    def get(self, record: ReleaseRecord) -> Analysis | None:
        """Return the stored analysis of a release, or None."""
        key = self._digest(record)
        analysis = self._recent.get(key)
        if analysis is None:
            try:
                stored = self._store.get(_path(record.line.note.encode())) or b""
                value = stored[_DIGEST_BYTES:]
                if stored[:_DIGEST_BYTES] != self._digest(record, value):
                    return None
                analysis, size = decode(value)
            except (ValueError, RyeError):
                return None
            self._recent.put(key, analysis, 2 * size)
        return analysis

    def put(self, record: ReleaseRecord, analysis: Analysis) -> None:
        """Store an analysis that was made from all files of a release."""
        value, size = encode(analysis)
        if size > PAGES.analysis_bytes:
            return
        self._recent.put(self._digest(record), analysis, 2 * size)
        try:
            self._store.put_soon(_path(record.line.note.encode()), self._digest(record, value) + value)
            with database.reader(self._engine) as connection:
                is_gone = bool(Ledger(connection).taken_down(release_files(record.release)))
            if is_gone:
                self.remove(record)
        except RyeError as error:  # pages do without it
            _log.warning("the analysis of a release is not stored: %s", error)

    def remove(self, record: ReleaseRecord) -> None:
        """Remove the analysis of a release."""
        self._recent.drop(self._digest(record))
        self._store.delete(_path(record.line.note.encode()))

    def _digest(self, record: ReleaseRecord, value: bytes = b"") -> bytes:
        """Return a digest over the code, the release's note and keyset, and an encoded analysis."""
        if self._code is None:
            self._code = hashlib.sha256(running_code() + page_layout.version().encode()).digest()
        determined = f"{record.link.sha256}\n{record.line.note}".encode()
        return hashlib.sha256(self._code + hashlib.sha256(determined).digest() + value).digest()


def remove_taken_down(engine: sa.Engine, store: Objects) -> None:
    """Remove the stored analyses of all releases that a takedown is about. Raises RyeError."""
    with database.reader(engine) as connection:
        leaves = [bytes(leaf) for (leaf,) in _TAKEN_DOWN.rows(connection)]
    store.delete_all(sorted(set(map(_path, leaves))))


def _path(leaf: bytes) -> str:
    sha256 = hashlib.sha256(leaf).hexdigest()
    return f"{sha256[:2]}/{sha256}"


_TAKEN_DOWN = Prepared(
    sa.select(log_entries.c.leaf)
    .join(releases, releases.c.position == log_entries.c.position)
    .join(takedowns, sa.and_(takedowns.c.name == releases.c.name, takedowns.c.version == releases.c.version))
)
