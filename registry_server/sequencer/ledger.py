"""The state of the registry inside one transaction: questions to the tables, and the appending of one entry to all of them.

Positions are handed out here and nowhere else; everything else that follows from the entries (index files, name map, tiles) is
computed by :mod:`registry_server.sequencer.sequencer` at the end of a batch.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from registry_server.search import documents as search
from registry_server.sequencer.acceptance import Candidate, blobs_of
from registry_server.sequencer.chains import read_chain, read_root
from registry_server.sequencer.waiting import KnownRelease, Waiting
from registry_server.storage.schema import (
    head,
    keysets,
    log_entries,
    map_nodes,
    name_entries,
    names,
    registry,
    releases,
    roots,
    submissions,
    takedowns,
    tree_edge,
)
from rye.errors import RyeError
from rye.items.identity import Identity, fold
from rye.registry.protocol import notes
from rye.registry.protocol.lines import read_time, write_time
from rye.registry.protocol.merkle import leaf_hash
from rye.registry.protocol.statements import (
    FormerSnapshot,
    ItemStatement,
    Keyset,
    Release,
    Root,
    Snapshot,
    Takedown,
    Yank,
)
from rye.registry.protocol.wire import IndexLine, index_name
from rye.registry.trust.keysets import KeysetChain
from rye.registry.trust.records import ReleaseRecord, judge
from rye.registry.trust.trust_error import TrustError
from rye.registry.trust.trusted import read_line
from rye.resolution.versions import Version, comparable

_CHUNK = 500
"""Values in one IN list."""
_HASHES = 100_000
"""Leaf hashes read at once."""


def _some(column: sa.ColumnElement[Any]) -> sa.ColumnElement[bool]:
    return column.in_(sa.bindparam("some", expanding=True))


# What every batch asks: built once, because to build a statement takes longer than to run it.
_ORIGIN_AND_NEWEST = sa.select(
    registry.c.value, sa.select(sa.func.max(log_entries.c.position)).scalar_subquery().label("newest")
).where(registry.c.key == "origin")
_HEAD = sa.select(head)
_EDGE = sa.select(tree_edge)
_NAMES_BY_FOLD = sa.select(names.c.name, names.c.fold).where(_some(names.c.fold))
_LEAVES = (
    sa.select(log_entries.c.leaf)
    .where(log_entries.c.position >= sa.bindparam("start"), log_entries.c.position < sa.bindparam("end"))
    .order_by(log_entries.c.position)
)
_INDEX_LINES = (
    sa.select(name_entries.c.name, name_entries.c.position, log_entries.c.leaf)
    .join(log_entries, log_entries.c.position == name_entries.c.position)
    .where(_some(name_entries.c.name))
    .order_by(name_entries.c.name, name_entries.c.position)
)
_KEYSETS = (
    sa.select(keysets.c.namespace, keysets.c.position, keysets.c.note)
    .where(_some(keysets.c.namespace))
    .order_by(keysets.c.namespace, keysets.c.position)
)
_TAKEDOWNS = sa.select(takedowns).where(_some(takedowns.c.sha256)).order_by(takedowns.c.position)
_OFFERED = sa.select(releases).where(_some(releases.c.name), releases.c.yanked.is_(sa.false()))
_WRITE_INDEX = names.update().where(names.c.name == sa.bindparam("which"))
_INSERTS = {table.name: table.insert() for table in (log_entries, names, name_entries, releases)}


@dataclass(frozen=True, slots=True)
class Published:
    """The newest head in the database."""

    size: int
    time: datetime
    checkpoint: bytes
    document: bytes
    map: str
    """SHA-256 of the root of the name map."""


class Ledger:
    """One transaction's view. ``size`` counts the entries appended in it, too."""

    def __init__(self, connection: sa.Connection) -> None:
        self.connection = connection
        self._waiting = Waiting()
        self._roots: list[Root] | None = None
        self.touched: set[str] = set()
        """Names whose index files changed in this transaction."""
        found = connection.execute(_ORIGIN_AND_NEWEST).first()
        if found is None:
            raise RyeError(
                "no-registry", "The database holds no registry.", "Make one: rye-registry init --origin NAME"
            )
        self.origin: str = found.value
        self.size: int = 0 if found.newest is None else found.newest + 1

    def prepare(self, candidates: Iterable[Candidate]) -> None:
        """Read what :func:`registry_server.sequencer.admission.admit` will ask about a batch's releases, all at once."""
        names_wanted: set[str] = set()
        texts: set[tuple[str, bytes]] = set()
        versions: set[tuple[str, str]] = set()
        blobs: set[str] = set()
        namespaces: set[str] = set()
        for candidate in candidates:
            statement = candidate.statement
            if isinstance(statement, Release):
                name = name_of(statement)
                names_wanted.add(name)
                texts.add((name, _text_sha256(candidate.note.text)))
                versions.add((name, statement.version))
                blobs.update(blobs_of(statement))
                namespaces.add(statement.identity.namespace)
        known, execute = self._waiting, self.connection.execute
        known.names.update(dict.fromkeys(names_wanted, False))
        known.folds.update(dict.fromkeys(map(folded, names_wanted)))
        known.texts.update(dict.fromkeys(texts))
        known.releases.update(dict.fromkeys(versions))
        for chunk in _chunks(sorted(known.folds)):
            for taken in execute(_NAMES_BY_FOLD, {"some": chunk}):
                known.folds[taken.fold] = taken.name
                known.names[taken.name] = True
        for chunk in _chunks(sorted(name for name in names_wanted if known.names[name])):
            some = set(chunk)
            entries = sa.select(name_entries).where(
                name_entries.c.name.in_(chunk),
                name_entries.c.text_sha256.in_([sha256 for name, sha256 in texts if name in some]),
            )
            for entry in execute(entries.order_by(name_entries.c.position.desc())):
                known.texts[entry.name, bytes(entry.text_sha256)] = entry.position  # the first one last
            made = sa.select(releases).where(
                releases.c.name.in_(chunk),
                releases.c.version.in_({version for name, version in versions if name in some}),
            )
            for release in execute(made):
                known.releases[release.name, release.version] = KnownRelease(release.position, release.content)
        self.taken_down(blobs)
        for chunk in _chunks(sorted(namespaces)):
            self._read_keysets(chunk)

    def flush(self) -> None:
        """Write what waits, many rows at a time. Every question about the tables that is not answered from memory does it."""
        if not self._waiting.rows and not self._waiting.stale:
            return
        for table in (log_entries, names, name_entries, releases):
            rows = self._waiting.rows.get(table.name)
            if rows:
                self.connection.execute(_INSERTS[table.name], rows)
        stale = sorted(self._waiting.stale)
        self._waiting.written()
        for chunk in _chunks(stale):
            self._refresh_documents(chunk)

    # -- questions ----------------------------------------------------------------------------------------------------

    def published(self) -> Published | None:
        row = self.connection.execute(_HEAD).first()
        return None if row is None else Published(row.size, read_time(row.time), row.checkpoint, row.document, row.map)

    def edge(self) -> dict[int, bytes]:
        """The tree's partial tiles as of the newest head."""
        return {row.level: row.hashes for row in self.connection.execute(_EDGE)}

    def roots(self) -> list[Root]:
        """All root statements, from number 1 on."""
        if self._roots is None:
            self._roots = [read_root(note) for _, note in self.root_notes()]
        return self._roots

    def root_notes(self) -> list[tuple[int, bytes]]:
        """``(number, signed note)`` of all root statements."""
        return [(row.number, row.note) for row in self.connection.execute(sa.select(roots).order_by(roots.c.number))]

    def chain(self, namespace: str) -> KeysetChain:
        """The keysets of a namespace, verified from their notes."""
        if namespace not in self._waiting.keysets:
            self._read_keysets([namespace])
        found = self._waiting.keysets[namespace]
        return read_chain(self.origin, namespace, found, tuple(self.roots()))

    def _read_keysets(self, namespaces: list[str]) -> None:
        found: dict[str, list[tuple[int, bytes]]] = {namespace: [] for namespace in namespaces}
        for row in self.connection.execute(_KEYSETS, {"some": namespaces}):
            found[row.namespace].append((row.position, bytes(row.note)))
        self._waiting.keysets.update((namespace, tuple(rows)) for namespace, rows in found.items())

    def position_of(self, candidate: Candidate) -> int | None:
        """Where this statement's text stands first in the index of its name, whatever signatures it has there."""
        statement, text = candidate.statement, candidate.note.text
        if isinstance(statement, Root):
            row = self.connection.execute(sa.select(roots).where(roots.c.number == statement.number)).first()
            is_same = row is not None and notes.parse(row.note).text == text
            return row.position if row is not None and is_same else None
        if isinstance(statement, Snapshot | FormerSnapshot):
            return None
        key = (name_of(statement), _text_sha256(text))
        if key not in self._waiting.texts:
            where = sa.and_(name_entries.c.name == key[0], name_entries.c.text_sha256 == key[1])
            self._waiting.texts[key] = self.connection.scalar(
                sa.select(sa.func.min(name_entries.c.position)).where(where)
            )
        return self._waiting.texts[key]

    def leaf_hashes(self, size: int, start: int = 0) -> Iterator[bytes]:
        """The leaf hashes of the entries from position ``start`` up to ``size``, in order."""
        self.flush()
        for first in range(start, size, _HASHES):
            where = sa.and_(log_entries.c.position >= first, log_entries.c.position < min(first + _HASHES, size))
            yield from self.connection.scalars(
                sa.select(log_entries.c.hash).where(where).order_by(log_entries.c.position)
            )

    def leading_to(self, hashes: Iterable[str]) -> set[str]:
        """Of these hashes those of an index file or a node of the name map that the newest head leads to."""
        found: set[str] = set()
        for chunk in _chunks(sorted(set(hashes))):
            for column in (names.c.index_sha256, map_nodes.c.sha256):
                found.update(self.connection.scalars(sa.select(column).where(column.in_(chunk))))
        return found

    def taken_down(self, hashes: Iterable[str]) -> dict[str, str]:
        """Of these blobs those that were taken down, each with the first reason."""
        reasons = self._waiting.reasons
        wanted = sorted(set(hashes))
        unknown = [sha256 for sha256 in wanted if sha256 not in reasons]
        reasons.update(dict.fromkeys(unknown))
        for chunk in _chunks(unknown):
            for row in self.connection.execute(_TAKEDOWNS, {"some": chunk}):
                reasons[row.sha256] = reasons[row.sha256] or row.reason
        return {sha256: reason for sha256 in wanted if (reason := reasons[sha256]) is not None}

    def all_taken_down(self) -> list[str]:
        """The hashes of all blobs that were taken down."""
        return list(self.connection.scalars(sa.select(takedowns.c.sha256).distinct().order_by(takedowns.c.sha256)))

    def release(self, name: str, version: str) -> KnownRelease | None:
        key = (name, version)
        if key not in self._waiting.releases:
            where = sa.and_(releases.c.name == name, releases.c.version == version)
            row = self.connection.execute(sa.select(releases.c.position, releases.c.content).where(where)).first()
            self._waiting.releases[key] = KnownRelease(row.position, row.content) if row is not None else None
        return self._waiting.releases[key]

    def has_name(self, name: str) -> bool:
        if name not in self._waiting.names:
            row = self.connection.scalar(sa.select(names.c.name).where(names.c.name == name))
            self._waiting.names[name] = row is not None
        return self._waiting.names[name]

    def look_alike(self, name: str) -> str | None:
        """Another name, already taken, that folds to the same letters."""
        fold_ = folded(name)
        if fold_ not in self._waiting.folds:
            self._waiting.folds[fold_] = self.connection.scalar(sa.select(names.c.name).where(names.c.fold == fold_))
        other = self._waiting.folds[fold_]
        return other if other != name else None

    def leaves(self, start: int, end: int) -> list[bytes]:
        """Entries from position ``start`` up to ``end``."""
        self.flush()
        return list(self.connection.scalars(_LEAVES, {"start": start, "end": end}))

    def index_lines(self, wanted: Iterable[str]) -> Iterator[tuple[str, list[IndexLine]]]:
        """Each of the names with all lines of its index file."""
        self.flush()
        for chunk in _chunks(sorted(wanted)):
            rows = self.connection.execute(_INDEX_LINES, {"some": chunk})
            found: dict[str, list[IndexLine]] = {}
            for row in rows:
                found.setdefault(row.name, []).append(IndexLine(row.position, row.leaf.decode()))
            yield from found.items()

    def map_nodes(self, hashes: Iterable[str] | None = None) -> dict[str, bytes]:
        """Nodes of the newest head's name map by their hashes; without ``hashes`` all."""
        if hashes is None:
            return {row.sha256: bytes(row.data) for row in self.connection.execute(sa.select(map_nodes))}
        found: dict[str, bytes] = {}
        for chunk in _chunks(sorted(set(hashes))):
            rows = self.connection.execute(sa.select(map_nodes).where(map_nodes.c.sha256.in_(chunk)))
            found.update((row.sha256, bytes(row.data)) for row in rows)
        return found

    def map_nodes_since(self, size: int) -> dict[str, bytes]:
        """The nodes of the name map that heads of a log of at most ``size`` entries do not need."""
        rows = self.connection.execute(sa.select(map_nodes).where(map_nodes.c.since >= size))
        return {row.sha256: bytes(row.data) for row in rows}

    def all_names(self) -> list[str]:
        return list(self.connection.scalars(sa.select(names.c.name).order_by(names.c.name)))

    # -- changes ------------------------------------------------------------------------------------------------------

    def append_leaf(self, leaf: bytes) -> int:
        """Put an entry at the end of the log; returns its position."""
        position = self.size
        self._waiting.insert("log_entries", {"position": position, "leaf": leaf, "hash": leaf_hash(leaf)})
        self.size += 1
        return position

    def append(self, candidate: Candidate, now: datetime) -> int:
        """Put an admitted statement into the log and into everything that follows from it. ``now``: the batch's time."""
        statement, leaf = candidate.statement, candidate.leaf
        position = self.append_leaf(leaf)
        if isinstance(statement, Root):
            self.flush()
            self.connection.execute(roots.insert().values(number=statement.number, position=position, note=leaf))
            self._roots = None
            return position
        if isinstance(statement, Snapshot | FormerSnapshot):
            raise ValueError("a snapshot is a bare leaf")
        name = name_of(statement)
        self._add_to_index(name, position, candidate.note.text)
        if isinstance(statement, Release):
            content = content_digest(statement)
            self._waiting.insert(
                "releases",
                {
                    "name": name,
                    "version": statement.version,
                    "position": position,
                    "content": content,
                    "description": statement.description,
                    "keywords": candidate.keywords,
                    "yanked": False,
                },
            )
            self._waiting.learn(self._waiting.releases, (name, statement.version), KnownRelease(position, content))
            self._waiting.add(self._waiting.stale, name)
            return position
        self.flush()
        if isinstance(statement, Keyset):
            recovery = write_time(statement.recovery) if statement.recovery else None
            values = {"namespace": statement.namespace, "position": position, "note": leaf, "recovery": recovery}
            self.connection.execute(keysets.insert().values(values))
            self._waiting.keysets.pop(statement.namespace, None)
            if statement.revoked:
                self.refresh_namespace(statement.namespace, now)
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
                self._waiting.reasons.pop(sha256, None)
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
        self.flush()
        withdrawn = self.withdrawn(name, now)
        if withdrawn is None:
            return  # clients refuse the whole history; `verify` says so
        where = releases.c.name == name
        rows = self.connection.execute(sa.select(releases.c.version, releases.c.yanked).where(where)).all()
        for version, before in rows:
            if before != (version in withdrawn):
                change = releases.update().where(sa.and_(where, releases.c.version == version))
                self.connection.execute(change.values(yanked=version in withdrawn))
        self._refresh_documents([name])

    def refresh_namespace(self, namespace: str, now: datetime) -> None:
        """All names of a namespace: a key of it was revoked, so what it signed may count no more."""
        self.flush()
        parts = sa.select(releases.c.name).where(releases.c.name.like(f"%:{_like(namespace)}/%", escape="!")).distinct()
        for name in self.connection.scalars(parts).all():
            self.refresh(name, now)

    def withdrawn(self, name: str, now: datetime) -> frozenset[str] | None:
        """The versions that search must not offer: yanked, signed by a revoked key or taken down, as clients judge it.

        None: clients refuse the history as a whole.
        """
        try:
            return frozenset(record.version for record in self._judged(name, now) if record.is_withdrawn)
        except TrustError:
            return None

    def history(self, name: str, now: datetime) -> tuple[ReleaseRecord, ...]:
        """The releases of a name as clients judge them; none where they refuse its history as a whole."""
        try:
            return self._judged(name, now)
        except TrustError:
            return ()

    def _judged(self, name: str, now: datetime) -> tuple[ReleaseRecord, ...]:
        kind, _, identifier = name.partition(":")
        identity = Identity(kind, identifier)
        entries = [read_line(line, name) for line in dict(self.index_lines([name])).get(name, [])]
        return judge(identity, entries, self.chain(identity.namespace), self.roots(), now).records

    def recovered_between(self, earlier: datetime, later: datetime) -> list[str]:
        """Namespaces with a recovery that took effect after ``earlier`` and not after ``later``."""
        where = sa.and_(keysets.c.recovery > write_time(earlier), keysets.c.recovery <= write_time(later))
        return list(self.connection.scalars(sa.select(keysets.c.namespace).where(where).distinct()))

    def record_submissions(self, rows: Sequence[tuple[int, str, str | None, str]], now: datetime) -> None:
        """Who sent entries: position, token, account, address."""
        if rows:
            self.flush()
            time = write_time(now)
            self.connection.execute(
                submissions.insert(),
                [
                    {"position": position, "token": token, "account": account, "address": address, "time": time}
                    for position, token, account, address in rows
                ],
            )

    def mark(self) -> tuple[int, int]:
        """The present state, for :meth:`take_back`."""
        return self.size, self._waiting.mark()

    def take_back(self, mark: tuple[int, int]) -> None:
        """Forget what was appended since the mark. What was written since is the caller's to roll back in the database."""
        self.size = mark[0]
        self._waiting.take_back(mark[1])

    def rolled_back(self) -> None:
        """The database went back to a savepoint: what was read since is not believed any more."""
        self._waiting.keysets.clear()
        self._waiting.reasons.clear()
        self._roots = None

    def write_indexes(self, files: Iterable[tuple[str, str, int]]) -> None:
        """Name, SHA-256 and size of index files that changed."""
        self.flush()
        rows = [{"which": name, "index_sha256": sha256, "index_size": size} for name, sha256, size in files]
        if rows:
            self.connection.execute(_WRITE_INDEX, rows)

    def write_map(self, new: Mapping[str, bytes], dropped: Iterable[str], since: int) -> None:
        """Nodes that come into the name map of a log of more than ``since`` entries, and those that leave it."""
        for chunk in _chunks(sorted(dropped)):
            self.connection.execute(map_nodes.delete().where(map_nodes.c.sha256.in_(chunk)))
        if new:
            rows = [{"sha256": sha256, "data": data, "since": since} for sha256, data in new.items()]
            self.connection.execute(map_nodes.insert(), rows)

    def write_head(self, published: Published, edge: dict[int, bytes]) -> None:
        time = write_time(published.time)
        self.connection.execute(head.delete())
        self.connection.execute(
            head.insert().values(
                id=1,
                size=published.size,
                time=time,
                checkpoint=published.checkpoint,
                document=published.document,
                map=published.map,
            )
        )
        self.connection.execute(tree_edge.delete())
        for level, hashes in edge.items():
            self.connection.execute(tree_edge.insert().values(level=level, hashes=hashes))

    def _add_to_index(self, name: str, position: int, text: str) -> None:
        waiting = self._waiting
        if not self.has_name(name):
            fold_ = folded(name)
            row = {"name": name, "fold": fold_, "index_sha256": "", "index_size": 0}
            waiting.insert("names", row)
            waiting.learn(waiting.names, name, True)
            waiting.learn(waiting.folds, fold_, name)
        sha256 = _text_sha256(text)
        waiting.insert("name_entries", {"name": name, "position": position, "text_sha256": sha256})
        if waiting.texts.get((name, sha256)) is None:
            waiting.learn(waiting.texts, (name, sha256), position)
        waiting.add(self.touched, name)

    def _refresh_documents(self, some: list[str]) -> None:
        """Make the search entries of some items again: the newest release that is not withdrawn, or nothing."""
        latest: dict[str, sa.Row[Any]] = {}
        for row in self.connection.execute(_OFFERED, {"some": some}):
            if row.name not in latest or rank(row.version) > rank(latest[row.name].version):
                latest[row.name] = row
        offered = []
        for row in latest.values():
            kind, _, identifier = row.name.partition(":")
            offered.append(search.Document(kind, identifier, row.version, row.description, row.keywords))
        search.remove_all(self.connection, some)
        search.put_all(self.connection, offered)


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
