"""What a client trusts about a registry, and every rule for trusting more. No I/O, no clock: bytes and times come in,
a new state or a :class:`~rye.registry.trust.trust_error.TrustError` comes out. Refused input changes nothing.

Acceptance rules (docs/reference/protocol.md, What a client does), each with the code of the error for breaking it:

Roots (:meth:`TrustedState.pin`, :meth:`TrustedState.accept_root`)
  R1  Root 1 has the fingerprint that the user pinned (``root-fingerprint``) and a threshold of its owners (``root-signatures``).
  R2  Root n+1 is of the same origin (``root-origin``), has that number (``root-number``), names root n (``root-chain``), is not
      older (``root-time``), and is signed by a threshold of its own owners (``root-signatures``) and of root n's
      (``root-takeover``).

Head (:meth:`TrustedState.open_head`, then :meth:`TrustedState.accept_head`)
  H1  The last root has not expired (``root-expired``).
  H2  The checkpoint is of this origin (``checkpoint-origin``), signed by a log key of the last root (``checkpoint-signature``).
  H3  The tree ends in a snapshot (``head-empty``, ``snapshot-kind``) of this origin (``snapshot-origin``), signed by a log key
      (``snapshot-signature``), whose place as the last leaf is proved (``snapshot-proof``).
  H4  The snapshot names the last root (``snapshot-root``) and the root of the name map that the head names (``snapshot-map``).
  H5  Its time is not in the future (``snapshot-future``), not before the last accepted one's (``snapshot-time``) unless the
      owners let the log step back since then (:mod:`rye.registry.trust.head_times`), and not older than 7 days
      (``head-frozen`` for the head that was seen before, ``head-stale`` for another). Older than 72 h is a warning.
  H6  Against the largest checkpoint seen: not smaller (``head-rollback``); of the same size, the same root hash (``head-fork``);
      larger, proved to contain it (``head-inconsistent``). Both signed heads are kept in the error as evidence.

Index (:class:`TrustedHead`)
  I1  A node of the name map has the hash that its parent, or the snapshot, names (``map-hash``), and belongs in that place
      (``map-place``). A name that is not in the leaf where its path ends, or whose path ends earlier, does not exist.
  I2  An index file has the hash and size that the map says (``index-hash``, ``index-size``).
  I3  Each line is a statement (``index-statement``) about that name of this origin (``index-foreign``) at a position inside the
      tree (``index-position``).
  I4  A line that matters is the leaf at its position: its hash is in the tree (``leaf-mismatch``).

Namespaces (:meth:`TrustedState.accept_namespace`)
  N1  Its keysets form a chain (rules and codes in :mod:`rye.registry.trust.keysets`).
  N2  The chain contains the keyset that was seen before, unchanged (``keyset-fork``), and does not vanish
      (``namespace-vanished``).
  N3  The user accepted every recovery that has taken effect (``recovery-unaccepted``).

:mod:`rye.registry.trust.records` evaluates a name's index; :func:`check_blob` checks bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache

from msgspec import Struct, field
from msgspec.structs import replace

from rye.limits import REGISTRY, RegistryLimits
from rye.registry.protocol import merkle, name_map, notes, tiles, wire
from rye.registry.protocol.lines import StatementError, write_time
from rye.registry.protocol.name_map import MapEntry, NameMapError, Node, Place
from rye.registry.protocol.note_text import note_text
from rye.registry.protocol.notes import NoteError, SignedNote, VerifierKey
from rye.registry.protocol.statements import Checkpoint, Keyset, Logged, OfTheLog, OwnerStatement, Root, Snapshot, parse
from rye.registry.protocol.tiles import Tile, VerifiedTiles
from rye.registry.protocol.wire import Head, IndexLine
from rye.registry.trust.head_times import Clues, in_the_future, steps_between
from rye.registry.trust.keysets import KeysetChain, Link, extend, log_keys
from rye.registry.trust.owners import Owners, owner_keys
from rye.registry.trust.trust_error import TrustError


class KeysetHead(Struct, frozen=True):
    """The last keyset of a namespace that was seen. A later chain must contain it."""

    number: int
    sha256: str
    position: int


class LoggedStatement(Struct, frozen=True):
    """One parsed line of an index file. Its signatures are not checked yet."""

    line: IndexLine
    note: SignedNote
    statement: Logged


class TrustedState(Struct, frozen=True, kw_only=True):
    """Everything that is remembered about one registry. A value: accepting something returns a new one."""

    origin: str
    roots: tuple[str, ...]
    """The signed notes of all roots, from root 1 (pinned) to the last."""
    head: str | None = None
    """The whole last accepted ``/head``: the largest checkpoint, its snapshot and the root of the name map."""
    keysets: Mapping[str, KeysetHead] = field(default_factory=dict)
    """The last keyset of each namespace that was seen."""
    accepted_recoveries: frozenset[str] = frozenset()
    """SHA-256 of the texts of recoveries that the user accepted."""
    in_force: Mapping[int, int] = field(default_factory=dict)
    """Number of a root → the size of the first head that was accepted under it. Root 1 replaces no one and is not listed."""
    cosigned: str | None = None
    """The newest head that enough witnesses cosigned (:mod:`rye.registry.trust.cosigned`). ``head`` is at least as large."""
    policy: IndexLine | None = None
    """The newest policy of the owners, for a user who joined them (:mod:`rye.registry.trust.policies`); None for all others."""
    policy_size: int = 0
    """Entries of the head under which it was last asked for: another program may have stored a larger head without asking."""

    @property
    def root(self) -> Root:
        """The root in force."""
        return _root(self.roots[-1])

    @property
    def all_roots(self) -> tuple[Root, ...]:
        """All roots, starting with root 1."""
        return tuple(_root(note) for note in self.roots)

    @property
    def owners(self) -> Owners:
        """Whose signatures count for which entry, as far as the heads that were accepted tell."""
        return Owners(self.all_roots, self.in_force)

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the text of root 1, which the user pinned."""
        return fingerprint_of(self.roots[0])

    @property
    def checkpoint(self) -> Checkpoint | None:
        """The largest checkpoint seen; None before the first head."""
        return (
            None if self.head is None else Checkpoint.parse(note_text(wire.decode_head(self.head.encode()).checkpoint))
        )

    @property
    def head_time(self) -> datetime | None:
        """The time of the last accepted head, in its own words; None before the first."""
        return None if self.head is None else _read_snapshot(wire.decode_head(self.head.encode()))[1].time

    @classmethod
    def pin(cls, data: bytes, fingerprint: str, origin: str | None = None) -> TrustedState:
        """R1: return the state of a newly pinned registry.

        ``fingerprint`` comes from the user; ``origin`` is the expected one.
        """
        note, root = _read_root(data)
        found = fingerprint_of(note.text)
        if found != fingerprint:
            message = f"Root 1 of {root.origin} has the fingerprint {found}, not {fingerprint}."
            raise TrustError("root-fingerprint", message, pinned=fingerprint, found=found)
        if origin not in (None, root.origin):
            raise TrustError("root-origin", f"The registry is {root.origin}, not {origin}.")
        if root.number != 1:
            raise TrustError("root-number", f"The first root has the number {root.number} instead of 1.")
        _demand(
            note, owner_keys(root), root.threshold, "root-signatures", "Root 1 is not signed by enough of its owners."
        )
        return cls(origin=root.origin, roots=(note.encode(),))

    def accept_root(self, data: bytes) -> TrustedState:
        """R2: return the state with one more root."""
        note, root = _read_root(data)
        last = self.root
        if root.origin != self.origin:
            raise TrustError("root-origin", f"A root of {root.origin} cannot follow one of {self.origin}.")
        if root.number != last.number + 1:
            raise TrustError("root-number", f"Root {root.number} cannot follow root {last.number}.")
        if root.previous != last.sha256():
            raise TrustError("root-chain", f"Root {root.number} does not name root {last.number}, which you trust.")
        if root.time < last.time:
            raise TrustError("root-time", f"Root {root.number} is older than root {last.number}.")
        subject = f"Root {root.number} is not signed by"
        own, old = owner_keys(root), owner_keys(last)
        _demand(note, own, root.threshold, "root-signatures", f"{subject} {root.threshold} of its own owners.")
        _demand(
            note,
            old,
            last.threshold,
            "root-takeover",
            f"{subject} {last.threshold} of the owners of root {last.number}.",
        )
        return replace(self, roots=(*self.roots, note.encode()))

    def root_hint(self, data: bytes) -> int:
        """Return the number of the root that a head claims, to fetch newer roots first. It proves nothing."""
        return _read_snapshot(wire.decode_head(data))[1].root

    def open_head(
        self,
        data: bytes,
        now: datetime,
        limits: RegistryLimits = REGISTRY,
        *,
        signed_before: bool = False,
        steps: bytes = b"",
        answered: datetime | None = None,
    ) -> OpenedHead:
        """H1 to H5, and the parts of H6 that need no proof. :meth:`accept_head` makes the result trusted.

        ``signed_before``: whether exactly these bytes passed before under exactly this root, so that their two
        signatures need not be verified again. Everything else is checked as always. ``steps``: ``/clock``, for a head that
        is older than the last accepted one. ``answered``: the time that the registry's answer gave, which only words use.
        """
        root = self.root
        if now >= root.expires:
            raise TrustError(
                "root-expired", f"Root {root.number} of {self.origin} expired at {write_time(root.expires)}."
            )
        head = wire.decode_head(data)
        checkpoint_note = notes.parse(head.checkpoint)
        checkpoint = Checkpoint.parse(checkpoint_note.text)
        if checkpoint.origin != self.origin:
            raise TrustError("checkpoint-origin", f"The checkpoint is for {checkpoint.origin}, not for {self.origin}.")
        if not signed_before:
            _demand(
                checkpoint_note,
                log_keys(root),
                1,
                "checkpoint-signature",
                "The checkpoint is not signed by the registry's log.",
            )
        snapshot = self._check_snapshot(head, checkpoint, signed_before=signed_before)
        known = self.checkpoint
        same = known == checkpoint
        before = None
        used: tuple[IndexLine, ...] = ()
        if known is not None:
            evidence = {"trusted": wire.decode_head((self.head or "").encode()).checkpoint, "offered": head.checkpoint}
            if checkpoint.size < known.size:
                message = (
                    f"The registry shows {checkpoint.size} entries after it showed {known.size}: some were removed."
                )
                raise TrustError("head-rollback", message, evidence=evidence)
            if checkpoint.size == known.size and not same:
                message = f"The registry shows a different history of {known.size} entries than before."
                raise TrustError("head-fork", message, evidence=evidence)
            before = _read_snapshot(wire.decode_head((self.head or "").encode()))[1].time
            if snapshot.time < before and steps:
                sizes, times = (known.size, checkpoint.size), (before, snapshot.time)
                used = steps_between(steps, self.origin, self.owners, sizes, times)
            if snapshot.time < before and not used:
                message = f"The snapshot is dated {write_time(snapshot.time)}, before the previous one ({write_time(before)})."
                raise TrustError("snapshot-time", message, evidence=evidence)
        warning = _check_freshness(snapshot.time, now, same, limits, Clues(before, answered))
        return OpenedHead(
            data=data.decode(),
            head=head,
            checkpoint=checkpoint,
            snapshot=snapshot,
            known=known,
            warnings=(warning,) if warning else (),
            steps=used,
        )

    def accept_head(self, opened: OpenedHead, fetched: Mapping[Tile, bytes]) -> tuple[TrustedState, TrustedHead]:
        """H6 with the tiles from ``opened.tiles_needed()``: return the new state, and the head for reading the
        index.
        """
        known, checkpoint = self.checkpoint, opened.checkpoint
        if opened.known != known:
            raise ValueError("the head was opened against another state")
        if known is not None and checkpoint.size > known.size:
            old = wire.decode_head((self.head or "").encode())
            evidence = {"trusted": old.checkpoint, "offered": opened.head.checkpoint}
            try:
                read = VerifiedTiles(fetched, checkpoint.size, checkpoint.root_hash)
                proof = merkle.consistency_proof(known.size, checkpoint.size, read)
                merkle.verify_consistency(known.size, checkpoint.size, known.root_hash, checkpoint.root_hash, proof)
            except merkle.ProofError as error:
                message = (
                    f"The registry's {checkpoint.size} entries do not contain the {known.size} that it showed before."
                )
                raise TrustError("head-inconsistent", message, evidence=evidence, cause=error.code) from error
            for entry in opened.steps:
                if read(0, entry.log) != merkle.leaf_hash(entry.note.encode()):
                    raise _leaf_mismatch(entry, "proof-root")
        head = TrustedHead(self.origin, checkpoint, opened.snapshot, opened.warnings)
        return replace(self, head=opened.data).seen(opened.snapshot.root, checkpoint.size), head

    def accept_namespace(
        self, head: TrustedHead, namespace: str, entries: Sequence[LoggedStatement] | None
    ) -> tuple[TrustedState, KeysetChain]:
        """N1 to N3.

        ``entries``: the namespace's statements, checked by :meth:`TrustedHead.open_index`; None: it is not in the name
        map.
        """
        known = self.keysets.get(namespace)
        if known is not None and known.position >= head.checkpoint.size:
            known = None  # seen in a head that witnesses have not cosigned yet
        chain = KeysetChain(self.origin, namespace)
        if entries is None:
            if known is not None:
                message = f"The namespace {namespace!r} had keyset {known.number}, and no longer exists."
                raise TrustError("namespace-vanished", message)
            return self, chain
        owners = self.owners
        for entry in entries:
            if not isinstance(entry.statement, Keyset):
                raise TrustError(
                    "index-foreign", f"The index of the namespace {namespace!r} contains more than keysets."
                )
            chain = extend(chain, entry.line.log, entry.note, entry.statement, owners)
        time = head.snapshot.time
        if known is not None and KeysetHead(known.number, known.sha256, known.position) not in map(
            _keyset_head, chain.links
        ):
            message = f"Keyset {known.number} of {namespace!r} differs from the one that was seen before."
            raise TrustError("keyset-fork", message, seen=known.sha256, found=[link.sha256 for link in chain.links])
        recovery = chain.unaccepted(self.accepted_recoveries, time)
        if recovery is not None:
            before = chain.links[chain.links.index(recovery) - 1]
            raise TrustError(
                "recovery-unaccepted",
                f"The registry's owners gave new keys to the namespace {namespace!r} (keyset {recovery.keyset.number}).",
                namespace=namespace,
                statement=recovery.sha256,
                old_keys=[key.vkey for key in before.keys],
                new_keys=[key.vkey for key in recovery.keys],
            )
        last = chain.current(time)
        if last is None or known is not self.keysets.get(namespace):
            return self, chain
        return replace(self, keysets={**self.keysets, namespace: _keyset_head(last)}), chain

    def seen(self, root: int, size: int) -> TrustedState:
        """Return the state of someone who accepted a head of that size under that root."""
        if root == 1 or self.in_force.get(root, size) < size or self.in_force.get(root) == size:
            return self
        return replace(self, in_force={**self.in_force, root: size})

    def accept_recovery(self, sha256: str) -> TrustedState:
        """Return the state with an accepted recovery: the hash that ``recovery-unaccepted`` names as ``statement``."""
        return replace(self, accepted_recoveries=self.accepted_recoveries | {sha256})

    def _check_snapshot(self, head: Head, checkpoint: Checkpoint, *, signed_before: bool) -> Snapshot:
        """H3 and H4."""
        root = self.root
        if checkpoint.size == 0:
            raise TrustError("head-empty", "The registry's log is empty, although it must begin with the root.")
        note, snapshot = _read_snapshot(head)
        if snapshot.origin != self.origin:
            raise TrustError("snapshot-origin", f"The snapshot is for {snapshot.origin}, not for {self.origin}.")
        if not signed_before:
            _demand(note, log_keys(root), 1, "snapshot-signature", "The snapshot is not signed by the registry's log.")
        leaf = merkle.leaf_hash(head.snapshot.encode())
        try:
            merkle.verify_inclusion(
                leaf, checkpoint.size - 1, checkpoint.size, head.proof_hashes(), checkpoint.root_hash
            )
        except merkle.ProofError as error:
            message = f"The snapshot is not the last of the {checkpoint.size} entries."
            raise TrustError("snapshot-proof", message, cause=error.code) from error
        if snapshot.root != root.number:
            message = f"The snapshot names root {snapshot.root}, but the last verified root is {root.number}."
            raise TrustError("snapshot-root", message)
        if snapshot.map != head.map:
            raise TrustError("snapshot-map", "The head and its signed snapshot name different name maps.")
        return snapshot


class OpenedHead(Struct, frozen=True, kw_only=True):
    """A head that fulfills H1 to H5, before its consistency with the largest one seen is proved."""

    data: str
    head: Head
    checkpoint: Checkpoint
    snapshot: Snapshot
    known: Checkpoint | None
    warnings: tuple[str, ...]
    steps: tuple[IndexLine, ...] = ()
    """The steps back in time that the head needs, not yet proved to be in the log."""

    def tiles_needed(self) -> list[Tile]:
        """Return the tiles for :meth:`TrustedState.accept_head`; none on first contact or for a known size."""
        if self.known is None or self.known.size == self.checkpoint.size:
            return []
        size = self.checkpoint.size
        needed = tiles.consistency_tiles(self.known.size, size)
        return [*needed, *(tile for tile in self._tiles_of_steps(size) if tile not in needed)]

    def _tiles_of_steps(self, size: int) -> list[Tile]:
        return tiles.inclusion_tiles([entry.log for entry in self.steps], size) if self.steps else []


class TrustedHead(Struct, frozen=True):
    """An accepted head, which determines the content of every other file.

    All methods are pure and check what they return.
    """

    origin: str
    checkpoint: Checkpoint
    snapshot: Snapshot
    warnings: tuple[str, ...] = ()

    @property
    def map(self) -> str:
        """SHA-256 of the root of the name map."""
        return self.snapshot.map

    def open_node(self, place: Place, data: bytes) -> Node:
        """I1: return the node at a place, which the snapshot or a node opened before names."""
        try:
            return name_map.open_node(place, data)
        except NameMapError as error:
            if error.code == "map-malformed":
                raise
            raise TrustError(error.code, error.message, expected=place.sha256) from error

    def open_index(self, entry: MapEntry, data: bytes) -> tuple[LoggedStatement, ...]:
        """I2 and I3: return the statements; their signatures are not checked yet."""
        if len(data) != entry.size:
            message = f"The index file of {entry.name} has {len(data)} bytes instead of {entry.size}."
            raise TrustError("index-size", message)
        if hashlib.sha256(data).hexdigest() != entry.sha256:
            raise TrustError("index-hash", f"The index file of {entry.name} does not have the hash in the name map.")
        entries = []
        for line in wire.decode_index(data):
            if line.log >= self.checkpoint.size:
                message = f"The index of {entry.name} names entry {line.log} of a log of {self.checkpoint.size}."
                raise TrustError("index-position", message)
            logged = read_line(line, entry.name)
            subject = _subject(logged.statement)
            if subject != (self.origin, entry.name):
                message = (
                    f"The index of {entry.name} names entry {line.log}, which is about {subject[1]} of {subject[0]}."
                )
                raise TrustError("index-foreign", message)
            entries.append(logged)
        return tuple(entries)

    def tiles_needed(self, positions: Iterable[int]) -> list[Tile]:
        """Return the tiles for :meth:`prove` and :meth:`check_logged` with entries at these positions."""
        return tiles.inclusion_tiles(positions, self.checkpoint.size)

    def check_logged(self, entries: Iterable[IndexLine], fetched: Mapping[Tile, bytes]) -> None:
        """I4 for all these statements at once: each is the leaf at its position in tiles that lead to the root.

        As strong as :meth:`prove`, which also returns the proofs. Raises TrustError or TileError.
        """
        size = self.checkpoint.size
        read = VerifiedTiles(fetched, size, self.checkpoint.root_hash)
        for entry in entries:
            if entry.log >= size:
                raise TrustError("index-position", f"There is no position {entry.log} in a log of {size}.")
            if read(0, entry.log) != merkle.leaf_hash(entry.note.encode()):
                raise _leaf_mismatch(entry, "proof-root")

    def prove(self, entries: Iterable[IndexLine], fetched: Mapping[Tile, bytes]) -> dict[int, list[bytes]]:
        """I4: return the verified inclusion proofs of these statements, by position. Raises TrustError, TileError."""
        size, root_hash = self.checkpoint.size, self.checkpoint.root_hash
        read = VerifiedTiles(fetched, size, root_hash)
        proofs: dict[int, list[bytes]] = {}
        for entry in entries:
            try:
                proof = merkle.inclusion_proof(entry.log, size, read)
            except merkle.ProofError as error:
                raise TrustError("index-position", f"There is no position {entry.log} in a log of {size}.") from error
            check_inclusion(entry, proof, self.checkpoint)
            proofs[entry.log] = proof
        return proofs


def check_inclusion(entry: IndexLine, proof: Sequence[bytes], checkpoint: Checkpoint) -> None:
    """I4 for one statement with its own proof (a lock's bundle, ``rye log prove``)."""
    leaf = merkle.leaf_hash(entry.note.encode())
    try:
        merkle.verify_inclusion(leaf, entry.log, checkpoint.size, proof, checkpoint.root_hash)
    except merkle.ProofError as error:
        raise _leaf_mismatch(entry, error.code) from error


def _leaf_mismatch(entry: IndexLine, cause: str) -> TrustError:
    message = f"The statement that the index has for position {entry.log} is not the one in the log."
    return TrustError("leaf-mismatch", message, cause=cause)


def check_blob(sha256: str, size: int, data: bytes) -> bytes:
    """Return a file's bytes if its release names them. Raises TrustError ``blob-size``, ``blob-hash``."""
    if len(data) != size:
        raise TrustError("blob-size", f"The file {sha256} has {len(data)} bytes instead of {size}.", sha256=sha256)
    found = hashlib.sha256(data).hexdigest()
    if found != sha256:
        raise TrustError(
            "blob-hash", f"The file {sha256} has the hash {found}: it was replaced or damaged.", sha256=sha256
        )
    return data


def fingerprint_of(note: str) -> str:
    """Return the SHA-256 of a root's text, ignoring signatures: for root 1 it is what a client pins."""
    return hashlib.sha256(note_text(note).encode()).hexdigest()


def _check_freshness(time: datetime, now: datetime, same: bool, limits: RegistryLimits, clues: Clues) -> str | None:
    """H5; returns a warning if one is due."""
    age = now - time
    if age < -timedelta(seconds=limits.clock_skew_seconds):
        raise in_the_future(time, now, timedelta(seconds=limits.clock_skew_seconds), clues)
    said = f"The registry's state is {age.days} days old ({write_time(time)})"
    if age > timedelta(seconds=limits.head_stop_seconds):
        raise TrustError(
            "head-frozen" if same else "head-stale",
            f"{said}; the limit is {limits.head_stop_seconds // 86400} days.",
        )
    return f"{said}." if age > timedelta(seconds=limits.head_warn_seconds) else None


def _subject(statement: Logged) -> tuple[str, str]:
    if isinstance(statement, Keyset):
        return statement.origin, wire.namespace_name(statement.namespace)
    if isinstance(statement, OfTheLog | OwnerStatement):
        return statement.origin, statement.TITLE
    return statement.origin, str(statement.identity)


def read_line(line: IndexLine, name: str) -> LoggedStatement:
    """Parse one line of the index of ``name``. Raises TrustError ``index-statement``."""
    try:
        note = notes.parse(line.note)
        return LoggedStatement(line, note, parse(note.text))
    except (NoteError, StatementError) as error:
        message = f"The statement at position {line.log} in the index of {name} is malformed: {error.message}"
        raise TrustError("index-statement", message, cause=error.code) from error


def _read_root(data: bytes) -> tuple[SignedNote, Root]:
    note = notes.parse(data)
    return note, Root.parse(note.text)


@lru_cache(maxsize=64)
def _root(note: str) -> Root:
    return Root.parse(note_text(note))


def _read_snapshot(head: Head) -> tuple[SignedNote, Snapshot]:
    note = notes.parse(head.snapshot)
    try:
        return note, Snapshot.parse(note.text)
    except StatementError as error:
        if error.code == "statement-kind":
            title = note.text.split("\n", 1)[0][:80]
            raise TrustError("snapshot-kind", f"The last entry of the log is {title!r}, not a snapshot.") from error
        raise


def _keyset_head(link: Link) -> KeysetHead:
    return KeysetHead(link.keyset.number, link.sha256, link.position)


def _demand(note: SignedNote, keys: Sequence[VerifierKey], threshold: int, code: str, message: str) -> None:
    try:
        notes.verify(note, keys, threshold)
    except NoteError as error:
        raise TrustError(code, message, cause=error.code) from error
