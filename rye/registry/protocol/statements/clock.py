"""The way back from a log whose time is in the future, because a clock was wrong: one step, signed by the owners."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from rye.registry.protocol import lines
from rye.registry.protocol.lines import Lines, malformed
from rye.registry.protocol.statements.grammar import Statement
from rye.registry.protocol.statements.status import MAX_REASON_CHARACTERS


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
