"""Everything that follows from a batch's entries: index files, name map, tree, and the signed snapshot and checkpoint.

It is computed from the ledger's transaction and from what this process remembers about the newest head. The remembered
state is used only if the database has exactly that head.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from registry_server.accounts import audit_events
from registry_server.accounts.registry_keys import PrivateKey
from registry_server.sequencer import search_offers
from registry_server.sequencer.derived_files import (
    File,
    clock_files,
    has_any,
    index_files,
    joined_bundles,
    map_files,
    owners_files,
    policy_files,
    root_files,
)
from registry_server.sequencer.ledger import Ledger, Published
from registry_server.sequencer.name_nodes import NameNodes
from registry_server.sequencer.tree import Edge
from rye.errors import RyeError
from rye.registry.protocol import notes, wire
from rye.registry.protocol.lines import write_time
from rye.registry.protocol.name_map import MapEntry
from rye.registry.protocol.notes import Signer
from rye.registry.protocol.statements import AuditHead, Checkpoint, ClockStep, OrganizationPolicy, Root, Snapshot
from rye.registry.protocol.tiles import WIDTH, Tile, encode_entry, partial_tiles


@dataclass(frozen=True, slots=True)
class Sealed:
    """A batch that has been computed and signed, and what it needs in the store after its commit."""

    before: int
    """Size of the log before the batch."""
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
    """The encoded entries of the last bundle, fewer than 256."""


class Sealer:
    """Computes and signs heads. Only the holder of the writer's lock uses it."""

    def __init__(self, log_keys: Sequence[PrivateKey], *, with_audit: bool = False) -> None:
        """``with_audit``: whether checkpoints name the end of the chain of audit events."""
        self._with_audit = with_audit
        self._signers = [key.signer for key in log_keys]
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
        """Compute and sign what follows from the new entries, and write the head to the database.

        ``step`` is called with ``appended`` when everything is computed and nothing is written. Raises RyeError
        ``database-damaged``, ``head-too-large``, ``log-key-missing``, ``root-expired``.
        """
        first = old.size if old else 0
        if old is not None:
            for namespace in ledger.recovered_between(*sorted((old.time, now))):  # of either order: time may step back
                search_offers.refresh_namespace(ledger, namespace, now)
        indexes = index_files(ledger, ledger.touched)
        changed = [MapEntry(name, path.rpartition("/")[2], len(data)) for name, (path, data) in indexes.items()]
        names = self._name_nodes.change(ledger, old.map if old else None, changed, first)
        ledger.write_indexes((entry.name, entry.sha256, entry.size) for entry in changed)
        root = ledger.roots()[-1]
        if now >= root.expires:
            raise RyeError(
                "root-expired",
                f"Root {root.number} expired at {write_time(root.expires)}: clients would refuse a head dated {write_time(now)}.",
                "The owners sign a new one with `rye-registry root renew`. If the date is wrong, set this machine's clock.",
            )
        snapshot_note = self._sign(Snapshot(ledger.origin, now, root.number, names.root).text(), root)
        ledger.append_leaf(snapshot_note.encode())
        end, self._end = self._end_of(ledger, old), None
        appended = ledger.appended_since(first)
        if len(appended) != ledger.size - first:
            raise RyeError(
                "database-damaged",
                f"The log has more entries than the {first} that its signed checkpoint covers.",
                "Nothing was changed. Restore the database: rye-registry restore --from BACKUP",
            )
        edge = end.edge
        for _, hashed in appended:
            edge.append(hashed)
        audit = AuditHead(*audit_events.head(ledger.connection)) if self._with_audit else None
        checkpoint_note = self._sign(Checkpoint(ledger.origin, edge.size, edge.range.root(), audit).text(), root)
        document = wire.encode_head(
            wire.Head(checkpoint_note, snapshot_note, [wire.encode_hash(node) for node in edge.last_proof], names.root)
        )
        if len(document) > wire.MAX_HEAD_BYTES:
            raise RyeError(
                "head-too-large",
                "The signed head is larger than clients accept.",
                "Remove log keys that are no longer used: rye-registry root draft --help",
            )
        step("appended")
        present = frozenset(
            partial_tiles(first)
        )  # of upper levels that did not grow: the previous head already needed them
        entries = [*end.bundle, *(encode_entry(leaf) for leaf, _ in appended)]
        leaves = [leaf for leaf, _ in appended]
        has_new_root = first == 0 or has_any(leaves, Root)
        files = [
            *indexes.values(),
            *map_files(names.files),
            *owners_files(ledger, ledger.stated),
            *((tile.path, data) for tile, data in edge.tiles() if tile not in present),
            *joined_bundles(entries, first // WIDTH * WIDTH),
            *(root_files(ledger) if has_new_root else ()),
            *(clock_files(ledger) if has_any(leaves, ClockStep) else ()),
            *(policy_files(ledger) if has_any(leaves, OrganizationPolicy) else ()),
        ]
        published = Published(edge.size, now, checkpoint_note.encode(), document, names.root)
        partial = edge.partial()
        ledger.write_head(published, partial, end.partial)
        bundle = entries[len(entries) - edge.size % WIDTH :]
        edge.full.clear()
        self._end = _End(published.checkpoint, edge, partial, bundle)
        return Sealed(first, published, files, blobs)

    def _end_of(self, ledger: Ledger, old: Published | None) -> _End:
        """Return the log's end at the newest head, from memory if this process made that head."""
        if old is None:
            return _End(b"", Edge(0, {}), {}, [])
        if self._end is not None and self._end.checkpoint == old.checkpoint:
            return self._end
        partial = ledger.edge()
        leaves = ledger.leaves(old.size // WIDTH * WIDTH, old.size)
        return _End(old.checkpoint, Edge(old.size, partial), partial, [encode_entry(leaf) for leaf in leaves])

    def check_key(self, ledger: Ledger) -> None:
        """Raise RyeError ``log-key-missing`` if no head could be signed under the newest root."""
        roots = ledger.roots()
        if roots:
            signers_under(roots[-1], self._signers)

    def _sign(self, text: str, root: Root) -> str:
        """Return a note signed by each of our log keys that the root in force lists."""
        return notes.sign(text, signers_under(root, self._signers)).encode()


def signers_under(root: Root, signers: Sequence[Signer]) -> list[Signer]:
    """Return those whose keys a root lists: they sign heads under it. Raises RyeError ``log-key-missing``."""
    listed = [signer for signer in signers if signer.verifier.key in root.logs]
    if not listed:
        raise RyeError(
            "log-key-missing",
            f"The key folder contains no log key of root {root.number}, so no head can be signed.",
            "Put the log's key file back into the key folder and restart the server, or publish a root that lists your "
            "key: rye-registry root draft -o FILE --add-log KEY",
        )
    return listed


def old_partials(old: int, new: int) -> Iterator[str]:
    """Yield partial tiles that can be deleted because the full tile exists (tlog-tiles).

    The newest full tile keeps its own, for slow readers.
    """
    for tile in range(max(old // WIDTH - 1, 0), new // WIDTH - 1):
        for width in range(1, WIDTH):
            partial = Tile(0, tile, width)
            yield partial.path
            yield partial.entries_path
