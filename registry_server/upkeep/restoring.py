"""Restoring a registry: a source's log is replayed into an empty or older database.

Nothing is trusted, nothing is signed.

Rules:

1. The whole source is verified first (:mod:`registry_server.upkeep.sources`).
2. The database is empty, or contains the beginning of the source's log (``restore-fork``). If its log is the longer
   one, only blobs are restored.
3. The store shows nothing, or a head that the restored log contains (``database-behind``). Otherwise clients would see
   a fork.
4. Blobs, static files and rows are written before the head is shown; the head is the source's, with its signatures. An
   interrupted restore is run again: all rows are written in one transaction.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import sqlalchemy as sa

from registry_server.accounts import audit_events
from registry_server.accounts.scopes import DEFAULT_SCOPES
from registry_server.sequencer import search_offers
from registry_server.sequencer.acceptance import Candidate
from registry_server.sequencer.cosigned_head import read_cosigned
from registry_server.sequencer.head_publication import HeadPublication
from registry_server.sequencer.leadership import confirm, holder_name, take
from registry_server.sequencer.ledger import Ledger, Published
from registry_server.sequencer.name_nodes import NameNodes
from registry_server.sequencer.tree import Edge
from registry_server.storage import database, schema
from registry_server.storage.first_line import first_line
from registry_server.storage.objects import Objects
from registry_server.upkeep import audit
from registry_server.upkeep.backup import KEPT
from registry_server.upkeep.sources import Backup, CheckedSource
from rye.errors import RyeError
from rye.items.published import read_published
from rye.items.search_words import search_words
from rye.registry.protocol import merkle, notes, statements, wire
from rye.registry.protocol.name_map import MapEntry
from rye.registry.protocol.statements import Checkpoint, FormerSnapshot, Release, Snapshot

_WRITTEN_AT_ONCE = 1000
"""Rows are written after this many entries."""


@dataclass(frozen=True, slots=True)
class Restored:
    """What a restore did."""

    origin: str
    fingerprint: str
    size: int
    entries: int
    """Log entries that the database did not have."""
    blobs: int
    """Blobs that the store did not have."""


def known_fingerprint(engine: sa.Engine) -> str | None:
    """Return the fingerprint of root 1; None if the database contains no registry."""
    with database.reader(engine) as connection:
        if connection.scalar(sa.select(schema.roots.c.number).limit(1)) is None:
            return None
        return Ledger(connection).roots()[0].sha256()


def restore(engine: sa.Engine, public: Objects, checked: CheckedSource) -> Restored:
    """Replay a verified source. Raises RyeError and leaves the database unchanged."""
    blobs = _restore_blobs(public, checked)
    holder, publication = holder_name(), HeadPublication(public)
    with database.writer(engine) as connection:
        term = take(connection, holder)
        _found(connection, checked.state.origin)
        ledger = Ledger(connection)
        before = ledger.size
        _check_prefix(ledger, checked)
        if before < checked.checkpoint.size:
            _replay(ledger, public, checked)
            audit.recompute(ledger, public)
        if isinstance(checked.source, Backup):
            _restore_rows(connection, checked.source)
        publication.check(ledger, thorough=True)
        confirm(connection, holder, term)
    with database.writer(engine) as connection:
        ledger = Ledger(connection)
        published = ledger.published()
        publication.cosigned = read_cosigned(connection)
        if published is not None:
            publication.replace(lambda: ledger, published)
    for sha256 in checked.audit.taken_down:
        public.delete(wire.blob_path(sha256))
    return Restored(checked.state.origin, checked.state.fingerprint, ledger.size, max(ledger.size - before, 0), blobs)


def _found(connection: sa.Connection, origin: str) -> None:
    existing = connection.scalar(sa.select(schema.registry.c.value).where(schema.registry.c.key == "origin"))
    if existing is None:
        connection.execute(schema.registry.insert().values(key="origin", value=origin))
    elif existing != origin:
        raise RyeError(
            "wrong-origin", f"The database belongs to {existing}, but the source to {origin}.", "Check --from."
        )


def _check_prefix(ledger: Ledger, checked: CheckedSource) -> None:
    """Rule 2: the entries that both have are the same."""
    common = min(ledger.size, checked.checkpoint.size)
    tree = merkle.CompactRange()
    own = ledger.leaf_hashes(common)
    for position, mine in enumerate(own):
        if mine != checked.leaf(position):
            raise RyeError(
                "restore-fork",
                f"Entry {position} of the database is not the same as the source's: they are different histories.",
                "Use another source. If the database's own entries were never served, start with an empty database.",
            )
        tree, _ = tree.append(mine)
    if ledger.size > common and tree.root() != checked.checkpoint.root_hash:
        raise RyeError(
            "restore-fork", "The source's log is not the beginning of the database's.", "Use another source."
        )


def _restore_blobs(public: Objects, checked: CheckedSource) -> int:
    count = 0
    missing = []
    for sha256, size in checked.audit.blobs.items():
        path = wire.blob_path(sha256)
        present = public.get(path)
        if present is not None and len(present) == size and _sha256(present) == sha256:
            continue
        data = checked.source.blob(sha256, size)
        if data is None:
            missing.append(sha256)
            continue
        public.put(path, data)
        count += 1
    if missing:
        raise RyeError(
            "blob-missing",
            f"{len(missing)} blobs that the source's log names are missing from it, first {missing[0]}.",
            "Use a complete source. The blobs that were found are kept, so two incomplete sources can complete each other.",
        )
    return count


def _replay(ledger: Ledger, public: Objects, checked: CheckedSource) -> None:
    """Append the entries that the database does not have, and store the source's head."""
    time = checked.head.snapshot.time
    edge = Edge(0, {})
    start = ledger.size
    for position, entry in enumerate(checked.entries()):
        edge.append(merkle.leaf_hash(entry))
        if position < start:
            continue
        note = notes.parse(entry)
        statement = statements.parse(note.text)
        if isinstance(statement, Snapshot | FormerSnapshot):
            ledger.append_leaf(entry)
            continue
        keywords = _keywords(statement, public) if isinstance(statement, Release) else ""
        ledger.append(Candidate(note, statement, keywords=keywords), time)
        if position % _WRITTEN_AT_ONCE == 0:
            ledger.settle()
    files = {name: wire.encode_index(lines) for name, lines in ledger.index_lines(ledger.touched)}
    published = ledger.published()
    changed = [MapEntry(name, _sha256(data), len(data)) for name, data in files.items()]
    names = NameNodes().change(ledger, published.map if published else None, changed, start)
    ledger.write_indexes((entry.name, entry.sha256, entry.size) for entry in changed)
    for name in files:
        if not name.startswith(f"{wire.NAMESPACE}:"):
            search_offers.refresh(ledger, name, time)
    checkpoint_note = wire.decode_head(checked.source.head).checkpoint
    replayed = Checkpoint(checked.state.origin, edge.size, edge.range.root(), checked.checkpoint.audit)
    if replayed != checked.checkpoint or names.root != checked.head.map:
        raise RyeError("source-damaged", "The source changed while it was read.", "Run the same command again.")
    published = Published(replayed.size, time, checkpoint_note.encode(), checked.source.head, names.root)
    ledger.write_head(published, edge.partial())


def _keywords(release: Release, public: Objects) -> str:
    data = public.get(wire.blob_path(release.file.sha256))
    if data is None:
        return ""
    attached = [entry.path for entry in release.attached]
    metadata = read_published(release.identity, release.file.suffix, data, attached).metadata
    keywords = metadata.keywords if metadata is not None else ""
    return search_words(keywords, data.decode("utf-8", "replace"), release.file.suffix)


def _restore_rows(connection: sa.Connection, source: Backup) -> None:
    """Restore accounts, tokens and who uploaded what.

    Rows that the database already has stay unchanged, but what the backup knows to be taken away is taken away.
    Raises RyeError ``restore-conflict``.
    """
    is_continued = _continues_events(connection, source)
    _take_away(connection, source, is_newer=is_continued and audit_events.head(connection)[0] > 0)
    for table, key in KEPT:
        if table in (schema.audit_events, schema.audit_head) and not is_continued:
            continue
        columns = [table.c[name] for name in key]
        present = {tuple(row) for row in connection.execute(sa.select(*columns))}
        rows = source.rows(table.name)
        if table is schema.team_members:
            rows = [{"group_name": "", **row} for row in rows]  # in older backups everyone was added by hand
        fresh = [row for row in rows if tuple(row[name] for name in key) not in present]
        if table is schema.namespace_roles:  # the database assigns new numbers
            fresh = [{name: value for name, value in row.items() if name != "number"} for row in fresh]
        if table is schema.tokens:
            fresh = [{"scopes": " ".join(DEFAULT_SCOPES), **row} for row in fresh]  # older backups have no scopes
        try:
            if fresh:
                connection.execute(table.insert(), fresh)
        except (sa.exc.IntegrityError, sa.exc.DataError) as error:
            raise RyeError(
                "restore-conflict",
                f"The database refuses the backup's rows of the table {table.name}: {first_line(error.orig or error)}",
                "Restore into an empty database, or use `--from store` for the log alone.",
            ) from error
    if is_continued:
        rows = source.rows(schema.audit_head.name)
        if rows:
            connection.execute(schema.audit_head.update().values(size=rows[0]["size"], hash=rows[0]["hash"]))


def _take_away(connection: sa.Connection, source: Backup, *, is_newer: bool) -> None:
    """Revoke tokens and disable accounts that the backup knows to be, and remove roles, publishers and webhooks that a newer
    backup lacks, or has bound to somebody since.

    ``is_newer``: the backup's audit events continue the database's, so its rows are the later ones.
    """
    for table, column in ((schema.tokens, schema.tokens.c.revoked), (schema.accounts, schema.accounts.c.disabled)):
        for row in source.rows(table.name):
            if row.get(column.name) is not None:
                is_here = sa.and_(table.c.id == row["id"], column.is_(None))
                connection.execute(table.update().where(is_here).values({column.name: row[column.name]}))
    if is_newer:
        for table in _GIVEN:
            connection.execute(table.delete())


_GIVEN = (
    schema.namespace_roles,
    schema.team_members,
    schema.team_groups,
    schema.trusted_publishers,
    schema.webhooks,
)
"""Tables whose rows let somebody do or learn something, and are deleted to take it away."""


def _continues_events(connection: sa.Connection, source: Backup) -> bool:
    """Whether the database's chain of audit events is the beginning of the backup's, so that the backup's can follow
    it.
    """
    size, last = audit_events.head(connection)
    rows = source.rows(schema.audit_events.name)
    return size == 0 or any((row["position"], row["hash"]) == (size - 1, last) for row in rows)


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
