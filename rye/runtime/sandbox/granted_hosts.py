"""Which hosts a tool may reach, and which requests the proxy accepts. Pure.

The proxy accepts ``CONNECT host:port`` (which programs send because of ``https_proxy``) and requests with an absolute URL
(``http_proxy``), whose Host is that of the URL, whatever the request says: many hosts share an address. Each connection looks
its name up once, and connects to exactly the address that was checked. A name may only resolve to public addresses: otherwise
its owner could point it at this machine or network. To allow those, an operator grants the address itself, or ``localhost``.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection

from msgspec import Struct

from rye.items.needs import BadNeeds, place_of
from rye.runtime.sandbox.profile import HostPort

_DROPPED = ("host", "connection", "proxy-connection", "proxy-authorization", "keep-alive")


class Request(Struct, frozen=True):
    """The request at the start of a connection to the proxy."""

    place: HostPort
    tunnel: bool
    """Whether it is ``CONNECT``: what follows is passed on unchanged. Otherwise ``forward`` is sent first."""
    forward: bytes = b""


class BadRequest(ValueError):
    """The data is not a request to a proxy."""


def parse_request(head: bytes) -> Request:
    """Parse a request up to its empty line. Raises BadRequest."""
    lines = head.decode("latin-1").split("\r\n")
    if any("\n" in line or "\r" in line for line in lines):
        raise BadRequest("a line end of another sort, which would begin a line for some servers")
    words = lines[0].split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        raise BadRequest("not an HTTP/1 request")
    method, target, version = words
    if method == "CONNECT":
        return Request(_place(target), True)
    scheme, mark, rest = target.partition("://")
    if scheme.lower() != "http" or not mark:
        raise BadRequest("not an absolute http:// URL")
    host, _, path = rest.partition("/")
    if "@" in host or not host:
        raise BadRequest("not a plain host name")
    place = _place(host if _has_port(host) else f"{host}:80")
    headers = [line for line in lines[1:] if line and line.partition(":")[0].strip().lower() not in _DROPPED]
    first = f"{method} /{path} {version}"
    if any(line[0] in " \t" for line in headers):
        raise BadRequest("a header that goes on in the next line")
    lines = [first, f"Host: {host}", *headers, "Connection: close", "", ""]
    return Request(place, False, "\r\n".join(lines).encode("latin-1"))


def _has_port(host: str) -> bool:
    return ":" in host.rpartition("]")[2]


def _place(text: str) -> HostPort:
    try:
        return HostPort(*place_of(text))
    except BadNeeds as error:
        raise BadRequest(str(error)) from None


def may_connect(granted: HostPort, address: str) -> bool:
    """Whether a granted host may be reached at this address."""
    ip = plain(address)
    try:
        return ip == ipaddress.ip_address(granted.host)
    except ValueError:
        pass
    if granted.host == "localhost":
        return ip.is_loopback
    return _is_public(ip)


def may_connect_directly(network: Collection[HostPort], address: str, port: int) -> HostPort | None:
    """Return the grant that allows connecting to an address without a name: of that address or ``localhost``; else None."""
    for granted in network:
        if granted.port == port and _names_addresses(granted) and may_connect(granted, address):
            return granted
    return None


def _names_addresses(granted: HostPort) -> bool:
    if granted.host == "localhost":
        return True
    try:
        ipaddress.ip_address(granted.host)
    except ValueError:
        return False
    return True


def plain(address: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """Parse an address without its zone; an IPv4-mapped IPv6 address becomes IPv4."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    return ip.ipv4_mapped or ip if isinstance(ip, ipaddress.IPv6Address) else ip


def _is_public(ip: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    """Whether an address is public and unicast. IPv6 addresses that lead to an IPv4 address are not: 6to4 is named here,
    Teredo is not global, and the other forms (NAT64, compatible, translated) are in ``::/8``, which is reserved."""
    if isinstance(ip, ipaddress.IPv6Address) and (ip.is_site_local or ip.sixtofour is not None):
        return False
    return ip.is_global and not (ip.is_multicast or ip.is_reserved)
