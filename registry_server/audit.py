"""Every public file computed again from the log's entries alone: to verify, to rebuild, to export.

docs/protocol.md: head, shards and index files are functions of the log. So nothing here trusts the tables beside the entries:
names and index lines come from parsing each leaf, the tree from hashing them all.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from registry_server.ledger import Ledger
from registry_server.objects import Folder, Objects
from registry_server.tree import Edge
from rye.errors import RyeError
from rye.registry.protocol import notes, statements, wire
from rye.registry.protocol.merkle import leaf_hash
from rye.registry.protocol.statements import Checkpoint, Keyset, Release, Root, Snapshot
from rye.registry.protocol.tiles import WIDTH, Tile, encode_bundle
from rye.registry.trust.keysets import log_keys

_AT_ONCE = 64 * WIDTH


@dataclass(slots=True)
class Recomputed:
    """What the entries of a log make."""

    size: int
    root_hash: bytes
    shards_root: bytes
    """Before the last leaf: what the last snapshot must say."""
    snapshot: str
    """The last leaf."""
    files: dict[str, str] = field(default_factory=dict)
    """Path of every public file but head, checkpoint, config and blobs → SHA-256 of its bytes."""
    blobs: dict[str, int] = field(default_factory=dict)
    """SHA-256 → size."""


def recompute(ledger: Ledger, write: Objects | None = None) -> Recomputed:
    """Go through the whole log; with ``write``, write every file that is missing or different."""
    edge = Edge(0, {})
    lines: dict[str, list[wire.IndexLine]] = {}
    found = Recomputed(0, b"", b"", "")

    def emit(path: str, data: bytes) -> None:
        found.files[path] = hashlib.sha256(data).hexdigest()
        if write is not None:
            write.put_all([(path, data)])

    for start in range(0, ledger.size, _AT_ONCE):
        entries = ledger.leaves(start, min(start + _AT_ONCE, ledger.size))
        for offset in range(0, len(entries), WIDTH):
            part = entries[offset : offset + WIDTH]
            emit(Tile(0, (start + offset) // WIDTH, len(part)).entries_path, encode_bundle(part))
        for position, leaf in enumerate(entries, start):
            edge.append(leaf_hash(leaf))
            found.snapshot = leaf.decode()
            statement = statements.parse(notes.parse(leaf).text)
            if isinstance(statement, Root):
                emit(f"root/{statement.number}", leaf)
            elif not isinstance(statement, Snapshot):
                subject = statement.namespace if isinstance(statement, Keyset) else statement.identity
                lines.setdefault(wire.index_name(subject), []).append(wire.IndexLine(position, leaf.decode()))
                if isinstance(statement, Release):
                    found.blobs[statement.file.sha256] = statement.file.size
                    found.blobs.update((entry.sha256, entry.size) for entry in statement.attached)
    for tile, data in edge.tiles():
        emit(tile.path, data)
    by_shard: dict[str, list[wire.ShardEntry]] = {}
    for name, entries_of in lines.items():
        data = wire.encode_index(entries_of)
        sha256 = hashlib.sha256(data).hexdigest()
        emit(f"index/{sha256}", data)
        by_shard.setdefault(wire.shard_of(name), []).append(wire.ShardEntry(name, sha256, len(data)))
    shards = {}
    for shard, shard_entries in by_shard.items():
        data = wire.encode_shard(shard_entries)
        shards[shard] = hashlib.sha256(data).hexdigest()
        emit(f"shards/{shards[shard]}", data)
    found.size, found.root_hash, found.shards_root = edge.size, edge.range.root(), wire.shards_root(shards)
    return found


def verify(ledger: Ledger, public: Objects) -> list[str]:
    """Everything that is wrong with the registry, in words; empty: nothing. Reads every entry and every public file."""
    published = ledger.published()
    if published is None:
        return ["The database holds no head."]
    found = recompute(ledger)
    problems = []
    root = ledger.roots()[-1]
    try:
        checkpoint_note = notes.parse(published.checkpoint)
        notes.verify(checkpoint_note, log_keys(root))
        checkpoint = Checkpoint.parse(checkpoint_note.text)
        if (checkpoint.origin, checkpoint.size, checkpoint.root_hash) != (ledger.origin, found.size, found.root_hash):
            problems.append("The signed checkpoint is not that of the log's entries.")
        snapshot_note = notes.parse(found.snapshot)
        notes.verify(snapshot_note, log_keys(root))
        snapshot = Snapshot.parse(snapshot_note.text)
        if (snapshot.shards, snapshot.root) != (found.shards_root, root.number):
            problems.append("The last snapshot does not fix the index that the entries make.")
    except RyeError as error:
        problems.append(f"The head is not signed by the log's key: {error.message}")
    for path, wanted in [("checkpoint", published.checkpoint), ("head", published.document)]:
        shown = public.get(path)
        if shown != wanted and not _is_later(shown, path, root, found.size):
            problems.append(f"/{path} is missing or not the newest one.")
    for path, sha256 in found.files.items():
        problems += _check(public, path, sha256)
    for sha256 in found.blobs:
        problems += _check(public, wire.blob_path(sha256), sha256)
    return problems


def _is_later(shown: bytes | None, path: str, root: Root, size: int) -> bool:
    """Whether a head or checkpoint is a signed one of a larger tree: something was published while the audit ran."""
    try:
        text = (shown or b"").decode() if path == "checkpoint" else wire.decode_head(shown or b"").checkpoint
        note = notes.parse(text)
        notes.verify(note, log_keys(root))
        return Checkpoint.parse(note.text).size > size
    except (RyeError, UnicodeDecodeError):
        return False


def _check(public: Objects, path: str, sha256: str) -> list[str]:
    data = public.get(path)
    if data is None:
        return [f"/{path} is missing."]
    if hashlib.sha256(data).hexdigest() != sha256:
        return [f"/{path} has other bytes than it should."]
    return []


def prune(ledger: Ledger, public: Objects, older_than: float) -> int:
    """Delete index files, shards and partial tiles that the newest head does not lead to and that are older than a point in
    time (seconds since 1970). Blobs, roots and full tiles always stay. Returns how many were deleted."""
    wanted = recompute(ledger).files
    count = 0
    for path, _, modified in list(public.listing()):
        is_replaceable = path.startswith(("index/", "shards/")) or (path.startswith("tile/") and ".p/" in path)
        if is_replaceable and path not in wanted and modified < older_than:
            public.delete(path)
            count += 1
    return count


def export(public: Objects, origin: str, target: Path) -> Iterator[str]:
    """Copy the static registry to a folder, the head last, so that the copy is whole at every moment; yields what was copied.

    Files that are there already stay. On the same disk, files of a local registry become hard links. The copy's
    ``config.json`` has no API.
    """
    head, checkpoint = public.get("head"), public.get("checkpoint")
    if head is None or checkpoint is None:
        raise RyeError("nothing-to-export", "The registry has no head yet.", "Start it once: rye-registry serve")
    destination = Folder(target)
    for path, size, _ in public.listing():
        is_temporary = path.rpartition("/")[2].startswith(".")
        if is_temporary or path in {"head", "checkpoint", "config.json"}:
            continue
        place = target / path
        is_named_by_hash = path.startswith(("blobs/", "index/", "shards/"))
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
    if destination.get("head") != head:
        destination.put("checkpoint", checkpoint)
        destination.put("head", head)
        yield "head"


def _link(source: Path, place: Path) -> bool:
    """Make ``place`` a hard link; False where that is not possible or nothing would change."""
    if place.exists():
        return False
    place.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, place)
    except OSError:
        return False
    return True
