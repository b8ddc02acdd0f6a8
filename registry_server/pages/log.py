"""The pages of the log: its head and entries, and one entry with its proof."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, date, datetime
from urllib.parse import urlencode

import sqlalchemy as sa
from msgspec import Struct

from registry_server.pages.addresses import entry_path, item_path, namespace_path
from registry_server.pages.entry_words import EntryWords, entry_words
from registry_server.pages.limits import RECORDS
from registry_server.pages.page_budget import fitting, line_cost
from registry_server.pages.page_drafts import Draft, Maker, for_each_head
from registry_server.pages.page_layout import Document, Page
from registry_server.pages.registry_view import RegistryView
from registry_server.sequencer.cosigned_head import read_cosigned
from registry_server.storage.prepared import Prepared
from registry_server.storage.schema import log_entries
from registry_server.witnesses import records
from rye.describing.right_words import noun
from rye.errors import RyeError
from rye.items.identity import Identity
from rye.registry.protocol import merkle, notes, statements, wire
from rye.registry.protocol.cosignatures import read_cosignatures
from rye.registry.protocol.notes import NoteError, SignedNote, VerifierKey
from rye.registry.protocol.statements import (
    Advisory,
    Checkpoint,
    ClockStep,
    Deprecation,
    Description,
    Keyset,
    OrganizationPolicy,
    OwnerProof,
    Release,
    Root,
    Snapshot,
    Takedown,
    Yank,
)
from rye.registry.protocol.tiles import HASH_BYTES, WIDTH, Tile, VerifiedTiles, clip, inclusion_tiles
from rye.registry.protocol.tlog_proof import TlogProof
from rye.registry.trust.keysets import log_keys

_NUMBER = re.compile(r"0|[1-9][0-9]{0,15}")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_END = "END-OF-PROOF"


class Wish(Struct, frozen=True, kw_only=True):
    """Which entries the list shows."""

    type: str = ""
    """A key of :data:`LISTED`; empty: all but snapshots."""
    namespace: str = ""
    """Only what is about it; empty: any."""

    def path(self, before: int | None = None, day: date | None = None) -> str:
        """Return the path of the list; ``before`` None: of the newest entries, or of those from a day on."""
        asked = {
            **({"type": self.type} if self.type else {}),
            **({"namespace": self.namespace} if self.namespace else {}),
            **({"before": str(before)} if before is not None else {}),
            **({"date": day.isoformat()} if day is not None else {}),
        }
        return f"/-/log?{urlencode(asked)}" if asked else "/-/log"


LISTED: dict[str, str] = {
    "release": Release.TITLE,
    "yank": Yank.TITLE,
    "deprecation": Deprecation.TITLE,
    "advisory": Advisory.TITLE,
    "takedown": Takedown.TITLE,
    "keyset": Keyset.TITLE,
    "proof": OwnerProof.TITLE,
    "description": Description.TITLE,
    "root": Root.TITLE,
    "clock": ClockStep.TITLE,
    "policy": OrganizationPolicy.TITLE,
    "snapshot": Snapshot.TITLE,
    "all": "",
}
"""How entries of each type begin. A keyset can be a recovery, and a yank can be taken back."""


class EntryRow(Struct, frozen=True):
    """One entry in the list."""

    position: int
    path: str
    told: EntryWords
    about: str | None
    """The path of the page of the item or namespace that it is about."""

    @property
    def said(self) -> tuple[str, str, str]:
        """Its words before what it is about, that, and the words after it."""
        told = self.told
        wanted = rf"{noun(told.kind)} ({re.escape(told.id)})" if told.kind is not None and told.id is not None else None
        if wanted is None and told.namespace is not None:
            wanted = rf"(?:namespace|owners of) ({re.escape(told.namespace)})"
        found = re.search(rf"\b{wanted}(?![\w/-])", told.words) if wanted is not None else None
        start, end = found.span(1) if found is not None else (len(told.words), len(told.words))
        return told.words[:start], told.words[start:end], told.words[end:]


class CosignerRow(Struct, frozen=True):
    """One witness's key, and when it cosigned by its own clock."""

    name: str
    algorithm: str
    """``Ed25519`` or ``ML-DSA-44``."""
    time: datetime


class CosignedView(Struct, frozen=True):
    """The newest head that enough of the registry's witnesses cosigned, and how far it is behind the newest of all."""

    size: int
    """0: none is cosigned yet."""
    waiting: int
    """Entries of the newest head that it does not cover."""
    seconds: int
    """How much older it is than the newest head; 0 if it is that one, or if none is cosigned yet."""
    by: tuple[CosignerRow, ...]
    """Witnesses that are configured now."""


class DayView(Struct, frozen=True):
    """Where a day begins in the log, by the times of snapshots: the registry's, not the signers'."""

    date: date
    position: int | None
    """The first entry that was logged on that day or later; null: there is none."""
    logged: datetime
    """When that was logged; without one, the newest entry of all."""
    is_before_log: bool
    """Whether the log began after that day."""
    shown: int | None
    """The first entry from there on that is in the list."""

    @property
    def has_entries(self) -> bool:
        """Whether something was logged on that day."""
        return self.position is not None and self.logged.date() == self.date


class LogView(Struct, frozen=True, kw_only=True):
    """The JSON of ``/-/log``."""

    origin: str
    fingerprint: str
    """SHA-256 of root 1: what clients pin."""
    size: int
    time: datetime
    """The time of the newest snapshot."""
    root_hash: str
    """The root hash of the tree, base64."""
    map: str
    """SHA-256 of the name map's root."""
    checkpoint: str
    """The signed note."""
    keys: tuple[str, ...]
    """The log's keys as ``name+id+key``. Each signs checkpoints."""
    entries: tuple[EntryRow, ...]
    """Newest first."""
    newer: str | None
    older: str | None
    type: str
    """The type of the entries listed, ``all``, or empty: all but snapshots."""
    namespace: str
    """The namespace that they are about; empty: any."""
    types: tuple[str, ...]
    """The types to choose from."""
    first: int
    """The position of the oldest entry that was looked at."""
    day: DayView | None
    """The day that was asked for; null: none."""
    cosigned: CosignedView | None
    """Null: the registry has no witnesses."""


class SignatureRow(Struct, frozen=True):
    """One signature line of a note."""

    name: str
    key_id: str
    """8 hex digits."""
    signature: str
    """base64"""


class EntryView(Struct, frozen=True, kw_only=True):
    """The JSON of ``/-/log/N``. ``rye log check-proof`` reads it."""

    origin: str
    position: int
    told: EntryWords
    logged: datetime | None
    """The time of the first snapshot that covered the entry: the registry's time, not the signer's. Null: no later
    snapshot."""
    note: str
    """The statement's text."""
    signatures: tuple[SignatureRow, ...]
    leaf_hash: str
    """RFC 6962, base64."""
    size: int
    """The size of the tree that the proof is for."""
    root_hash: str
    """base64"""
    hashes: tuple[str, ...]
    """The inclusion proof, base64, from the leaf's sibling up."""
    checkpoint: str
    """The signed note over that tree."""
    keys: tuple[str, ...]
    """The log's keys that signed it, as ``name+id+key``."""
    proof: str
    """All of this in one file (C2SP tlog-proof)."""
    command: str
    """The command that checks this document, saved to a file, without a network."""
    pasted: str | None
    """The same with the proof in the command itself. Null: too long to paste."""
    about: str | None
    """The path of the page of the item or namespace that it is about."""
    older: str | None
    newer: str | None


# -- makers ----------------------------------------------------------------------------------------------------------------


def read_position(text: str) -> int | None:
    """Parse a position in a path. Each has only one spelling; any other text is None."""
    return int(text) if _NUMBER.fullmatch(text) else None


def read_day(text: str) -> date | None:
    """Parse a day as in ``2026-11-22``, as forms send it; any other text is None."""
    try:
        return date.fromisoformat(text) if _DAY.fullmatch(text) else None
    except ValueError:
        return None


def log_page(wish: Wish, before: int | None = None, day: date | None = None) -> Maker:
    """Return the maker of ``/-/log``. ``before``: list entries before this position; ``day``: instead, those from the first of
    that day on; None for both: the newest."""

    def make(registry: RegistryView) -> Page:
        size = registry.published.size
        start = first_logged(registry, day) if day is not None else None
        end = size if before is None else before
        if start is not None:
            end = _end_from(registry, wish, start)
        path = wish.path(None if before in (None, size) else before, day)
        if not 0 < end <= size:
            raise registry.missing(path)
        rows, first = _wished(registry, wish, end)
        asked = _day_view(registry, day, start, rows) if day is not None else None
        view = log_view(registry, wish, rows, first, end, asked)
        words = (
            f"The transparency log of {view.origin}: {view.size:,} entries. Each can be proved, and none ever changes."
        )
        is_indexed = not wish.type and not wish.namespace and day is None
        return Page(template="log.html", view=view, title="Log", description=words, path=path, is_indexed=is_indexed)

    def draft(registry: RegistryView) -> Draft:  # cosignatures come without a new head
        return Draft((registry.head, cosigned_view(registry)), lambda: make(registry), is_fixed_by_head=False)

    return draft


def first_logged(registry: RegistryView, day: date) -> int | None:
    """Return the first entry that was logged on a day or later, in UTC; None if all are older.

    A snapshot is never older than the one before, so this is a binary search: some twenty look-ups in a log of a million entries.
    The exception is a statement by which the owners set the log's time back (``clock``): then a day can be in the log twice, and
    this finds one of its beginnings.
    """
    least, most = 0, registry.published.size
    while least < most:
        middle = (least + most) // 2
        logged = logged_time(registry, middle)
        if logged is None or logged.date() >= day:
            most = middle
        else:
            least = middle + 1
    return least if least < registry.published.size else None


def _end_from(registry: RegistryView, wish: Wish, start: int) -> int:
    """Return the end of a list that begins with ``start``, or soon before it, and has about a page of what is wished for."""
    most = min(start + RECORDS.log_looked_at, registry.published.size)
    found = 0
    for lower in range(start, most, RECORDS.log_read):
        upper = min(lower + RECORDS.log_read, most)
        wished = [at for at, _ in _leaves(registry, wish, lower, upper)][::-1]
        if found + len(wished) >= RECORDS.log_rows:
            return wished[RECORDS.log_rows - found - 1] + 1
        found += len(wished)
    return most


def _day_view(registry: RegistryView, day: date, start: int | None, rows: Sequence[EntryRow]) -> DayView:
    published = registry.published
    logged = logged_time(registry, start) if start is not None else None
    shown = [row.position for row in rows if start is not None and row.position >= start]
    is_before = start == 0 and logged is not None and logged.date() > day
    return DayView(day, start, logged or published.time, is_before, min(shown, default=None))


def _wished(registry: RegistryView, wish: Wish, end: int) -> tuple[list[EntryRow], int]:
    """Return the newest entries before ``end`` that are wished for, newest first, and the first position that was looked at:
    a list that looks for rare entries ends after a bounded number of others."""
    least = max(end - RECORDS.log_looked_at, 0)
    rows: list[EntryRow] = []
    for position, leaf in _leaves(registry, wish, least, end):
        row = _row(position, leaf)
        if wish.namespace in ("", row.told.namespace):
            rows.append(row)
        if len(rows) == RECORDS.log_rows:
            break
    shown = list(fitting(rows, RECORDS.list_characters, _cost))
    is_whole = len(shown) == len(rows) < RECORDS.log_rows
    return shown, least if is_whole else shown[-1].position


def _leaves(registry: RegistryView, wish: Wish, start: int, end: int) -> Iterator[tuple[int, bytes]]:
    """Yield entries from ``start`` to ``end``, exclusive, newest first, with at least those that are wished for."""
    for upper in range(end, start, -RECORDS.log_read):
        lower = max(upper - RECORDS.log_read, start)
        leaves = registry.log.leaves(lower, upper)
        for position, leaf in zip(range(upper - 1, lower - 1, -1), reversed(leaves), strict=True):
            title = leaf.partition(b"\n")[0].decode()
            fits = title == LISTED[wish.type] if wish.type else title != Snapshot.TITLE
            if (fits or wish.type == "all") and wish.namespace.encode() in leaf:
                yield position, leaf


def entry_page(position: int) -> Maker:
    """Return the maker of ``/-/log/N``."""

    def make(registry: RegistryView) -> Page:
        view = entry_view(registry, position)
        return Page(
            template="log_entry.html",
            view=view,
            title=f"Log entry {position}",
            description=view.told.words,
            path=entry_path(position),
        )

    return for_each_head(make)


def proof_file(position: int) -> Maker:
    """Return the maker of ``/-/log/N/proof``, the proof as a file."""

    def make(registry: RegistryView) -> Page:
        view = entry_view(registry, position)
        path = f"{entry_path(position)}/proof"
        document = Document(view.proof.encode(), "text/plain")
        return Page(
            template="",
            view=view,
            title=f"Proof of log entry {position}",
            description=view.told.words,
            path=path,
            document=document,
        )

    return for_each_head(make)


# -- views -----------------------------------------------------------------------------------------------------------------


def log_view(
    registry: RegistryView, wish: Wish, rows: Sequence[EntryRow], first: int, end: int, day: DayView | None = None
) -> LogView:
    """Return the view of the head and of these rows, newest first. ``first``, ``end``: the positions that were looked at."""
    published = registry.published
    checkpoint = Checkpoint.parse(notes.parse(published.checkpoint).text)
    after = min(end + max(end - first, 1), published.size)
    return LogView(
        origin=registry.origin,
        fingerprint=registry.site.fingerprint,
        size=published.size,
        time=published.time,
        root_hash=notes.encode_base64(checkpoint.root_hash),
        map=published.map,
        checkpoint=published.checkpoint.decode(),
        keys=tuple(key.vkey for key in log_keys(registry.roots()[-1])),
        entries=tuple(rows),
        newer=None if end == published.size else wish.path(None if after == published.size else after),
        older=wish.path(first) if first else None,
        type=wish.type,
        namespace=wish.namespace,
        types=tuple(LISTED),
        first=first,
        day=day,
        cosigned=cosigned_view(registry),
    )


def cosigned_view(registry: RegistryView) -> CosignedView | None:
    """Return what the registry's witnesses cosigned last; None if it has none."""
    keys = [row.key for row in records.listing(registry.connection)]
    if not keys:
        return None
    document, published = read_cosigned(registry.connection), registry.published
    if document is None:
        return CosignedView(0, published.size, 0, ())
    head = wire.decode_head(document)
    note = notes.parse(head.checkpoint)
    size, snapshot = Checkpoint.parse(note.text).size, statements.parse(notes.parse(head.snapshot).text)
    time = entry_words(snapshot).time
    return CosignedView(
        size=size,
        waiting=max(published.size - size, 0),
        seconds=max(int((published.time - time).total_seconds()), 0) if size < published.size else 0,
        by=tuple(
            CosignerRow(one.key.name, one.key.algorithm_name, datetime.fromtimestamp(one.time, UTC))
            for one in read_cosignatures(note, keys)
        ),
    )


def entry_view(registry: RegistryView, position: int) -> EntryView:
    """Return the view of one entry. Raises RyeError ``not-found``."""
    published = registry.published
    if not 0 <= position < published.size:
        hint = f"It has {published.size:,} entries. The newest: {entry_path(published.size - 1)}"
        raise RyeError("not-found", f"The log has no entry {position}.", hint)
    (leaf,) = registry.log.leaves(position, position + 1)
    note, checkpoint_note = notes.parse(leaf), notes.parse(published.checkpoint)
    checkpoint = Checkpoint.parse(checkpoint_note.text)
    hashes = inclusion(registry, position, checkpoint)
    proof = TlogProof(leaf.decode(), position, hashes, published.checkpoint.decode()).text()
    keys = signing_keys(checkpoint_note, registry)
    told = entry_words(statements.parse(note.text))
    return EntryView(
        origin=checkpoint.origin,
        position=position,
        told=told,
        logged=logged_time(registry, position),
        note=note.text,
        signatures=tuple(_signatures(note)),
        leaf_hash=notes.encode_base64(merkle.leaf_hash(leaf)),
        size=checkpoint.size,
        root_hash=notes.encode_base64(checkpoint.root_hash),
        hashes=tuple(map(notes.encode_base64, hashes)),
        checkpoint=published.checkpoint.decode(),
        keys=keys,
        proof=proof,
        command=_command(f"entry-{position}.json", keys),
        pasted=_pasted(proof, keys),
        about=_about(told),
        older=entry_path(position - 1) if position else None,
        newer=entry_path(position + 1) if position + 1 < published.size else None,
    )


def inclusion(registry: RegistryView, position: int, checkpoint: Checkpoint) -> tuple[bytes, ...]:
    """Return the inclusion proof of an entry in the newest tree, with its hashes checked against that tree's root.

    Raises RyeError ``busy`` if the store does not have a tile yet.
    """
    tiles = {tile: _tile(registry, tile) for tile in inclusion_tiles([position], checkpoint.size)}
    reader = VerifiedTiles(tiles, checkpoint.size, checkpoint.root_hash)
    return tuple(merkle.inclusion_proof(position, checkpoint.size, reader))


def signing_keys(checkpoint: SignedNote, registry: RegistryView) -> tuple[str, ...]:
    """Return the log's keys that signed a checkpoint, as ``name+id+key``."""
    keys: list[str] = []
    for root in reversed(registry.roots()):
        for key in log_keys(root):
            if key.vkey not in keys and _signed(checkpoint, key):
                keys.append(key.vkey)
    return tuple(keys)


def _signed(note: SignedNote, key: VerifierKey) -> bool:
    try:
        notes.verify(note, [key])
    except NoteError:
        return False
    return True


def _tile(registry: RegistryView, tile: Tile) -> bytes:
    """Return a tile's hashes. Partial tiles and leaves come from the database, which may be ahead of the store."""
    if tile.width < WIDTH:
        return registry.log.edge().get(tile.level, b"")
    if tile.level == 0:
        start = tile.index * WIDTH
        return b"".join(registry.log.leaf_hashes(start + WIDTH, start))
    data = registry.full_tile(tile.path)
    if data is None or len(data) != WIDTH * HASH_BYTES:
        raise RyeError("busy", "The registry is still writing this part of its log.", "Try again in a moment.")
    return clip(tile, data)


def _cost(row: EntryRow) -> int:
    return 300 + line_cost(row.told.words) + len(row.about or "")


def _row(position: int, leaf: bytes) -> EntryRow:
    told = entry_words(statements.parse(notes.parse(leaf).text))
    return EntryRow(position, entry_path(position), told, _about(told))


def _signatures(note: SignedNote) -> Iterable[SignatureRow]:
    for line in note.signatures:
        yield SignatureRow(line.name, line.key_id.hex(), notes.encode_base64(line.signature))


def logged_time(registry: RegistryView, position: int) -> datetime | None:
    """Return the time of the first snapshot that covered an entry: the registry's time, not the signer's. None: no
    snapshot yet."""
    row = _NEXT_SNAPSHOT.first(registry.connection, {"start": position, "title": Snapshot.TITLE.encode()})
    if row is None:
        return None
    snapshot = statements.parse(notes.parse(bytes(row[0])).text)
    return entry_words(snapshot).time


def _command(file: str, keys: Iterable[str]) -> str:
    """Return ``rye log check-proof`` with the keys. Without ``--key`` it would need a registry that the user pinned."""
    return " ".join(["rye log check-proof", file, *(f"--key {shlex.quote(key)}" for key in keys)])


def _pasted(proof: str, keys: Iterable[str]) -> str | None:
    """Return a shell command that contains the proof. No line of a proof equals the delimiter; quoting it turns off
    expansion."""
    if len(proof) > RECORDS.pasted_characters:
        return None
    return f"{_command('-', keys)} <<'{_END}'\n{proof}{_END}\n"


def _about(told: EntryWords) -> str | None:
    if told.kind is not None and told.id is not None:
        return item_path(Identity(told.kind, told.id), told.version)
    return namespace_path(told.namespace) if told.namespace is not None else None


_NEXT_SNAPSHOT = Prepared(
    sa.select(log_entries.c.leaf)
    .where(
        log_entries.c.position >= sa.bindparam("start"),
        sa.func.substr(log_entries.c.leaf, 1, len(Snapshot.TITLE)) == sa.bindparam("title"),
    )
    .order_by(log_entries.c.position)
    .limit(1)
)
