"""A release: the publisher's statement about an item and each of its files."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import ClassVar

from msgspec import Struct

from rye.items.capabilities import ITEM_TYPES
from rye.items.identity import Identity, is_segment
from rye.items.kinds import KINDS
from rye.registry.protocol import lines
from rye.registry.protocol.lines import Lines, malformed
from rye.registry.protocol.statements.grammar import Statement, fields, keep_sorted
from rye.text.lazy import lazy_pattern

MAX_DESCRIPTION_CHARACTERS = 300
MAX_PATH_CHARACTERS = 200

_PATH_SEGMENT = lazy_pattern(r"[A-Za-z0-9_][A-Za-z0-9._-]*")
_CAPABILITY = lazy_pattern(r"rye\.[!-~]{1,1000}")


class FileEntry(Struct, frozen=True):
    """The item's own file: the end of its name (``.md``, ``.py``, ``SKILL.md``, …), size in bytes and SHA-256."""

    suffix: str
    size: int
    sha256: str

    def write(self) -> str:
        """The value of a ``file`` line."""
        return f"{self.suffix} {self.size} {self.sha256}"

    @classmethod
    def read(cls, text: str) -> FileEntry:
        """Read the value of a ``file`` line."""
        suffix, size, sha256 = fields(text, 3)
        return cls(suffix, lines.read_positive(size), lines.read_hash(sha256))


class AttachedFile(Struct, frozen=True):
    """Another file of a skill."""

    path: str
    size: int
    sha256: str
    executable: bool = False

    def write(self) -> str:
        """The value of an ``attached`` line."""
        return f"{self.path} {self.size} {self.sha256} {'x' if self.executable else '-'}"

    @classmethod
    def read(cls, text: str) -> AttachedFile:
        """Read the value of an ``attached`` line; the path must be safe on every system."""
        path, size, sha256, executable = fields(text, 4)
        if not is_attached_path(path):
            raise malformed(f"{path[:80]!r} is not a safe relative path")
        if executable not in ("x", "-"):
            raise malformed(f"{executable[:80]!r} is neither 'x' nor '-'")
        return cls(path, lines.read_number(size), lines.read_hash(sha256), executable == "x")


class Relation(Struct, frozen=True):
    """A relation to another item: the reference as written, the id that it means, and the range (``*``: any)."""

    reference: str
    identity: Identity | None
    """None: the reference means a feature of the environment, not an item."""
    range: str = "*"

    def write(self) -> str:
        """The value of a ``depends_on``, ``requires`` or ``conflicts_with`` line."""
        return f"{self.reference} {self.identity or '-'} {self.range}"

    @classmethod
    def read(cls, text: str) -> Relation:
        """Read the value of a ``depends_on``, ``requires`` or ``conflicts_with`` line."""
        reference, identity, wanted = fields(text, 3)
        return cls(lines.read_word(reference), lines.read_identity_or_none(identity), lines.read_range(wanted))


class Hook(Struct, frozen=True):
    """The item that a hook would execute."""

    item_type: str
    item_id: str

    def write(self) -> str:
        """The value of a ``hook`` line."""
        return f"{self.item_type} {self.item_id}"

    @classmethod
    def read(cls, text: str) -> Hook:
        """Read the value of a ``hook`` line."""
        item_type, item_id = fields(text, 2)
        if item_type not in ITEM_TYPES:
            raise malformed(f"{item_type[:80]!r} is not a type of item that a hook can execute")
        return cls(item_type, lines.read_word(item_id))


class Release(Statement, frozen=True):
    """``rye.release/v1``: the publisher binds kind, id, version and bytes together."""

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
        keep_sorted(self, "attached", AttachedFile.write)
        for relation in ("depends_on", "requires", "conflicts_with"):
            keep_sorted(self, relation, Relation.write)
        keep_sorted(self, "capabilities", str)
        keep_sorted(self, "hooks", Hook.write)

    @property
    def file_name(self) -> str:
        """The name of the item's main file, for people: ``review.md``, or ``SKILL.md`` for a skill."""
        suffix = self.file.suffix
        return f"{self.identity.id.rsplit('/', 1)[-1]}{suffix}" if suffix.startswith(".") else suffix

    def lines(self) -> list[str]:
        """The lines in the order of the grammar; repeated ones are sorted."""
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
        """Read the lines and check that the files fit the kind and each other."""
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
        if release.file.suffix not in kind.endings:
            raise malformed(f"a {kind.name}'s file cannot end in {release.file.suffix}")
        if release.attached and kind.main_file is None:
            raise malformed(f"a {kind.name} cannot have attached files")
        if any(relation.identity is None for relation in (*release.depends_on, *release.conflicts_with)):
            raise malformed("only a `requires` line can be about something that is not an item")
        _check_paths([entry.path for entry in release.attached])
        return release


def is_attached_path(path: str) -> bool:
    """Whether a path is relative and means the same file on every system: no device names, no trailing dots, at most
    200 characters.
    """
    return len(path) <= MAX_PATH_CHARACTERS and all(
        _PATH_SEGMENT.fullmatch(segment) is not None
        and not segment.endswith(".")
        and _is_no_device(segment.split(".", 1)[0].lower())
        for segment in path.split("/")
    )


def _is_no_device(stem: str) -> bool:
    return len(stem) > 4 or not stem.isalnum() or is_segment(stem)


def _check_paths(paths: Iterable[str]) -> None:
    """No two paths are equal ignoring case, none is a folder of another, none is the skill's own file."""
    seen: set[str] = {"skill.md"}
    for path in paths:
        folded = path.lower()
        if folded in seen:
            raise malformed(f"the attached path {path!r} is a duplicate, or the item's own")
        seen.add(folded)
    for folded in seen:
        parts = folded.split("/")
        if any("/".join(parts[:count]) in seen for count in range(1, len(parts))):
            raise malformed(f"the attached path {folded!r} is below another attached file")


def _read_capability(text: str) -> str:
    if _CAPABILITY.fullmatch(text) is None:
        raise malformed(f"{text[:80]!r} is not a capability pattern")
    return text
