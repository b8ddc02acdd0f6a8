"""Sending requests to configured addresses without reaching into the server's own network (SSRF).

The host is resolved once; **every** address must be public, and the connection goes to a checked address, so DNS rebinding
gains nothing. https only, no redirects, no proxy, bounded in time and size. IPv4 inside IPv6 (mapped, 6to4, NAT64, Teredo) is
checked as the address that it leads to, or refused.
"""

from __future__ import annotations

import contextlib
import ipaddress
import socket
import ssl
import threading
from collections.abc import Callable, Mapping
from http.client import HTTPException, HTTPSConnection
from urllib.parse import urlsplit

from rye.errors import RyeError
from rye.registry.transport.http_connection import trusted_authorities

_SECONDS = 10.0
_ANSWER_BYTES = 64 * 1024
_TRANSLATED = tuple(
    ipaddress.ip_network(text) for text in ("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32", "::/96")
)
"""IPv6 networks whose addresses embed IPv4 addresses."""

Resolve = Callable[[str, int], list[str]]
Connect = Callable[[str, int, str], socket.socket]


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


def refuse_address(host: str) -> None:
    """Refuse a host that is itself a private address. Raises RyeError ``private-address``."""
    with contextlib.suppress(OSError):  # a short, octal or hexadecimal spelling, which the system's resolver takes
        host = socket.inet_ntoa(socket.inet_aton(host))
    try:
        ipaddress.ip_address(host)
    except ValueError:
        if host == "localhost" or host.endswith((".localhost", ".local", ".internal")):
            raise _private(host) from None
        return
    if not is_public(host):
        raise _private(host)


def resolve(host: str, port: int) -> list[str]:
    """All addresses of a host. Raises OSError."""
    return [str(entry[4][0]) for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


def told(host: str, resolve: Resolve = resolve) -> str:
    """Say what a host resolves to from here, and what follows for deliveries."""
    try:
        addresses = list(dict.fromkeys(resolve(host, 443)))
    except (OSError, UnicodeError) as error:
        return f"{host} does not resolve here ({str(error)[:200]}), so nothing can be delivered yet."
    private = [address for address in addresses if not is_public(address)]
    if private:
        return f"{host} resolves to {private[0]}, which is not public, so deliveries will be given up."
    return f"{host} resolves to {', '.join(addresses)}."


def connect(address: str, port: int, host: str) -> socket.socket:
    """A TLS connection to one address, with the certificate of ``host``. Raises OSError."""
    plain = socket.create_connection((address, port), _SECONDS)
    try:
        return trusted_authorities().wrap_socket(plain, server_hostname=host)
    except (
        OSError,
        ValueError,
    ):  # TLS failures: SSLError is an OSError; an invalid host name raises ValueError
        plain.close()
        raise


def post(
    url: str,
    body: bytes,
    headers: Mapping[str, str],
    resolve: Resolve = resolve,
    connect: Connect = connect,
    seconds: float = _SECONDS,
) -> int:
    """POST a body and return the status. Raises RyeError ``private-address``, ``delivery-failed``."""
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port or 443
    if parts.scheme != "https" or not host:
        raise RyeError("delivery-failed", "The address is not https.", None)
    try:
        addresses = list(dict.fromkeys(resolve(host, port)))
        if not addresses:
            raise OSError("the host has no address")
        for address in addresses:
            if not is_public(address):
                raise _private(host)
        connection = HTTPSConnection(host, port, timeout=_SECONDS)
        connection.sock = connect(addresses[0], port, host)
        # One deadline for the whole request: with only a timeout per read, a slow receiver would hold up all other deliveries.
        limit = threading.Timer(seconds, _cut, [connection.sock])
        limit.daemon = True
        limit.start()
        try:
            connection.sock.settimeout(_SECONDS)
            target = f"{parts.path or '/'}{f'?{parts.query}' if parts.query else ''}"
            connection.request("POST", target, body, {**headers, "Connection": "close"})
            answer = connection.getresponse()
            answer.read(_ANSWER_BYTES)
            return answer.status
        finally:
            limit.cancel()
            connection.close()
    except (OSError, HTTPException, ssl.SSLError, ValueError, UnicodeError) as error:
        raise RyeError(
            "delivery-failed", f"{host}: {str(error)[:200] or type(error).__name__}.", "The registry retries it later."
        ) from error


def _cut(connected: socket.socket) -> None:
    with contextlib.suppress(OSError):  # already closed
        connected.shutdown(socket.SHUT_RDWR)


def _private(host: str) -> RyeError:
    return RyeError(
        "private-address",
        f"{host[:200]} resolves to an address that is not public; nothing was sent.",
        "Give a host on the internet.",
    )
