"""GET over one keep-alive connection from the standard library, and the errors it can raise.

``http.client`` is lenient: it accepts truncated headers, and ignores a length that is not a number. Everything fetched
is checked by hash or signature afterwards, so this can cost a retry but never gives a wrong file.

::

    BrokenAnswer      the answer is truncated, or is not HTTP
    AnswerTimeout     nothing arrived within the time limit
    NoConnection      an OSError: no connection could be opened
    OSError           the connection was lost
    ValueError        the address is invalid
"""

from __future__ import annotations

import os
import socket
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from types import MappingProxyType
from typing import Any, Protocol
from urllib.parse import quote, urlsplit

from msgspec import Struct

from rye.limits import RegistryLimits

_PIECE_BYTES = 64 * 1024
_IDLE_SECONDS = 5.0
"""After this long a connection that nobody used may have been forgotten on the way, without a word to either end."""
NO_HEADERS: Mapping[str, str] = MappingProxyType({})
_UNQUOTED = "!$%&'()*+,/:;=?@[]~"
"""What stands in a path or query as it is; an address may be quoted already."""


class BrokenAnswer(Exception):
    """The answer broke off or is not HTTP."""


class AnswerTimeout(Exception):
    """No connection, or no byte, in time; says which of the two."""


class NoConnection(OSError):
    """No connection could be opened: refused, no route, no such host, no TLS."""


class ForeignCertificate(NoConnection):
    """Something answers there that cannot show the host's certificate."""


class Answer(Struct, frozen=True):
    """The head of an answer, and its body as it arrives."""

    status: int
    headers: Mapping[str, str]
    """Names in lower case."""
    length: int | None
    """How long the server says that the body is."""
    body: Iterator[bytes]


class Connection(Protocol):
    """What asks one server for one file after the other."""

    def get(self, address: str, headers: Mapping[str, str] = ...) -> AbstractContextManager[Answer]:
        """Ask for an address on this server, with more headers; the answer ends with the context."""

    def close(self) -> None:
        """Give up the connection, if one is open."""


class DirectConnection:
    """To the host of ``address`` without a proxy; opened when it is first needed, and again when it was closed."""

    def __init__(
        self,
        address: str,
        headers: Mapping[str, str],
        limits: RegistryLimits,
        tls: ssl.SSLContext | None,
        connected: Callable[[float], None] = lambda seconds: None,
    ):
        """``connected`` is told how long looking up the host and reaching it took, before TLS: about one round trip."""
        place = urlsplit(address).netloc
        if tls is None:
            self._connection = HTTPConnection(place, timeout=limits.connect_seconds)
        else:
            self._connection = HTTPSConnection(place, timeout=limits.connect_seconds, context=tls)
        self._tls = tls
        self._connected = connected
        self._headers = headers
        self._stall_seconds = limits.stall_seconds
        self._used = 0.0

    @contextmanager
    def get(self, address: str, headers: Mapping[str, str] = NO_HEADERS) -> Iterator[Answer]:
        """As :meth:`Connection.get`; the connection is kept when the body was read to its end."""
        whole = False
        try:
            with self._ask(_target(address), {**self._headers, **headers}) as response:
                answered = {name.lower(): value for name, value in response.getheaders()}
                yield Answer(response.status, answered, response.length, _body(response))
                whole = response.isclosed()
        except TimeoutError:
            raise AnswerTimeout("ReadTimeout") from None
        except HTTPException as error:
            raise BrokenAnswer(repr(error)) from None
        finally:
            self._used = time.monotonic()
            if not whole:
                self.close()

    def close(self) -> None:
        """As :meth:`Connection.close`."""
        self._connection.close()

    def _ask(self, target: str, headers: Mapping[str, str]) -> HTTPResponse:
        if self._connection.sock is not None and time.monotonic() - self._used <= _IDLE_SECONDS:
            with suppress(ConnectionError, ssl.SSLError):  # the server closed it meanwhile: as if none had been open
                return self._request(target, headers)
        self.close()
        self._connect()
        return self._request(target, headers)

    def _connect(self) -> None:
        peer, started = self._connection, time.monotonic()
        try:
            host: Any = (
                peer.host.encode() if peer.host.isascii() else peer.host
            )  # bytes spare loading the codec for names
            opened = socket.create_connection((host, peer.port), peer.timeout)
            peer.sock = opened  # from here on close() gives it back
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._connected(time.monotonic() - started)
            if self._tls is not None:
                peer.sock = self._tls.wrap_socket(opened, server_hostname=peer.host)
        except TimeoutError:
            raise AnswerTimeout("ConnectTimeout") from None
        except UnicodeError as error:
            raise NoConnection(f"its host has no possible name ({error})") from None
        except ssl.SSLCertVerificationError as error:
            raise ForeignCertificate(str(error)) from None
        except OSError as error:
            raise NoConnection(str(error)) from None
        peer.sock.settimeout(self._stall_seconds)

    def _request(self, target: str, headers: Mapping[str, str]) -> HTTPResponse:
        self._connection.request("GET", target, headers=headers)
        return self._connection.getresponse()


def _body(response: HTTPResponse) -> Iterator[bytes]:
    """The body in the pieces in which it arrives; closes the response after the last."""
    while piece := response.read1(_PIECE_BYTES):
        yield piece
    if response.length:
        raise BrokenAnswer(f"its last {response.length:,} bytes are missing")
    response.close()


def _target(address: str) -> str:
    """The path and query of an address, as a request line takes them."""
    parts = urlsplit(address)
    return quote(f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/", safe=_UNQUOTED)


def trusted_authorities() -> ssl.SSLContext:
    """What ``https`` servers are checked against: the authorities in SSL_CERT_FILE or else SSL_CERT_DIR, or else certifi's.

    Host names are checked, and nothing older than TLS 1.2 is spoken. Raises OSError for authorities that cannot be read.
    """
    file, folder = os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
    if not file and not folder:
        import certifi

        file = certifi.where()
    context = ssl.create_default_context(cafile=file) if file else ssl.create_default_context(capath=folder)
    context.set_alpn_protocols(["http/1.1"])
    return context
