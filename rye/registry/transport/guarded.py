"""Requests to addresses that someone else chose, without reaching into the network that they are sent from (SSRF).

The host is resolved once; **every** address must be public, and the connection goes to a checked address, so DNS rebinding
gains nothing. https only, no redirects, no proxy, no cookies, one deadline for the whole exchange, a bounded answer. IPv4 inside
IPv6 (mapped, 6to4, NAT64, Teredo) is checked as the address that it leads to, or refused.

Two exceptions. For those who try a registry on their own machine: with ``loopback``, plain http to a port of ``127.0.0.1`` or
``localhost``, and nothing else of this machine. For receivers inside a company: ``inside``, the networks that the operator
listed, whose addresses count as public ones do.
"""

from __future__ import annotations

import contextlib
import ipaddress
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from urllib.parse import SplitResult, urlsplit

from msgspec import Struct

from rye.errors import RyeError
from rye.registry.transport.http_connection import trusted_authorities

SECONDS = 10.0
"""To connect, and from then on to the last byte of the answer."""
_LOOPBACK_HOSTS = ("127.0.0.1", "localhost")
_TRANSLATED = tuple(
    ipaddress.ip_network(text) for text in ("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32", "::/96")
)
"""IPv6 networks whose addresses embed IPv4 addresses."""

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Resolve = Callable[[str, int], list[str]]
Connect = Callable[[str, int, str], socket.socket]


class GuardedAnswer(Struct, frozen=True):
    """A whole answer. A redirect is an answer, too: nothing follows it."""

    status: int
    body: bytes
    location: str = ""
    """Where a redirect leads."""


class TooLarge(Exception):
    """The answer is larger than allowed."""

    def __init__(self, status: int) -> None:
        super().__init__("the answer is too large")
        self.status = status


class TooSlow(OSError):
    """The answer had not ended at the deadline. Without a length, what had come by then looks whole."""

    def __init__(self, status: int) -> None:
        super().__init__("its answer took too long")
        self.status = status


def is_public(address: str) -> bool:
    """Whether requests may go to an address: it must be public and unicast."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(parsed, ipaddress.IPv6Address):
        if parsed.ipv4_mapped is not None:
            return is_public(str(parsed.ipv4_mapped))
        if any(parsed in network for network in _TRANSLATED) or parsed.is_site_local:
            return False
    return parsed.is_global and not parsed.is_multicast and not parsed.is_reserved and not parsed.is_unspecified


def may_reach(address: str, inside: Sequence[Network] = ()) -> bool:
    """Whether requests may go to an address: it is public, or in one of these networks."""
    if is_public(address):
        return True
    try:
        parsed = ipaddress.ip_address(address)  # a scope, as in fe80::1%eth0, is in no network
    except ValueError:
        return False
    mapped = parsed.ipv4_mapped if isinstance(parsed, ipaddress.IPv6Address) else None
    return any((mapped or parsed) in network for network in inside)


def resolve(host: str, port: int) -> list[str]:
    """All addresses of a host. Raises OSError."""
    return [str(entry[4][0]) for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


def connect(address: str, port: int, host: str) -> socket.socket:
    """A TLS connection to one address, with the certificate of ``host``. Raises OSError."""
    plain = socket.create_connection((address, port), SECONDS)
    try:
        return trusted_authorities().wrap_socket(plain, server_hostname=host)
    except (
        OSError,
        ValueError,
    ):  # TLS failures: SSLError is an OSError; an invalid host name raises ValueError
        plain.close()
        raise


def request(
    method: str,
    url: str,
    body: bytes | None,
    headers: Mapping[str, str],
    *,
    most_bytes: int,
    loopback: bool = False,
    inside: Sequence[Network] = (),
    resolve: Resolve = resolve,
    connect: Connect = connect,
    seconds: float = SECONDS,
) -> GuardedAnswer:
    """Send one request and return the answer.

    Raises RyeError ``private-address``; OSError, HTTPException and ValueError if there is no answer; TooSlow, TooLarge.
    """
    parts = urlsplit(url)
    connection = _opened(parts, loopback, inside, resolve, connect)
    target = f"{parts.path or '/'}{f'?{parts.query}' if parts.query else ''}"
    return exchange(connection, method, target, body, headers, most_bytes=most_bytes, seconds=seconds)


def exchange(
    connection: HTTPConnection,
    method: str,
    target: str,
    body: bytes | None,
    headers: Mapping[str, str],
    *,
    most_bytes: int,
    seconds: float,
) -> GuardedAnswer:
    """Send one request over a connection that is open, return the answer, and close it.

    Raises OSError, HTTPException and ValueError if there is no answer; TooSlow, TooLarge.
    """
    until = time.monotonic() + seconds
    # One deadline for the whole request: with only a timeout per read, a slow answer would hold up all that wait behind it. It
    # cuts the socket itself, which the connection forgets as soon as an answer without a length has begun.
    limit = threading.Timer(seconds, _cut, [connection.sock])
    limit.daemon = True
    limit.start()
    try:
        connection.sock.settimeout(seconds)
        connection.request(method, target, body, {**headers, "Connection": "close"})
        answer = connection.getresponse()
        read = answer.read(most_bytes + 1)
        if time.monotonic() >= until:
            raise TooSlow(answer.status)
        if len(read) > most_bytes:
            raise TooLarge(answer.status)
        return GuardedAnswer(answer.status, read, answer.headers.get("Location") or "")
    finally:
        limit.cancel()
        connection.close()


def private_address(host: str) -> RyeError:
    """The error for a host that leads to an address that is not public."""
    return RyeError(
        "private-address",
        f"{host[:200]} resolves to an address that is not public; nothing was sent.",
        "Give a host on the internet.",
    )


def _opened(
    parts: SplitResult, loopback: bool, inside: Sequence[Network], resolve: Resolve, connect: Connect
) -> HTTPConnection:
    host = parts.hostname or ""
    if loopback and parts.scheme == "http" and host in _LOOPBACK_HOSTS and parts.port:
        connection = HTTPConnection("127.0.0.1", parts.port, timeout=SECONDS)
        connection.connect()
        return connection
    if parts.scheme != "https" or not host:
        raise ValueError("the address is not https")
    port = parts.port or 443
    addresses = list(dict.fromkeys(resolve(host, port)))
    if not addresses:
        raise OSError("the host has no address")
    for address in addresses:
        if not may_reach(address, inside):
            raise private_address(host)
    connection = HTTPSConnection(host, port, timeout=SECONDS)
    connection.sock = connect(addresses[0], port, host)
    return connection


def _cut(connected: socket.socket) -> None:
    with contextlib.suppress(OSError):  # already closed
        connected.shutdown(socket.SHUT_RDWR)


NO_ANSWER = (OSError, HTTPException, ValueError, UnicodeError)
"""What :func:`request` raises if there is no answer."""
