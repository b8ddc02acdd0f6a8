"""Every public file computed again from the log's entries alone: to verify, rebuild, clean up and export.

Head, name map and index files are functions of the log (docs/reference/protocol.md). Nothing here trusts the other
tables: names and index lines come from parsing each leaf, the tree from hashing them all. Nothing here takes the
writer's lock: what follows from the entries of a committed log never changes, so it can be read and written while the
log grows.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import sqlalchemy as sa

from registry_server.accounts import audit_events
from registry_server.search.documents import refill
from registry_server.sequencer import search_offers
from registry_server.sequencer.head_publication import check_contained, outdated, shown_checkpoint
from registry_server.sequencer.ledger import Ledger
from registry_server.sequencer.tree import Edge
from registry_server.storage import database
from registry_server.storage.objects import Folder, Objects
from registry_server.upkeep import derived
from rye.errors import RyeError
from rye.registry.protocol import name_map, notes, statements, wire
from rye.registry.protocol.merkle import leaf_hash
from rye.registry.protocol.name_map import EMPTY_MAP, EMPTY_MAP_SHA256, MapEntry, node_path
from rye.registry.protocol.statements import (
    Checkpoint,
    ClockStep,
    FormerSnapshot,
    Keyset,
    OrganizationPolicy,
    OwnerStatement,
    Release,
    Root,
    Snapshot,
    Takedown,
)
from rye.registry.protocol.tiles import WIDTH, Tile, encode_bundle, partial_tiles
from rye.registry.trust.head_times import CLOCK, encode_steps
from rye.registry.trust.keysets import log_keys
from rye.registry.trust.namespace_proofs import owners_path
from rye.registry.trust.policies import POLICY, encode_newest

_AT_ONCE = 64 * WIDTH
_WRITTEN_BETWEEN_WORDS = 50
"""After this many files the database is told that the transaction is still active."""
_PRUNED_AT_ONCE = 200
"""Files that one step of cleaning up checks."""
_REFRESHED_AT_ONCE = 20
"""Items that are refreshed in one transaction."""


@dataclass(slots=True, kw_only=True)
class Recomputed:
    """What follows from the entries of a log."""

    size: int
    root_hash: bytes
    map: str
    """The root of the name map, which the last snapshot must contain."""
    snapshot: str
    """The last leaf."""
    files: dict[str, str] = field(default_factory=dict)
    """Path of every public file but head, checkpoint, config and blobs → SHA-256 of its bytes."""
    blobs: dict[str, int] = field(default_factory=dict)
    """SHA-256 → size, without blobs that were taken down."""
    taken_down: set[str] = field(default_factory=set)
    """SHA-256 of blobs that must not be in the store."""
    lines: dict[str, list[wire.IndexLine]] = field(default_factory=dict)
    """The index of each name."""
    owners: dict[str, list[wire.IndexLine]] = field(default_factory=dict)
    """What the owners of each namespace stated about themselves."""
    nodes: dict[str, bytes] = field(default_factory=dict)
    """The nodes of the name map by their hashes."""
    edge: dict[int, bytes] = field(default_factory=dict)
    """The partial tiles by level."""
    roots: list[tuple[int, int, bytes]] = field(default_factory=list)
    """Number, position and note of each root."""


def recompute(ledger: Ledger, write: Objects | None = None) -> Recomputed:
    """Process the whole log; with ``write``, write every file that is missing or different."""
    edge = Edge(0, {})
    recomputed = Recomputed(size=0, root_hash=b"", map=EMPTY_MAP_SHA256, snapshot="")
    lines = recomputed.lines
    steps: list[wire.IndexLine] = []
    policy: wire.IndexLine | None = None

    def emit(path: str, data: bytes) -> None:
        recomputed.files[path] = hashlib.sha256(data).hexdigest()
        if write is not None:
            write.put_all([(path, data)])
            if len(recomputed.files) % _WRITTEN_BETWEEN_WORDS == 0:
                database.keep_alive(ledger.connection)

    for start in range(0, ledger.size, _AT_ONCE):
        entries = ledger.leaves(start, min(start + _AT_ONCE, ledger.size))
        for offset in range(0, len(entries), WIDTH):
            part = entries[offset : offset + WIDTH]
            emit(Tile(0, (start + offset) // WIDTH, len(part)).entries_path, encode_bundle(part))
        for position, leaf in enumerate(entries, start):
            edge.append(leaf_hash(leaf))
            recomputed.snapshot = leaf.decode()
            statement = statements.parse(notes.parse(leaf).text)
            if isinstance(statement, Root):
                emit(f"root/{statement.number}", leaf)
                recomputed.roots.append((statement.number, position, leaf))
            elif isinstance(statement, ClockStep):
                steps.append(wire.IndexLine(position, leaf.decode()))
            elif isinstance(statement, OrganizationPolicy):
                policy = wire.IndexLine(position, leaf.decode())
            elif isinstance(statement, OwnerStatement):
                stated = recomputed.owners.setdefault(statement.namespace, [])
                stated.append(wire.IndexLine(position, leaf.decode()))
            elif not isinstance(statement, Snapshot | FormerSnapshot):
                subject = statement.namespace if isinstance(statement, Keyset) else statement.identity
                lines.setdefault(wire.index_name(subject), []).append(wire.IndexLine(position, leaf.decode()))
                if isinstance(statement, Release):
                    recomputed.blobs[statement.file.sha256] = statement.file.size
                    recomputed.blobs.update((entry.sha256, entry.size) for entry in statement.attached)
                elif isinstance(statement, Takedown):
                    recomputed.taken_down.update(statement.files)
    for sha256 in recomputed.taken_down:
        recomputed.blobs.pop(sha256, None)
    for tile, data in edge.tiles():
        emit(tile.path, data)
    if steps:
        emit(CLOCK, encode_steps(steps))
    if policy is not None:
        emit(POLICY, encode_newest(policy))
    for namespace, stated in recomputed.owners.items():
        emit(owners_path(namespace), wire.encode_index(stated))
    names = []
    for name, entries_of in lines.items():
        data = wire.encode_index(entries_of)
        sha256 = hashlib.sha256(data).hexdigest()
        emit(f"index/{sha256}", data)
        names.append(MapEntry(name, sha256, len(data)))
    recomputed.nodes[EMPTY_MAP_SHA256] = EMPTY_MAP
    done = name_map.update(EMPTY_MAP_SHA256, names, {EMPTY_MAP_SHA256: name_map.decode_node(EMPTY_MAP)})
    recomputed.nodes |= done.files
    for sha256 in done.dropped:
        del recomputed.nodes[sha256]
    for sha256, data in recomputed.nodes.items():
        emit(node_path(sha256), data)
    recomputed.edge = edge.partial()
    recomputed.size, recomputed.root_hash, recomputed.map = edge.size, edge.range.root(), done.root
    return recomputed


@dataclass(frozen=True, slots=True)
class Seen:
    """What the store showed before the database was read."""

    head: bytes | None
    checkpoint: bytes | None


def look(public: Objects) -> Seen:
    """Read what the store shows. Call it before reading the database, so that :func:`verify` can tell what is newer."""
    return Seen(public.get("head"), public.get("checkpoint"))


def verify(
    ledger: Ledger,
    public: Objects,
    seen: Seen | None = None,
    contained_now: Callable[[Checkpoint], bool] = lambda _shown: True,
) -> list[str]:
    """Return everything that is wrong with the registry, in words. Reads every entry, table and public file.

    A head that is newer than the database is accepted only if ``seen``, which was read before the database, is in the
    database, and ``contained_now`` says that the database now contains the newer head.
    """
    published = ledger.published()
    if published is None:
        return ["The database contains no head."]
    before = seen or look(public)
    for path, data in (("head", before.head), ("checkpoint", before.checkpoint)):
        shown = shown_checkpoint(path, data)
        try:
            if shown is not None:
                check_contained(ledger, shown)
        except RyeError as error:
            return [error.message]
    recomputed = recompute(ledger)
    problems = []
    root = ledger.roots()[-1]
    try:
        checkpoint_note = notes.parse(published.checkpoint)
        notes.verify(checkpoint_note, log_keys(root))
        checkpoint = Checkpoint.parse(checkpoint_note.text)
        if (checkpoint.origin, checkpoint.size, checkpoint.root_hash) != (
            ledger.origin,
            recomputed.size,
            recomputed.root_hash,
        ):
            problems.append("The signed checkpoint does not match the log's entries.")
        if checkpoint.audit is not None:
            problems += audit_events.problems_before(ledger.connection, checkpoint.audit)
        snapshot_note = notes.parse(recomputed.snapshot)
        notes.verify(snapshot_note, log_keys(root))
        snapshot = statements.parse(snapshot_note.text)
        if isinstance(snapshot, FormerSnapshot):
            problems.append(
                "Clients refuse the newest head, which is of protocol 1: `rye-registry serve` signs a new one."
            )
        elif not isinstance(snapshot, Snapshot) or (snapshot.map, snapshot.root) != (recomputed.map, root.number):
            problems.append("The last snapshot does not match the index that the entries make.")
    except RyeError as error:
        problems.append(f"The head is not signed by the log's key: {error.message}")
    problems += derived.compare_owners(ledger, recomputed.owners)
    problems += audit_events.problems(ledger.connection)
    problems += derived.compare(
        ledger, recomputed.lines, recomputed.nodes, recomputed.edge, recomputed.roots, published.time
    ).problems
    for path, sha256 in recomputed.files.items():
        problems += _check(public, path, sha256)
    for sha256 in recomputed.blobs:
        problems += _check(public, wire.blob_path(sha256), sha256)
    for sha256 in recomputed.taken_down:
        if public.get(wire.blob_path(sha256)) is not None:
            problems.append(f"/{wire.blob_path(sha256)} still exists, although it was taken down.")
    after = look(public)
    shown_now = {"checkpoint": after.checkpoint, "head": after.head}
    for path in outdated(ledger, published, shown_now):
        if not (seen is not None and _is_later(shown_now[path], path, recomputed.size, contained_now)):
            problems.append(f"/{path} is missing or out of date.")
    return problems


def _is_later(
    data: bytes | None,
    path: str,
    size: int,
    contained_now: Callable[[Checkpoint], bool],
) -> bool:
    """Whether this is a head or checkpoint of a larger tree of ours, published while the audit ran."""
    shown = shown_checkpoint(path, data)
    return shown is not None and shown.size > size and contained_now(shown)


def _check(public: Objects, path: str, sha256: str) -> list[str]:
    data = public.get(path)
    if data is None:
        return [f"/{path} is missing."]
    if hashlib.sha256(data).hexdigest() != sha256:
        return [f"/{path} has the wrong content."]
    return []


def repair(engine: sa.Engine, public: Objects) -> tuple[Recomputed, int]:
    """Write static files that are missing or different; repair the name map, the tree's edge, yanks and search entries.

    Returns what follows from the entries, and how many items were refreshed. Only the repairs of tables take the
    writer's lock, each for a moment.
    """
    with database.reader(engine) as connection:
        ledger = Ledger(connection)
        recomputed = recompute(ledger, public)
        published = ledger.published()
        wrong: set[str] = set()
        is_index_wrong = is_tree_wrong = False
        if published is not None:
            tables = derived.compare(
                ledger, recomputed.lines, recomputed.nodes, recomputed.edge, recomputed.roots, published.time
            )
            wrong = tables.names & recomputed.lines.keys()
            is_index_wrong = bool(tables.search)
            is_tree_wrong = not tables.tables.isdisjoint({"map_nodes", "tree_edge"})
    if is_tree_wrong:
        with database.writer(engine) as connection:
            ledger = Ledger(connection)
            if ledger.size == recomputed.size:  # otherwise a batch was added meanwhile; the next `rebuild` checks again
                ledger.replace_tree(recomputed.nodes, recomputed.edge)
    if is_index_wrong:  # first: updating an entry that the index does not have would make it worse
        with database.writer(engine) as connection:
            refill(connection)
    for start in range(0, len(wrong), _REFRESHED_AT_ONCE):
        with database.writer(engine) as connection:
            ledger = Ledger(connection)
            published = ledger.published()
            for name in sorted(wrong)[start : start + _REFRESHED_AT_ONCE]:
                if published is not None:
                    search_offers.refresh(ledger, name, published.time)
    return recomputed, len(wrong)


def prune(engine: sa.Engine, public: Objects, older_than: float) -> int:
    """Delete index files, nodes of the name map and partial tiles that the newest head does not lead to.

    Returns how many.

    Only files older than ``older_than`` (seconds since 1970) are deleted; blobs, roots and full tiles always stay. It
    needs no lock: each small step asks the database again, and a file that a batch has just written or found is not
    old.
    """
    count = 0
    unused = (
        path
        for top in ("index", "map", "tile")
        for path, _, modified in public.listing(top)
        if modified < older_than and (top != "tile" or ".p/" in path)
    )
    while candidates := list(islice(unused, _PRUNED_AT_ONCE)):
        with database.reader(engine) as connection:
            ledger = Ledger(connection)
            published = ledger.published()
            kept = ledger.leading_to(path.rpartition("/")[2] for path in candidates)
        partial = {tile.path for tile in partial_tiles(published.size)} if published else set()
        partial |= (
            {tile.entries_path for tile in partial_tiles(published.size) if tile.level == 0} if published else set()
        )
        for path in candidates:
            if path in partial or (not path.startswith("tile/") and path.rpartition("/")[2] in kept):
                continue
            modified = public.modified(path)
            if modified is not None and modified < older_than:
                public.delete(path)
                count += 1
    return count


def export(public: Objects, origin: str, target: Path, taken_down: Iterable[str] = ()) -> Iterator[str]:
    """Copy the static registry to a folder, the head last, so that the copy is always complete; yields the copied
    paths.

    Existing files stay, except blobs that were ``taken_down``. On the same disk, files of a local registry become hard
    links. The copy's ``config.json`` names no API. Raises RyeError ``no-head``.
    """
    head, checkpoint = public.get("head"), public.get("checkpoint")
    if head is None or checkpoint is None:
        raise RyeError("no-head", "The registry has no head yet.", "Start it once: rye-registry serve")
    destination = Folder(target)
    for sha256 in taken_down:
        destination.delete(wire.blob_path(sha256))
    for path, size, _ in public.listing():
        is_temporary = path.rpartition("/")[2].startswith(".")
        if is_temporary or path in {"head", "checkpoint", "config.json"}:
            continue
        place = target / path
        is_named_by_hash = path.startswith(("blobs/", "index/", "map/"))
        if is_named_by_hash and place.is_file() and place.stat().st_size == size:
            continue
        if isinstance(public, Folder) and _link(public.root / path, place):
            yield path
            continue
        data = public.get(path)
        if data is not None and destination.get(path) != data:
            destination.put(path, data)
            yield path
    destination.put("config.json", wire.encode_config(wire.Config(wire.PROTOCOL_VERSION, origin, None)))
    if (destination.get("head"), destination.get("checkpoint")) != (head, checkpoint):  # a bucket may show one first
        destination.put("checkpoint", checkpoint)
        destination.put("head", head)
        yield "head"


def _link(source: Path, place: Path) -> bool:
    """Make ``place`` a hard link; False if that is impossible or ``place`` exists."""
    if place.exists():
        return False
    place.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, place)
    except OSError:
        return False
    return True
