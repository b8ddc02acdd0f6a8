"""Auditing a whole log without trusting anyone: pure, entry by entry, in time linear in the log.

docs/reference/protocol.md: head, name map and index files are functions of the log alone. An auditor feeds in every
entry in order and gets the tree's root hash, what every snapshot should have contained, and the state of the index. An
entry that breaks a rule is a finding with the entry's position. The audit continues after a finding, so that one bad
entry does not hide the next.

Rules, and the codes of their findings (codes of :mod:`~rye.registry.trust.trusted` and
:mod:`~rye.registry.trust.keysets` keep their meaning):

1.  Entry 0 is root 1 (``log-start``) with the pinned fingerprint; roots form a chain (``root-…``).
2.  Every entry is a signed note with a known statement of this origin (``entry-malformed``, ``entry-foreign``).
3.  A snapshot is signed by a log key of the root in force (``snapshot-signature``), names that root (``snapshot-root``),
    is not older than the one before (``snapshot-time``), and names exactly the index that follows from the entries before
    it (``snapshot-map``). The last entry is one (``log-end``). Snapshots of protocol 1, which name no index, come before
    all others (``snapshot-former``).
4.  Keysets form a chain per namespace (``keyset-…``, ``recovery-…``).
5.  Statements about items are signed under the keyset in force (``statement-…``), advisories of the registry by owners
    (``advisory-signer``); along a name the keyset's number never decreases.
6.  A version is released once (``release-repeated``); yanks, deprecations and advisories are about something that
    exists (``release-unknown``, ``item-unknown``); no name looks like an earlier one of its kind
    (``name-look-alike``).
8.  A takedown is signed by owners (``takedown-signer``) and names files of a release (``release-unknown``,
    ``takedown-foreign``); those files no longer have to exist.
9.  A step back in time is right after the snapshot that it names, at the position that it names (``clock-step``), and
    signed by owners (``clock-signer``). The next snapshot may be older than the last one, but not than the step's time.
10. Owners' statements about themselves are signed under the keyset in force, and a proof names its fingerprint
    (``statement-…``). They are in no index file, but in the files that :attr:`Audit.owners` lists.
11. An organization's policy follows the one before it (``policy-chain``) and is signed by owners (``policy-signer``). It is in no
    index file; the newest is in ``/policy``.
7.  No statement is dated later than the snapshot that closes its batch, apart from a clock tolerance (``entry-time``).

Cost: hashes of index files are updated line by line and never recomputed; a snapshot costs the nodes of the name map
that changed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from msgspec import Struct, field

from rye.errors import RyeError
from rye.items.identity import fold
from rye.limits import REGISTRY
from rye.registry.protocol import merkle, name_map, notes, wire
from rye.registry.protocol.lines import StatementError
from rye.registry.protocol.name_map import MapEntry, Node
from rye.registry.protocol.notes import NoteError, SignedNote
from rye.registry.protocol.statements import (
    Advisory,
    AttachedFile,
    ClockStep,
    Deprecation,
    FileEntry,
    FormerSnapshot,
    ItemStatement,
    Keyset,
    Logged,
    OfTheLog,
    OrganizationPolicy,
    OwnerStatement,
    Release,
    Root,
    Snapshot,
    Takedown,
    Yank,
    parse,
)
from rye.registry.protocol.wire import IndexLine
from rye.registry.trust.head_times import check_step
from rye.registry.trust.keysets import KeysetChain, extend, log_keys
from rye.registry.trust.namespace_proofs import check_fingerprint
from rye.registry.trust.owners import Owners, signed_by_owners
from rye.registry.trust.policies import check_organization_policy
from rye.registry.trust.records import release_files
from rye.registry.trust.trust_error import TrustError
from rye.registry.trust.trusted import TrustedState, fingerprint_of

if TYPE_CHECKING:
    from hashlib import _Hash

_FINDINGS = 100
"""Findings that are kept; the rest are only counted."""


class Finding(Struct, frozen=True):
    """One problem of one entry."""

    position: int
    code: str
    message: str

    def as_json(self) -> dict[str, object]:
        """The finding in the JSON of ``rye log verify``."""
        return {"position": self.position, "code": self.code, "message": self.message}


class Audit(Struct, frozen=True, kw_only=True):
    """What follows from the entries of a log, and what is wrong with them."""

    size: int
    root_hash: bytes
    origin: str | None
    roots: tuple[str, ...]
    """The signed notes of all roots."""
    snapshots: int
    releases: int
    index: dict[str, MapEntry]
    """Every index file by name, as the last snapshot must name them."""
    map: str
    """SHA-256 of the root of the name map over ``index``."""
    nodes: Mapping[str, Node]
    """Every node of that map, by SHA-256."""
    blobs: dict[str, int]
    """SHA-256 → size of every file that a release names and that was not taken down."""
    findings: tuple[Finding, ...]
    count: int
    """Number of all findings, including those that are not kept."""
    taken_down: frozenset[str] = frozenset()
    """SHA-256 of every file that owners took down."""
    steps: tuple[IndexLine, ...] = ()
    """The steps back in time that owners signed: the lines of ``/clock``."""
    owners: Mapping[str, tuple[IndexLine, ...]] = {}
    """The lines of ``/owners/<namespace>`` by namespace."""
    policy: IndexLine | None = None
    """The line of ``/policy``."""

    @property
    def ok(self) -> bool:
        """Whether there are no findings."""
        return self.count == 0


def audit(entries: Iterable[bytes], fingerprint: str | None = None) -> Audit:
    """Audit a whole log. ``fingerprint``: the user's pin of root 1; None accepts the log's own root."""
    auditor = Auditor(fingerprint)
    for entry in entries:
        auditor.add(entry)
    return auditor.finish()


class _Name(Struct):
    """The index file of one name so far."""

    hash: _Hash
    size: int = 0
    versions: dict[str, int] = field(default_factory=dict)
    """Position by released version."""
    files: dict[str, frozenset[str]] = field(default_factory=dict)
    """SHA-256 of the files of each version."""
    keyset: int = 0


class Auditor:
    """Accepts a log's entries in order. The only mutable object here; :func:`audit` wraps it."""

    def __init__(self, fingerprint: str | None = None):
        self._fingerprint = fingerprint
        self._range = merkle.CompactRange()
        self._state: TrustedState | None = None
        self._chains: dict[str, KeysetChain] = {}
        self._names: dict[str, _Name] = {}
        self._folded: dict[str, str] = {}
        self._map = name_map.EMPTY_MAP_SHA256
        self._nodes: dict[str, Node] = {self._map: name_map.decode_node(name_map.EMPTY_MAP)}
        self._changed: set[str] = set()
        self._blobs: dict[str, int] = {}
        self._taken_down: set[str] = set()
        self._findings: list[Finding] = []
        self._count = 0
        self._snapshots = 0
        self._has_map = False
        self._releases = 0
        self._last_time: datetime | None = None
        self._latest: tuple[datetime, int] | None = None
        self._ends_in_snapshot = False
        self._steps: list[IndexLine] = []
        self._index: dict[str, MapEntry] = {}
        self._owners: dict[str, list[IndexLine]] = {}
        self._policy: IndexLine | None = None
        self._policy_before: OrganizationPolicy | None = None

    @property
    def size(self) -> int:
        """The number of entries so far."""
        return self._range.size

    @property
    def root_hash(self) -> bytes:
        """The root hash of the tree over the entries so far."""
        return self._range.root()

    def add(self, entry: bytes) -> None:
        """Add the next entry. Anything wrong with it becomes a finding."""
        position = self.size
        self._range, _ = self._range.append(merkle.leaf_hash(entry))
        follows_snapshot, self._ends_in_snapshot = self._ends_in_snapshot, False
        try:
            note = notes.parse(entry)
            statement = parse(note.text)
        except (NoteError, StatementError) as error:
            self._found(position, "entry-malformed", error.message)
            return
        try:
            self._take(position, note, statement, follows_snapshot)
        except (TrustError, NoteError, StatementError) as error:
            self._found(position, error.code, error.message)
        # A statement is part of the index even if it should not have been logged: the snapshot covers what is in the log.
        if isinstance(statement, OwnerStatement):
            self._owners.setdefault(statement.namespace, []).append(IndexLine(position, note.encode()))
        elif not isinstance(statement, OfTheLog):
            self._index_line(position, note, statement)

    def finish(self) -> Audit:
        """Return the result, after the last entry."""
        if not self._ends_in_snapshot:
            self._found(max(self.size - 1, 0), "log-end", "The log does not end in a snapshot.")
        self._close_batch()
        return Audit(
            size=self.size,
            root_hash=self.root_hash,
            origin=self._state.origin if self._state else None,
            roots=self._state.roots if self._state else (),
            snapshots=self._snapshots,
            releases=self._releases,
            index=dict(sorted(self._index.items())),
            map=self._map,
            nodes=self._nodes,
            blobs={sha256: size for sha256, size in self._blobs.items() if sha256 not in self._taken_down},
            taken_down=frozenset(self._taken_down),
            steps=tuple(self._steps),
            owners={namespace: tuple(lines) for namespace, lines in sorted(self._owners.items())},
            policy=self._policy,
            findings=tuple(self._findings),
            count=self._count,
        )

    def _found(self, position: int, code: str, message: str) -> None:
        self._count += 1
        if len(self._findings) < _FINDINGS:
            self._findings.append(Finding(position, code, message))

    def _take(self, position: int, note: SignedNote, statement: Logged, follows_snapshot: bool) -> None:
        if isinstance(statement, Root):
            self._root(position, note)
            return
        if self._state is None:
            self._found(position, "log-start", "The log does not begin with root 1.")
            return
        if statement.origin != self._state.origin:
            message = f"The entry is about {statement.origin}, but the log is that of {self._state.origin}."
            self._found(position, "entry-foreign", message)
        if isinstance(statement, Snapshot | FormerSnapshot):
            self._snapshot(position, note, statement, self._state)
            return
        if isinstance(statement, ClockStep):
            self._steps.append(IndexLine(position, note.encode()))
            before = self._last_time if follows_snapshot else None
            check_step(statement, note, position, before, self._state.origin, Owners((self._state.root,)))
            self._last_time = statement.time
            return
        if self._latest is None or statement.time > self._latest[0]:
            self._latest = (statement.time, position)
        if isinstance(statement, Keyset):
            chain = self._chains.get(statement.namespace, KeysetChain(self._state.origin, statement.namespace))
            self._look_alike(position, wire.namespace_name(statement.namespace))
            self._chains[statement.namespace] = extend(chain, position, note, statement, Owners((self._state.root,)))
        elif isinstance(statement, OrganizationPolicy):
            earlier, self._policy_before = self._policy_before, statement
            self._policy = IndexLine(position, note.encode())
            owners = Owners((self._state.root,))
            check_organization_policy(statement, note, position, earlier, self._state.origin, owners)
        elif isinstance(statement, Takedown):
            self._takedown(position, note, statement, self._state)
        elif isinstance(statement, OwnerStatement):
            chain = self._chains.get(statement.namespace, KeysetChain(self._state.origin, statement.namespace))
            link = chain.check(position, statement, note, statement.time).link
            check_fingerprint(statement, link.sha256, position)
        else:
            self._item(position, note, statement, self._state)

    def _root(self, position: int, note: SignedNote) -> None:
        data = note.encode().encode()
        if self._state is not None:
            self._state = self._state.accept_root(data)
            return
        if position != 0:
            self._found(position, "log-start", "The log does not begin with root 1.")
        self._state = TrustedState.pin(data, self._fingerprint or fingerprint_of(note.text))

    def _snapshot(
        self, position: int, note: SignedNote, snapshot: Snapshot | FormerSnapshot, state: TrustedState
    ) -> None:
        self._snapshots += 1
        self._ends_in_snapshot = isinstance(snapshot, Snapshot)
        root = state.root
        try:
            notes.verify(note, log_keys(root))
        except NoteError as error:
            self._found(position, "snapshot-signature", f"The snapshot is not signed by the log: {error.message}")
        if snapshot.root != root.number:
            message = f"The snapshot names root {snapshot.root}, but {root.number} was in force."
            self._found(position, "snapshot-root", message)
        if self._last_time is not None and snapshot.time < self._last_time:
            self._found(position, "snapshot-time", "The snapshot is older than the one before it.")
        self._last_time = snapshot.time
        grace = timedelta(seconds=REGISTRY.clock_skew_seconds)
        if self._latest is not None and self._latest[0] > snapshot.time + grace:
            self._found(
                self._latest[1], "entry-time", "The statement is dated after the snapshot that closes its batch."
            )
        self._latest = None
        self._close_batch()
        if isinstance(snapshot, Snapshot):
            self._has_map = True
            if snapshot.map != self._map:
                message = "The snapshot does not match the index that follows from the entries before it."
                self._found(position, "snapshot-map", message)
        elif self._has_map:
            self._found(position, "snapshot-former", "A snapshot of protocol 1 follows one of protocol 2.")

    def _item(
        self, position: int, note: SignedNote, statement: Release | Yank | Deprecation | Advisory, state: TrustedState
    ) -> None:
        identity = statement.identity
        name = str(identity)
        known = self._names.get(name)
        if isinstance(statement, Release):
            self._releases += 1
            self._look_alike(position, name)
            files: list[FileEntry | AttachedFile] = [statement.file, *statement.attached]
            for file in files:
                if self._blobs.setdefault(file.sha256, file.size) != file.size:
                    message = f"Two statements state different sizes for the file {file.sha256}."
                    self._found(position, "blob-size", message)
            if known is not None and statement.version in known.versions:
                message = f"{identity} {statement.version} was already released, at entry {known.versions[statement.version]}."
                self._found(position, "release-repeated", message)
        elif known is None:
            self._found(position, "item-unknown", f"The statement is about {identity}, which was not released.")
        elif isinstance(statement, Yank) and statement.version not in known.versions:
            message = f"The yank is about {identity} {statement.version}, which was not released."
            self._found(position, "release-unknown", message)
        if isinstance(statement, Advisory) and statement.keyset is None:
            if not signed_by_owners(note, [state.root]):
                self._found(position, "advisory-signer", "The advisory is not signed by the registry's owners.")
            return
        chain = self._chains.get(identity.namespace, KeysetChain(state.origin, identity.namespace))
        chain.check(position, statement, note, statement.time)
        if known is not None and statement.keyset is not None and statement.keyset < known.keyset:
            message = f"The statement goes back from keyset {known.keyset} to {statement.keyset}."
            self._found(position, "statement-keyset", message)

    def _takedown(self, position: int, note: SignedNote, takedown: Takedown, state: TrustedState) -> None:
        known = self._names.get(str(takedown.identity))
        files = known.files.get(takedown.version) if known is not None else None
        if not signed_by_owners(note, [state.root]):
            self._found(position, "takedown-signer", "The takedown is not signed by the registry's owners.")
        elif files is None:
            message = f"The takedown is about {takedown.identity} {takedown.version}, which was not released."
            self._found(position, "release-unknown", message)
        elif not set(takedown.files) <= files:
            self._found(position, "takedown-foreign", "The takedown names a file that the release does not contain.")
        else:
            self._taken_down.update(takedown.files)

    def _look_alike(self, position: int, name: str) -> None:
        """Of two names that fold to the same letters, the first one keeps its name (DESIGN §5 Names)."""
        kind, _, identifier = name.partition(":")
        taken = self._folded.setdefault(f"{kind}:{fold(identifier)}", name)
        if taken != name:
            self._found(position, "name-look-alike", f"{name} looks too much like {taken}, which is older.")

    def _index_line(self, position: int, note: SignedNote, statement: Keyset | ItemStatement) -> None:
        subject = statement.namespace if isinstance(statement, Keyset) else statement.identity
        name = wire.index_name(subject)
        known = self._names.setdefault(name, _Name(hashlib.sha256()))
        line = wire.encode_index([IndexLine(position, note.encode())])
        known.hash.update(line)
        known.size += len(line)
        if isinstance(statement, Release):
            known.versions.setdefault(statement.version, position)
            known.files.setdefault(statement.version, release_files(statement))
        if not isinstance(statement, Keyset) and statement.keyset is not None:
            known.keyset = max(known.keyset, statement.keyset)
        self._changed.add(name)

    def _close_batch(self) -> None:
        """Update the name map with the names that changed since the last snapshot."""
        entries = []
        for name in self._changed:
            known = self._names[name]
            entries.append(MapEntry(name, known.hash.copy().hexdigest(), known.size))
            self._index[name] = entries[-1]
        self._changed.clear()
        done = name_map.update(self._map, entries, self._nodes)
        for sha256 in done.dropped:
            del self._nodes[sha256]
        self._nodes.update(done.nodes)
        self._map = done.root


_OF_A_REGISTRY = "Do not copy it or install from it. `rye log verify` lists all findings; show them to the operator."


def raise_first(result: Audit, hint: str = _OF_A_REGISTRY) -> None:
    """Raise RyeError ``audit-failed`` with the first findings in its details; nothing if the audit is clean."""
    if result.ok:
        return
    first = result.findings[0]
    raise RyeError(
        "audit-failed",
        f"The log breaks its rules at entry {first.position}: {first.message}"
        + (f" There are {result.count - 1} more findings." if result.count > 1 else ""),
        hint,
        details={"findings": [finding.as_json() for finding in result.findings]},
    )
