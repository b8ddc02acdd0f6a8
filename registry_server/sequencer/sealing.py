"""Everything that follows from a batch's entries: index files, name map, tree, the snapshot and the checkpoint, signed.

A function of the ledger's transaction and of what this process remembers of the newest head; what is remembered is used only
where the database has that very head.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from registry_server.accounts.keys import PrivateKey
from registry_server.sequencer.derived_files import File, bundle_files, has_root, index_files, map_files, root_files
from registry_server.sequencer.ledger import Ledger, Published
from registry_server.sequencer.name_nodes import NameNodes
from registry_server.sequencer.tree import Edge
from rye.errors import RyeError
from rye.registry.protocol import notes, wire
from rye.registry.protocol.name_map import MapEntry
from rye.registry.protocol.notes import Signer
from rye.registry.protocol.statements import Checkpoint, Root, Snapshot
from rye.registry.protocol.tiles import WIDTH, Tile, partial_tiles


@dataclass(frozen=True, slots=True)
class Sealed:
    """A batch that is computed and signed, and what it asks of the store once it is committed."""

    before: int
    """Size of the log before it."""
    published: Published
    files: list[File]
    blobs: frozenset[str]
    """Uploads that become public."""


@dataclass(frozen=True, slots=True)
class _End:
    """The log's end at one head, from which the next batch continues."""

    checkpoint: bytes
    edge: Edge
    partial: dict[int, bytes]
    """The partial tiles."""
    bundle: list[bytes]
    """The entries of the last bundle, fewer than 256."""


class Sealer:
    """Used only by the holder of the writer's lock."""

    def __init__(self, log_keys: Sequence[PrivateKey]) -> None:
        self._signers: list[tuple[bytes, Signer]] = [(key.verifier.key, key.signer) for key in log_keys]
        self._name_nodes = NameNodes()
        self._end: _End | None = None

    def seal(
        self,
        ledger: Ledger,
        old: Published | None,
        now: datetime,
        blobs: frozenset[str],
        step: Callable[[str], None] = lambda _step: None,
    ) -> Sealed:
        """Compute and sign what follows from the new entries, and put the head into the database.

        ``step`` is told ``appended`` when all is computed and nothing is written. Raises RyeError.
        """
        first = old.size if old else 0
        if old is not None:
            for namespace in ledger.recovered_between(old.time, now):
                ledger.refresh_namespace(namespace, now)
        indexes = index_files(ledger, ledger.touched)
        changed = [MapEntry(name, path.rpartition("/")[2], len(data)) for name, (path, data) in indexes.items()]
        ledger.write_indexes((entry.name, entry.sha256, entry.size) for entry in changed)
        names = self._name_nodes.change(ledger, old.map if old else None, changed, first)
        root = ledger.roots()[-1]
        snapshot_note = self._sign(Snapshot(ledger.origin, now, root.number, names.root).text(), root)
        ledger.append_leaf(snapshot_note.encode())
        end, self._end = self._end_of(ledger, old), None
        appended = ledger.appended_since(first)
        if len(appended) != ledger.size - first:
            raise RyeError(
                "database-damaged",
                f"The log has entries after the {first} that its signed checkpoint covers.",
                "Restore the database from a backup: rye-registry restore. Nothing was changed.",
            )
        edge = end.edge
        for _, hashed in appended:
            edge.append(hashed)
        checkpoint_note = self._sign(Checkpoint(ledger.origin, edge.size, edge.range.root()).text(), root)
        document = wire.encode_head(
            wire.Head(checkpoint_note, snapshot_note, [wire.encode_hash(node) for node in edge.last_proof], names.root)
        )
        if len(document) > wire.MAX_HEAD_BYTES:
            raise RyeError("head-too-large", "The head has become larger than clients accept.", None)
        step("appended")
        present = frozenset(partial_tiles(first))  # of upper levels that did not grow: the head before needed them, too
        entries = [*end.bundle, *(leaf for leaf, _ in appended)]
        has_new_root = first == 0 or has_root(leaf for leaf, _ in appended)
        files = [
            *indexes.values(),
            *map_files(names.files),
            *((tile.path, data) for tile, data in edge.tiles() if tile not in present),
            *bundle_files(entries, first // WIDTH * WIDTH),
            *(root_files(ledger) if has_new_root else ()),
        ]
        published = Published(edge.size, now, checkpoint_note.encode(), document, names.root)
        partial = edge.partial()
        ledger.write_head(published, partial, end.partial)
        bundle = entries[len(entries) - edge.size % WIDTH :]
        edge.full.clear()
        self._end = _End(published.checkpoint, edge, partial, bundle)
        return Sealed(first, published, files, blobs)

    def _end_of(self, ledger: Ledger, old: Published | None) -> _End:
        """The log's end at the newest head: remembered, where that is the head which this process made last."""
        if old is None:
            return _End(b"", Edge(0, {}), {}, [])
        if self._end is not None and self._end.checkpoint == old.checkpoint:
            return self._end
        partial = ledger.edge()
        leaves = ledger.leaves(old.size // WIDTH * WIDTH, old.size)
        return _End(old.checkpoint, Edge(old.size, partial), partial, leaves)

    def _sign(self, text: str, root: Root) -> str:
        """A note signed by every log key of ours that the root in force lists."""
        signers = [signer for key, signer in self._signers if key in root.logs]
        if not signers:
            raise RyeError(
                "log-key-missing",
                f"No log key of root {root.number} is in the key folder.",
                "Put the log's key file back into the keys folder, or publish a root that lists the key that is there.",
            )
        return notes.sign(text, signers).encode()


def old_partials(old: int, new: int) -> Iterator[str]:
    """Partial tiles may go when the full one exists (tlog-tiles); the newest full tile keeps its own for slow readers."""
    for tile in range(max(old // WIDTH - 1, 0), new // WIDTH - 1):
        for width in range(1, WIDTH):
            partial = Tile(0, tile, width)
            yield partial.path
            yield partial.entries_path
