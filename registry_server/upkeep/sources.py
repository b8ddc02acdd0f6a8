"""The sources that a registry's log and blobs can be restored from: a copy in static files, or a backup.

A mirror (``rye mirror``), an export (``rye-registry export``), another server's address and the registry's own store
contain the same static files. No source is trusted: its head must be signed by a log key of a root that follows from
root 1, its entries must make the head's tree, and the whole log is audited before the first row is written.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from urllib.parse import quote

from msgspec.structs import replace

from registry_server.settings import Settings
from registry_server.storage.objects import Objects
from rye.errors import RyeError
from rye.limits import REGISTRY, RegistryLimits
from rye.registry import mirroring
from rye.registry.protocol import notes, wire
from rye.registry.protocol.statements import Checkpoint, Root
from rye.registry.transport.factory import open_transport
from rye.registry.transport.file import FileTransport
from rye.registry.transport.seam import (
    FetchError,
    Request,
    Transport,
    is_safe_path,
    not_found,
    too_large,
)
from rye.registry.trust.auditing import Audit, Auditor, raise_first
from rye.registry.trust.trusted import TrustedHead, TrustedState

STORE = "store"
"""The name of the registry's own static files as a source."""
BACKUP_FORMAT = "rye.backup/v1"
#: A source can be old. It only has to be complete; `verify` shows afterwards whether the store is ahead of it.
_ANY_AGE = replace(REGISTRY, head_warn_seconds=10**12, head_stop_seconds=10**12, clock_skew_seconds=10**12)


class Source(Protocol):
    """A log and its blobs, unverified."""

    head: bytes
    roots: list[bytes]
    """Signed notes, starting with root 1."""

    def entries(self, checkpoint: Checkpoint) -> Iterator[bytes]:
        """Yield all entries of the tree, in order."""

    def blob(self, sha256: str, size: int) -> bytes | None:
        """Return a blob's bytes, checked; None if the source does not have them or they are wrong."""


@dataclass(frozen=True, slots=True)
class Checked:
    """A source whose head and log have been verified."""

    source: Source
    state: TrustedState
    head: TrustedHead
    audit: Audit

    @property
    def checkpoint(self) -> Checkpoint:
        """The checkpoint of the verified head."""
        return self.head.checkpoint


@contextmanager
def open_source(name: str, settings: Settings, public: Objects) -> Iterator[Source]:
    """Open the source that ``--from`` names: ``store``, an address, or the folder of a backup or a copy.

    Raises RyeError.
    """
    if name == STORE:
        yield Copy(_StoreTransport(public))
        return
    folder = Path(name)
    if "://" not in name and (folder / "backup.json").is_file():
        with closing(Backup(folder)) as backup:
            yield backup
        return
    if "://" not in name and not folder.is_dir():
        raise RyeError(
            "no-source",
            f"{name} is not a folder and not an address.",
            f"Give --from a mirror, an export, a backup, an https address, or {STORE} for the registry's own static files.",
        )
    limits = replace(mirroring.transport_limits(), total_seconds=24 * 3600.0)
    transport: Transport = (
        open_transport(name, limits) if "://" in name else FileTransport(_static_folder(folder.resolve()))
    )
    with closing(transport):
        yield Copy(transport)


def check(source: Source, fingerprint: str | None) -> Checked:
    """Verify head, roots and every entry. ``fingerprint``: of root 1, if it is known. Raises RyeError."""
    first = source.roots[0]
    state = TrustedState.pin(first, fingerprint or _fingerprint(first))
    for root in source.roots[1 : state.root_hint(source.head)]:  # a failed batch can have left a later one
        state = state.accept_root(root)
    # At the root's own time, which is never after its expiry: a log stays readable when its root has expired.
    opened = state.open_head(source.head, state.root.time, _ANY_AGE)
    state, head = state.accept_head(opened, {})
    auditor = Auditor(state.fingerprint)
    for entry in source.entries(head.checkpoint):
        auditor.add(entry)
    audit = auditor.finish()
    raise_first(audit)
    if (audit.size, audit.root_hash) != (head.checkpoint.size, head.checkpoint.root_hash):
        raise RyeError(
            "source-damaged", "The source's entries do not match the tree that its head signs.", "Use another source."
        )
    if audit.map != head.map:
        raise RyeError(
            "source-damaged", "The source's entries do not match the index that its head signs.", "Use another source."
        )
    return Checked(source, state, head, audit)


class Copy:
    """The static files of docs/reference/protocol.md, wherever they are stored."""

    def __init__(self, transport: Transport, limits: RegistryLimits = REGISTRY) -> None:
        self._transport = transport
        self.head = self._one(Request("head", limits.head_bytes))
        self.roots: list[bytes] = []
        while len(self.roots) < limits.roots:
            (found,) = transport.fetch_many([Request(f"root/{len(self.roots) + 1}", limits.root_bytes)])
            if isinstance(found, FetchError):
                if found.code == "fetch-not-found" and self.roots:
                    return
                raise found
            self.roots.append(found)

    def entries(self, checkpoint: Checkpoint) -> Iterator[bytes]:
        """Read the entries from the tiles' bundles."""
        return mirroring.entries(self._transport, checkpoint)

    def blob(self, sha256: str, size: int) -> bytes | None:
        """Fetch a blob. Raises FetchError if the copy cannot be read; a missing or oversized blob is None."""
        (found,) = self._transport.fetch_many([Request(wire.blob_path(sha256), size)])
        if isinstance(found, FetchError):
            if found.code in ("fetch-not-found", "fetch-too-large", "fetch-endless"):
                return None
            raise found
        return _if_right(found, sha256, size)

    def _one(self, request: Request) -> bytes:
        (found,) = self._transport.fetch_many([request])
        if isinstance(found, FetchError):
            raise found
        return found


class Backup:
    """A backup that ``rye-registry backup`` wrote."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        read_manifest(folder)
        place = folder / "database.db"
        try:
            self.database = sqlite3.connect(f"file:{quote(str(place.absolute()))}?mode=ro", uri=True)
            row = self.database.execute("SELECT document FROM head").fetchone()
            title = Root.TITLE.encode() + b"\n"
            leaves = self.database.execute(
                "SELECT leaf FROM log_entries WHERE substr(leaf, 1, ?) = ? ORDER BY position", (len(title), title)
            )
            self.roots = [bytes(leaf) for (leaf,) in leaves]
        except sqlite3.Error as error:
            raise RyeError("not-a-backup", f"{place} cannot be read: {error}.", "Use another backup.") from error
        if row is None or not self.roots:
            raise RyeError("not-a-backup", f"{place} contains no log.", "Use another backup.")
        self.head = bytes(row[0])

    def entries(self, checkpoint: Checkpoint) -> Iterator[bytes]:
        """Read the entries from the backup's database."""
        query = "SELECT leaf FROM log_entries WHERE position < ? ORDER BY position"
        for (leaf,) in self.database.execute(query, (checkpoint.size,)):
            yield bytes(leaf)

    def blob(self, sha256: str, size: int) -> bytes | None:
        """Read a blob from the backup's folder."""
        try:
            return _if_right((self.folder / wire.blob_path(sha256)).read_bytes(), sha256, size)
        except OSError:
            return None

    def rows(self, table: str) -> list[dict[str, object]]:
        """Return all rows of a table that cannot be computed from the log; none if the backup has no such table."""
        try:
            cursor = self.database.execute(f"SELECT * FROM {table}")  # a name from code
        except sqlite3.Error:
            return []
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor]

    def close(self) -> None:
        """Close the database."""
        self.database.close()


def read_manifest(folder: Path) -> dict[str, object]:
    """Read ``backup.json``. Raises RyeError ``not-a-backup``."""
    try:
        found = json.loads((folder / "backup.json").read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise RyeError("not-a-backup", f"{folder} is not a backup: {error}", "Choose another folder.") from error
    if not isinstance(found, dict) or found.get("format") != BACKUP_FORMAT:
        raise RyeError(
            "not-a-backup",
            f"{folder} is not a backup that this version can read.",
            "Choose another folder, or a newer rye-registry.",
        )
    return found


class _StoreTransport:
    """The registry's own static files."""

    def __init__(self, public: Objects) -> None:
        self._public = public

    def fetch_many(self, requests: Sequence[Request]) -> list[bytes | FetchError]:
        return [self._fetch(request) for request in requests]

    def close(self) -> None:
        """Do nothing: no connection is open."""

    def _fetch(self, request: Request) -> bytes | FetchError:
        data = self._public.get(request.path) if is_safe_path(request.path) else None
        if data is None:
            return not_found(request.path)
        return data if len(data) <= request.max_bytes else too_large(request)


def _static_folder(folder: Path) -> Path:
    """Return a copy's folder, or the ``public/`` in a registry's data folder."""
    return folder / "public" if not (folder / "head").exists() and (folder / "public" / "head").exists() else folder


def _if_right(data: bytes, sha256: str, size: int) -> bytes | None:
    return data if len(data) == size and hashlib.sha256(data).hexdigest() == sha256 else None


def _fingerprint(root: bytes) -> str:
    return Root.parse(notes.parse(root).text).sha256()
