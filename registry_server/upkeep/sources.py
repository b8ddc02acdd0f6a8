"""The sources that a registry's log and blobs can be restored from: a copy in static files, or a backup.

A mirror (``rye mirror``), an export (``rye-registry export``), another server's address and the registry's own store
contain the same static files. No source is trusted: its head must be signed by a log key of a root that follows from
root 1, its entries must make the head's tree, and the whole log is audited before the first row is written.

A crash can leave ``/head`` or ``/checkpoint`` the older one (:mod:`registry_server.sequencer.head_publication`), and witnesses
keep ``/checkpoint`` behind on purpose. Whoever saw the newer one must see its log go on, so that one is restored: a
``/checkpoint`` that ``/head`` has not reached becomes the head that belonged to it, whose other parts are in the log. If they
are not, nothing older is restored in its place.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from urllib.parse import quote

from msgspec.structs import replace

from registry_server.sequencer.head_publication import shown_checkpoint
from registry_server.settings import Settings
from registry_server.storage import schema
from registry_server.storage.objects import Objects
from registry_server.upkeep import backup_rows
from rye.errors import RyeError
from rye.limits import KIB, REGISTRY, RegistryLimits
from rye.registry import mirroring
from rye.registry.protocol import merkle, notes, tiles, wire
from rye.registry.protocol.statements import Checkpoint, Root, Snapshot
from rye.registry.protocol.tiles import VerifiedTiles
from rye.registry.protocol.wire import WireError
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
from rye.storage.safe_files import read_regular
from rye.text.json_reading import JsonError, read_json

STORE = "store"
"""The name of the registry's own static files as a source."""
BACKUP_FORMAT = "rye.backup/v1"
MANIFEST = "backup.json"
"""The manifest of a backup. A folder without it is none, or an unfinished one."""
_MANIFEST_BYTES = 64 * KIB
_ANOTHER = "Use another source."
_NEWER = "Install the newest rye-registry, then run the same command again."
_FILLED = {("tokens", "scopes"), ("team_members", "group_name")}
"""Columns that older backups lack and a restore fills in."""
_FORMER = "downloads_daily"
"""A table of older backups that nothing used."""
#: A source can be old. It only has to be complete; `verify` shows afterwards whether the store is ahead of it.
_ANY_AGE = replace(REGISTRY, head_warn_seconds=10**12, head_stop_seconds=10**12, clock_skew_seconds=10**12)


class RestoreSource(Protocol):
    """A log and its blobs, unverified."""

    head: bytes
    roots: list[bytes]
    """Signed notes, starting with root 1."""
    noted: Checkpoint | None
    """What its ``/checkpoint`` shows: a beginning of the head's log, or all of it. None: it has none."""
    behind: str | None
    """What is with its ``/head``, where :attr:`head` is the one of a newer ``/checkpoint``."""

    def entries(self, checkpoint: Checkpoint) -> Iterator[bytes]:
        """Yield all entries of the tree, in order."""

    def blob(self, sha256: str, size: int) -> bytes | None:
        """Return a blob's bytes, checked; None if the source does not have them or they are wrong."""


@dataclass(frozen=True, slots=True)
class CheckedSource:
    """A source whose head and log have been verified."""

    source: RestoreSource
    state: TrustedState
    head: TrustedHead
    audit: Audit
    leaves: bytes
    """The leaf hashes of all entries, 32 bytes each: a source can change while it is read again."""

    @property
    def checkpoint(self) -> Checkpoint:
        """The checkpoint of the verified head."""
        return self.head.checkpoint

    def leaf(self, position: int) -> bytes:
        """The leaf hash of the entry at a position."""
        return self.leaves[position * 32 : (position + 1) * 32]

    def entries(self) -> Iterator[bytes]:
        """Read all entries again, each as it was when it was verified. Raises RyeError ``source-damaged``."""
        count = 0
        for entry in self.source.entries(self.checkpoint):
            if merkle.leaf_hash(entry) != self.leaf(count):
                raise _changed()
            yield entry
            count += 1
        if count != self.checkpoint.size:
            raise _changed()


def _changed() -> RyeError:
    return RyeError("source-damaged", "The source changed while it was read.", "Run the same command again.")


@contextmanager
def open_source(name: str, settings: Settings, public: Objects) -> Iterator[RestoreSource]:
    """Open the source that ``--from`` names: ``store``, an address, or the folder of a backup or a copy.

    Raises RyeError.
    """
    if name == STORE:
        yield Copy(_StoreTransport(public))
        return
    folder = Path(name)
    if "://" not in name and (folder / MANIFEST).is_file():
        with closing(Backup(folder)) as backup:
            yield backup
        return
    if "://" not in name and not folder.is_dir():
        raise RyeError(
            "no-source",
            f"{name} is not a folder and not an address.",
            f"Give --from a mirror, an export, a backup, an https address, or {STORE} for the registry's own static files.",
        )
    if "://" not in name and not _shows(_static_folder(folder)):
        if (folder / "database.db").is_file():
            raise RyeError(
                "wrong-folder",
                f"{folder} is an unfinished backup: it contains no {MANIFEST}.",
                "Use another backup. To finish this one, run `rye-registry backup` again while the registry still exists.",
                what="backup",
            )
        raise RyeError(
            "no-source",
            f"{folder} is neither a backup nor a copy of a registry: it contains no {MANIFEST} and no head.",
            "Give --from the folder that `rye-registry backup`, `rye-registry export` or `rye mirror` wrote.",
        )
    limits = replace(mirroring.transport_limits(), total_seconds=24 * 3600.0)
    transport: Transport = (
        open_transport(name, limits) if "://" in name else FileTransport(_static_folder(folder.resolve()))
    )
    with closing(transport):
        yield Copy(transport)


def check(source: RestoreSource, fingerprint: str | None) -> CheckedSource:
    """Verify head, roots and every entry. ``fingerprint``: of root 1, if it is known. Raises RyeError."""
    _check_head(source.head)
    first = source.roots[0]
    state = TrustedState.pin(first, fingerprint or _fingerprint(first))
    for root in source.roots[1 : state.root_hint(source.head)]:  # a failed batch can have left a later one
        state = state.accept_root(root)
    # At the root's own time, which is never after its expiry: a log stays readable when its root has expired.
    try:
        opened = state.open_head(source.head, state.root.time, _ANY_AGE)
    except RyeError as error:
        if source.noted is None or source.behind is None:
            raise
        raise _incomplete(source.noted, source.behind, error) from error
    state, head = state.accept_head(opened, {})
    noted = source.noted or head.checkpoint
    auditor, leaves = Auditor(state.fingerprint), bytearray()
    for entry in source.entries(head.checkpoint):
        auditor.add(entry)
        leaves += merkle.leaf_hash(entry)
        if auditor.size == noted.size and auditor.root_hash != noted.root_hash:
            raise RyeError(
                "source-damaged",
                f"The source's /checkpoint shows {noted.size} log entries that differ from the first {noted.size} of its head.",
                f"{_ANOTHER} Find out what wrote either file: a registry never shows two histories.",
            )
    audit = auditor.finish()
    raise_first(audit, f"{_ANOTHER} If a newer rye-registry wrote this one, install that version.")
    if (audit.size, audit.root_hash) != (head.checkpoint.size, head.checkpoint.root_hash):
        raise RyeError(
            "source-damaged", "The source's entries do not match the tree that its head signs.", "Use another source."
        )
    if audit.map != head.map:
        raise RyeError(
            "source-damaged", "The source's entries do not match the index that its head signs.", "Use another source."
        )
    return CheckedSource(source, state, head, audit, bytes(leaves))


def _incomplete(noted: Checkpoint, behind: str, error: RyeError) -> RyeError:
    return RyeError(
        "source-damaged",
        f"The source's /checkpoint shows {noted.size} log entries and {behind}, but they cannot be restored from here: {error}",
        f"Put the missing file back from any copy, or restore from a mirror, an export or a backup with at least {noted.size} "
        "entries. Nothing older is restored, because somebody may have seen these entries.",
    )


def _check_head(head: bytes) -> None:
    """Whether this version can read the head. Raises RyeError ``source-version``, ``source-damaged``."""
    try:
        wire.decode_head(head)
    except WireError as error:
        if _is_former(head):
            _check_version(wire.PROTOCOL_VERSION, 1)
        raise RyeError(
            "source-damaged",
            f"The source's head cannot be read. {error.message}",
            f"{_ANOTHER} If a newer rye-registry wrote this one, install that version.",
        ) from error


def _is_former(head: bytes) -> bool:
    """Whether this is a head of protocol 1, which listed shards."""
    try:
        document = read_json(head) if len(head) <= wire.MAX_HEAD_BYTES else None
    except JsonError:
        return False
    return isinstance(document, dict) and "shards" in document


class Copy:
    """The static files of docs/reference/protocol.md, wherever they are stored."""

    def __init__(self, transport: Transport, limits: RegistryLimits = REGISTRY) -> None:
        self._transport = transport
        self._check_protocol()
        self.behind: str | None = None
        self.head, self.noted = self._newest(limits)
        self.roots: list[bytes] = []
        while len(self.roots) < limits.roots:
            (answer,) = transport.fetch_many([Request(f"root/{len(self.roots) + 1}", limits.root_bytes)])
            if isinstance(answer, FetchError):
                if answer.code == "fetch-not-found" and self.roots:
                    return
                raise answer
            self.roots.append(answer)

    def entries(self, checkpoint: Checkpoint) -> Iterator[bytes]:
        """Read the entries from the tiles' bundles."""
        return mirroring.entries(self._transport, checkpoint)

    def blob(self, sha256: str, size: int) -> bytes | None:
        """Fetch a blob. Raises FetchError if the copy cannot be read; a missing or oversized blob is None."""
        (answer,) = self._transport.fetch_many([Request(wire.blob_path(sha256), size)])
        if isinstance(answer, FetchError):
            if answer.code in ("fetch-not-found", "fetch-too-large", "fetch-endless"):
                return None
            raise answer
        return _if_right(answer, sha256, size)

    def _check_protocol(self) -> None:
        """Refuse a copy that says that it has another protocol; one without this file is read like any other.

        Raises RyeError ``source-version``.
        """
        (answer,) = self._transport.fetch_many([Request("config.json", wire.MAX_CONFIG_BYTES)])
        try:
            config = read_json(answer) if isinstance(answer, bytes) else None
        except JsonError:
            return  # a hint, never trusted: the head decides
        if isinstance(config, dict) and type(config.get("protocol")) is int:
            _check_version(wire.PROTOCOL_VERSION, config["protocol"])

    def _newest(self, limits: RegistryLimits) -> tuple[bytes, Checkpoint | None]:
        """Return the head, or the one that belonged to a newer ``/checkpoint``, and what ``/checkpoint`` shows.

        Raises FetchError, RyeError ``source-damaged``.
        """
        head, checkpoint = self._transport.fetch_many(
            [Request("head", limits.head_bytes), Request("checkpoint", limits.head_bytes)]
        )
        for answer in (head, checkpoint):
            if isinstance(answer, FetchError) and answer.code != "fetch-not-found":
                raise answer
        note = checkpoint if isinstance(checkpoint, bytes) else None
        noted = shown_checkpoint("checkpoint", note)
        if isinstance(head, FetchError):
            if note is None or noted is None or not noted.size:
                raise head
            self.behind = "there is no /head"
            return self._head_of(note, noted, self.behind), noted
        shown = shown_checkpoint("head", head)
        if note is None or noted is None or shown is None or noted.size <= shown.size:
            return head, noted
        if noted.origin != shown.origin:
            message = f"The source's /checkpoint is of {noted.origin}, but its /head of {shown.origin}."
            raise RyeError("source-damaged", message, _ANOTHER)
        self.behind = f"/head shows only {shown.size}"
        return self._head_of(note, noted, self.behind), noted

    def _head_of(self, note: bytes, noted: Checkpoint, behind: str) -> bytes:
        """The head of this checkpoint: its snapshot is the last entry. Only the tree is checked here.

        ``note``: its signed note. ``behind``: what is with ``/head``, for the error ``source-damaged``.
        """
        last = noted.size - 1
        try:
            *_, entry = mirroring.entries(self._transport, noted, first=last)
            snapshot = Snapshot.parse(notes.parse(entry).text)
            proving = mirroring.proved_tiles(self._transport, tiles.inclusion_tiles([last], noted.size), noted)
            proof = merkle.inclusion_proof(last, noted.size, VerifiedTiles(proving, noted.size, noted.root_hash))
        except RyeError as error:
            raise _incomplete(noted, behind, error) from error
        return wire.encode_head(
            wire.Head(note.decode(), entry.decode(), [wire.encode_hash(node) for node in proof], snapshot.map)
        )


class Backup:
    """A backup that ``rye-registry backup`` wrote. Its database is read in one transaction: it does not change."""

    noted: Checkpoint | None = None
    behind: str | None = None

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        read_manifest(folder)
        self._place = folder / "database.db"
        if self._place.exists() and not self._place.is_file():  # opening a pipe would never end
            raise self._damaged("it is not a file")
        with self._explaining():
            address = f"file:{quote(str(self._place.absolute()))}?mode=ro"
            self.database = sqlite3.connect(address, uri=True, isolation_level=None)
        try:
            self._tables = self._check_tables()
            self.head, self.roots = self._head_and_roots()
        except BaseException:
            self.database.close()
            raise

    def _check_tables(self) -> frozenset[str]:
        """Return the names of the tables. Raises RyeError if the file is damaged or a newer version wrote it."""
        with self._explaining():
            self.database.execute("PRAGMA trusted_schema = OFF")
            self.database.execute("BEGIN")
            strange = backup_rows.strange_object(self.database)
            if strange is not None:
                raise self._damaged(strange)
            (state,) = self.database.execute("PRAGMA quick_check(1)").fetchone()
            if state != "ok":
                raise self._damaged(str(state))
            names = [name for (name,) in self.database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
            columns = {
                name: {row[1] for row in self.database.execute("SELECT * FROM pragma_table_info(?)", (name,))}
                for name in names
            }
        columns.pop(_FORMER, None)
        for name, present in columns.items():
            table = schema.metadata.tables.get(name)
            own_columns = set(table.columns.keys()) if table is not None else set()
            if table is None or not present <= own_columns:
                strange = name if table is None else f"{name}.{min(present - own_columns)}"
                raise RyeError(
                    "source-version", f"{self._place} contains {strange!r}, which this version does not know.", _NEWER
                )
            for column in table.columns if name not in ("head", "log_entries") else ():  # read and verified in full
                is_needed = not (column.nullable or column.server_default is not None or column.default is not None)
                if is_needed and column.name not in present and (name, column.name) not in _FILLED:
                    raise self._damaged(f"the table {name} has no column {column.name}")
        for name in ("head", "log_entries"):
            if name not in columns:
                raise self._damaged(f"it has no table {name}")
        with self._explaining():
            wrong = backup_rows.problem(self.database, {name: frozenset(present) for name, present in columns.items()})
        if wrong is not None:
            raise self._damaged(wrong)
        return frozenset(columns)

    def _head_and_roots(self) -> tuple[bytes, list[bytes]]:
        with self._explaining():
            row = self.database.execute("SELECT document FROM head").fetchone()
            title = Root.TITLE.encode() + b"\n"
            leaves = self.database.execute(
                "SELECT leaf FROM log_entries WHERE substr(leaf, 1, ?) = ? ORDER BY position", (len(title), title)
            ).fetchall()
        if row is None or not leaves:
            raise self._damaged("it contains no log")
        return self._bytes(row[0]), [self._bytes(leaf) for (leaf,) in leaves]

    def entries(self, checkpoint: Checkpoint) -> Iterator[bytes]:
        """Read the entries from the backup's database. Raises RyeError ``source-damaged``."""
        query = "SELECT leaf FROM log_entries WHERE position < ? ORDER BY position"
        with self._explaining():
            for (leaf,) in self.database.execute(query, (checkpoint.size,)):
                yield self._bytes(leaf)

    def blob(self, sha256: str, size: int) -> bytes | None:
        """Read a blob from the backup's folder."""
        try:
            return _if_right(read_regular(self.folder / wire.blob_path(sha256), size), sha256, size)
        except OSError:
            return None

    def rows(self, table: str) -> list[dict[str, object]]:
        """Return all rows of a table that cannot be computed from the log; none if the backup has no such table.

        Raises RyeError ``source-damaged``.
        """
        if table not in self._tables:
            return []
        with self._explaining():
            cursor = self.database.execute(f"SELECT * FROM {table}")  # a name from code
            names = [column[0] for column in cursor.description]
            return [dict(zip(names, row, strict=True)) for row in cursor]

    @contextmanager
    def _explaining(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise self._damaged(str(error)) from error

    def _bytes(self, value: object) -> bytes:
        if not isinstance(value, bytes):
            raise self._damaged("an entry of its log is not bytes")
        return value

    def _damaged(self, reason: str) -> RyeError:
        return RyeError("source-damaged", f"{self._place} cannot be read: {reason}.", _ANOTHER)

    def close(self) -> None:
        """Close the database."""
        self.database.close()


def read_manifest(folder: Path) -> dict[str, object]:
    """Read a backup's manifest. Raises RyeError ``wrong-folder``, ``source-version``."""
    place = folder / MANIFEST
    try:
        manifest = read_json(read_regular(place, _MANIFEST_BYTES))
    except (OSError, JsonError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise RyeError(
            "wrong-folder",
            f"{place} cannot be read: {reason}.",
            "Use another backup: this one is damaged or incomplete.",
            what="backup",
        ) from error
    form = manifest.get("format") if isinstance(manifest, dict) else None
    if not isinstance(manifest, dict) or not isinstance(form, str) or not form.startswith("rye.backup/"):
        raise RyeError(
            "wrong-folder",
            f"{place} is not the manifest of a backup.",
            "Name the folder that `rye-registry backup` wrote.",
            what="backup",
        )
    if form != BACKUP_FORMAT:
        raise RyeError(
            "source-version", f"{folder} has the format {form[:80]}, but this version reads {BACKUP_FORMAT}.", _NEWER
        )
    _check_version(
        wire.PROTOCOL_VERSION, manifest.get("protocol", wire.PROTOCOL_VERSION)
    )  # once it was not written down
    return manifest


def _check_version(ours: int, theirs: object) -> None:
    """Require our protocol. Raises RyeError ``source-version``."""
    if theirs == ours:
        return
    is_older = isinstance(theirs, int) and theirs < ours
    raise RyeError(
        "source-version",
        f"The source was written under protocol {str(theirs)[:20]}, but this version restores protocol {ours}.",
        "Restore it with the rye-registry that wrote it, start this version once on that data folder, then back up again."
        if is_older
        else _NEWER,
    )


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
    return folder / "public" if not _shows(folder) and _shows(folder / "public") else folder


def _shows(folder: Path) -> bool:
    """Whether a folder has ``/head`` or ``/checkpoint``."""
    return (folder / "head").is_file() or (folder / "checkpoint").is_file()


def _if_right(data: bytes, sha256: str, size: int) -> bytes | None:
    return data if len(data) == size and hashlib.sha256(data).hexdigest() == sha256 else None


def _fingerprint(root: bytes) -> str:
    return Root.parse(notes.parse(root).text).sha256()
