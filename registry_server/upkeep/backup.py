"""Writing a backup: one folder from which the whole registry can be restored, on SQLite or PostgreSQL, folder or
bucket.

::

backup.json the manifest: format, protocol, origin, fingerprint, size of the log, time registry.toml the settings database.db
SQLite: log entries, head, tokens, who uploaded what; everything else follows from these blobs/sha256/aa/… every blob
that the log names keys/*.sealed only on request, each sealed under a passphrase

Backing up again to the same folder copies only new blobs. The database is read first, in one transaction; blobs are
only added, so all blobs that it names exist. ``backup.json`` is written last: an interrupted run leaves the previous
backup valid. A backup never replaces one of a larger log, and is never made from a database that is behind its store.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import sqlalchemy as sa

from registry_server.accounts import registry_keys
from registry_server.accounts.registry_keys import PrivateKey
from registry_server.sequencer.head_publication import check_contained, shown_checkpoint
from registry_server.sequencer.ledger import Ledger
from registry_server.settings import SETTINGS_FILE, Settings
from registry_server.storage import database, schema
from registry_server.storage.objects import Folder, Objects
from registry_server.upkeep.sources import BACKUP_FORMAT, MANIFEST, read_manifest
from rye.errors import RyeError
from rye.limits import KIB
from rye.registry.protocol import notes, statements, wire
from rye.registry.protocol.lines import write_time
from rye.registry.protocol.statements import Release
from rye.signing.keys import PrivateKey as ItemKey
from rye.signing.private_text import seal, unseal
from rye.storage.atomic import replace_file
from rye.storage.safe_files import read_regular

KEPT = (
    (schema.accounts, ("id",)),
    (schema.teams, ("name",)),
    (schema.team_members, ("team", "account", "group_name")),
    (schema.team_groups, ("id",)),
    (schema.namespace_roles, ("namespace", "account", "team")),
    (schema.tokens, ("id",)),
    (schema.token_namespaces, ("token", "namespace")),
    (schema.trusted_publishers, ("id",)),
    (schema.submissions, ("position",)),
    (schema.audit_events, ("position",)),
    (schema.audit_head, ("id",)),
    (schema.webhooks, ("id",)),
)
"""Tables outside the log, each after those that it refers to, and their keys. Sessions, links and stages are not kept: they
expire soon."""
TABLES = (schema.log_entries, schema.head, *(table for table, _ in KEPT))
"""The tables that cannot be computed from others."""
_ROWS = 1000
_SEALED_BYTES = 16 * KIB


@dataclass(frozen=True, slots=True)
class Written:
    """What a backup contains now."""

    size: int
    blobs: int
    new_blobs: int
    keys: int


def write(settings: Settings, engine: sa.Engine, public: Objects, target: Path, passphrase: str | None) -> Written:
    """Bring the backup in ``target`` up to date.

    ``passphrase``: include the private keys, sealed under it. Raises RyeError.
    """
    _check_target(target)
    seen = [(path, public.get(path)) for path in ("head", "checkpoint")]
    target.mkdir(parents=True, exist_ok=True, mode=0o700)
    with database.reader(engine) as connection:
        ledger = Ledger(connection)
        published = ledger.published()
        if published is None:
            raise RyeError("no-head", "The registry has no head yet.", "Start it once: rye-registry serve")
        for path, data in seen:
            shown = shown_checkpoint(path, data)
            if shown is not None:
                check_contained(ledger, shown)
        _check_before(target, ledger, published.size)
        fingerprint = ledger.roots()[0].sha256()
        blobs = dict(_named_blobs(ledger))
        gone = set(ledger.all_taken_down())
        _copy_tables(connection, target / "database.db")
    new = _copy_blobs(public, Folder(target), blobs, gone)
    kept_keys = _seal_keys(settings, target, passphrase) if passphrase is not None else 0
    if (settings.data / SETTINGS_FILE).exists():
        replace_file(target / SETTINGS_FILE, (settings.data / SETTINGS_FILE).read_bytes())
        (target / SETTINGS_FILE).chmod(0o600)
    facts = {
        "format": BACKUP_FORMAT,
        "protocol": wire.PROTOCOL_VERSION,
        "origin": ledger.origin,
        "fingerprint": fingerprint,
        "size": published.size,
        "time": write_time(datetime.now(UTC)),
    }
    replace_file(target / MANIFEST, json.dumps(facts, indent=1).encode() + b"\n")
    return Written(published.size, len(blobs.keys() - gone), new, kept_keys)


def unsealed_keys(folder: Path, passphrase: str) -> list[tuple[str, PrivateKey]]:
    """Return file names and private keys of a backup. Raises RyeError ``wrong-passphrase``, ``bad-key``."""
    unsealed = []
    for path in sorted((folder / "keys").glob("*.sealed")):
        try:
            name, _, sealed = read_regular(path, _SEALED_BYTES).decode("utf-8").partition("\n")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise RyeError("bad-key", f"{path} cannot be read: {reason}.", "Use another backup.") from error
        key = PrivateKey(name, unseal(sealed, passphrase).seed)
        PrivateKey.decode(key.encode())
        unsealed.append((path.name.removesuffix(".sealed"), key))
    return unsealed


def _check_target(target: Path) -> None:
    if target.exists() and not target.is_dir():
        raise RyeError("wrong-folder", f"{target} is not a folder.", "Choose a new folder.", what="backup")
    if target.is_dir() and any(target.iterdir()) and not (target / MANIFEST).exists():
        names = {path.name for path in target.iterdir()}
        if not names <= {
            "database.db",
            "blobs",
            "keys",
            SETTINGS_FILE,
            "database.db.new",
        }:  # it is not an interrupted first backup either
            raise RyeError(
                "wrong-folder", f"{target} is not empty and is not a backup.", "Choose a new folder.", what="backup"
            )


def _check_before(target: Path, ledger: Ledger, size: int) -> None:
    if not (target / MANIFEST).exists():
        return
    before = read_manifest(target)
    if before.get("origin") != ledger.origin:
        raise RyeError(
            "wrong-folder", f"{target} is a backup of {before.get('origin')}.", "Choose a new folder.", what="backup"
        )
    written = before.get("size")
    if isinstance(written, int) and written > size:
        raise RyeError(
            "database-behind",
            f"The backup has {written} log entries, but the database only {size}: an older database was restored.",
            f"Restore the missing entries first: `rye-registry restore --from store`, or from {target}.",
        )


def _named_blobs(ledger: Ledger) -> Iterator[tuple[str, int]]:
    for _, leaf in ledger.titled(Release.TITLE):
        release = statements.parse(notes.parse(leaf).text)
        assert isinstance(release, Release)
        yield release.file.sha256, release.file.size
        for entry in release.attached:
            yield entry.sha256, entry.size


def _copy_tables(connection: sa.Connection, place: Path) -> None:
    """Copy the rows, in one consistent state, to a new file that replaces the old one when it is complete."""
    fresh = place.with_name(place.name + ".new")
    fresh.unlink(missing_ok=True)
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    os.close(descriptor)
    with closing(sqlite3.connect(fresh)) as copy:
        for table in TABLES:
            names = [column.name for column in table.columns]
            copy.execute(f"CREATE TABLE {table.name} ({', '.join(names)})")
            rows = connection.execution_options(yield_per=_ROWS).execute(sa.select(table))
            places = ", ".join("?" * len(names))
            for part in rows.partitions(_ROWS):
                copy.executemany(f"INSERT INTO {table.name} VALUES ({places})", [tuple(row) for row in part])
        copy.execute("CREATE INDEX log_entries_position ON log_entries (position)")
        copy.commit()
    with fresh.open("rb+") as file:
        os.fsync(file.fileno())
    os.replace(fresh, place)


def _copy_blobs(public: Objects, target: Folder, blobs: dict[str, int], gone: set[str]) -> int:
    new = 0
    missing = []
    for sha256, size in blobs.items():
        path = wire.blob_path(sha256)
        if sha256 in gone:
            target.delete(path)
            continue
        place = target.root / path
        if place.is_file() and place.stat().st_size == size:
            continue
        data = public.get(path)
        if data is None or hashlib.sha256(data).hexdigest() != sha256:
            missing.append(sha256)
            continue
        target.put(path, data)
        new += 1
    if missing:
        raise RyeError(
            "blob-missing",
            f"{len(missing)} blobs that the log names are missing or damaged, first {missing[0]}.",
            "Restore them from a mirror, then back up again: rye-registry restore --from ADDRESS",
        )
    return new


def _seal_keys(settings: Settings, target: Path, passphrase: str) -> int:
    """Seal all private keys of the key folder under the passphrase, replacing those of an earlier backup."""
    fresh = target / ".keys.new"
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(mode=0o700)
    paths: Sequence[Path] = sorted(settings.keys.glob("*.key"))
    for path in paths:
        key = registry_keys.read(path)
        sealed = seal(ItemKey(key.seed), passphrase)
        (fresh / f"{path.name}.sealed").write_text(f"{key.name}\n{sealed}", encoding="utf-8")
    shutil.rmtree(target / "keys", ignore_errors=True)
    os.replace(fresh, target / "keys")
    return len(paths)
