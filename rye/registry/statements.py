"""The statements that a registry is made of (docs/protocol.md, Statements): one frozen value for each, with its one text.

Rules:

* ``Value.parse(text)`` accepts exactly the texts that ``value.text()`` writes, and ``text()`` refuses a value that breaks the
  grammar.
  Repeated fields are kept in the order of their lines, however they were given.
* The first line names the type, so a signature under one statement can never stand for another.
* A statement says what someone claims. Who had to sign it, and what it must follow, is decided in :mod:`rye.registry.keysets`
  and :mod:`rye.registry.trusted`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar, TypeVar

from rye.items.identity import Identity, is_segment
from rye.items.kinds import KINDS
from rye.registry import lines
from rye.registry.lines import Lines, StatementError, malformed
from rye.registry.notes import encode_base64

MAX_OWNERS = 16
MAX_LOG_KEYS = 4
MAX_KEYS = 16
MAX_DESCRIPTION_CHARACTERS = 300
MAX_REASON_CHARACTERS = 500
MAX_PATH_CHARACTERS = 200
RECOVERY_DELAY = timedelta(hours=72)
"""The least time for which a recovery stands in public before it takes effect."""
SEVERITIES = ("low", "medium", "high", "critical")
ITEM_TYPES = ("tool", "directive", "knowledge")
"""What a hook can execute (DECISIONS Directives 6)."""

_PATH_SEGMENT = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")
_CAPABILITY = re.compile(r"rye\.[!-~]{1,1000}")
_ADVISORY_NUMBER = re.compile(r"[A-Z0-9-]{1,64}")

_T = TypeVar("_T")
_S = TypeVar("_S", bound="Statement")


@dataclass(frozen=True, slots=True)
class Statement:
    """What all statements have."""

    TITLE: ClassVar[str] = ""
    origin: str

    def lines(self) -> list[str]:
        """The lines after the title, without LF."""
        raise TypeError(f"{type(self).__name__} is no statement of its own")

    @classmethod
    def read(cls: type[_S], source: Lines) -> _S:
        """Take this statement's lines; the caller checks that none is left."""
        raise TypeError(f"{cls.__name__} is no statement of its own")

    def text(self) -> str:
        """The text that is signed. Raises StatementError when the value breaks a rule of its grammar."""
        text = "\n".join([self.TITLE, *self.lines()]) + "\n"
        if self.parse(text) != self:
            raise malformed("the value is not one that its text can carry")
        return text

    @classmethod
    def parse(cls: type[_S], text: str) -> _S:
        """Read the text of this type. Raises StatementError for everything that :meth:`text` would not write."""
        source = Lines(text, cls.TITLE)
        value = cls.read(source)
        source.end()
        return value

    def sha256(self) -> str:
        """The hash by which a successor names this statement: of its text, without signatures."""
        return hashlib.sha256(self.text().encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Root(Statement):
    """``rye.root/v1``: who owns the registry and which keys sign its log."""

    TITLE: ClassVar[str] = "rye.root/v1"
    number: int
    previous: str | None
    """SHA-256 of the text of root ``number - 1``."""
    time: datetime
    expires: datetime
    threshold: int
    owners: tuple[bytes, ...]
    logs: tuple[bytes, ...]

    def __post_init__(self) -> None:
        _sort(self, "owners", lines.write_key)
        _sort(self, "logs", lines.write_key)

    def lines(self) -> list[str]:
        return [
            f"origin {self.origin}",
            f"number {self.number}",
            f"previous {self.previous or '-'}",
            f"time {lines.write_time(self.time)}",
            f"expires {lines.write_time(self.expires)}",
            f"threshold {self.threshold}",
            *(f"owner {lines.write_key(key)}" for key in self.owners),
            *(f"log {lines.write_key(key)}" for key in self.logs),
        ]

    @classmethod
    def read(cls, source: Lines) -> Root:
        root = cls(
            origin=source.one("origin", lines.read_origin),
            number=source.one("number", lines.read_positive),
            previous=_previous(source),
            time=source.one("time", lines.read_time),
            expires=source.one("expires", lines.read_time),
            threshold=source.one("threshold", lines.read_positive),
            owners=source.many("owner", lines.read_key),
            logs=source.many("log", lines.read_key),
        )
        _check_previous(root.number, root.previous)
        _check_threshold(root.threshold, len(root.owners), MAX_OWNERS, "owner")
        if not 1 <= len(root.logs) <= MAX_LOG_KEYS:
            raise malformed(f"it has {len(root.logs)} log keys instead of 1 to {MAX_LOG_KEYS}")
        if root.expires <= root.time:
            raise malformed("it expires before it begins")
        return root


@dataclass(frozen=True, slots=True)
class Revocation:
    """A key that counts no more, for what stands at ``position`` of the log or later."""

    key: bytes
    position: int

    def write(self) -> str:
        return f"{lines.write_key(self.key)} {self.position}"

    @classmethod
    def read(cls, text: str) -> Revocation:
        key, position = _fields(text, 2)
        return cls(lines.read_key(key), lines.read_number(position))


@dataclass(frozen=True, slots=True)
class Keyset(Statement):
    """``rye.keyset/v1``: which keys own a namespace."""

    TITLE: ClassVar[str] = "rye.keyset/v1"
    namespace: str
    number: int
    previous: str | None
    time: datetime
    threshold: int
    keys: tuple[bytes, ...]
    revoked: tuple[Revocation, ...] = ()
    recovery: datetime | None = None
    """When the root's owners' word replaces the old keys'; None: the old keys signed."""

    def __post_init__(self) -> None:
        _sort(self, "keys", lines.write_key)
        _sort(self, "revoked", Revocation.write)

    def lines(self) -> list[str]:
        return [
            f"origin {self.origin}",
            f"namespace {self.namespace}",
            f"number {self.number}",
            f"previous {self.previous or '-'}",
            f"time {lines.write_time(self.time)}",
            f"threshold {self.threshold}",
            *(f"key {lines.write_key(key)}" for key in self.keys),
            *(f"revoke {revocation.write()}" for revocation in self.revoked),
            *([f"recovery {lines.write_time(self.recovery)}"] if self.recovery else []),
        ]

    @classmethod
    def read(cls, source: Lines) -> Keyset:
        keyset = cls(
            origin=source.one("origin", lines.read_origin),
            namespace=source.one("namespace", lines.read_namespace),
            number=source.one("number", lines.read_positive),
            previous=_previous(source),
            time=source.one("time", lines.read_time),
            threshold=source.one("threshold", lines.read_positive),
            keys=source.many("key", lines.read_key),
            revoked=source.many("revoke", Revocation.read),
            recovery=source.maybe("recovery", lines.read_time),
        )
        _check_previous(keyset.number, keyset.previous)
        _check_threshold(keyset.threshold, len(keyset.keys), MAX_KEYS, "key")
        revoked = [revocation.key for revocation in keyset.revoked]
        if len(set(revoked)) != len(revoked):
            raise malformed("it revokes one key twice")
        if set(revoked) & set(keyset.keys):
            raise malformed("one of its keys is revoked")
        if keyset.recovery is not None:
            if keyset.number == 1:
                raise malformed("the first keyset of a namespace recovers nothing")
            if keyset.recovery - keyset.time < RECOVERY_DELAY:
                raise malformed("a recovery takes effect at least 72 hours after its time")
        return keyset


@dataclass(frozen=True, slots=True)
class FileEntry:
    """The item itself: what its file's name ends with (``.md``, ``.py``, ``SKILL.md``, …), size in bytes and SHA-256."""

    suffix: str
    size: int
    sha256: str

    def write(self) -> str:
        return f"{self.suffix} {self.size} {self.sha256}"

    @classmethod
    def read(cls, text: str) -> FileEntry:
        suffix, size, sha256 = _fields(text, 3)
        return cls(suffix, lines.read_positive(size), lines.read_hash(sha256))


@dataclass(frozen=True, slots=True)
class AttachedFile:
    """Another file of a skill."""

    path: str
    size: int
    sha256: str
    executable: bool = False

    def write(self) -> str:
        return f"{self.path} {self.size} {self.sha256} {'x' if self.executable else '-'}"

    @classmethod
    def read(cls, text: str) -> AttachedFile:
        path, size, sha256, executable = _fields(text, 4)
        if not is_attached_path(path):
            raise malformed(f"{path[:80]!r} is not a safe relative path")
        if executable not in ("x", "-"):
            raise malformed(f"{executable[:80]!r} is neither 'x' nor '-'")
        return cls(path, lines.read_number(size), lines.read_hash(sha256), executable == "x")


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation to another item: the reference as written, what it stands for, and the range (``*``: any)."""

    reference: str
    identity: Identity | None
    """None: no item, but a feature of the environment."""
    range: str = "*"

    def write(self) -> str:
        return f"{self.reference} {self.identity or '-'} {self.range}"

    @classmethod
    def read(cls, text: str) -> Relation:
        reference, identity, wanted = _fields(text, 3)
        return cls(lines.read_word(reference), lines.read_identity_or_none(identity), lines.read_range(wanted))


@dataclass(frozen=True, slots=True)
class Hook:
    """What a hook would execute."""

    item_type: str
    item_id: str

    def write(self) -> str:
        return f"{self.item_type} {self.item_id}"

    @classmethod
    def read(cls, text: str) -> Hook:
        item_type, item_id = _fields(text, 2)
        if item_type not in ITEM_TYPES:
            raise malformed(f"{item_type[:80]!r} is not a type of item that a hook executes")
        return cls(item_type, lines.read_word(item_id))


@dataclass(frozen=True, slots=True)
class Release(Statement):
    """``rye.release/v1``: the publisher's word that binds kind, id, version and bytes."""

    TITLE: ClassVar[str] = "rye.release/v1"
    identity: Identity
    version: str
    keyset: int
    time: datetime
    description: str
    file: FileEntry
    attached: tuple[AttachedFile, ...] = ()
    depends_on: tuple[Relation, ...] = ()
    requires: tuple[Relation, ...] = ()
    conflicts_with: tuple[Relation, ...] = ()
    capabilities: tuple[str, ...] = ()
    hooks: tuple[Hook, ...] = ()

    def __post_init__(self) -> None:
        _sort(self, "attached", AttachedFile.write)
        for relation in ("depends_on", "requires", "conflicts_with"):
            _sort(self, relation, Relation.write)
        _sort(self, "capabilities", str)
        _sort(self, "hooks", Hook.write)

    def lines(self) -> list[str]:
        return [
            f"origin {self.origin}",
            f"id {self.identity}",
            f"version {self.version}",
            f"keyset {self.keyset}",
            f"time {lines.write_time(self.time)}",
            f"description {self.description}",
            f"file {self.file.write()}",
            *(f"attached {entry.write()}" for entry in self.attached),
            *(f"depends_on {relation.write()}" for relation in self.depends_on),
            *(f"requires {relation.write()}" for relation in self.requires),
            *(f"conflicts_with {relation.write()}" for relation in self.conflicts_with),
            *(f"capability {capability}" for capability in self.capabilities),
            *(f"hook {hook.write()}" for hook in self.hooks),
        ]

    @classmethod
    def read(cls, source: Lines) -> Release:
        release = cls(
            origin=source.one("origin", lines.read_origin),
            identity=source.one("id", lines.read_identity),
            version=source.one("version", lines.read_version),
            keyset=source.one("keyset", lines.read_positive),
            time=source.one("time", lines.read_time),
            description=source.one("description", lines.text_reader(MAX_DESCRIPTION_CHARACTERS)),
            file=source.one("file", FileEntry.read),
            attached=source.many("attached", AttachedFile.read),
            depends_on=source.many("depends_on", Relation.read),
            requires=source.many("requires", Relation.read),
            conflicts_with=source.many("conflicts_with", Relation.read),
            capabilities=source.many("capability", _read_capability),
            hooks=source.many("hook", Hook.read),
        )
        kind = KINDS[release.identity.kind]
        if release.file.suffix not in ((kind.main_file,) if kind.main_file else kind.suffixes):
            raise malformed(f"a {kind.name}'s file does not end in {release.file.suffix}")
        if release.attached and release.identity.kind != "skill":
            raise malformed("only a skill has attached files")
        if any(relation.identity is None for relation in (*release.depends_on, *release.conflicts_with)):
            raise malformed("only a `requires` line can be about something that is no item")
        _check_paths([entry.path for entry in release.attached])
        return release


@dataclass(frozen=True, slots=True)
class Yank(Statement):
    """``rye.yank/v1``: new resolutions avoid a version, or may take it again."""

    TITLE: ClassVar[str] = "rye.yank/v1"
    identity: Identity
    version: str
    yanked: bool
    keyset: int
    time: datetime
    reason: str

    def lines(self) -> list[str]:
        return [
            f"origin {self.origin}",
            f"id {self.identity}",
            f"version {self.version}",
            f"state {'yanked' if self.yanked else 'available'}",
            f"keyset {self.keyset}",
            f"time {lines.write_time(self.time)}",
            f"reason {self.reason}",
        ]

    @classmethod
    def read(cls, source: Lines) -> Yank:
        return cls(
            origin=source.one("origin", lines.read_origin),
            identity=source.one("id", lines.read_identity),
            version=source.one("version", lines.read_version),
            yanked=source.one("state", _choice("yanked", "available")) == "yanked",
            keyset=source.one("keyset", lines.read_positive),
            time=source.one("time", lines.read_time),
            reason=source.one("reason", lines.text_reader(MAX_REASON_CHARACTERS)),
        )


@dataclass(frozen=True, slots=True)
class Deprecation(Statement):
    """``rye.deprecation/v1``: an item should no longer be used, or is supported again."""

    TITLE: ClassVar[str] = "rye.deprecation/v1"
    identity: Identity
    deprecated: bool
    replacement: Identity | None
    keyset: int
    time: datetime
    reason: str

    def lines(self) -> list[str]:
        return [
            f"origin {self.origin}",
            f"id {self.identity}",
            f"state {'deprecated' if self.deprecated else 'supported'}",
            f"replacement {self.replacement or '-'}",
            f"keyset {self.keyset}",
            f"time {lines.write_time(self.time)}",
            f"reason {self.reason}",
        ]

    @classmethod
    def read(cls, source: Lines) -> Deprecation:
        return cls(
            origin=source.one("origin", lines.read_origin),
            identity=source.one("id", lines.read_identity),
            deprecated=source.one("state", _choice("deprecated", "supported")) == "deprecated",
            replacement=_optional(source, "replacement", lines.read_identity),
            keyset=source.one("keyset", lines.read_positive),
            time=source.one("time", lines.read_time),
            reason=source.one("reason", lines.text_reader(MAX_REASON_CHARACTERS)),
        )


@dataclass(frozen=True, slots=True)
class Advisory(Statement):
    """``rye.advisory/v1``: a range of versions has a known fault. A later one of the same number replaces it."""

    TITLE: ClassVar[str] = "rye.advisory/v1"
    identity: Identity
    number: str
    range: str
    severity: str
    keyset: int | None
    """None: signed by the root's owners (``keyset root``)."""
    time: datetime
    title: str

    def lines(self) -> list[str]:
        return [
            f"origin {self.origin}",
            f"id {self.identity}",
            f"number {self.number}",
            f"range {self.range}",
            f"severity {self.severity}",
            f"keyset {self.keyset or 'root'}",
            f"time {lines.write_time(self.time)}",
            f"title {self.title}",
        ]

    @classmethod
    def read(cls, source: Lines) -> Advisory:
        return cls(
            origin=source.one("origin", lines.read_origin),
            identity=source.one("id", lines.read_identity),
            number=source.one("number", _read_advisory_number),
            range=source.one("range", lines.read_range),
            severity=source.one("severity", _choice(*SEVERITIES)),
            keyset=_optional(source, "keyset", lines.read_positive, absent="root"),
            time=source.one("time", lines.read_time),
            title=source.one("title", lines.text_reader(MAX_REASON_CHARACTERS)),
        )


@dataclass(frozen=True, slots=True)
class Snapshot(Statement):
    """``rye.snapshot/v1``: the last leaf of every checkpointed tree; fixes the whole index."""

    TITLE: ClassVar[str] = "rye.snapshot/v1"
    time: datetime
    root: int
    """Number of the root in force."""
    shards: bytes
    """Merkle root over the shards (:func:`rye.registry.wire.shards_root`)."""

    def lines(self) -> list[str]:
        return [
            f"origin {self.origin}",
            f"time {lines.write_time(self.time)}",
            f"root {self.root}",
            f"shards {encode_base64(self.shards)}",
        ]

    @classmethod
    def read(cls, source: Lines) -> Snapshot:
        return cls(
            origin=source.one("origin", lines.read_origin),
            time=source.one("time", lines.read_time),
            root=source.one("root", lines.read_positive),
            shards=source.one("shards", lines.read_base64_hash),
        )


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A tree head (C2SP tlog-checkpoint): exactly three lines, since extension lines could not be audited."""

    origin: str
    size: int
    root_hash: bytes

    def text(self) -> str:
        return f"{self.origin}\n{self.size}\n{encode_base64(self.root_hash)}\n"

    @classmethod
    def parse(cls, text: str) -> Checkpoint:
        """Raises StatementError for anything but origin, size and root hash."""
        parts = text.split("\n")
        if len(parts) != 4 or parts[3]:
            raise malformed("a checkpoint is exactly three lines: origin, size and root hash")
        return cls(lines.read_origin(parts[0]), lines.read_number(parts[1]), lines.read_base64_hash(parts[2]))


Logged = Root | Keyset | Release | Yank | Deprecation | Advisory | Snapshot
"""Every statement that can be a leaf of the log."""
ItemStatement = Release | Yank | Deprecation | Advisory
"""The statements in the index file of an identity."""
TYPES: tuple[type[Logged], ...] = (Root, Keyset, Release, Yank, Deprecation, Advisory, Snapshot)
_BY_TITLE: dict[str, type[Logged]] = {kind.TITLE: kind for kind in TYPES}


def parse(text: str) -> Logged:
    """Read a statement of any type by its first line. Raises StatementError (``statement-kind`` for an unknown type)."""
    title = text.split("\n", 1)[0]
    kind = _BY_TITLE.get(title)
    if kind is None:
        raise StatementError("statement-kind", f"{title[:80]!r} is not a type of statement that this version knows.")
    return kind.parse(text)


def root_key_name(origin: str) -> str:
    """The key name of owners of the root."""
    return f"{origin}/root"


def namespace_key_name(origin: str, namespace: str) -> str:
    """The key name of a namespace's keys."""
    return f"{origin}/{namespace}"


def is_attached_path(path: str) -> bool:
    """Whether a path is relative and means the same file on every system: no devices, no final dots, at most 200 characters."""
    return len(path) <= MAX_PATH_CHARACTERS and all(
        _PATH_SEGMENT.fullmatch(segment) is not None
        and not segment.endswith(".")
        and _is_no_device(segment.split(".", 1)[0].lower())
        for segment in path.split("/")
    )


def _is_no_device(stem: str) -> bool:
    return len(stem) > 4 or not stem.isalnum() or is_segment(stem)


def _check_paths(paths: Iterable[str]) -> None:
    """No two alike without regard to case, none a folder of another, none the skill's own file."""
    seen: set[str] = {"skill.md"}
    for path in paths:
        folded = path.lower()
        if folded in seen:
            raise malformed(f"the attached path {path!r} stands twice, or is the item's own")
        seen.add(folded)
    for folded in seen:
        parts = folded.split("/")
        if any("/".join(parts[:count]) in seen for count in range(1, len(parts))):
            raise malformed(f"the attached path {folded!r} lies below another attached file")


def _read_capability(text: str) -> str:
    if _CAPABILITY.fullmatch(text) is None:
        raise malformed(f"{text[:80]!r} is not a capability pattern")
    return text


def _read_advisory_number(text: str) -> str:
    if _ADVISORY_NUMBER.fullmatch(text) is None:
        raise malformed(f"{text[:80]!r} is not the number of an advisory")
    return text


def _choice(*allowed: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in allowed:
            raise malformed(f"{text[:80]!r} is none of {', '.join(allowed)}")
        return text

    return read


def _optional(source: Lines, key: str, read: Callable[[str], _T], absent: str = "-") -> _T | None:
    """A line that must be there and whose value may stand for none."""
    found: list[_T] = source.one(key, lambda text: [] if text == absent else [read(text)])
    return found[0] if found else None


def _previous(source: Lines) -> str | None:
    return _optional(source, "previous", lines.read_hash)


def _check_previous(number: int, previous: str | None) -> None:
    if (number == 1) != (previous is None):
        raise malformed("number 1, and only number 1, has no previous statement")


def _check_threshold(threshold: int, count: int, most: int, key: str) -> None:
    if not 1 <= count <= most:
        raise malformed(f"it has {count} {key!r} lines instead of 1 to {most}")
    if threshold > count:
        raise malformed(f"its threshold {threshold} is more than its {count} keys")


def _fields(text: str, count: int) -> list[str]:
    parts = text.split(" ", count - 1)
    if len(parts) != count:
        raise malformed(f"{text[:80]!r} does not have {count} fields")
    return parts


def _sort(value: object, name: str, write: Callable[[_T], str]) -> None:
    """Frozen values keep repeated fields in the order of their lines."""
    object.__setattr__(value, name, lines.in_line_order(getattr(value, name), write))
