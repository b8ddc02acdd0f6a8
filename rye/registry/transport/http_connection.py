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
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import quote, urlsplit

from msgspec import Struct

from rye.limits import RegistryLimits
from rye.text.lazy import lazy_module

if TYPE_CHECKING:
    import certifi
else:
    certifi = lazy_module("certifi")  # not needed where the environment names the authorities

_PIECE_BYTES = 64 * 1024
_IDLE_SECONDS = 5.0
"""An idle connection older than this may have been dropped by a device in between, without notice."""
NO_HEADERS: Mapping[str, str] = MappingProxyType({})
_UNQUOTED = "!$%&'()*+,/:;=?@[]~"
"""Characters that stay unquoted in a path or query; an address may already be quoted."""


class BrokenAnswer(Exception):
    """The answer is truncated or is not HTTP."""


class AnswerTimeout(Exception):
    """No connection, or no byte, in time; the text says which."""


class NoConnection(OSError):
    """No connection could be opened: refused, no route, no such host, no TLS."""


class ForeignCertificate(NoConnection):
    """The server cannot present the host's certificate."""


class Answer(Struct, frozen=True):
    """The head of an answer, and its body as it arrives."""

    status: int
    headers: Mapping[str, str]
    """Names in lower case."""
    length: int | None
    """The body's length as the server states it."""
    body: Iterator[bytes]


class Connection(Protocol):
    """A connection to one server, for one file after the other."""

    def get(self, address: str, headers: Mapping[str, str] = ...) -> AbstractContextManager[Answer]:
        """Request an address on this server, with additional headers. The answer is valid inside the context."""

    def close(self) -> None:
        """Close the connection, if one is open."""


class DirectConnection:
    """A connection to the host of ``address`` without a proxy; opened at first use, and again after it was closed."""

    def __init__(
        self,
        address: str,
        headers: Mapping[str, str],
        limits: RegistryLimits,
        tls: ssl.SSLContext | None,
        connected: Callable[[float], None] = lambda seconds: None,
    ):
        """``connected`` gets the seconds for name lookup and connecting, before TLS: about one round trip."""
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
        """Request an address (:meth:`Connection.get`). The connection stays open if the body was read to its end."""
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
        """Close the connection (:meth:`Connection.close`)."""
        self._connection.close()

    def _ask(self, target: str, headers: Mapping[str, str]) -> HTTPResponse:
        if self._connection.sock is not None and time.monotonic() - self._used <= _IDLE_SECONDS:
            with suppress(ConnectionError, ssl.SSLError):  # closed by the server meanwhile: open a new one
                return self._request(target, headers)
        self.close()
        self._connect()
        return self._request(target, headers)

    def _connect(self) -> None:
        peer, started = self._connection, time.monotonic()
        try:
            host: Any = (
                peer.host.encode() if peer.host.isascii() else peer.host
            )  # bytes avoid loading the codec for host names
            opened = socket.create_connection((host, peer.port), peer.timeout)
            peer.sock = opened  # from here on close() closes it
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._connected(time.monotonic() - started)
            if self._tls is not None:
                peer.sock = self._tls.wrap_socket(opened, server_hostname=peer.host)
        except TimeoutError:
            raise AnswerTimeout("ConnectTimeout") from None
        except UnicodeError as error:
            raise NoConnection(f"its host name is invalid ({error})") from None
        except ssl.SSLCertVerificationError as error:
            raise ForeignCertificate(str(error)) from None
        except OSError as error:
            raise NoConnection(error.strerror or str(error)) from None
        peer.sock.settimeout(self._stall_seconds)

    def _request(self, target: str, headers: Mapping[str, str]) -> HTTPResponse:
        self._connection.request("GET", target, headers=headers)
        return self._connection.getresponse()


def _body(response: HTTPResponse) -> Iterator[bytes]:
    """Yield the body as it arrives; close the response after the last piece."""
    while piece := response.read1(_PIECE_BYTES):
        yield piece
    if response.length:
        raise BrokenAnswer(f"its last {response.length:,} bytes are missing")
    response.close()


def _target(address: str) -> str:
    """Return the path and query of an address for the request line."""
    parts = urlsplit(address)
    return quote(f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/", safe=_UNQUOTED)


def trusted_authorities() -> ssl.SSLContext:
    """Return the context for checking ``https`` servers: the authorities in SSL_CERT_FILE, else SSL_CERT_DIR, else
    certifi's.

    Host names are checked, and TLS is 1.2 or newer. Raises OSError if the authorities cannot be read.
    """
    file, folder = os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
    if not file and not folder:
        file = certifi.where()
    context = ssl.create_default_context(cafile=file) if file else ssl.create_default_context(capath=folder)
    context.set_alpn_protocols(["http/1.1"])
    return context


def authorities_for(address: str) -> ssl.SSLContext:
    """Return the context for requests to this address: :func:`trusted_authorities` for ``https``.

    Plain ``http`` needs no authority, and loading them is slow: its context trusts none, so that a request which turns to
    ``https`` all the same fails.
    """
    if urlsplit(address).scheme == "http":
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return trusted_authorities()
