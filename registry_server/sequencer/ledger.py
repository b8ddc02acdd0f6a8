"""The registry's state inside one transaction: queries to the tables, and appending one entry to all of them.

Positions are assigned only here. Everything else that follows from the entries (index files, name map, tiles) is
computed by :mod:`registry_server.sequencer.sealing` at the end of a batch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from registry_server.sequencer import queries, search_offers
from registry_server.sequencer.acceptance import Candidate
from registry_server.sequencer.chains import read_chain, read_root
from registry_server.sequencer.columns import content_digest, folded, name_of, text_sha256
from registry_server.sequencer.leadership import LeaderFence
from registry_server.sequencer.pending_writes import KnownRelease, PendingWrites
from registry_server.sequencer.prefetch import BatchSubjects, learn
from registry_server.storage.prepared import Row
from registry_server.storage.schema import submissions
from registry_server.storage.statement_batch import StatementBatch
from rye.errors import RyeError
from rye.registry.protocol import notes
from rye.registry.protocol.lines import read_time, write_time
from rye.registry.protocol.merkle import leaf_hash
from rye.registry.protocol.statements import (
    ClockStep,
    Deprecation,
    FormerSnapshot,
    Keyset,
    OrganizationPolicy,
    OwnerStatement,
    Release,
    Root,
    Snapshot,
    Takedown,
    Yank,
)
from rye.registry.protocol.wire import IndexLine
from rye.registry.trust.keysets import KeysetChain

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

    OPENING = (queries.ORIGIN_AND_NEWEST, queries.HEAD)
    """What a ledger asks first."""

    def __init__(self, connection: sa.Connection, answers: Sequence[Sequence[Row]] = ()) -> None:
        """``answers``: those to the first of :attr:`OPENING`, if they have been asked already."""
        self.connection = connection
        self._pending = PendingWrites()
        self._roots: list[Root] | None = None
        self._published: Published | None = None
        self._recovered: dict[tuple[datetime, datetime], list[str]] = {}
        self._changes = StatementBatch()
        self.fence: LeaderFence | None = None
        """What a new head must pass, in the transaction of a writer on PostgreSQL."""
        self.is_fenced = False
        """Whether one has."""
        self.touched: set[str] = set()
        """Names whose index files changed in this transaction."""
        self.stated: set[str] = set()
        """Namespaces whose owners stated something about themselves in this transaction."""
        opening = answers[0] if answers else queries.ORIGIN_AND_NEWEST.rows(connection)
        if not opening:
            raise RyeError(
                "no-registry", "The database contains no registry.", "Create one: rye-registry init --origin NAME"
            )
        self.origin: str = opening[0][0]
        self.database_time: float | None = opening[0][2]
        """The database server's clock when this was asked, in seconds since 1970; None on SQLite."""
        self.size: int = 0 if opening[0][1] is None else opening[0][1] + 1
        if len(answers) > 1:
            self._published = _read_head(answers[1])

    def prepare(self, candidates: Iterable[Candidate], earlier: datetime, now: datetime) -> None:
        """Read what :func:`registry_server.sequencer.admission.admit` needs for a batch's releases at once.

        ``earlier``: the time of the newest head.
        """
        wanted = BatchSubjects.of(candidates)
        if wanted.texts:
            span = {"earlier": write_time(earlier), "later": write_time(now)}
            rows = queries.BATCH.rows(self.connection, {**wanted.parameters(), **span})
            facts = learn(self._pending, wanted, rows)
            self._roots = [read_root(note) for note in facts.roots]
            self._recovered[earlier, now] = facts.recovered

    def flush(self) -> None:
        """Write the waiting rows, many at a time. Queries that cannot be answered from memory call it first."""
        self._collect()
        self._changes.run(self.connection)

    def _collect(self) -> None:
        """Add the waiting rows, and what search offers because of them, to the changes that are written together."""
        pending = self._pending
        if not any(pending.rows.values()) and not pending.stale:
            return
        for table, insert in queries.INSERTS.items():
            self._changes.add(insert, pending.rows.get(table, ()))
        if pending.stale:
            search_offers.offer(self, sorted(pending.stale), self._changes, frozenset(pending.new_names))
        pending.written()

    def settle(self) -> None:
        """Write the waiting rows and drop the undo steps, so that one transaction can hold a log of any length."""
        self.flush()
        self._pending.settled()

    # -- queries ------------------------------------------------------------------------------------------------------

    def published(self) -> Published | None:
        """Return the newest head; None if there is no head yet."""
        if self._published is None:
            self._published = _read_head(queries.HEAD.rows(self.connection))
        return self._published

    def edge(self) -> dict[int, bytes]:
        """The tree's partial tiles as of the newest head."""
        return {level: bytes(hashes) for level, hashes in queries.EDGE.rows(self.connection)}

    def roots(self) -> list[Root]:
        """Return all root statements, starting with number 1."""
        if self._roots is None:
            self._roots = [read_root(note) for _, note in self.root_notes()]
        return self._roots

    def root_notes(self) -> list[tuple[int, bytes]]:
        """Return ``(number, signed note)`` of all root statements."""
        return [(number, bytes(note)) for number, note in queries.ROOTS.rows(self.connection)]

    def chain(self, namespace: str) -> KeysetChain:
        """The keysets of a namespace, verified from their notes."""
        if namespace not in self._pending.keysets:
            self._read_keysets([namespace])
        keysets = self._pending.keysets[namespace]
        return read_chain(self.origin, namespace, keysets, tuple(self.roots()))

    def _read_keysets(self, namespaces: list[str]) -> None:
        keysets: dict[str, list[tuple[int, bytes]]] = {namespace: [] for namespace in namespaces}
        for namespace, position, note in queries.KEYSETS.rows(self.connection, {"some": namespaces}):
            keysets[namespace].append((position, bytes(note)))
        self._pending.keysets.update((namespace, tuple(rows)) for namespace, rows in keysets.items())

    def position_of(self, candidate: Candidate) -> int | None:
        """Return the first position of this statement's text in its name's index; None if it is new."""
        statement, text = candidate.statement, candidate.note.text
        if isinstance(statement, Root):
            row = queries.ROOT.first(self.connection, {"number": statement.number})
            return row[0] if row is not None and notes.parse(row[1]).text == text else None
        if isinstance(statement, OrganizationPolicy):
            newest = self.newest_policy()
            same = newest is not None and notes.parse(newest.note).text == text
            return newest.log if same and newest is not None else None
        if isinstance(statement, ClockStep | Snapshot | FormerSnapshot):
            return None
        if isinstance(statement, OwnerStatement):
            values = {"namespace": statement.namespace, "sha256": text_sha256(text)}
            row = queries.OWNER_TEXT.first(self.connection, values)
            return row[0] if row is not None else None
        key = (name_of(statement), text_sha256(text))
        if key not in self._pending.texts:
            row = queries.TEXT.first(self.connection, {"name": key[0], "sha256": key[1]})
            self._pending.texts[key] = row[0] if row is not None else None
        return self._pending.texts[key]

    def leaf_hashes(self, size: int, start: int = 0) -> Iterator[bytes]:
        """Yield the leaf hashes of the entries from position ``start`` to ``size``, exclusive."""
        self.flush()
        for first in range(start, size, _HASHES):
            end = min(first + _HASHES, size)
            for (sha256,) in queries.LEAF_HASHES.rows(self.connection, {"start": first, "end": end}):
                yield bytes(sha256)

    def leading_to(self, hashes: Iterable[str]) -> set[str]:
        """Return those of the hashes that are index files or nodes of the name map of the newest head."""
        present: set[str] = set()
        for chunk in _chunks(sorted(set(hashes))):
            for question in (queries.INDEXES_AMONG, queries.MAP_NODES_AMONG):
                present.update(row[0] for row in question.rows(self.connection, {"some": chunk}))
        return present

    def taken_down(self, hashes: Iterable[str]) -> dict[str, str]:
        """Return those of the blobs that were taken down, each with the first reason."""
        reasons = self._pending.reasons
        wanted = sorted(set(hashes))
        unknown = [sha256 for sha256 in wanted if sha256 not in reasons]
        reasons.update(dict.fromkeys(unknown))
        for chunk in _chunks(unknown):
            for sha256, reason in queries.TAKEDOWNS.rows(self.connection, {"some": chunk}):
                reasons[sha256] = reasons[sha256] or reason
        return {sha256: why for sha256 in wanted if (why := reasons[sha256]) is not None}

    def all_taken_down(self) -> list[str]:
        """The hashes of all blobs that were taken down."""
        return [sha256 for (sha256,) in queries.ALL_TAKEDOWNS.rows(self.connection)]

    def release(self, name: str, version: str) -> KnownRelease | None:
        """Return a release by name and version; None if it does not exist."""
        key = (name, version)
        if key not in self._pending.releases:
            row = queries.RELEASE.first(self.connection, {"name": name, "version": version})
            self._pending.releases[key] = KnownRelease(row[0], row[1]) if row is not None else None
        return self._pending.releases[key]

    def unwritten_releases(self) -> Sequence[Mapping[str, Any]]:
        """Return the rows of ``releases`` that are not in the table yet."""
        return self._pending.rows.get("releases", ())

    def has_name(self, name: str) -> bool:
        """Whether the name is in the log."""
        if name not in self._pending.names:
            self._pending.names[name] = queries.NAME.first(self.connection, {"name": name}) is not None
        return self._pending.names[name]

    def look_alike(self, name: str) -> str | None:
        """Return another existing name that folds to the same letters; None if there is none."""
        fold_ = folded(name)
        if fold_ not in self._pending.folds:
            row = queries.NAME_BY_FOLD.first(self.connection, {"fold": fold_})
            self._pending.folds[fold_] = row[0] if row is not None else None
        other = self._pending.folds[fold_]
        return other if other != name else None

    def leaves(self, start: int, end: int) -> list[bytes]:
        """Return the entries from position ``start`` to ``end``, exclusive."""
        self.flush()
        return [bytes(leaf) for (leaf,) in queries.LEAVES.rows(self.connection, {"start": start, "end": end})]

    def appended_since(self, start: int) -> list[tuple[bytes, bytes]]:
        """Return leaf and leaf hash of each entry since ``start``; all were appended in this transaction."""
        appended = self._pending.appended
        return appended[len(appended) - (self.size - start) :] if self.size > start else []

    def index_lines(self, wanted: Iterable[str]) -> Iterator[tuple[str, list[IndexLine]]]:
        """Yield each name with all lines of its index file, including unwritten ones."""
        pending = self._pending
        for chunk in _chunks(sorted(wanted)):
            lines: dict[str, list[IndexLine]] = {}
            written = [name for name in chunk if name not in pending.new_names]
            if written:
                for name, position, leaf in queries.INDEX_LINES.rows(self.connection, {"some": written}):
                    lines.setdefault(name, []).append(IndexLine(position, bytes(leaf).decode()))
            for name in chunk:
                unwritten = pending.lines.get(name)
                if unwritten:
                    lines.setdefault(name, []).extend(unwritten)
            yield from lines.items()

    def owner_lines(self, namespaces: Iterable[str]) -> dict[str, list[IndexLine]]:
        """Return what the owners of these namespaces stated about themselves: the lines of ``/owners/<namespace>``."""
        lines: dict[str, list[IndexLine]] = {}
        for chunk in _chunks(sorted(namespaces)):
            for namespace, position, note in queries.OWNERS.rows(self.connection, {"some": chunk}):
                lines.setdefault(namespace, []).append(IndexLine(position, bytes(note).decode()))
        return lines

    def map_nodes(self, hashes: Iterable[str] | None = None) -> dict[str, bytes]:
        """Return nodes of the newest head's name map by hash; all nodes if ``hashes`` is None."""
        if hashes is None:
            rows = queries.MAP_NODES.rows(self.connection)
        else:
            chunks = _chunks(sorted(set(hashes)))
            rows = [row for some in chunks for row in queries.MAP_NODES_AMONG.rows(self.connection, {"some": some})]
        return {sha256: bytes(data) for sha256, data in rows}

    def map_nodes_since(self, size: int) -> dict[str, bytes]:
        """Return the nodes of the name map that heads of a log of at most ``size`` entries do not need."""
        rows = queries.MAP_NODES_SINCE.rows(self.connection, {"start": size})
        return {sha256: bytes(data) for sha256, data in rows}

    def all_names(self) -> list[str]:
        """Return all names, sorted."""
        return [name for (name,) in queries.ALL_NAMES.rows(self.connection)]

    # -- changes ------------------------------------------------------------------------------------------------------

    def append_leaf(self, leaf: bytes) -> int:
        """Append an entry to the log; returns its position."""
        position = self.size
        hashed = leaf_hash(leaf)
        self._pending.insert("log_entries", {"position": position, "leaf": leaf, "hash": hashed})
        self._pending.add_leaf(leaf, hashed)
        self.size += 1
        return position

    def append(self, candidate: Candidate, now: datetime) -> int:
        """Append an admitted statement to the log and all tables; returns its position. ``now``: the batch's time."""
        statement, leaf = candidate.statement, candidate.leaf
        position = self.append_leaf(leaf)
        if isinstance(statement, Root):
            self.flush()
            row = {"number": statement.number, "position": position, "note": leaf}
            queries.ADD_ROOT.run(self.connection, row)
            self._roots = None
            return position
        if isinstance(statement, ClockStep | OrganizationPolicy):
            return position
        if isinstance(statement, Snapshot | FormerSnapshot):
            raise ValueError("a snapshot is a bare leaf")
        if isinstance(statement, OwnerStatement):
            self.flush()
            values = {"namespace": statement.namespace, "position": position, "note": leaf}
            queries.ADD_OWNER_STATEMENT.run(
                self.connection, {**values, "text_sha256": text_sha256(candidate.note.text)}
            )
            self._pending.add(self.stated, statement.namespace)
            return position
        name = name_of(statement)
        self._add_to_index(name, position, candidate.note.text, leaf)
        if isinstance(statement, Release):
            content = content_digest(statement)
            self._pending.insert(
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
            self._pending.learn(self._pending.releases, (name, statement.version), KnownRelease(position, content))
            self._pending.add(self._pending.stale, name)
            return position
        self.flush()
        if isinstance(statement, Keyset):
            recovery = write_time(statement.recovery) if statement.recovery else None
            values = {"namespace": statement.namespace, "position": position, "note": leaf, "recovery": recovery}
            queries.ADD_KEYSET.run(self.connection, values)
            self._pending.keysets.pop(statement.namespace, None)
            if statement.revoked:
                search_offers.refresh_namespace(self, statement.namespace, now)
        elif isinstance(statement, Takedown):
            for sha256 in statement.files:
                queries.ADD_TAKEDOWN.run(
                    self.connection,
                    {
                        "sha256": sha256,
                        "position": position,
                        "name": name,
                        "version": statement.version,
                        "reason": statement.reason,
                    },
                )
                self._pending.reasons.pop(sha256, None)
            queries.FORGET_WORDS.run(self.connection, {"which": name, "one": statement.version})
            search_offers.refresh(self, name, now)
        elif isinstance(statement, Yank | Deprecation):
            search_offers.refresh(self, name, now)
        return position

    def titled(self, title: str) -> Iterator[tuple[int, bytes]]:
        """Yield position and note of every entry of one statement type."""
        first = title.encode() + b"\n"
        for start in range(0, self.size, _CHUNK):
            for position, leaf in enumerate(self.leaves(start, min(start + _CHUNK, self.size)), start):
                if leaf.startswith(first):
                    yield position, leaf

    def steps_back(self) -> list[IndexLine]:
        """Return the lines of ``/clock``: every step back in time. Reads the whole log."""
        self.flush()
        rows = queries.STEPS_BACK.rows(self.connection, {"title": ClockStep.TITLE.encode()})
        return [IndexLine(position, bytes(leaf).decode()) for position, leaf in rows]

    def newest_policy(self) -> IndexLine | None:
        """Return the line of ``/policy``: the newest policy of the organization. Reads the whole log."""
        self.flush()
        row = queries.NEWEST_POLICY.first(self.connection, {"title": OrganizationPolicy.TITLE.encode()})
        return IndexLine(row[0], bytes(row[1]).decode()) if row is not None else None

    def recovered_between(self, earlier: datetime, later: datetime) -> list[str]:
        """Return namespaces with a recovery that took effect after ``earlier`` and up to ``later``."""
        if earlier >= later:
            return []
        if (earlier, later) in self._recovered:
            return self._recovered[earlier, later]
        span = {"earlier": write_time(earlier), "later": write_time(later)}
        return [namespace for (namespace,) in queries.RECOVERED.rows(self.connection, span)]

    def submitter(self, position: int) -> str | None:
        """The account that sent an entry, by its ID; None: an operator's token, or nobody knows."""
        account = self.connection.scalar(sa.select(submissions.c.account).where(submissions.c.position == position))
        return None if account is None else str(account)

    def record_submissions(self, rows: Sequence[tuple[int, str, str | None, str]], now: datetime) -> None:
        """Record who sent entries. A row is position, token, account, address."""
        time = write_time(now)
        for position, token, account, address in rows:
            row = {"position": position, "token": token, "account": account, "address": address, "time": time}
            self._pending.insert("submissions", row)

    def mark(self) -> tuple[int, int]:
        """Return the current state, for :meth:`take_back`."""
        return self.size, self._pending.mark()

    def take_back(self, mark: tuple[int, int]) -> None:
        """Undo everything appended since the mark. Rows already written are rolled back by the caller."""
        self.size = mark[0]
        self._pending.take_back(mark[1])

    def rolled_back(self) -> None:
        """Forget what was read after a savepoint that the database has rolled back to."""
        self._pending.keysets.clear()
        self._pending.reasons.clear()
        self._roots = None

    def write_indexes(self, files: Iterable[tuple[str, str, int]]) -> None:
        """Record changed index files: name, SHA-256 and size of each."""
        waiting = {row["name"]: row for row in self._pending.rows.get("names", ())}
        rows = []
        for name, sha256, size in files:
            if name in waiting:
                waiting[name].update(index_sha256=sha256, index_size=size)
            else:
                rows.append({"which": name, "sha256": sha256, "size": size})
        self._changes.add(queries.WRITE_INDEXES, rows)

    def write_map(self, new: Mapping[str, bytes], dropped: Iterable[str], since: int) -> None:
        """Store the nodes that a log of more than ``since`` entries needs, and delete ``dropped`` ones."""
        self._changes.add(queries.REMOVE_MAP_NODES, [{"sha256": sha256} for sha256 in sorted(dropped)])
        rows = [{"sha256": sha256, "data": data, "since": since} for sha256, data in new.items()]
        self._changes.add(queries.ADD_MAP_NODES, rows)

    def replace_tree(self, nodes: Mapping[str, bytes], edge: Mapping[int, bytes]) -> None:
        """Write the newest head's name map and partial tiles to the tables again; the store already has them."""
        before = self.map_nodes()
        self.write_map({}, before, 0)
        self._write_edge(self.edge(), edge, every=True)
        self._changes.run(self.connection)
        self.write_map(nodes, (), 0)  # by itself: a node may have the hash of one that was deleted
        self._changes.run(self.connection)

    def write_head(
        self, published: Published, edge: Mapping[int, bytes], before: Mapping[int, bytes] | None = None
    ) -> None:
        """Make this the newest head, on these partial tiles, and write everything that waits.

        ``before``: the partial tiles in the database, if known. Raises RyeError ``database-busy`` if another process has
        taken over.
        """
        before = self.edge() if before is None else before
        self._collect()
        row = {
            "id": 1,
            "size": published.size,
            "time": write_time(published.time),
            "checkpoint": published.checkpoint,
            "document": published.document,
            "map": published.map,
        }
        self._changes.add(queries.WRITE_HEAD, [row])
        self._write_edge(before, edge)
        if self.fence is None:
            self._changes.run(self.connection)
        else:
            self.fence.run(self.connection, self._changes)
            self.is_fenced = True
        self._published = published

    def _write_edge(self, before: Mapping[int, bytes], edge: Mapping[int, bytes], *, every: bool = False) -> None:
        """Write the partial tiles that differ from those in the table, or ``every`` one."""
        gone = [{"level": level} for level in sorted(before) if level not in edge]
        new = [{"level": level, "hashes": data} for level, data in edge.items() if every or before.get(level) != data]
        self._changes.add(queries.REMOVE_EDGE, gone)
        self._changes.add(queries.WRITE_EDGE, new)

    def _add_to_index(self, name: str, position: int, text: str, leaf: bytes) -> None:
        pending = self._pending
        if not self.has_name(name):
            fold_ = folded(name)
            row = {"name": name, "fold": fold_, "index_sha256": "", "index_size": 0, "deprecated": False}
            pending.insert("names", row)
            pending.add(pending.new_names, name)
            pending.learn(pending.names, name, True)
            pending.learn(pending.folds, fold_, name)
        sha256 = text_sha256(text)
        pending.insert("name_entries", {"name": name, "position": position, "text_sha256": sha256})
        pending.add_line(name, IndexLine(position, leaf.decode()))
        if pending.texts.get((name, sha256)) is None:
            pending.learn(pending.texts, (name, sha256), position)
        pending.add(self.touched, name)


def _read_head(rows: Sequence[Row]) -> Published | None:
    if not rows:
        return None
    size, time, checkpoint, document, map_ = rows[0]
    return Published(size, read_time(time), bytes(checkpoint), bytes(document), map_)


def _chunks(values: list[str]) -> Iterator[list[str]]:
    for start in range(0, len(values), _CHUNK):
        yield values[start : start + _CHUNK]
