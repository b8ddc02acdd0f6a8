"""A client of the ssh-agent protocol (draft-ietf-sshm-ssh-agent): list keys, and have one sign. Nothing else.

The agent is another program, and what it says is not believed: every length has a limit (:data:`rye.limits.AGENT`), an answer
that is not exactly one of the expected ones is an error, and :mod:`rye.signing.agent_key` verifies each signature.

The socket is one of this user: it is not where who can commit to the project could have put it or a link to it, its file belongs
to this user, and where the system tells who listens on it, that is this user as well.
"""

from __future__ import annotations

import os
import socket
import stat
import struct
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct

from rye.errors import RyeError
from rye.limits import AGENT
from rye.signing.security_key import ENDING_BYTES
from rye.signing.ssh_wire import Reader, SshKey, WireError, read_blob, string

SOCKET_VARIABLE = "SSH_AUTH_SOCK"
_FAILURE, _REQUEST_IDENTITIES, _IDENTITIES_ANSWER, _SIGN_REQUEST, _SIGN_RESPONSE = 5, 11, 12, 13, 14
_START_HINT = "Start one with `eval $(ssh-agent)` and add your key with `ssh-add`, or name another key with --key."

Wait = Callable[[], None]
"""Is called once if the agent needs longer than ``AGENT.notice_seconds``, to say what is waited for."""


class AgentEntry(Struct, frozen=True):
    """A key that the agent lists, of a type that Rye knows."""

    key: SshKey
    comment: str


class Agent(Struct, frozen=True):
    """The agent at a socket, whose path was checked. Each question is a connection of its own."""

    path: str

    def identities(self, wait: Wait) -> tuple[AgentEntry, ...]:
        """The Ed25519 keys and Ed25519 security keys of the agent, in its order; keys of other types are left out."""
        reader = Reader(self._ask(bytes([_REQUEST_IDENTITIES]), wait))
        try:
            kind = reader.byte()
            if kind == _FAILURE:
                raise _locked(self.path)
            if kind != _IDENTITIES_ANSWER:
                raise WireError(f"its type is {kind} instead of {_IDENTITIES_ANSWER}")
            count = reader.number()
            if count > AGENT.keys:
                raise WireError(f"it lists {count:,} keys; the limit is {AGENT.keys:,}")
            entries = []
            for _ in range(count):
                blob, comment = reader.string(AGENT.blob_bytes), reader.string(AGENT.comment_bytes)
                key = read_blob(blob)
                if key is not None:
                    entries.append(AgentEntry(key, _printable(comment)))
            reader.end()
        except WireError as error:
            raise wrong_answer(self.path, f"its list of keys cannot be read: {error}") from None
        return tuple(entries)

    def sign(self, key: SshKey, message: bytes, wait: Wait) -> bytes | None:
        """The signature of the message: 64 bytes, and for a security key its flags (1 byte) and counter (4 bytes). It is not
        verified. None: the agent refused.
        """
        request = bytes([_SIGN_REQUEST]) + string(key.blob()) + string(message) + bytes(4)  # no flags: they are for RSA
        reader = Reader(self._ask(request, wait))
        try:
            kind = reader.byte()
            if kind == _FAILURE:
                return None
            if kind != _SIGN_RESPONSE:
                raise WireError(f"its type is {kind} instead of {_SIGN_RESPONSE}")
            signature = Reader(reader.string(AGENT.blob_bytes))
            reader.end()
            name = signature.string(AGENT.name_bytes)
            if name != key.type.encode():
                raise WireError(f"the signature is of the type {name[:80]!r} instead of {key.type}")
            found = signature.string(64)
            if len(found) != 64:
                raise WireError(f"the signature has {len(found)} bytes instead of 64")
            ending = b"" if key.application is None else signature.take(ENDING_BYTES)
            signature.end()
        except WireError as error:
            raise wrong_answer(self.path, f"its signature cannot be read: {error}") from None
        return found + ending

    def _ask(self, request: bytes, wait: Wait) -> bytes:
        now = time.monotonic()
        clock = _Clock(now + AGENT.notice_seconds, now + AGENT.answer_seconds, wait)
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
                connection.settimeout(AGENT.notice_seconds)
                connection.connect(self.path)
                _check_peer(connection, self.path)
                connection.sendall(string(request))
                size = int.from_bytes(_receive(connection, 4, clock), "big")
                if not 1 <= size <= AGENT.answer_bytes:
                    raise wrong_answer(self.path, f"its answer has {size:,} bytes; the limit is {AGENT.answer_bytes:,}")
                return _receive(connection, size, clock)
        except TimeoutError:
            message = f"The agent at {self.path} did not answer in time."
            hint = "Look for a window or a security key that waits for you, then run the command again; `ssh-add -l` asks it."
            raise RyeError("ssh-agent-silent", message, hint) from None
        except EOFError:
            raise wrong_answer(self.path, "it closed the connection in the middle of its answer") from None
        except OSError as error:
            message = f"The agent at {self.path} cannot be reached: {error.strerror or error}."
            raise RyeError("ssh-agent-missing", message, _START_HINT) from None


def agent_of(environment: Mapping[str, str], is_committed: Callable[[Path], bool]) -> Agent:
    """The agent that ``SSH_AUTH_SOCK`` names. ``is_committed``: whether who can commit to the project decides what is there.

    Raises RyeError ``ssh-agent-missing``, ``ssh-agent-socket``.
    """
    given = environment.get(SOCKET_VARIABLE)
    if not given:
        raise RyeError("ssh-agent-missing", f"No ssh-agent is known: {SOCKET_VARIABLE} is not set.", _START_HINT)
    if not hasattr(socket, "AF_UNIX"):
        raise RyeError(
            "ssh-agent-missing",
            "This system has no Unix sockets, so Rye cannot reach an agent.",
            "Use a key in a file.",
        )
    if not os.path.isabs(given):
        raise _unsafe(given, "it is not an absolute path")
    real = os.path.realpath(given)
    if is_committed(Path(given)):
        raise _unsafe(given, "it is in the project or its checkout, so the project could have put it there")
    try:
        found = os.lstat(real)
    except OSError as error:
        message = f"The agent at {given} is not there: {error.strerror}."
        raise RyeError("ssh-agent-missing", message, _START_HINT) from None
    if not stat.S_ISSOCK(found.st_mode):
        raise _unsafe(given, "it is not a socket")
    if found.st_uid != os.geteuid():
        raise _unsafe(given, f"it belongs to another user (id {found.st_uid})")
    return Agent(real)


def wrong_answer(path: str, why: str) -> RyeError:
    """The error for an answer that is not believed."""
    hint = "Nothing was signed. Use OpenSSH's ssh-agent, or a key in a file (--key)."
    return RyeError("ssh-agent-answer", f"The agent at {path} gave a wrong answer: {why}.", hint)


def _locked(path: str) -> RyeError:
    return RyeError(
        "ssh-agent-locked", f"The agent at {path} is locked.", "Unlock it with `ssh-add -X`, then try again."
    )


def _check_peer(connection: socket.socket, path: str) -> None:
    """Refuse a program of another user behind the socket: what was looked at by name may have been replaced since."""
    if hasattr(socket, "SO_PEERCRED"):
        _, user, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        if user != os.geteuid():
            raise _unsafe(path, f"a program of another user (id {user}) listens on it")


class _Clock(Struct):
    """When to say that the agent is waited for, and when to give up. Times are of the monotonic clock."""

    notice: float
    end: float
    wait: Wait
    said: bool = False

    def left(self) -> float:
        """Seconds until the next of the two. Raises TimeoutError after the end."""
        now = time.monotonic()
        if now >= self.end:
            raise TimeoutError
        if now >= self.notice and not self.said:
            self.said = True
            self.wait()
        return max(0.01, (self.end if self.said else self.notice) - now)


def _receive(connection: socket.socket, count: int, clock: _Clock) -> bytes:
    """Exactly ``count`` bytes. Raises EOFError, TimeoutError."""
    data = b""
    while len(data) < count:
        connection.settimeout(clock.left())
        try:
            piece = connection.recv(min(count - len(data), 65536))
        except TimeoutError:
            continue
        if not piece:
            raise EOFError
        data += piece
    return data


def _printable(comment: bytes) -> str:
    text = comment.decode("utf-8", "replace")
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)


def _unsafe(path: str, why: str) -> RyeError:
    hint = f"Nothing was asked of it. Set {SOCKET_VARIABLE} to the socket of your own agent, or use a key in a file (--key)."
    return RyeError("ssh-agent-socket", f"The agent's socket {path} is not used: {why}.", hint)
