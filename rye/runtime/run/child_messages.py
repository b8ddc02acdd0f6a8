"""What a run and its child tell each other, over a socket that the child inherits: one JSON document on a line."""

from __future__ import annotations

import socket
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from rye.limits import RUN
from rye.runtime.approvals import Question
from rye.runtime.chain import Level
from rye.runtime.limits import Limits
from rye.runtime.run.loop import Progress
from rye.runtime.run.models import Model
from rye.runtime.run.result import RunResult


class ChildStart(Struct, frozen=True, forbid_unknown_fields=True):
    """Everything that a child run begins with. The keys come this way, so that they stand in no environment of it."""

    project: str
    """The folder."""
    reference: str
    """The directive, with its version."""
    level: Level
    """The directive as the parent read it, so that the child runs exactly that."""
    inputs: dict[str, Any]
    above: tuple[Level, ...]
    limits: Limits
    models: dict[str, Model]
    keys: dict[str, str]
    registry: str | None
    offline: bool


class Watched(Struct, frozen=True, tag="progress"):
    """Something happened in the child."""

    progress: Progress


class Asks(Struct, frozen=True, tag="ask"):
    """A call of the child waits for a person."""

    question: Question


class Ends(Struct, frozen=True, tag="end"):
    """The child came to its end."""

    result: RunResult | None
    code: str | None = None
    """Why it did not even begin."""
    message: str | None = None


class Answers(Struct, frozen=True):
    """What the person said; None: nobody could be asked."""

    yes: bool | None


FromChild = Watched | Asks | Ends
T = TypeVar("T")


class Channel:
    """One end of the socket. Not for several threads, except that one may read while another writes."""

    def __init__(self, end: socket.socket):
        self.socket = end
        self._buffer = b""

    def send(self, message: Struct) -> None:
        """Raises OSError where the other end is gone."""
        self.socket.sendall(msgspec.json.encode(message) + b"\n")

    def receive(self, type: Any) -> Any:
        """The next message; None at the end. Raises TimeoutError, OSError, and ValueError for what is not a message."""
        while b"\n" not in self._buffer:
            got = self.socket.recv(1 << 16)
            if not got:
                return None
            self._buffer += got
            if len(self._buffer) > RUN.message_bytes:
                raise ValueError("the message is too long")
        line, _, self._buffer = self._buffer.partition(b"\n")
        return msgspec.json.decode(line, type=type)
