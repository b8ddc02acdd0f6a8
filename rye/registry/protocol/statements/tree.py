"""The state of the log: the snapshot that ends each tree, the checkpoint over it, and the step back from a wrong time."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from msgspec import Struct

from rye.registry.protocol import lines
from rye.registry.protocol.lines import Lines, malformed
from rye.registry.protocol.notes import encode_base64
from rye.registry.protocol.statements.grammar import Statement, fields
from rye.registry.protocol.statements.status import MAX_REASON_CHARACTERS


class Snapshot(Statement, frozen=True):
    """``rye.snapshot/v1``: the last leaf of every checkpointed tree; it determines the whole index."""

    TITLE: ClassVar[str] = "rye.snapshot/v1"
    time: datetime
    root: int
    """Number of the root in force."""
    map: str
    """SHA-256 of the root of the name map (:mod:`rye.registry.protocol.name_map`)."""

    def lines(self) -> list[str]:
        """The lines in the order of the grammar."""
        return [
            f"origin {self.origin}",
            f"time {lines.write_time(self.time)}",
            f"root {self.root}",
            f"map {self.map}",
        ]

    @classmethod
    def read(cls, source: Lines) -> Snapshot:
        """Read the lines."""
        return cls(
            origin=source.one("origin", lines.read_origin),
            time=source.one("time", lines.read_time),
            root=source.one("root", lines.read_positive),
            map=source.one("map", lines.read_hash),
        )


class FormerSnapshot(Statement, frozen=True):
    """A snapshot of protocol 1, before the name map: an entry of old logs that no longer has any effect."""

    TITLE: ClassVar[str] = Snapshot.TITLE
    time: datetime
    root: int
    shards: bytes

    def lines(self) -> list[str]:
        """The lines of protocol 1."""
        return [
            f"origin {self.origin}",
            f"time {lines.write_time(self.time)}",
            f"root {self.root}",
            f"shards {encode_base64(self.shards)}",
        ]

    @classmethod
    def read(cls, source: Lines) -> FormerSnapshot:
        """Read the lines of protocol 1."""
        return cls(
            origin=source.one("origin", lines.read_origin),
            time=source.one("time", lines.read_time),
            root=source.one("root", lines.read_positive),
            shards=source.one("shards", lines.read_base64_hash),
        )


class ClockStep(Statement, frozen=True):
    """``rye.clock/v1``: the next snapshot may be older than the one before. It is valid at one position of the log."""

    TITLE: ClassVar[str] = "rye.clock/v1"
    position: int
    """The statement's own place in the log, right after the snapshot that is dated too late."""
    before: datetime
    """The time of that snapshot."""
    time: datetime
    """No snapshot after the statement may be older than this. It is earlier than ``before``."""
    reason: str

    def lines(self) -> list[str]:
        """The lines in the order of the grammar."""
        return [
            f"origin {self.origin}",
            f"position {self.position}",
            f"before {lines.write_time(self.before)}",
            f"time {lines.write_time(self.time)}",
            f"reason {self.reason}",
        ]

    @classmethod
    def read(cls, source: Lines) -> ClockStep:
        """Read the lines; the time must be earlier than that of the snapshot before."""
        step = cls(
            origin=source.one("origin", lines.read_origin),
            position=source.one("position", lines.read_number),
            before=source.one("before", lines.read_time),
            time=source.one("time", lines.read_time),
            reason=source.one("reason", lines.text_reader(MAX_REASON_CHARACTERS)),
        )
        if step.position < 2 or step.time >= step.before:
            raise malformed("it does not step back in time after a snapshot")
        return step


class AuditHead(Struct, frozen=True):
    """The end of the registry's chain of audit events: how many there are, and the last one's hash."""

    size: int
    sha256: str

    def line(self) -> str:
        """Return the extension line."""
        return f"{_AUDIT} {self.size} {self.sha256}"

    @classmethod
    def read(cls, line: str) -> AuditHead:
        """Read an extension line. Raises StatementError."""
        word, size, sha256 = fields(line, 3)
        if word != _AUDIT:
            raise malformed(f"a checkpoint's fourth line must begin with {_AUDIT}")
        return cls(lines.read_number(size), lines.read_hash(sha256))


_AUDIT = "rye-audit"


class Checkpoint(Struct, frozen=True):
    """A tree head (C2SP tlog-checkpoint): three lines, and one extension line at most, of one form.

    The extension is there if the registry's operator wants it (``audit_in_head``). It says nothing about the log: whoever keeps a
    checkpoint can hold the operator's audit events against it. No other is accepted, because it could not be audited.
    """

    origin: str
    size: int
    root_hash: bytes
    audit: AuditHead | None = None

    def text(self) -> str:
        """Return the text that is signed."""
        extension = f"{self.audit.line()}\n" if self.audit is not None else ""
        return f"{self.origin}\n{self.size}\n{encode_base64(self.root_hash)}\n{extension}"

    @classmethod
    def parse(cls, text: str) -> Checkpoint:
        """Read a checkpoint's text. Raises StatementError for anything but origin, size, root hash and the one extension."""
        *parts, end = text.split("\n")
        if end or not 3 <= len(parts) <= 4:
            raise malformed("a checkpoint must have origin, size and root hash, and one extension line at most")
        audit = AuditHead.read(parts[3]) if len(parts) == 4 else None
        return cls(lines.read_origin(parts[0]), lines.read_number(parts[1]), lines.read_base64_hash(parts[2]), audit)
