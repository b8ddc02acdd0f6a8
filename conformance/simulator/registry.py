"""A registry: its keys, its log, and the static files that follow from them (docs/reference/protocol.md, statements.md).

A method for each statement appends it to the log. Its text can be edited before it is signed (``edit``), and it can be signed by
others than it should be (``by``), so that a case plays an author, an operator or a thief who lies. :meth:`Registry.publish`
closes a batch and writes ``files``, which a case may change to play a mirror that lies. ``copy.deepcopy`` forks the history.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from conformance.simulator import items, tree
from conformance.simulator.keys import Key, Signer, Witness, b64, note, sha256, text_of
from conformance.simulator.names import NameMap, Row

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
Edit = Callable[[str], str]
Line = tuple[str, object]


def same(text: str) -> str:
    return text


def stamp(time: datetime) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


def statement(title: str, lines: Iterable[Line | None]) -> str:
    return "".join([f"{title}\n", *(f"{line[0]} {line[1]}\n" for line in lines if line is not None)])


def many(key: str, values: Iterable[object]) -> list[Line]:
    """Repeated lines, sorted by their bytes."""
    return [(key, value) for value in sorted((str(value) for value in values), key=str.encode)]


@dataclass
class Space:
    """A namespace: its last keyset, and which of its keys sign."""

    number: int
    sha256: str
    keys: tuple[Key, ...]
    revoked: tuple[tuple[Key, int], ...] = ()
    before: Space | None = None
    """The keyset before it, which a waiting recovery is replaced after."""


@dataclass
class Registry:
    origin: str = "registry.example"
    now: datetime = START
    owners: tuple[Key, ...] = (Key("owner 1"), Key("owner 2"), Key("owner 3"))
    threshold: int = 2
    logs: tuple[Key, ...] = (Key("log 1"),)
    roots: list[str] = field(default_factory=list)
    spaces: dict[str, Space] = field(default_factory=dict)
    leaves: list[bytes] = field(default_factory=list)
    hashes: list[bytes] = field(default_factory=list)
    indexes: dict[str, list[tuple[int, str]]] = field(default_factory=dict)
    steps: list[tuple[int, str]] = field(default_factory=list)
    policies: list[tuple[int, str]] = field(default_factory=list)
    stated: dict[str, list[tuple[int, str]]] = field(default_factory=dict)
    """What the owners of a namespace state about themselves."""
    blobs: dict[str, bytes] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    snapshot: str = ""
    checkpoint: str = ""

    @classmethod
    def fresh(cls, **attributes: object) -> Registry:
        """One with a root, and with the namespace ``acme``, whose key is ``acme 1``; published."""
        registry = cls(**attributes)  # type: ignore[arg-type]
        registry.add_root()
        registry.publish()
        registry.claim("acme")
        registry.publish()
        return registry

    def fork(self) -> Registry:
        """The same registry with the same keys, whose history may go on otherwise."""
        return copy.deepcopy(self)

    @property
    def size(self) -> int:
        return len(self.leaves)

    @property
    def fingerprint(self) -> str:
        return sha256(text_of(self.roots[0]))

    @property
    def tree(self) -> tree.Tree:
        return tree.Tree(self.hashes)

    def wait(self, **parts: float) -> None:
        """Let time pass: ``hours=``, ``days=``, …"""
        self.now += timedelta(**parts)

    # who signs

    def by_owners(self, *keys: Key) -> list[Signer]:
        return [Signer(f"{self.origin}/root", key) for key in keys or self.owners[: self.threshold]]

    def by_log(self, *keys: Key) -> list[Signer]:
        return [Signer(self.origin, key) for key in keys or self.logs[:1]]

    def by(self, namespace: str, *keys: Key) -> list[Signer]:
        """By these keys of a namespace, or by the first of its last keyset."""
        return [Signer(f"{self.origin}/{namespace}", key) for key in keys or self.spaces[namespace].keys[:1]]

    # the log

    def append(self, signed: str | bytes, about: str | None = None) -> int:
        """Append any entry, and list it in the index of a name. Return its position."""
        entry = signed.encode() if isinstance(signed, str) else signed
        self.leaves.append(entry)
        self.hashes.append(tree.leaf_hash(entry))
        position = len(self.leaves) - 1
        if about is not None:
            self.indexes.setdefault(about, []).append((position, entry.decode()))
        return position

    def fill(self, count: int) -> None:
        """Append entries that mean nothing to a client, such as other people's."""
        for _ in range(count):
            self.append(f"filler {self.size}\n")

    def add_root(
        self,
        *,
        by: Sequence[Signer] | None = None,
        edit: Edit = same,
        expires: datetime | None = None,
        threshold: int | None = None,
    ) -> int:
        """The next root. Change ``owners`` or ``logs`` first; by default, old and new owners sign."""
        number = len(self.roots) + 1
        text = statement(
            "rye.root/v1",
            [
                ("origin", self.origin),
                ("number", number),
                ("previous", sha256(text_of(self.roots[-1])) if self.roots else "-"),
                ("time", stamp(self.now)),
                ("expires", stamp(expires or self.now + timedelta(days=365))),
                ("threshold", threshold or self.threshold),
                *many("owner", [key.line for key in self.owners]),
                *many("log", [key.line for key in self.logs]),
            ],
        )
        signed = note(edit(text), *(self.by_owners(*self.owners) if by is None else by))
        self.roots.append(signed)
        return self.append(signed)

    def keyset_text(
        self,
        namespace: str,
        keys: Sequence[Key],
        *,
        threshold: int = 1,
        release_threshold: int = 1,
        require: str | None = None,
        revoked: Sequence[tuple[Key, int]] = (),
        recovery: datetime | None = None,
        after: Space | None = None,
    ) -> str:
        last = after or self.spaces.get(namespace)
        return statement(
            "rye.keyset/v1",
            [
                ("origin", self.origin),
                ("namespace", namespace),
                ("number", last.number + 1 if last else 1),
                ("previous", last.sha256 if last else "-"),
                ("time", stamp(self.now)),
                ("threshold", threshold),
                ("release-threshold", release_threshold) if release_threshold > 1 else None,
                ("require", require) if require else None,
                *many("key", [key.line for key in keys]),
                *many("revoke", [f"{key.line} {position}" for key, position in revoked]),
                ("recovery", stamp(recovery)) if recovery else None,
            ],
        )

    def claim(
        self,
        namespace: str,
        *keys: Key,
        by: Sequence[Signer] | None = None,
        edit: Edit = same,
        revoked: Sequence[tuple[Key, int]] | None = None,
        after: Space | None = None,
        **lines: object,
    ) -> int:
        """Keyset 1, or the next keyset; by default signed by all new and old keys. ``after``: the keyset that it follows."""
        last = after or self.spaces.get(namespace)
        new = keys or (last.keys if last else (Key(f"{namespace} 1"),))
        gone = tuple(revoked) if revoked is not None else (last.revoked if last else ())
        text = edit(self.keyset_text(namespace, new, revoked=gone, after=after, **lines))  # type: ignore[arg-type]
        signers = by if by is not None else self.by(namespace, *dict.fromkeys((*new, *(last.keys if last else ()))))
        number = last.number + 1 if last else 1
        self.spaces[namespace] = Space(number, sha256(text), tuple(new), gone, last)
        return self.append(note(text, *signers), f"namespace:{namespace}")

    def recover(
        self,
        namespace: str,
        *keys: Key,
        delay: timedelta = timedelta(hours=72),
        by: Sequence[Signer] | None = None,
        **rest: object,
    ) -> str:
        """The owners give a namespace new keys. Return the SHA-256 of the text, which a user accepts."""
        signers = [*self.by(namespace, *keys), *self.by_owners()] if by is None else by
        self.claim(namespace, *keys, by=signers, recovery=self.now + delay, **rest)  # type: ignore[arg-type]
        return self.spaces[namespace].sha256

    def release(
        self,
        identity: str = "skill:acme/pdf",
        version: str = "1.0.0",
        *,
        data: bytes | None = None,
        suffix: str = "SKILL.md",
        attached: Mapping[str, tuple[bytes, str]] | None = None,
        relations: Sequence[Line] = (),
        capabilities: Sequence[str] = (),
        hooks: Sequence[str] = (),
        keyset: int | None = None,
        time: datetime | None = None,
        by: Sequence[Signer] | None = None,
        edit: Edit = same,
        about: str | None = None,
    ) -> int:
        """A release of a file, by default of a small skill. ``attached``: path to bytes and ``x`` or ``-``."""
        namespace, _, name = identity.partition(":")[2].partition("/")
        space = self.spaces.get(namespace)
        signers = self.by(namespace) if by is None else by
        if data is None:
            data = items.signed(items.skill(name, version), signers[0].key)
        more = attached or {}
        text = statement(
            "rye.release/v1",
            [
                ("origin", self.origin),
                ("id", identity),
                ("version", version),
                ("keyset", keyset or (space.number if space else 1)),
                ("time", stamp(time or self.now)),
                ("description", "Fills in forms"),
                ("file", f"{suffix} {len(data)} {self.keep(data)}"),
                *many("attached", [f"{path} {len(b)} {self.keep(b)} {x}" for path, (b, x) in more.items()]),
                *(line for key in ("depends_on", "requires", "conflicts_with") for line in _of(key, relations)),
                *many("capability", capabilities),
                *many("hook", hooks),
            ],
        )
        return self.append(note(edit(text), *signers), about or identity)

    def about_item(
        self,
        title: str,
        identity: str,
        lines: Sequence[Line],
        *,
        keyset: object = None,
        by: Sequence[Signer] | None = None,
        edit: Edit = same,
        reason: Line = ("reason", "It is broken"),
        time: datetime | None = None,
    ) -> int:
        """A yank, a deprecation or an advisory: the lines between ``id`` and ``keyset``."""
        namespace = identity.partition(":")[2].partition("/")[0]
        text = statement(
            title,
            [
                ("origin", self.origin),
                ("id", identity),
                *lines,
                ("keyset", keyset or self.spaces[namespace].number),
                ("time", stamp(time or self.now)),
                reason,
            ],
        )
        return self.append(note(edit(text), *(self.by(namespace) if by is None else by)), identity)

    def yank(
        self, version: str = "1.0.0", state: str = "yanked", identity: str = "skill:acme/pdf", **rest: object
    ) -> int:
        return self.about_item("rye.yank/v1", identity, [("version", version), ("state", state)], **rest)  # type: ignore[arg-type]

    def deprecate(
        self, state: str = "deprecated", replacement: str = "-", identity: str = "skill:acme/pdf", **rest: object
    ) -> int:
        lines = [("state", state), ("replacement", replacement)]
        return self.about_item("rye.deprecation/v1", identity, lines, **rest)  # type: ignore[arg-type]

    def advise(
        self,
        wanted: str,
        number: str = "RYE-1",
        severity: str = "high",
        identity: str = "skill:acme/pdf",
        **rest: object,
    ) -> int:
        lines = [("number", number), ("range", wanted), ("severity", severity)]
        return self.about_item("rye.advisory/v1", identity, lines, reason=("title", "It does harm"), **rest)  # type: ignore[arg-type]

    def take_down(
        self,
        files: Sequence[str],
        version: str = "1.0.0",
        identity: str = "skill:acme/pdf",
        *,
        by: Sequence[Signer] | None = None,
        edit: Edit = same,
    ) -> int:
        text = statement(
            "rye.takedown/v1",
            [
                ("origin", self.origin),
                ("id", identity),
                ("version", version),
                *many("sha256", files),
                ("time", stamp(self.now)),
                ("reason", "It held a key"),
            ],
        )
        return self.append(note(edit(text), *(self.by_owners() if by is None else by)), identity)

    def step_back(self, before: datetime, *, by: Sequence[Signer] | None = None, edit: Edit = same) -> int:
        """A step back in time to ``now``, right after a snapshot of the time ``before``."""
        text = statement(
            "rye.clock/v1",
            [
                ("origin", self.origin),
                ("position", self.size),
                ("before", stamp(before)),
                ("time", stamp(self.now)),
                ("reason", "The clock was wrong"),
            ],
        )
        signed = note(edit(text), *(self.by_owners() if by is None else by))
        position = self.append(signed)
        self.steps.append((position, signed))
        return position

    def set_policy(
        self, *rules: str, number: int | None = None, by: Sequence[Signer] | None = None, edit: Edit = same
    ) -> int:
        """The next policy of the owners, for everybody who joined them."""
        before = text_of(self.policies[-1][1]) if self.policies else None
        text = statement(
            "rye.policy/v1",
            [
                ("origin", self.origin),
                ("number", number or len(self.policies) + 1),
                ("previous", "-" if before is None else sha256(before)),
                ("time", stamp(self.now)),
                ("expires", stamp(self.now + timedelta(days=14))),
                ("contact", "mailto:it@acme.example"),
                *many("rule", rules),
            ],
        )
        signed = note(edit(text), *(self.by_owners() if by is None else by))
        position = self.append(signed)
        self.policies.append((position, signed))
        return position

    def state(
        self,
        title: str,
        lines: Sequence[Line],
        *,
        namespace: str = "acme",
        number: int | None = None,
        by: Sequence[Signer] | None = None,
        edit: Edit = same,
        last: Sequence[Line] = (),
    ) -> int:
        """What owners state about a namespace: a proof or a description."""
        text = statement(
            title,
            [
                ("origin", self.origin),
                ("namespace", namespace),
                *lines,
                ("keyset", number or self.spaces[namespace].number),
                *last,
                ("time", stamp(self.now)),
            ],
        )
        signed = note(edit(text), *(self.by(namespace) if by is None else by))
        position = self.append(signed)
        self.stated.setdefault(namespace, []).append((position, signed))
        return position

    def keep(self, data: bytes) -> str:
        """Serve bytes as a blob, and return their hash."""
        self.blobs[sha256(data)] = data
        return sha256(data)

    # the files

    def index_files(self) -> dict[str, bytes]:
        return {name: index_file(lines) for name, lines in self.indexes.items()}

    def map(self, files: Mapping[str, bytes] | None = None) -> NameMap:
        every = self.index_files() if files is None else files
        return NameMap.of(Row(name, sha256(data), len(data)) for name, data in every.items())

    def snapshot_text(self, root: str, *, time: datetime | None = None, number: int | None = None) -> str:
        lines: list[Line] = [("origin", self.origin), ("time", stamp(time or self.now))]
        return statement("rye.snapshot/v1", [*lines, ("root", number or len(self.roots)), ("map", root)])

    def publish(
        self,
        *,
        names: NameMap | None = None,
        indexes: Mapping[str, bytes] | None = None,
        snapshot: Edit = same,
        snapshot_by: Sequence[Signer] | None = None,
        checkpoint: Edit = same,
        checkpoint_by: Sequence[Signer] | None = None,
        is_logged: bool = True,
    ) -> None:
        """Close a batch: a snapshot as the last leaf, a checkpoint, and all files. ``names``, ``indexes``: other ones than those
        that follow from the log. ``is_logged`` False: the snapshot is not a leaf."""
        contents = self.index_files() if indexes is None else indexes
        names = names or self.map(contents)
        self.snapshot = note(snapshot(self.snapshot_text(names.root)), *(snapshot_by or self.by_log()))
        if is_logged:
            self.append(self.snapshot)
        text = tree.checkpoint_text(self.origin, self.size, self.tree.root)
        self.checkpoint = note(checkpoint(text), *(checkpoint_by or self.by_log()))
        self.write(names, contents)

    def head_members(self, root: str) -> dict[str, object]:
        proof = [b64(hash) for hash in self.tree.inclusion(self.size - 1)]
        return {"checkpoint": self.checkpoint, "snapshot": self.snapshot, "proof": proof, "map": root}

    def write(self, names: NameMap, indexes: Mapping[str, bytes]) -> None:
        kept = {path: data for path, data in self.files.items() if path.startswith(("map/", "index/"))}
        self.files = {
            **kept,
            "config.json": json_file({"protocol": 2, "origin": self.origin, "api": None}),
            "head": json_file(self.head_members(names.root)),
            "checkpoint": self.checkpoint.encode(),
            **{f"root/{number}": signed.encode() for number, signed in enumerate(self.roots, 1)},
            **self.tree.tiles(),
            **{f"map/{key}": data for key, data in names.nodes.items()},
            **{f"index/{sha256(data)}": data for data in indexes.values()},
            **{blob_path(key): data for key, data in self.blobs.items()},
            **{f"owners/{namespace}": index_file(lines) for namespace, lines in self.stated.items()},
        }
        if self.steps:
            self.files["clock"] = index_file(self.steps)
        if self.policies:
            self.files["policy"] = index_file(self.policies[-1:])

    @property
    def head(self) -> dict[str, object]:
        """The members of ``/head``. A case changes a copy and sets it."""
        found: dict[str, object] = json.loads(self.files["head"])
        return found

    def set_head(self, **members: object) -> None:
        """Replace or add members of ``/head``; nothing is signed again."""
        self.files["head"] = json_file({**self.head, **members})

    def cosign(self, *witnesses: Witness, time: datetime | None = None) -> dict[str, object]:
        """The members of the present head, whose checkpoint also has these cosignatures."""
        text, seconds = text_of(self.checkpoint), int((time or self.now).timestamp())
        return {**self.head, "checkpoint": self.checkpoint + "".join(w.line(text, seconds) for w in witnesses)}


def _of(key: str, relations: Sequence[Line]) -> list[Line]:
    return many(key, [value for name, value in relations if name == key])


def json_file(members: Mapping[str, object]) -> bytes:
    return json.dumps(members, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def index_line(position: object, signed: str) -> str:
    escaped = signed.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'{{"log":{position},"note":"{escaped}"}}\n'


def index_file(lines: Iterable[tuple[object, str]]) -> bytes:
    return "".join(index_line(position, signed) for position, signed in lines).encode()


def blob_path(sha: str) -> str:
    return f"blobs/sha256/{sha[:2]}/{sha}"


def number_of(registry: Registry, beginning: bytes) -> int:
    """The position of the first entry that begins so."""
    return next(position for position, entry in enumerate(registry.leaves) if entry.startswith(beginning))
