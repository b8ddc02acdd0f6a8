"""Takedowns: the registry's owners removed the bytes of a release, for example because of a leaked secret or a court
order. The release stays in the log; its bytes do not.
"""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from rye.items.identity import Identity
from rye.registry.protocol import lines
from rye.registry.protocol.lines import Lines, malformed
from rye.registry.protocol.statements.grammar import Statement, keep_sorted
from rye.registry.protocol.statements.status import MAX_REASON_CHARACTERS

MAX_TAKEN_DOWN = 201
"""Files of one release: the item itself and 200 attached ones."""


RETENTION = "Retention:"
"""How the reason begins if the release was only too old to be kept."""


class Takedown(Statement, frozen=True):
    """``rye.takedown/v1``: files of a release that are no longer served. It is final."""

    TITLE: ClassVar[str] = "rye.takedown/v1"
    identity: Identity
    version: str
    files: tuple[str, ...]
    """SHA-256 of each; all of them belong to the release."""
    time: datetime
    reason: str

    keyset: ClassVar[None] = None
    """The root's owners sign it, as they sign the registry's own advisories."""

    def __post_init__(self) -> None:
        keep_sorted(self, "files", str)

    @property
    def is_retention(self) -> bool:
        """Whether the owners removed it only because it was old."""
        return self.reason.startswith(RETENTION)

    def lines(self) -> list[str]:
        """The lines in the order of the grammar; files are sorted."""
        return [
            f"origin {self.origin}",
            f"id {self.identity}",
            f"version {self.version}",
            *(f"sha256 {sha256}" for sha256 in self.files),
            f"time {lines.write_time(self.time)}",
            f"reason {self.reason}",
        ]

    @classmethod
    def read(cls, source: Lines) -> Takedown:
        """Read the lines; there must be 1 to 201 files."""
        takedown = cls(
            origin=source.one("origin", lines.read_origin),
            identity=source.one("id", lines.read_identity),
            version=source.one("version", lines.read_version),
            files=source.many("sha256", lines.read_hash),
            time=source.one("time", lines.read_time),
            reason=source.one("reason", lines.text_reader(MAX_REASON_CHARACTERS)),
        )
        if not 1 <= len(takedown.files) <= MAX_TAKEN_DOWN:
            raise malformed(f"it names {len(takedown.files)} files instead of 1 to {MAX_TAKEN_DOWN}")
        return takedown
