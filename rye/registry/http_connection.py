"""GET over one kept-alive connection: as much of HTTP/1.1 (RFC 9112) as reading a registry takes.

A server is not trusted to speak HTTP. An answer counts only when it came whole and leaves no doubt where it ends; its headers
and trailers are bounded; anything else is a :class:`BrokenAnswer`. The standard library's client takes headers and chunks that
break off for whole ones, and one of two lengths that contradict each other; it also loads TLS and e-mail for every address.

::

    BrokenAnswer      it broke off, or is not HTTP
    AnswerTimeout     nothing came for as long as the limits say
    OSError           there is no connection, or it was lost
    ValueError        no such address can be asked for
"""

from __future__ import annotations

import os
import re
import select
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import TYPE_CHECKING, Protocol, Self
from urllib.parse import quote, urlsplit

from msgspec import Struct

from rye.limits import RegistryLimits

if TYPE_CHECKING:
    import ssl

_PIECE_BYTES = 64 * 1024
_HEAD_BYTES = 100 * 1024
"""The status line and headers of an answer, interim answers before it included; also one chunk's header, and all trailers."""
_ADDRESS_CHARACTERS = 64 * 1024
_IDLE_SECONDS = 5.0
"""After this long a connection that nobody used may have been forgotten on the way, without a word to either end."""

_BLANK_LINE = re.compile(rb"\n\r?\n")
_LINE_END = re.compile(rb"\n")
_FOLD = re.compile(rb"\r?\n[ \t]+")
_STATUS_LINE = re.compile(rb"HTTP/([0-9]\.[0-9]) ([1-9][0-9]{2})(?: [^\x00\r\n\v\f]*)?")
_FIELD = re.compile(rb"([-!#$%&'*+.^_`|~0-9A-Za-z]+):[ \t]*([^\x00\r\n\v\f]*)")
_LENGTH = re.compile(r"[0-9]{1,20}")
_CHUNK_HEADER = re.compile(rb"([0-9A-Fa-f]{1,20})(?:;[^\n]*)?[ \t]*\r\n")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_QUOTED = re.compile(r"%(?![0-9A-Fa-f]{2})|[^!-~]+|[\"#<>`{}]")


class BrokenAnswer(Exception):
    """The answer broke off or is not HTTP."""


class AnswerTimeout(Exception):
    """No connection, or no byte, in time; says which of the two."""


class _HungUp(BrokenAnswer):
    """The server closed the connection without a byte of an answer."""


class Answer(Struct, frozen=True):
    """The head of an answer, and its body as it arrives."""

    status: int
    headers: Mapping[str, str]
    """Names in lower case; values that share a name are joined with commas."""
    length: int | None
    """How long the server says that the body is."""
    body: Iterator[bytes]


class Connection(Protocol):
    """What asks one server for one file after the other."""

    def get(self, address: str) -> AbstractContextManager[Answer]:
        """Ask for an address on this server; the answer ends with the context."""

    def close(self) -> None:
        """Give up the connection, if one is open."""


class DirectConnection:
    """To the host of ``address`` without a proxy; opened when it is first needed, and again when it was closed."""

    def __init__(self, address: str, headers: Mapping[str, str], limits: RegistryLimits, tls: ssl.SSLContext | None):
        parts = urlsplit(address)
        default = 80 if tls is None else 443
        self._host = _ascii_host(parts.hostname or "")
        self._port = default if parts.port is None else parts.port
        host = f"[{self._host}]" if ":" in self._host else self._host
        fields = {"Host": host if self._port == default else f"{host}:{self._port}", **headers}
        self._fields = "".join(f"{name}: {value}\r\n" for name, value in fields.items()).encode("ascii")
        self._limits = limits
        self._tls = tls
        self._idle: _Stream | None = None
        self._idle_since = 0.0

    @contextmanager
    def get(self, address: str) -> Iterator[Answer]:
        """As :meth:`Connection.get`; the connection is kept when the body was read to its end."""
        stream = self._ask(f"GET {_target(address)} HTTP/1.1\r\n".encode("ascii") + self._fields + b"\r\n")
        whole = False

        def body() -> Iterator[bytes]:
            nonlocal whole
            yield from _body(stream, head)
            whole = head.leaves_open

        try:
            head = _read_head(stream)
            yield Answer(head.status, head.headers, head.length, body())
        finally:
            if whole:
                self._idle, self._idle_since = stream, time.monotonic()
            else:
                stream.close()

    def close(self) -> None:
        """As :meth:`Connection.close`."""
        if self._idle is not None:
            self._idle.close()
            self._idle = None

    def _ask(self, request: bytes) -> _Stream:
        stream, self._idle = self._idle, None
        if stream is not None:
            if stream.is_silent() and time.monotonic() - self._idle_since <= _IDLE_SECONDS:
                with suppress(_HungUp, ConnectionError):  # closed at this very moment: as if none had been open
                    return stream.ask(request)
            stream.close()
        return self._open().ask(request)

    def _open(self) -> _Stream:
        try:
            host = self._host.encode("ascii")  # for text, Python would load its rules for international names
            connected = socket.create_connection((host, self._port), self._limits.connect_seconds)  # type: ignore[arg-type]
            try:
                connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                if self._tls is not None:
                    connected = self._tls.wrap_socket(connected, server_hostname=self._host)
            except BaseException:
                connected.close()
                raise
        except TimeoutError:
            raise AnswerTimeout("ConnectTimeout") from None
        connected.settimeout(self._limits.stall_seconds)
        return _Stream(connected)


class _Stream:
    """An open connection, and the bytes that came and were not used yet."""

    def __init__(self, connected: socket.socket):
        self._socket = connected
        self._bytes = bytearray()

    def close(self) -> None:
        self._socket.close()

    def is_silent(self) -> bool:
        """Whether nothing came since the last answer, not even the end."""
        return not self._bytes and not _is_readable(self._socket)

    def ask(self, request: bytes) -> Self:
        """Send a request and wait for the first bytes of an answer; closed when none come."""
        try:
            with suppress(OSError):  # a server may answer and hang up before it has read everything
                self._socket.sendall(request)
            self._bytes += self._receive()
            if not self._bytes:
                raise _HungUp("the server hung up without an answer")
        except BaseException:
            self.close()
            raise
        return self

    def begins_as(self, prefix: bytes) -> bool:
        """Whether what came so far, if anything, could be the beginning of this."""
        return prefix.startswith(bytes(self._bytes[: len(prefix)]))

    def through(self, mark: re.Pattern[bytes], most: int) -> bytes:
        """Everything through the first match of ``mark``, which takes at most three bytes; no more than ``most``."""
        searched = 0
        while (found := mark.search(self._bytes, searched)) is None and len(self._bytes) <= most:
            searched = max(0, len(self._bytes) - 2)
            data = self._receive()
            if not data:
                raise BrokenAnswer("the server hung up in the middle of it")
            self._bytes += data
        if found is None or found.end() > most:
            raise BrokenAnswer("its headers take more than they may")
        return self._take(found.end())

    def some(self, most: int) -> bytes:
        """What is there of the next ``most`` bytes, at least one; none where the server hung up."""
        if not self._bytes:
            data = self._receive()
            if len(data) <= most:
                return data
            self._bytes += data
        return self._take(most)

    def _take(self, most: int) -> bytes:
        taken = bytes(self._bytes[:most])
        del self._bytes[:most]
        return taken

    def _receive(self) -> bytes:
        try:
            return self._socket.recv(_PIECE_BYTES)
        except TimeoutError:
            raise AnswerTimeout("ReadTimeout") from None


class _Head(Struct, frozen=True):
    """The status and headers of an answer, and where its body ends: after chunks, else ``length``, else with the connection."""

    version: bytes
    status: int
    headers: Mapping[str, str]
    length: int | None
    chunked: bool

    @property
    def leaves_open(self) -> bool:
        """Whether the connection can take another request. Two statements of the length are no reason to trust it (§6.3)."""
        states_end = self.chunked != (self.length is not None)
        words = {word.strip() for word in self.headers.get("connection", "").lower().split(",")}
        return states_end and self.version >= b"1.1" and "close" not in words


def _read_head(stream: _Stream) -> _Head:
    """The head of the final answer; interim ones (1xx) are skipped."""
    left = _HEAD_BYTES
    while stream.begins_as(b"HTTP/"):
        data = stream.through(_BLANK_LINE, left)
        head = _parse_head(data)
        if head.status >= 200:
            return head
        if head.status == 101:
            raise BrokenAnswer("it switches to another protocol")
        left -= len(data)
    raise BrokenAnswer("it does not begin with HTTP/")


def _parse_head(data: bytes) -> _Head:
    first, _, rest = data.partition(b"\n")
    line = _STATUS_LINE.fullmatch(first.removesuffix(b"\r"))
    if line is None:
        raise BrokenAnswer(f"its first line is {first[:80]!r}")
    headers = _parse_fields(rest)
    if headers.get("transfer-encoding", "chunked").lower() != "chunked":
        raise BrokenAnswer(f"its transfer coding is {headers['transfer-encoding'][:80]!r}")
    return _Head(line[1], int(line[2]), headers, _stated_length(headers), "transfer-encoding" in headers)


def _parse_fields(data: bytes) -> Mapping[str, str]:
    """Header or trailer lines, the blank one at their end included (§5)."""
    fields: dict[str, list[str]] = {}
    for line in _FOLD.sub(b" ", data).split(b"\n"):
        if line in (b"", b"\r"):
            continue
        field = _FIELD.fullmatch(line.removesuffix(b"\r"))
        if field is None:
            raise BrokenAnswer(f"a line of its headers is {line[:80]!r}")
        fields.setdefault(field[1].decode("ascii").lower(), []).append(_text(field[2].rstrip(b" \t")))
    return {name: ", ".join(values) for name, values in fields.items()}


def _text(value: bytes) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return value.decode("iso-8859-1")


def _stated_length(headers: Mapping[str, str]) -> int | None:
    """What Content-Length says; saying the same twice is allowed, anything else that is not one number is not (§6.3)."""
    stated = headers.get("content-length")
    if stated is None:
        return None
    length, *others = {part.strip(" \t") for part in stated.split(",")}
    if others or not _LENGTH.fullmatch(length):
        raise BrokenAnswer(f"its length is stated as {stated[:80]!r}")
    return int(length)


def _body(stream: _Stream, head: _Head) -> Iterator[bytes]:
    """The body in the pieces in which it arrives (§6.3)."""
    if head.status in (204, 304):
        return
    if head.chunked:
        yield from _chunks(stream)
    elif head.length is not None:
        yield from _exactly(stream, head.length)
    else:
        while piece := stream.some(_PIECE_BYTES):
            yield piece


def _chunks(stream: _Stream) -> Iterator[bytes]:
    """A body in chunks (§7.1). The trailers are checked for form and dropped."""
    while size := _chunk_size(stream.through(_LINE_END, _HEAD_BYTES)):
        yield from _exactly(stream, size)
        if (end := b"".join(_exactly(stream, 2))) != b"\r\n":
            raise BrokenAnswer(f"a chunk is followed by {end!r}")
    trailers = bytearray()
    while (line := stream.through(_LINE_END, _HEAD_BYTES - len(trailers))) not in (b"\r\n", b"\n"):
        trailers += line
    _parse_fields(bytes(trailers))


def _chunk_size(line: bytes) -> int:
    header = _CHUNK_HEADER.fullmatch(line)
    if header is None:
        raise BrokenAnswer(f"a chunk begins with {line[:80]!r}")
    return int(header[1], 16)


def _exactly(stream: _Stream, size: int) -> Iterator[bytes]:
    left = size
    while left:
        piece = stream.some(left)
        if not piece:
            raise BrokenAnswer(f"the server hung up after {size - left:,} of {size:,} bytes")
        left -= len(piece)
        yield piece


def _target(address: str) -> str:
    """The path and query of an address, as a request line takes them (§3.2.1). Raises ValueError."""
    if len(address) > _ADDRESS_CHARACTERS or _CONTROL.search(address):
        raise ValueError("it is too long or holds control characters")
    parts = urlsplit(address)
    target = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
    return _QUOTED.sub(lambda found: quote(found[0], safe=""), target)


def _ascii_host(host: str) -> str:
    if host.isascii():
        return host
    import idna

    return idna.encode(host).decode("ascii")


def _is_readable(connected: socket.socket) -> bool:
    if hasattr(select, "poll"):  # unlike select, for any number of open files
        poll = select.poll()
        poll.register(connected, select.POLLIN)
        return bool(poll.poll(0))
    return bool(select.select([connected], [], [], 0)[0])


def trusted_authorities() -> ssl.SSLContext:
    """What ``https`` servers are checked against: the authorities in SSL_CERT_FILE or else SSL_CERT_DIR, or else certifi's.

    Host names are checked, and nothing older than TLS 1.2 is spoken. Raises OSError for authorities that cannot be read.
    """
    import ssl

    file, folder = os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
    if not file and not folder:
        import certifi

        file = certifi.where()
    context = ssl.create_default_context(cafile=file) if file else ssl.create_default_context(capath=folder)
    context.set_alpn_protocols(["http/1.1"])
    return context
