"""Later statements about a release or an item: yanks, deprecations, advisories."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from rye.items.identity import Identity
from rye.registry.protocol import lines
from rye.registry.protocol.lines import Lines, malformed
from rye.registry.protocol.statements.grammar import Statement, one_of, value_or_none
from rye.text.lazy import lazy_pattern

MAX_REASON_CHARACTERS = 500
SEVERITIES = ("low", "medium", "high", "critical")

_ADVISORY_NUMBER = lazy_pattern(r"[A-Z0-9-]{1,64}")


class Yank(Statement, frozen=True):
    """``rye.yank/v1``: new resolutions avoid a version, or accept it again."""

    TITLE: ClassVar[str] = "rye.yank/v1"
    identity: Identity
    version: str
    yanked: bool
    keyset: int
    time: datetime
    reason: str

    def lines(self) -> list[str]:
        """The lines in the order of the grammar."""
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
        """Read the lines."""
        return cls(
            origin=source.one("origin", lines.read_origin),
            identity=source.one("id", lines.read_identity),
            version=source.one("version", lines.read_version),
            yanked=source.one("state", one_of("yanked", "available")) == "yanked",
            keyset=source.one("keyset", lines.read_positive),
            time=source.one("time", lines.read_time),
            reason=source.one("reason", lines.text_reader(MAX_REASON_CHARACTERS)),
        )


class Deprecation(Statement, frozen=True):
    """``rye.deprecation/v1``: an item should no longer be used, or is supported again."""

    TITLE: ClassVar[str] = "rye.deprecation/v1"
    identity: Identity
    deprecated: bool
    replacement: Identity | None
    keyset: int
    time: datetime
    reason: str

    def lines(self) -> list[str]:
        """The lines in the order of the grammar."""
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
        """Read the lines."""
        return cls(
            origin=source.one("origin", lines.read_origin),
            identity=source.one("id", lines.read_identity),
            deprecated=source.one("state", one_of("deprecated", "supported")) == "deprecated",
            replacement=value_or_none(source, "replacement", lines.read_identity),
            keyset=source.one("keyset", lines.read_positive),
            time=source.one("time", lines.read_time),
            reason=source.one("reason", lines.text_reader(MAX_REASON_CHARACTERS)),
        )


class Advisory(Statement, frozen=True):
    """``rye.advisory/v1``: a range of versions has a known fault. A later one with the same number replaces it."""

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
        """The lines in the order of the grammar."""
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
        """Read the lines."""
        return cls(
            origin=source.one("origin", lines.read_origin),
            identity=source.one("id", lines.read_identity),
            number=source.one("number", _read_advisory_number),
            range=source.one("range", lines.read_range),
            severity=source.one("severity", one_of(*SEVERITIES)),
            keyset=value_or_none(source, "keyset", lines.read_positive, absent="root"),
            time=source.one("time", lines.read_time),
            title=source.one("title", lines.text_reader(MAX_REASON_CHARACTERS)),
        )


def _read_advisory_number(text: str) -> str:
    if _ADVISORY_NUMBER.fullmatch(text) is None:
        raise malformed(f"{text[:80]!r} is not the number of an advisory")
    return text
