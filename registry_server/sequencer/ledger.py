"""The state of the registry inside one transaction: questions to the tables, and the appending of one entry to all of them.

Positions are handed out here and nowhere else; everything else that follows from the entries (index files, shards, tiles) is
computed by :mod:`registry_server.sequencer.sequencer` at the end of a batch.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from registry_server.search import documents as search
from registry_server.sequencer.acceptance import Candidate
from registry_server.storage.schema import (
    head,
    keysets,
    log_entries,
    name_entries,
    names,
    registry,
    releases,
    roots,
    shards,
    submissions,
    takedowns,
    tree_edge,
)
from rye.errors import RyeError
from rye.items.identity import Identity, fold
from rye.registry.protocol import notes
from rye.registry.protocol.lines import read_time, write_time
from rye.registry.protocol.merkle import leaf_hash
from rye.registry.protocol.statements import ItemStatement, Keyset, Release, Root, Snapshot, Takedown, Yank
from rye.registry.protocol.wire import IndexLine, ShardEntry, index_name, shard_of
from rye.registry.trust.keysets import KeysetChain, extend
from rye.registry.trust.records import judge
from rye.registry.trust.trust_error import TrustError
from rye.registry.trust.trusted import read_line
from rye.resolution.versions import Version, comparable

_CHUNK = 500
"""Values in one IN list."""
_HASHES = 100_000
"""Leaf hashes read at once."""


@dataclass(frozen=True, slots=True)
class Published:
    """The newest head in the database."""

    size: int
    time: datetime
    checkpoint: bytes
    document: bytes


class Ledger:
    """One transaction's view. ``size`` counts the entries appended in it, too."""

    def __init__(self, connection: sa.Connection) -> None:
        self.connection = connection
        self._chains: dict[str, KeysetChain] = {}
        self._roots: list[Root] | None = None
        self.touched: set[str] = set()
        """Names whose index files changed in this transaction."""
        origin = connection.scalar(sa.select(registry.c.value).where(registry.c.key == "origin"))
        if origin is None:
            raise RyeError(
                "no-registry", "The database holds no registry.", "Make one: rye-registry init --origin NAME"
            )
        self.origin: str = origin
        self.size: int = (connection.scalar(sa.select(sa.func.max(log_entries.c.position))) or 0) + 1
        if self.size == 1 and connection.scalar(sa.select(log_entries.c.position)) is None:
            self.size = 0

    # -- questions ----------------------------------------------------------------------------------------------------

    def published(self) -> Published | None:
        row = self.connection.execute(sa.select(head)).first()
        return None if row is None else Published(row.size, read_time(row.time), row.checkpoint, row.document)

    def edge(self) -> dict[int, bytes]:
        """The tree's partial tiles as of the newest head."""
        return {row.level: row.hashes for row in self.connection.execute(sa.select(tree_edge))}

    def roots(self) -> list[Root]:
        """All root statements, from number 1 on."""
        if self._roots is None:
            rows = self.connection.execute(sa.select(roots.c.note).order_by(roots.c.number))
            self._roots = [Root.parse(notes.parse(row.note).text) for row in rows]
        return self._roots

    def root_notes(self) -> list[tuple[int, bytes]]:
        """``(number, signed note)`` of all root statements."""
        return [(row.number, row.note) for row in self.connection.execute(sa.select(roots).order_by(roots.c.number))]

    def chain(self, namespace: str) -> KeysetChain:
        """The keysets of a namespace, verified again from their notes."""
        if namespace not in self._chains:
            chain = KeysetChain(self.origin, namespace)
            rows = self.connection.execute(
                sa.select(keysets).where(keysets.c.namespace == namespace).order_by(keysets.c.position)
            )
            for row in rows:
                note = notes.parse(row.note)
                chain = extend(chain, row.position, note, Keyset.parse(note.text), self.roots())
            self._chains[namespace] = chain
        return self._chains[namespace]

    def position_of(self, candidate: Candidate) -> int | None:
        """Where this statement's text stands first in the index of its name, whatever signatures it has there."""
        statement, text = candidate.statement, candidate.note.text
        if isinstance(statement, Root):
            row = self.connection.execute(sa.select(roots).where(roots.c.number == statement.number)).first()
            is_same = row is not None and notes.parse(row.note).text == text
            return row.position if row is not None and is_same else None
        if isinstance(statement, Snapshot):
            return None
        where = sa.and_(name_entries.c.name == name_of(statement), name_entries.c.text_sha256 == _text_sha256(text))
        position: int | None = self.connection.scalar(sa.select(sa.func.min(name_entries.c.position)).where(where))
        return position

    def leaf_hashes(self, size: int) -> Iterator[bytes]:
        """The leaf hashes of the first ``size`` entries, in order."""
        for start in range(0, size, _HASHES):
            where = sa.and_(log_entries.c.position >= start, log_entries.c.position < min(start + _HASHES, size))
            yield from self.connection.scalars(
                sa.select(log_entries.c.hash).where(where).order_by(log_entries.c.position)
            )

    def leading_to(self, hashes: Iterable[str]) -> set[str]:
        """Of these hashes those of an index file or a shard that the newest head leads to."""
        found: set[str] = set()
        for chunk in _chunks(sorted(set(hashes))):
            for column in (names.c.index_sha256, shards.c.sha256):
                found.update(self.connection.scalars(sa.select(column).where(column.in_(chunk))))
        return found

    def taken_down(self, hashes: Iterable[str]) -> dict[str, str]:
        """Of these blobs those that were taken down, each with the first reason."""
        found: dict[str, str] = {}
        for chunk in _chunks(sorted(set(hashes))):
            rows = self.connection.execute(
                sa.select(takedowns).where(takedowns.c.sha256.in_(chunk)).order_by(takedowns.c.position)
            )
            for row in rows:
                found.setdefault(row.sha256, row.reason)
        return found

    def all_taken_down(self) -> list[str]:
        """The hashes of all blobs that were taken down."""
        return list(self.connection.scalars(sa.select(takedowns.c.sha256).distinct().order_by(takedowns.c.sha256)))

    def release(self, name: str, version: str) -> sa.Row[Any] | None:
        where = sa.and_(releases.c.name == name, releases.c.version == version)
        return self.connection.execute(sa.select(releases).where(where)).first()

    def has_name(self, name: str) -> bool:
        return self.connection.scalar(sa.select(names.c.name).where(names.c.name == name)) is not None

    def look_alike(self, name: str) -> str | None:
        """Another name, already taken, that folds to the same letters."""
        where = sa.and_(names.c.fold == folded(name), names.c.name != name)
        return self.connection.scalar(sa.select(names.c.name).where(where))

    def leaves(self, start: int, end: int) -> list[bytes]:
        """Entries from position ``start`` up to ``end``."""
        where = sa.and_(log_entries.c.position >= start, log_entries.c.position < end)
        return list(
            self.connection.scalars(sa.select(log_entries.c.leaf).where(where).order_by(log_entries.c.position))
        )

    def index_lines(self, wanted: Iterable[str]) -> Iterator[tuple[str, list[IndexLine]]]:
        """Each of the names with all lines of its index file."""
        for chunk in _chunks(sorted(wanted)):
            rows = self.connection.execute(
                sa.select(name_entries.c.name, name_entries.c.position, log_entries.c.leaf)
                .join(log_entries, log_entries.c.position == name_entries.c.position)
                .where(name_entries.c.name.in_(chunk))
                .order_by(name_entries.c.name, name_entries.c.position)
            )
            found: dict[str, list[IndexLine]] = {}
            for row in rows:
                found.setdefault(row.name, []).append(IndexLine(row.position, row.leaf.decode()))
            yield from found.items()

    def shard(self, shard: str) -> list[ShardEntry]:
        """All names of a shard."""
        rows = self.connection.execute(
            sa.select(names.c.name, names.c.index_sha256, names.c.index_size).where(names.c.shard == shard)
        )
        return [ShardEntry(row.name, row.index_sha256, row.index_size) for row in rows]

    def shards(self) -> dict[str, str]:
        """The hashes of all shards that are not empty."""
        return {row.shard: row.sha256 for row in self.connection.execute(sa.select(shards))}

    def all_names(self) -> list[str]:
        return list(self.connection.scalars(sa.select(names.c.name).order_by(names.c.name)))

    # -- changes ------------------------------------------------------------------------------------------------------

    def append_leaf(self, leaf: bytes) -> int:
        """Put an entry at the end of the log; returns its position."""
        position = self.size
        self.connection.execute(log_entries.insert().values(position=position, leaf=leaf, hash=leaf_hash(leaf)))
        self.size += 1
        return position

    def append(self, candidate: Candidate, now: datetime) -> int:
        """Put an admitted statement into the log and into everything that follows from it. ``now``: the batch's time."""
        statement, leaf = candidate.statement, candidate.leaf
        position = self.append_leaf(leaf)
        if isinstance(statement, Root):
            self.connection.execute(roots.insert().values(number=statement.number, position=position, note=leaf))
            self._roots = None
            return position
        if isinstance(statement, Snapshot):
            raise ValueError("a snapshot is a bare leaf")
        name = name_of(statement)
        self._add_to_index(name, position, candidate.note.text)
        if isinstance(statement, Keyset):
            recovery = write_time(statement.recovery) if statement.recovery else None
            values = {"namespace": statement.namespace, "position": position, "note": leaf, "recovery": recovery}
            self.connection.execute(keysets.insert().values(values))
            self._chains.pop(statement.namespace, None)
            if statement.revoked:
                self.refresh_namespace(statement.namespace, now)
            return position
        if isinstance(statement, Release):
            self.connection.execute(
                releases.insert().values(
                    name=name,
                    version=statement.version,
                    position=position,
                    content=content_digest(statement),
                    description=statement.description,
                    keywords=candidate.keywords,
                    yanked=False,
                )
            )
            self._refresh_document(name)
        elif isinstance(statement, Takedown):
            for sha256 in statement.files:
                self.connection.execute(
                    takedowns.insert().values(
                        sha256=sha256,
                        position=position,
                        name=name,
                        version=statement.version,
                        reason=statement.reason,
                    )
                )
            self.refresh(name, now)
        elif isinstance(statement, Yank):
            self.refresh(name, now)
        return position

    def titled(self, title: str) -> Iterator[tuple[int, bytes]]:
        """Position and note of every entry of one type of statement."""
        first = title.encode() + b"\n"
        for start in range(0, self.size, _CHUNK):
            for position, leaf in enumerate(self.leaves(start, min(start + _CHUNK, self.size)), start):
                if leaf.startswith(first):
                    yield position, leaf

    def refresh(self, name: str, now: datetime) -> None:
        """Bring the withdrawn releases of a name, and what search finds, up to what clients read in its index."""
        withdrawn = self.withdrawn(name, now)
        if withdrawn is None:
            return  # clients refuse the whole history; `verify` says so
        where = releases.c.name == name
        rows = self.connection.execute(sa.select(releases.c.version, releases.c.yanked).where(where)).all()
        for version, before in rows:
            if before != (version in withdrawn):
                change = releases.update().where(sa.and_(where, releases.c.version == version))
                self.connection.execute(change.values(yanked=version in withdrawn))
        self._refresh_document(name)

    def refresh_namespace(self, namespace: str, now: datetime) -> None:
        """All names of a namespace: a key of it was revoked, so what it signed may count no more."""
        parts = sa.select(releases.c.name).where(releases.c.name.like(f"%:{_like(namespace)}/%", escape="!")).distinct()
        for name in self.connection.scalars(parts).all():
            self.refresh(name, now)

    def withdrawn(self, name: str, now: datetime) -> frozenset[str] | None:
        """The versions that search must not offer: yanked, signed by a revoked key or taken down, as clients judge it.

        None: clients refuse the history as a whole.
        """
        kind, _, identifier = name.partition(":")
        identity = Identity(kind, identifier)
        lines = dict(self.index_lines([name])).get(name, [])
        try:
            entries = [read_line(line, name) for line in lines]
            history = judge(identity, entries, self.chain(identity.namespace), self.roots(), now)
        except TrustError:
            return None
        return frozenset(record.version for record in history.records if record.is_withdrawn)

    def recovered_between(self, earlier: datetime, later: datetime) -> list[str]:
        """Namespaces with a recovery that took effect after ``earlier`` and not after ``later``."""
        where = sa.and_(keysets.c.recovery > write_time(earlier), keysets.c.recovery <= write_time(later))
        return list(self.connection.scalars(sa.select(keysets.c.namespace).where(where).distinct()))

    def record_submissions(self, rows: Sequence[tuple[int, str, str]], now: datetime) -> None:
        """Who sent entries: position, token, address."""
        if rows:
            time = write_time(now)
            self.connection.execute(
                submissions.insert(),
                [
                    {"position": position, "token": token, "address": address, "time": time}
                    for position, token, address in rows
                ],
            )

    def rolled_back(self, size: int, touched: set[str]) -> None:
        """After a rollback to a savepoint: back to what was so when it began."""
        self._chains.clear()
        self._roots = None
        self.size, self.touched = size, touched

    def write_index(self, name: str, sha256: str, size: int) -> None:
        self.connection.execute(names.update().where(names.c.name == name).values(index_sha256=sha256, index_size=size))

    def write_shard(self, shard: str, sha256: str) -> None:
        self.connection.execute(shards.delete().where(shards.c.shard == shard))
        self.connection.execute(shards.insert().values(shard=shard, sha256=sha256))

    def write_head(self, published: Published, edge: dict[int, bytes]) -> None:
        time = write_time(published.time)
        self.connection.execute(head.delete())
        self.connection.execute(
            head.insert().values(
                id=1, size=published.size, time=time, checkpoint=published.checkpoint, document=published.document
            )
        )
        self.connection.execute(tree_edge.delete())
        for level, hashes in edge.items():
            self.connection.execute(tree_edge.insert().values(level=level, hashes=hashes))

    def _add_to_index(self, name: str, position: int, text: str) -> None:
        if not self.has_name(name):
            self.connection.execute(
                names.insert().values(name=name, shard=shard_of(name), fold=folded(name), index_sha256="", index_size=0)
            )
        self.connection.execute(
            name_entries.insert().values(name=name, position=position, text_sha256=_text_sha256(text))
        )
        self.touched.add(name)

    def _refresh_document(self, name: str) -> None:
        kind, _, identifier = name.partition(":")
        rows = self.connection.execute(
            sa.select(releases).where(releases.c.name == name, releases.c.yanked.is_(sa.false()))
        ).all()
        if not rows:
            search.remove(self.connection, kind, identifier)
            return
        latest = max(rows, key=lambda row: rank(row.version))
        search.put(
            self.connection,
            search.Document(kind, identifier, latest.version, latest.description, latest.keywords),
        )


def name_of(statement: Keyset | ItemStatement) -> str:
    """The name in whose index a statement stands."""
    return index_name(statement.namespace if isinstance(statement, Keyset) else statement.identity)


def content_digest(release: Release) -> str:
    """What decides whether two releases have the same bytes: the file and all attached files with their paths."""
    content = [release.file.write(), *(entry.write() for entry in release.attached)]
    return hashlib.sha256("\n".join(content).encode()).hexdigest()


def rank(version: str) -> tuple[bool, Version]:
    """Versions as search prefers them: a release before any pre-release, then by precedence; last what cannot be compared."""
    parsed = comparable(version)
    return (not parsed.is_prerelease, parsed) if parsed is not None else (False, Version.of(0, 0, 0, "0"))


def folded(name: str) -> str:
    """The name with look-alike letters folded."""
    kind, _, identifier = name.partition(":")
    return f"{kind}:{fold(identifier)}"


def _like(text: str) -> str:
    """A literal part of a LIKE pattern: ``_`` is a letter of names."""
    return text.replace("!", "!!").replace("_", "!_").replace("%", "!%")


def _text_sha256(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def _chunks(values: list[str]) -> Iterator[list[str]]:
    for start in range(0, len(values), _CHUNK):
        yield values[start : start + _CHUNK]
