"""The tables that are computed from the log, computed again from its entries: what ``rye-registry verify`` compares.

Nothing here trusts a table. Names, statements, keysets, yanks and search entries come from the index lines that
follow from the entries, evaluated as clients do (:func:`rye.registry.trust.records.judge`). Keywords of items are the one
exception: they come from blobs, and are compared between the two tables that contain them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar

import sqlalchemy as sa

from registry_server.search.documents import index_problems
from registry_server.sequencer.columns import content_digest, folded
from registry_server.sequencer.ledger import Ledger
from registry_server.sequencer.search_offers import rank
from registry_server.storage import schema
from rye.items.identity import Identity
from rye.registry.protocol import notes, wire
from rye.registry.protocol.lines import write_time
from rye.registry.protocol.statements import Keyset, Root, Takedown
from rye.registry.protocol.wire import IndexLine
from rye.registry.trust.keysets import KeysetChain, extend
from rye.registry.trust.owners import Owners
from rye.registry.trust.records import judge
from rye.registry.trust.trust_error import TrustError
from rye.registry.trust.trusted import read_line

_K = TypeVar("_K")
_V = TypeVar("_V")
_LISTED = 20
"""At most this many differences of one table are listed one by one."""


@dataclass(slots=True)
class Differences:
    """Where the tables differ from the log."""

    problems: list[str] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    """Items whose yanks, deprecations or search entries are wrong. ``rye-registry rebuild`` refreshes them."""
    tables: set[str] = field(default_factory=set)
    """Tables with a wrong row."""
    search: list[str] = field(default_factory=list)
    """Problems of the search index. If there are any, it must be filled again."""


def compare(
    ledger: Ledger,
    lines: Mapping[str, Sequence[IndexLine]],
    nodes: Mapping[str, bytes],
    edge: Mapping[int, bytes],
    roots: Sequence[tuple[int, int, bytes]],
    time: datetime,
) -> Differences:
    """Compare every table with what follows from the entries.

    ``lines``: the index of each name; ``nodes``: the name map by the hashes of its nodes; ``edge``: the partial tiles;
    ``roots``: number, position and note of each root; ``time``: the last snapshot's time.
    """
    differences = Differences()
    execute = ledger.connection.execute
    index_files = {name: wire.encode_index(entries) for name, entries in lines.items()}
    _table(
        differences,
        "names",
        {name: (folded(name), hashlib.sha256(data).hexdigest(), len(data)) for name, data in index_files.items()},
        {row.name: (row.fold, row.index_sha256, row.index_size) for row in execute(sa.select(schema.names))},
    )
    _table(
        differences,
        "name_entries",
        {(name, line.log): _text_sha256(line.note) for name, entries in lines.items() for line in entries},
        {(row.name, row.position): bytes(row.text_sha256) for row in execute(sa.select(schema.name_entries))},
    )
    _table(differences, "map_nodes", nodes, ledger.map_nodes())
    _table(differences, "tree_edge", dict(edge), {level: bytes(data) for level, data in ledger.edge().items()})
    _table(
        differences,
        "roots",
        {number: (position, note) for number, position, note in roots},
        {row.number: (row.position, bytes(row.note)) for row in execute(sa.select(schema.roots))},
    )
    _keysets(differences, ledger, lines)
    _takedowns(differences, ledger, lines)
    owners = Owners(
        tuple(Root.parse(notes.parse(note).text) for _, _, note in roots),
        {number: position for number, position, _ in roots},
    )
    _items(differences, ledger, lines, owners, time)
    return differences


def compare_owners(ledger: Ledger, owners: Mapping[str, Sequence[IndexLine]]) -> list[str]:
    """Compare the table of what owners stated with what follows from the entries; return what is wrong."""
    differences = Differences()
    rows = ledger.connection.execute(sa.select(schema.owner_statements))
    _table(
        differences,
        "owner_statements",
        {
            (namespace, line.log): (_text_sha256(line.note), line.note.encode())
            for namespace, lines in owners.items()
            for line in lines
        },
        {(row.namespace, row.position): (bytes(row.text_sha256), bytes(row.note)) for row in rows},
    )
    return differences.problems


def _keysets(differences: Differences, ledger: Ledger, lines: Mapping[str, Sequence[IndexLine]]) -> None:
    wanted = {}
    for name, entries in lines.items():
        kind, _, namespace = name.partition(":")
        if kind == wire.NAMESPACE:
            for line in entries:
                recovery = Keyset.parse(notes.parse(line.note).text).recovery
                when = write_time(recovery) if recovery else None
                wanted[namespace, line.log] = (line.note.encode(), when)
    rows = ledger.connection.execute(sa.select(schema.keysets))
    _table(
        differences, "keysets", wanted, {(row.namespace, row.position): (bytes(row.note), row.recovery) for row in rows}
    )


def _takedowns(differences: Differences, ledger: Ledger, lines: Mapping[str, Sequence[IndexLine]]) -> None:
    wanted = {}
    for name, entries in lines.items():
        for line in entries:
            if line.note.startswith(f"{Takedown.TITLE}\n"):
                takedown = Takedown.parse(notes.parse(line.note).text)
                for sha256 in takedown.files:
                    wanted[sha256, line.log] = (name, takedown.version, takedown.reason)
    rows = ledger.connection.execute(sa.select(schema.takedowns))
    _table(
        differences,
        "takedowns",
        wanted,
        {(row.sha256, row.position): (row.name, row.version, row.reason) for row in rows},
    )


def _items(
    differences: Differences,
    ledger: Ledger,
    lines: Mapping[str, Sequence[IndexLine]],
    owners: Owners,
    time: datetime,
) -> None:
    execute = ledger.connection.execute
    releases = {(row.name, row.version): row for row in execute(sa.select(schema.releases))}
    documents = {row.name: row for row in execute(sa.select(schema.documents))}
    chains: dict[str, KeysetChain] = {}
    wanted: dict[tuple[str, str], tuple[int, str, str, bool]] = {}
    offered: dict[str, tuple[str, str, str, str, str, bool]] = {}
    deprecated: set[str] = set()
    for name, entries in lines.items():
        kind, _, identifier = name.partition(":")
        if kind == wire.NAMESPACE:
            continue
        identity = Identity(kind, identifier)
        try:
            if identity.namespace not in chains:
                chains[identity.namespace] = _chain(ledger.origin, identity.namespace, lines, owners)
            history = judge(
                identity, [read_line(line, name) for line in entries], chains[identity.namespace], owners, time
            )
        except TrustError as error:
            differences.problems.append(f"Clients refuse what the log says about {name}: {error.message}")
            continue
        if history.deprecation is not None:
            deprecated.add(name)
        latest = None
        for record in history.records:
            release = record.release
            wanted[name, release.version] = (
                record.line.log,
                content_digest(release),
                release.description,
                record.is_withdrawn,
            )
            if not record.is_withdrawn and (latest is None or rank(release.version) > rank(latest.version)):
                latest = release
        if latest is not None:
            row = releases.get((name, latest.version))
            words = row.keywords if row is not None else ""
            offered[name] = (
                identity.namespace,
                identifier,
                latest.version,
                latest.description,
                words,
                name in deprecated,
            )
    wrong_releases = _table(
        differences,
        "releases",
        wanted,
        {key: (row.position, row.content, row.description, row.yanked) for key, row in releases.items()},
    )
    wrong_deprecations = _table(
        differences,
        "names",
        dict.fromkeys(deprecated, True),
        dict.fromkeys(execute(sa.select(schema.names.c.name).where(schema.names.c.deprecated)).scalars(), True),
        row="deprecation",
    )
    wrong_documents = _table(
        differences,
        "documents",
        offered,
        {
            name: (row.namespace, row.id, row.version, row.description, row.keywords, row.deprecated)
            for name, row in documents.items()
        },
    )
    differences.names.update((name for name, _ in wrong_releases), wrong_deprecations, wrong_documents)
    differences.search = index_problems(ledger.connection)
    differences.problems += differences.search


def _chain(origin: str, namespace: str, lines: Mapping[str, Sequence[IndexLine]], owners: Owners) -> KeysetChain:
    chain = KeysetChain(origin, namespace)
    for line in lines.get(wire.namespace_name(namespace), ()):
        note = notes.parse(line.note)
        chain = extend(chain, line.log, note, Keyset.parse(note.text), owners)
    return chain


def _table(
    differences: Differences, table: str, wanted: Mapping[_K, _V], present: Mapping[_K, _V], row: str = "row"
) -> list[_K]:
    """Add the problems of a table; return the keys of its wrong rows. ``row``: what a message calls one."""
    wrong = [key for key in wanted if present.get(key) != wanted[key]] + [key for key in present if key not in wanted]
    if wrong:
        differences.tables.add(table)
    for key in wrong[:_LISTED]:
        fault = "no" if key not in present else "an extra" if key not in wanted else "a wrong"
        words = " ".join(map(str, key)) if isinstance(key, tuple) else str(key)
        differences.problems.append(f"The table {table} has {fault} {row} for {words}.")
    if len(wrong) > _LISTED:
        differences.problems.append(f"The table {table} has {len(wrong) - _LISTED} more wrong rows.")
    return wrong


def _text_sha256(note: str) -> bytes:
    return hashlib.sha256(notes.parse(note).text.encode()).digest()
