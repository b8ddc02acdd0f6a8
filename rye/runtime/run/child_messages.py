"""The messages between a run and its child, over a socket that the child inherits: one JSON document per line."""

from __future__ import annotations

import socket
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from rye.limits import RUN
from rye.runtime.approvals import Question
from rye.runtime.chain import Level
from rye.runtime.effects import Reply
from rye.runtime.limits import Limits
from rye.runtime.rules import Rules
from rye.runtime.run.loop import Progress
from rye.runtime.run.models import Model
from rye.runtime.run.result import RunResult


class ChildStart(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Everything that a child run starts with. Keys are sent this way so that they are not in its environment."""

    project: str
    """The folder."""
    reference: str
    """The directive, with its version."""
    level: Level
    """The directive as the parent read it, so that the child runs exactly that."""
    inputs: dict[str, Any]
    above: tuple[Level, ...]
    limits: Limits
    rules: Rules
    """What the parent started under: a child is no new start."""
    models: dict[str, Model]
    keys: dict[str, str]
    registry: str | None
    offline: bool


class Watched(Struct, frozen=True, tag="progress"):
    """The child made progress."""

    progress: Progress


class Asks(Struct, frozen=True, tag="ask"):
    """A call of the child waits for a person."""

    question: Question


class Ends(Struct, frozen=True, tag="end"):
    """The child ended."""

    result: RunResult | None
    code: str | None = None
    """The error code if it could not start."""
    message: str | None = None


class Answers(Struct, frozen=True):
    """A person's answer; None: no one could be asked."""

    reply: Reply | None


FromChild = Watched | Asks | Ends
T = TypeVar("T")


class Channel:
    """One end of the socket. One thread may read while another writes; otherwise it is not thread-safe."""

    def __init__(self, end: socket.socket):
        self.socket = end
        self._buffer = b""

    def send(self, message: Struct) -> None:
        """Send a message. Raises OSError if the other end is gone."""
        self.socket.sendall(msgspec.json.encode(message) + b"\n")

    def receive(self, type: Any) -> Any:
        """Return the next message; None at the end. Raises TimeoutError, OSError, and ValueError for invalid messages."""
        while b"\n" not in self._buffer:
            got = self.socket.recv(1 << 16)
            if not got:
                return None
            self._buffer += got
            if len(self._buffer) > RUN.message_bytes:
                raise ValueError("the message is too long")
        line, _, self._buffer = self._buffer.partition(b"\n")
        return msgspec.json.decode(line, type=type)
