"""The registry's state inside one transaction: queries to the tables, and appending one entry to all of them.

Positions are assigned only here. Everything else that follows from the entries (index files, name map, tiles) is
computed by :mod:`registry_server.sequencer.sealing` at the end of a batch.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from registry_server.sequencer import offering, questions
from registry_server.sequencer.acceptance import Candidate, blobs_of
from registry_server.sequencer.chains import read_chain, read_root
from registry_server.sequencer.waiting import KnownRelease, Waiting
from registry_server.storage.prepared import pipelined
from rye.errors import RyeError
from rye.items.identity import fold
from rye.registry.protocol import notes
from rye.registry.protocol.lines import read_time, write_time
from rye.registry.protocol.merkle import leaf_hash
from rye.registry.protocol.statements import (
    Deprecation,
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
from rye.registry.trust.records import ReleaseRecord

_CHUNK = 500
"""Values in one list."""
_HASHES = 100_000
"""Leaf hashes read at once."""


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
    """The view of one transaction. ``size`` includes the entries that it has appended."""

    def __init__(self, connection: sa.Connection) -> None:
        self.connection = connection
        self._waiting = Waiting()
        self._roots: list[Root] | None = None
        self._published: Published | None = None
        self.touched: set[str] = set()
        """Names whose index files changed in this transaction."""
        found = questions.ORIGIN_AND_NEWEST.first(connection)
        if found is None:
            raise RyeError(
                "no-registry", "The database contains no registry.", "Create one: rye-registry init --origin NAME"
            )
        self.origin: str = found[0]
        self.size: int = 0 if found[1] is None else found[1] + 1

    def beside(self, connection: sa.Connection) -> Ledger:
        """The same transaction's view through another connection object. It reads everything again."""
        made = Ledger.__new__(Ledger)
        made.connection = connection
        made._waiting = Waiting()
        made._roots = made._published = None
        made.touched = set()
        made.origin, made.size = self.origin, self.size
        return made

    def prepare(self, candidates: Iterable[Candidate]) -> None:
        """Read what :func:`registry_server.sequencer.admission.admit` needs for a batch's releases at once."""
        texts: dict[str, set[bytes]] = {}
        versions: set[tuple[str, str]] = set()
        blobs: set[str] = set()
        namespaces: set[str] = set()
        known, connection = self._waiting, self.connection
        for candidate in candidates:
            statement = candidate.statement
            if isinstance(statement, Release):
                name, sha256 = name_of(statement), _text_sha256(candidate.note.text)
                texts.setdefault(name, set()).add(sha256)
                known.texts[name, sha256] = None
                versions.add((name, statement.version))
                blobs.update(blobs_of(statement))
                namespaces.add(statement.identity.namespace)
        known.names.update(dict.fromkeys(texts, False))
        known.folds.update(dict.fromkeys(map(folded, texts)))
        known.releases.update(dict.fromkeys(versions))
        for chunk in _chunks(sorted(known.folds)):
            for name, fold_ in questions.NAMES_BY_FOLD.rows(connection, {"some": chunk}):
                known.folds[fold_] = name
                known.names[name] = True
        for chunk in _chunks(sorted(name for name in texts if known.names[name])):
            some = set(chunk)
            for name, sha256, position in questions.TEXTS.rows(connection, {"some": chunk}):
                if bytes(sha256) in texts[name]:
                    known.texts[name, bytes(sha256)] = position  # descending, so the first position wins
            wanted = sorted({version for name, version in versions if name in some})
            for name, version, position, content in questions.RELEASES.rows(
                connection, {"some": chunk, "versions": wanted}
            ):
                known.releases[name, version] = KnownRelease(position, content)
        self.taken_down(blobs)
        for chunk in _chunks(sorted(namespaces)):
            self._read_keysets(chunk)

    def flush(self) -> None:
        """Write the waiting rows, many at a time. Queries that cannot be answered from memory call it first."""
        waiting = self._waiting
        if not any(waiting.rows.values()) and not waiting.stale:
            return
        with pipelined(self.connection):
            for table, insert in questions.INSERTS.items():
                insert.run_all(self.connection, waiting.rows.get(table, ()))
        stale, new = sorted(waiting.stale), frozenset(waiting.new_names)
        waiting.written()
        for chunk in _chunks(stale):
            offering.offer(self, chunk, new)

    def settle(self) -> None:
        """Write the waiting rows and drop the undo steps, so that one transaction can hold a log of any length."""
        self.flush()
        self._waiting.settled()

    # -- queries ------------------------------------------------------------------------------------------------------

    def published(self) -> Published | None:
        """Return the newest head; None if there is no head yet."""
        if self._published is None:
            row = questions.HEAD.first(self.connection)
            if row is not None:
                size, time, checkpoint, document, map_ = row
                self._published = Published(size, read_time(time), bytes(checkpoint), bytes(document), map_)
        return self._published

    def edge(self) -> dict[int, bytes]:
        """The tree's partial tiles as of the newest head."""
        return {level: bytes(hashes) for level, hashes in questions.EDGE.rows(self.connection)}

    def roots(self) -> list[Root]:
        """Return all root statements, starting with number 1."""
        if self._roots is None:
            self._roots = [read_root(note) for _, note in self.root_notes()]
        return self._roots

    def root_notes(self) -> list[tuple[int, bytes]]:
        """Return ``(number, signed note)`` of all root statements."""
        return [(number, bytes(note)) for number, note in questions.ROOTS.rows(self.connection)]

    def chain(self, namespace: str) -> KeysetChain:
        """The keysets of a namespace, verified from their notes."""
        if namespace not in self._waiting.keysets:
            self._read_keysets([namespace])
        found = self._waiting.keysets[namespace]
        return read_chain(self.origin, namespace, found, tuple(self.roots()))

    def _read_keysets(self, namespaces: list[str]) -> None:
        found: dict[str, list[tuple[int, bytes]]] = {namespace: [] for namespace in namespaces}
        for namespace, position, note in questions.KEYSETS.rows(self.connection, {"some": namespaces}):
            found[namespace].append((position, bytes(note)))
        self._waiting.keysets.update((namespace, tuple(rows)) for namespace, rows in found.items())

    def position_of(self, candidate: Candidate) -> int | None:
        """Return the first position of this statement's text in its name's index; None if it is new."""
        statement, text = candidate.statement, candidate.note.text
        if isinstance(statement, Root):
            row = questions.ROOT.first(self.connection, {"number": statement.number})
            return row[0] if row is not None and notes.parse(row[1]).text == text else None
        if isinstance(statement, Snapshot | FormerSnapshot):
            return None
        key = (name_of(statement), _text_sha256(text))
        if key not in self._waiting.texts:
            row = questions.TEXT.first(self.connection, {"name": key[0], "sha256": key[1]})
            self._waiting.texts[key] = row[0] if row is not None else None
        return self._waiting.texts[key]

    def leaf_hashes(self, size: int, start: int = 0) -> Iterator[bytes]:
        """Yield the leaf hashes of the entries from position ``start`` to ``size``, exclusive."""
        self.flush()
        for first in range(start, size, _HASHES):
            end = min(first + _HASHES, size)
            for (sha256,) in questions.LEAF_HASHES.rows(self.connection, {"start": first, "end": end}):
                yield bytes(sha256)

    def leading_to(self, hashes: Iterable[str]) -> set[str]:
        """Return those of the hashes that are index files or nodes of the name map of the newest head."""
        found: set[str] = set()
        for chunk in _chunks(sorted(set(hashes))):
            for question in (questions.INDEXES_AMONG, questions.MAP_NODES_AMONG):
                found.update(row[0] for row in question.rows(self.connection, {"some": chunk}))
        return found

    def taken_down(self, hashes: Iterable[str]) -> dict[str, str]:
        """Return those of the blobs that were taken down, each with the first reason."""
        reasons = self._waiting.reasons
        wanted = sorted(set(hashes))
        unknown = [sha256 for sha256 in wanted if sha256 not in reasons]
        reasons.update(dict.fromkeys(unknown))
        for chunk in _chunks(unknown):
            for sha256, reason in questions.TAKEDOWNS.rows(self.connection, {"some": chunk}):
                reasons[sha256] = reasons[sha256] or reason
        return {sha256: why for sha256 in wanted if (why := reasons[sha256]) is not None}

    def all_taken_down(self) -> list[str]:
        """The hashes of all blobs that were taken down."""
        return [sha256 for (sha256,) in questions.ALL_TAKEDOWNS.rows(self.connection)]

    def release(self, name: str, version: str) -> KnownRelease | None:
        """Return a release by name and version; None if it does not exist."""
        key = (name, version)
        if key not in self._waiting.releases:
            row = questions.RELEASE.first(self.connection, {"name": name, "version": version})
            self._waiting.releases[key] = KnownRelease(row[0], row[1]) if row is not None else None
        return self._waiting.releases[key]

    def has_name(self, name: str) -> bool:
        """Whether the name is in the log."""
        if name not in self._waiting.names:
            self._waiting.names[name] = questions.NAME.first(self.connection, {"name": name}) is not None
        return self._waiting.names[name]

    def look_alike(self, name: str) -> str | None:
        """Return another existing name that folds to the same letters; None if there is none."""
        fold_ = folded(name)
        if fold_ not in self._waiting.folds:
            row = questions.NAME_BY_FOLD.first(self.connection, {"fold": fold_})
            self._waiting.folds[fold_] = row[0] if row is not None else None
        other = self._waiting.folds[fold_]
        return other if other != name else None

    def leaves(self, start: int, end: int) -> list[bytes]:
        """Return the entries from position ``start`` to ``end``, exclusive."""
        self.flush()
        return [bytes(leaf) for (leaf,) in questions.LEAVES.rows(self.connection, {"start": start, "end": end})]

    def appended_since(self, start: int) -> list[tuple[bytes, bytes]]:
        """Return leaf and leaf hash of each entry since ``start``; all were appended in this transaction."""
        appended = self._waiting.appended
        return appended[len(appended) - (self.size - start) :] if self.size > start else []

    def index_lines(self, wanted: Iterable[str]) -> Iterator[tuple[str, list[IndexLine]]]:
        """Yield each name with all lines of its index file, including unwritten ones."""
        waiting = self._waiting
        for chunk in _chunks(sorted(wanted)):
            found: dict[str, list[IndexLine]] = {}
            written = [name for name in chunk if name not in waiting.new_names]
            if written:
                for name, position, leaf in questions.INDEX_LINES.rows(self.connection, {"some": written}):
                    found.setdefault(name, []).append(IndexLine(position, bytes(leaf).decode()))
            for name in chunk:
                unwritten = waiting.lines.get(name)
                if unwritten:
                    found.setdefault(name, []).extend(unwritten)
            yield from found.items()

    def map_nodes(self, hashes: Iterable[str] | None = None) -> dict[str, bytes]:
        """Return nodes of the newest head's name map by hash; all nodes if ``hashes`` is None."""
        if hashes is None:
            rows = questions.MAP_NODES.rows(self.connection)
        else:
            chunks = _chunks(sorted(set(hashes)))
            rows = [row for some in chunks for row in questions.MAP_NODES_AMONG.rows(self.connection, {"some": some})]
        return {sha256: bytes(data) for sha256, data in rows}

    def map_nodes_since(self, size: int) -> dict[str, bytes]:
        """Return the nodes of the name map that heads of a log of at most ``size`` entries do not need."""
        rows = questions.MAP_NODES_SINCE.rows(self.connection, {"start": size})
        return {sha256: bytes(data) for sha256, data in rows}

    def all_names(self) -> list[str]:
        """Return all names, sorted."""
        return [name for (name,) in questions.ALL_NAMES.rows(self.connection)]

    # -- changes ------------------------------------------------------------------------------------------------------

    def append_leaf(self, leaf: bytes) -> int:
        """Append an entry to the log; returns its position."""
        position = self.size
        hashed = leaf_hash(leaf)
        self._waiting.insert("log_entries", {"position": position, "leaf": leaf, "hash": hashed})
        self._waiting.add_leaf(leaf, hashed)
        self.size += 1
        return position

    def append(self, candidate: Candidate, now: datetime) -> int:
        """Append an admitted statement to the log and all tables; returns its position. ``now``: the batch's time."""
        statement, leaf = candidate.statement, candidate.leaf
        position = self.append_leaf(leaf)
        if isinstance(statement, Root):
            self.flush()
            row = {"number": statement.number, "position": position, "note": leaf}
            questions.ADD_ROOT.run(self.connection, row)
            self._roots = None
            return position
        if isinstance(statement, Snapshot | FormerSnapshot):
            raise ValueError("a snapshot is a bare leaf")
        name = name_of(statement)
        self._add_to_index(name, position, candidate.note.text, leaf)
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
            questions.ADD_KEYSET.run(self.connection, values)
            self._waiting.keysets.pop(statement.namespace, None)
            if statement.revoked:
                self.refresh_namespace(statement.namespace, now)
        elif isinstance(statement, Takedown):
            for sha256 in statement.files:
                questions.ADD_TAKEDOWN.run(
                    self.connection,
                    {
                        "sha256": sha256,
                        "position": position,
                        "name": name,
                        "version": statement.version,
                        "reason": statement.reason,
                    },
                )
                self._waiting.reasons.pop(sha256, None)
            self.refresh(name, now)
        elif isinstance(statement, Yank | Deprecation):
            self.refresh(name, now)
        return position

    def titled(self, title: str) -> Iterator[tuple[int, bytes]]:
        """Yield position and note of every entry of one statement type."""
        first = title.encode() + b"\n"
        for start in range(0, self.size, _CHUNK):
            for position, leaf in enumerate(self.leaves(start, min(start + _CHUNK, self.size)), start):
                if leaf.startswith(first):
                    yield position, leaf

    def refresh(self, name: str, now: datetime) -> None:
        """Refresh what search offers: see :func:`registry_server.sequencer.offering.refresh`."""
        offering.refresh(self, name, now)

    def refresh_namespace(self, namespace: str, now: datetime) -> None:
        """Refresh all names of a namespace: see :func:`registry_server.sequencer.offering.refresh_namespace`."""
        offering.refresh_namespace(self, namespace, now)

    def history(self, name: str, now: datetime) -> tuple[ReleaseRecord, ...]:
        """Return the releases of a name as clients see them; none if they refuse its whole history."""
        return offering.history(self, name, now)

    def recovered_between(self, earlier: datetime, later: datetime) -> list[str]:
        """Return namespaces with a recovery that took effect after ``earlier`` and up to ``later``."""
        if earlier >= later:
            return []
        span = {"earlier": write_time(earlier), "later": write_time(later)}
        return [namespace for (namespace,) in questions.RECOVERED.rows(self.connection, span)]

    def record_submissions(self, rows: Sequence[tuple[int, str, str | None, str]], now: datetime) -> None:
        """Record who sent entries. A row is position, token, account, address."""
        time = write_time(now)
        for position, token, account, address in rows:
            row = {"position": position, "token": token, "account": account, "address": address, "time": time}
            self._waiting.insert("submissions", row)

    def mark(self) -> tuple[int, int]:
        """Return the current state, for :meth:`take_back`."""
        return self.size, self._waiting.mark()

    def take_back(self, mark: tuple[int, int]) -> None:
        """Undo everything appended since the mark. Rows already written are rolled back by the caller."""
        self.size = mark[0]
        self._waiting.take_back(mark[1])

    def rolled_back(self) -> None:
        """Forget what was read after a savepoint that the database has rolled back to."""
        self._waiting.keysets.clear()
        self._waiting.reasons.clear()
        self._roots = None

    def write_indexes(self, files: Iterable[tuple[str, str, int]]) -> None:
        """Record changed index files: name, SHA-256 and size of each."""
        waiting = {row["name"]: row for row in self._waiting.rows.get("names", ())}
        rows = []
        for name, sha256, size in files:
            if name in waiting:
                waiting[name].update(index_sha256=sha256, index_size=size)
            else:
                rows.append({"which": name, "sha256": sha256, "size": size})
        questions.WRITE_INDEX.run_all(self.connection, rows)

    def write_map(self, new: Mapping[str, bytes], dropped: Iterable[str], since: int) -> None:
        """Store the nodes that a log of more than ``since`` entries needs, and delete ``dropped`` ones."""
        rows = [{"sha256": sha256, "data": data, "since": since} for sha256, data in new.items()]
        with pipelined(self.connection):
            for chunk in _chunks(sorted(dropped)):
                questions.REMOVE_MAP_NODES.run(self.connection, {"some": chunk})
            questions.ADD_MAP_NODE.run_all(self.connection, rows)

    def replace_tree(self, nodes: Mapping[str, bytes], edge: Mapping[int, bytes]) -> None:
        """Write the newest head's name map and partial tiles to the tables again; the store already has them."""
        self.write_map(nodes, self.map_nodes(), 0)
        before = self.edge()
        questions.REMOVE_EDGE.run_all(self.connection, [{"which": level} for level in before])
        questions.ADD_EDGE.run_all(self.connection, [{"level": level, "hashes": edge[level]} for level in edge])

    def write_head(
        self, published: Published, edge: Mapping[int, bytes], before: Mapping[int, bytes] | None = None
    ) -> None:
        """Make this the newest head, on these partial tiles. ``before``: those in the database, if known."""
        self.flush()
        before = self.edge() if before is None else before
        values = {
            "new_size": published.size,
            "new_time": write_time(published.time),
            "new_checkpoint": published.checkpoint,
            "new_document": published.document,
            "new_map": published.map,
        }
        if not questions.MOVE_HEAD.run(self.connection, values):
            questions.FIRST_HEAD.run(self.connection, values)
        self._published = published
        changed = [level for level in {**before, **edge} if before.get(level) != edge.get(level)]
        questions.REMOVE_EDGE.run_all(self.connection, [{"which": level} for level in changed if level in before])
        new = [{"level": level, "hashes": edge[level]} for level in changed if level in edge]
        questions.ADD_EDGE.run_all(self.connection, new)

    def _add_to_index(self, name: str, position: int, text: str, leaf: bytes) -> None:
        waiting = self._waiting
        if not self.has_name(name):
            fold_ = folded(name)
            row = {"name": name, "fold": fold_, "index_sha256": "", "index_size": 0, "deprecated": False}
            waiting.insert("names", row)
            waiting.add(waiting.new_names, name)
            waiting.learn(waiting.names, name, True)
            waiting.learn(waiting.folds, fold_, name)
        sha256 = _text_sha256(text)
        waiting.insert("name_entries", {"name": name, "position": position, "text_sha256": sha256})
        waiting.add_line(name, IndexLine(position, leaf.decode()))
        if waiting.texts.get((name, sha256)) is None:
            waiting.learn(waiting.texts, (name, sha256), position)
        waiting.add(self.touched, name)


def name_of(statement: Keyset | ItemStatement) -> str:
    """Return the name whose index contains the statement."""
    return index_name(statement.namespace if isinstance(statement, Keyset) else statement.identity)


def content_digest(release: Release) -> str:
    """Return the digest that two releases with the same files, under the same paths, have in common."""
    content = [release.file.write(), *(entry.write() for entry in release.attached)]
    return hashlib.sha256("\n".join(content).encode()).hexdigest()


def folded(name: str) -> str:
    """The name with look-alike letters folded."""
    kind, _, identifier = name.partition(":")
    return f"{kind}:{fold(identifier)}"


def _text_sha256(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def _chunks(values: list[str]) -> Iterator[list[str]]:
    for start in range(0, len(values), _CHUNK):
        yield values[start : start + _CHUNK]
