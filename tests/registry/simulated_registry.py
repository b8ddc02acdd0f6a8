"""A whole registry in memory, built with the pure functions, for tests to read, mutate and re-sign.

A :class:`SimulatedRegistry` holds every private key, so a test can play the honest operator, a mirror that changes bytes, or
an operator who cheats and signs it. Statements are appended as notes (``append``); :meth:`SimulatedRegistry.publish` closes a
batch with a snapshot and writes the static files. ``files`` maps paths to bytes, and tests may change it freely;
``write_files`` rebuilds it from the log. Everything else is derived from ``leaves``. A test that changes a leaf and calls
``write_files`` gets a registry that is internally consistent but contradicts its own past, which is what a client must detect.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

from msgspec.structs import replace

from rye.items.identity import Identity
from rye.items.kinds import KINDS
from rye.registry.protocol import merkle, notes, tiles, wire
from rye.registry.protocol.name_map import (
    EMPTY_MAP,
    EMPTY_MAP_SHA256,
    MapEntry,
    Update,
    decode_node,
    node_path,
    update,
)
from rye.registry.protocol.notes import SignedNote, Signer, VerifierKey
from rye.registry.protocol.statements import (
    Advisory,
    AttachedFile,
    Checkpoint,
    ClockStep,
    Deprecation,
    FileEntry,
    Keyset,
    OrganizationPolicy,
    Relation,
    Release,
    Root,
    Snapshot,
    Statement,
    Takedown,
    Yank,
    namespace_key_name,
    parse,
    root_key_name,
)
from rye.registry.trust.head_times import CLOCK, encode_steps
from rye.registry.trust.policies import POLICY, encode_newest
from rye.signing.keys import PrivateKey
from tests.registry.tile_bytes import tile_bytes

START = datetime(2026, 1, 1, tzinfo=UTC)


def key(label: str) -> PrivateKey:
    """A private key that is the same in every run. It protects nothing."""
    return PrivateKey(hashlib.sha256(f"test key {label}".encode()).digest())


def signer(name: str, private: PrivateKey) -> Signer:
    return Signer(VerifierKey(name, private.public.raw), private.sign)


def suffix_of(identity: Identity) -> str:
    """The suffix of an item's file name."""
    kind = KINDS[identity.kind]
    return kind.main_file or kind.suffixes[0]


@cache
def _name_in(leaf: str) -> str | None:
    """The name that an entry is about; None if its index has none. Kept: each publication asks for all entries several times."""
    statement = parse(notes.parse(leaf).text)
    if isinstance(statement, Keyset):
        return wire.namespace_name(statement.namespace)
    if isinstance(statement, Release | Yank | Deprecation | Advisory | Takedown):
        return str(statement.identity)
    return None


@dataclass(kw_only=True)
class SimulatedRegistry:
    """One registry. Keys are lists of private keys; every method that signs accepts other signers."""

    origin: str = "registry.example"
    now: datetime = START
    owners: list[PrivateKey] = field(default_factory=lambda: [key("owner 1"), key("owner 2"), key("owner 3")])
    owner_threshold: int = 2
    logs: list[PrivateKey] = field(default_factory=lambda: [key("log 1")])
    namespaces: dict[str, list[PrivateKey]] = field(default_factory=dict)
    """The keys of the last keyset of each namespace."""
    roots: list[SignedNote] = field(default_factory=list)
    keysets: dict[str, Keyset] = field(default_factory=dict)
    leaves: list[str] = field(default_factory=list)
    """Every entry of the log in full."""
    blobs: dict[str, bytes] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.roots:
            self.add_root()
            self.publish()

    # identity

    @property
    def fingerprint(self) -> str:
        return hashlib.sha256(self.roots[0].text.encode()).hexdigest()

    @property
    def size(self) -> int:
        return len(self.leaves)

    def fork(self) -> SimulatedRegistry:
        """A copy of the registry with the same keys, to build a different history from here."""
        return copy.deepcopy(self)

    def pass_time(self, **parts: float) -> None:
        """``hours=``, ``days=``, …"""
        self.now += timedelta(**parts)

    # statements

    def append(self, note: SignedNote) -> int:
        """Append an entry to the log unchanged and return its position."""
        self.leaves.append(note.encode())
        return len(self.leaves) - 1

    def sign(self, statement: Statement, signers: Iterable[Signer]) -> SignedNote:
        return notes.sign(statement.text(), signers)

    def owner_signers(self, owners: Sequence[PrivateKey] | None = None) -> list[Signer]:
        chosen = self.owners[: self.owner_threshold] if owners is None else owners
        return [signer(root_key_name(self.origin), owner) for owner in chosen]

    def log_signers(self, logs: Sequence[PrivateKey] | None = None) -> list[Signer]:
        return [signer(self.origin, log) for log in (self.logs[:1] if logs is None else logs)]

    def namespace_signers(self, namespace: str, keys: Sequence[PrivateKey] | None = None) -> list[Signer]:
        chosen = self.namespaces[namespace][:1] if keys is None else keys
        return [signer(namespace_key_name(self.origin, namespace), private) for private in chosen]

    def root(self, **changes: object) -> Root:
        """The next root, as the current owners would write it."""
        previous = Root.parse(self.roots[-1].text) if self.roots else None
        root = Root(
            origin=self.origin,
            number=previous.number + 1 if previous else 1,
            previous=previous.sha256() if previous else None,
            time=self.now,
            expires=self.now + timedelta(days=365),
            threshold=self.owner_threshold,
            owners=tuple(owner.public.raw for owner in self.owners),
            logs=tuple(log.public.raw for log in self.logs),
        )
        return replace(root, **changes)

    def add_root(self, root: Root | None = None, signers: Sequence[Signer] | None = None) -> int:
        """Rotate: change ``owners`` or ``logs`` first and give the old owners among ``signers``."""
        note = self.sign(root or self.root(), self.owner_signers() if signers is None else signers)
        self.roots.append(note)
        return self.append(note)

    def keyset(self, namespace: str, keys: Sequence[PrivateKey], **changes: object) -> Keyset:
        """The next keyset of a namespace."""
        previous = self.keysets.get(namespace)
        keyset = Keyset(
            origin=self.origin,
            namespace=namespace,
            number=previous.number + 1 if previous else 1,
            previous=previous.sha256() if previous else None,
            time=self.now,
            threshold=1,
            keys=tuple(private.public.raw for private in keys),
            revoked=previous.revoked if previous else (),
        )
        return replace(keyset, **changes)

    def claim(self, namespace: str, keys: Sequence[PrivateKey] | None = None, **changes: object) -> int:
        """Keyset 1, or the next keyset, signed by the new and the old keys."""
        new = list(keys or [key(f"{namespace} 1")])
        old = self.namespaces.get(namespace, [])
        keyset = self.keyset(namespace, new, **changes)
        signing = list(dict.fromkeys([*new, *old]))
        return self.add_keyset(keyset, self.namespace_signers(namespace, signing), new)

    def add_keyset(self, keyset: Keyset, signers: Sequence[Signer], keys: Sequence[PrivateKey]) -> int:
        """Any keyset with any signatures."""
        self.keysets[keyset.namespace] = keyset
        self.namespaces[keyset.namespace] = list(keys)
        return self.append(self.sign(keyset, signers))

    def recover(self, namespace: str, keys: Sequence[PrivateKey], after: timedelta = timedelta(hours=72)) -> Keyset:
        """A recovery signed by the new keys and the owners."""
        keyset = self.keyset(namespace, keys, recovery=self.now + after)
        self.add_keyset(keyset, [*self.namespace_signers(namespace, keys), *self.owner_signers()], keys)
        return keyset

    def release(
        self,
        identity: Identity,
        version: str = "1.0.0",
        content: bytes = b"text\n",
        *,
        attached: dict[str, bytes] | None = None,
        executable: Collection[str] = (),
        keys: Sequence[PrivateKey] | None = None,
        depends_on: Sequence[Relation] = (),
        **changes: object,
    ) -> int:
        """Publish bytes and return the release's position. ``executable``: the attached files that are executable."""
        release = Release(
            origin=self.origin,
            identity=identity,
            version=version,
            keyset=self.keysets[identity.namespace].number if identity.namespace in self.keysets else 1,
            time=self.now,
            description=f"{identity.id} in its version {version}",
            file=FileEntry(suffix_of(identity), len(content), self.add_blob(content)),
            attached=tuple(
                AttachedFile(path, len(data), self.add_blob(data), path in executable)
                for path, data in (attached or {}).items()
            ),
            depends_on=tuple(depends_on),
        )
        release = replace(release, **changes)
        return self.append(self.sign(release, self.namespace_signers(identity.namespace, keys)))

    def yank(self, identity: Identity, version: str, *, yanked: bool = True, reason: str = "it is broken") -> int:
        statement = Yank(
            self.origin, identity, version, yanked, self.keysets[identity.namespace].number, self.now, reason
        )
        return self.append(self.sign(statement, self.namespace_signers(identity.namespace)))

    def deprecate(self, identity: Identity, *, deprecated: bool = True, replacement: Identity | None = None) -> int:
        number = self.keysets[identity.namespace].number
        statement = Deprecation(
            self.origin, identity, deprecated, replacement, number, self.now, "there is a better one"
        )
        return self.append(self.sign(statement, self.namespace_signers(identity.namespace)))

    def advise(
        self,
        identity: Identity,
        wanted: str,
        *,
        number: str = "RYE-2026-1",
        by_owners: bool = False,
        severity: str = "high",
    ) -> int:
        keyset = None if by_owners else self.keysets[identity.namespace].number
        statement = Advisory(self.origin, identity, number, wanted, severity, keyset, self.now, "it does harm")
        signers = self.owner_signers() if by_owners else self.namespace_signers(identity.namespace)
        return self.append(self.sign(statement, signers))

    def take_down(self, identity: Identity, version: str, files: Sequence[str], reason: str = "it held a key") -> int:
        statement = Takedown(self.origin, identity, version, tuple(files), self.now, reason)
        return self.append(self.sign(statement, self.owner_signers()))

    def step_back(self, owners: Sequence[PrivateKey] | None = None, **changes: object) -> int:
        """Let the log's time go back to ``now``, which a test has set back."""
        before = Snapshot.parse(notes.parse(self.leaves[-1]).text).time
        step = ClockStep(self.origin, self.size, before, self.now, "the clock was wrong")
        return self.append(self.sign(replace(step, **changes), self.owner_signers(owners)))

    def steps_back(self) -> list[wire.IndexLine]:
        """The lines of ``/clock``."""
        leaves = enumerate(self.leaves)
        return [wire.IndexLine(position, leaf) for position, leaf in leaves if leaf.startswith(ClockStep.TITLE)]

    def policy(self, **changes: object) -> OrganizationPolicy:
        """The next policy, as the owners would write it."""
        newest = self.newest_policy()
        before = None if newest is None else OrganizationPolicy.parse(notes.parse(newest.note).text)
        policy = OrganizationPolicy(
            self.origin,
            number=before.number + 1 if before else 1,
            previous=before.sha256() if before else None,
            time=self.now,
            expires=self.now + timedelta(days=14),
            rules=('forbid ["rye.execute.tool.*"]',),
        )
        return replace(policy, **changes)

    def publish_policy(self, owners: Sequence[PrivateKey] | None = None, **changes: object) -> int:
        return self.append(self.sign(self.policy(**changes), self.owner_signers(owners)))

    def newest_policy(self) -> wire.IndexLine | None:
        """The line of ``/policy``."""
        found = [line for line in enumerate(self.leaves) if line[1].startswith(OrganizationPolicy.TITLE)]
        return wire.IndexLine(*found[-1]) if found else None

    def add_blob(self, data: bytes) -> str:
        sha256 = hashlib.sha256(data).hexdigest()
        self.blobs[sha256] = data
        return sha256

    # the static files

    def publish(self) -> None:
        """Close the batch: append a snapshot as the last leaf, sign a checkpoint, and write every file."""
        self.append(self.sign(self.snapshot(), self.log_signers()))
        self.write_files()

    def snapshot(self, **changes: object) -> Snapshot:
        """The snapshot of the current log."""
        snapshot = Snapshot(self.origin, self.now, len(self.roots), self.map_of().root)
        return replace(snapshot, **changes)

    def index_lines(self) -> dict[str, list[wire.IndexLine]]:
        """All statements, grouped by the name they are about."""
        found: dict[str, list[wire.IndexLine]] = {}
        for position, leaf in enumerate(self.leaves):
            name = _name_in(leaf)
            if name is not None:
                found.setdefault(name, []).append(wire.IndexLine(position, leaf))
        return found

    def index_files(self) -> dict[str, bytes]:
        return {name: wire.encode_index(entries) for name, entries in self.index_lines().items()}

    def map_entries(self, indexes: dict[str, bytes] | None = None) -> list[MapEntry]:
        """The rows of the name map for these index files, or for those of the log."""
        files = self.index_files() if indexes is None else indexes
        return [MapEntry(name, hashlib.sha256(data).hexdigest(), len(data)) for name, data in files.items()]

    def map_of(self, indexes: dict[str, bytes] | None = None) -> Update:
        """The whole name map: its root and its files."""
        empty = {EMPTY_MAP_SHA256: decode_node(EMPTY_MAP)}
        done = update(EMPTY_MAP_SHA256, self.map_entries(indexes), empty)
        return done if done.files else replace(done, files={EMPTY_MAP_SHA256: EMPTY_MAP})

    def nodes(self, size: int | None = None) -> dict[merkle.Node, bytes]:
        """Every complete subtree of the log."""
        found: dict[merkle.Node, bytes] = {}
        tree = merkle.CompactRange()
        for leaf in self.leaves[:size]:
            tree, completed = tree.append(merkle.leaf_hash(leaf.encode()))
            found.update(completed)
        return found

    def reader(self) -> merkle.HashReader:
        found = self.nodes()
        return lambda level, index: found[(level, index)]

    def checkpoint(self, **changes: object) -> Checkpoint:
        checkpoint = Checkpoint(self.origin, self.size, merkle.root_at(self.size, self.reader()))
        return replace(checkpoint, **changes)

    def head(
        self,
        *,
        checkpoint: SignedNote | None = None,
        snapshot: str | None = None,
        proof: Sequence[bytes] | None = None,
        map: str | None = None,
    ) -> wire.Head:
        """The head of the current log. Each part can be replaced."""
        if checkpoint is None:
            checkpoint = notes.sign(self.checkpoint().text(), self.log_signers())
        if proof is None:
            proof = merkle.inclusion_proof(self.size - 1, self.size, self.reader())
        note = self.leaves[-1] if snapshot is None else snapshot
        return wire.Head(
            checkpoint.encode(), note, [wire.encode_hash(item) for item in proof], map or self.map_of().root
        )

    def write_files(self, head: wire.Head | None = None, indexes: dict[str, bytes] | None = None) -> None:
        """Rebuild all files. With ``indexes``, the name map lists those index files, even if the log contradicts them."""
        present = head or self.head()
        read = self.reader()
        index_files = self.index_files() if indexes is None else indexes
        files = {
            "config.json": wire.encode_config(wire.Config(wire.PROTOCOL_VERSION, self.origin, None)),
            "head": wire.encode_head(present),
            "checkpoint": present.checkpoint.encode(),
            **{f"root/{number}": note.encode().encode() for number, note in enumerate(self.roots, 1)},
            **{tile.path: tile_bytes(tile, read) for tile in tiles.all_tiles(self.size)},
            **{wire.blob_path(sha256): data for sha256, data in self.blobs.items()},
        }
        if self.steps_back():
            files[CLOCK] = encode_steps(self.steps_back())
        if (newest := self.newest_policy()) is not None:
            files[POLICY] = encode_newest(newest)
        for tile in tiles.all_tiles(self.size):
            if tile.level == 0:
                first = tile.index * tiles.WIDTH
                entries = [leaf.encode() for leaf in self.leaves[first : first + tile.width]]
                files[tile.entries_path] = tiles.encode_bundle(entries)
        for folder, contents in (("map", self.map_of(index_files).files), ("index", index_files)):
            for data in contents.values():
                files[f"{folder}/{hashlib.sha256(data).hexdigest()}"] = data
        self.files.clear()
        self.files.update(files)

    def publish_index(self, indexes: dict[str, bytes]) -> None:
        """Cheat: sign a snapshot over index files that do not match the log."""
        root = self.map_of(indexes).root
        self.append(self.sign(self.snapshot(map=root), self.log_signers()))
        self.write_files(self.head(map=root), indexes)

    def publish_map(self, nodes: Sequence[bytes]) -> None:
        """Cheat: sign a snapshot over these nodes, the root first, and serve them along with those of the log's map."""
        root = hashlib.sha256(nodes[0]).hexdigest()
        self.append(self.sign(self.snapshot(map=root), self.log_signers()))
        self.write_files(self.head(map=root))
        self.files.update({node_path(hashlib.sha256(data).hexdigest()): data for data in nodes})

    def write_to(self, folder: Path) -> None:
        """Write the files to disk, for clients that read ``file://`` or a web server."""
        for path, data in self.files.items():
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
