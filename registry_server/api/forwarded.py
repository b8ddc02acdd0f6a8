"""The client address and scheme that a proxy reports. Only proxies that the operator trusts are believed."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from rye.errors import UsageError

_Network = ipaddress.IPv4Network | ipaddress.IPv6Network
_ADDRESS_CHARACTERS = 64


@lru_cache(maxsize=16)
def networks(setting: str) -> tuple[_Network, ...]:
    """The networks of ``trusted_proxies``. Raises RyeError ``bad-setting``."""
    words = [word.strip() for word in setting.split(",") if word.strip()] or ["127.0.0.0/8", "::1"]
    try:
        return tuple(ipaddress.ip_network(word) for word in words)
    except ValueError as error:
        raise UsageError(
            "bad-setting",
            f"trusted_proxies: {error}.",
            "Give addresses or networks, e.g. 10.0.0.0/8, separated by commas.",
        ) from None


def client_address(scope: Any, setting: str) -> str:
    """The request's source: the last address that a trusted proxy added, otherwise the peer's address."""
    peer = _peer(scope)
    if not _is_trusted(peer, setting):
        return peer
    told = [word.strip() for value in _values(scope, b"x-forwarded-for") for word in value.split(",")]
    for word in reversed(told):
        try:
            address = str(ipaddress.ip_address(word))
        except ValueError:
            return peer
        if not _is_trusted(address, setting):
            return address[:_ADDRESS_CHARACTERS]
        peer = address
    return peer[:_ADDRESS_CHARACTERS]


def is_secure(scope: Any, setting: str) -> bool:
    """Whether the request came over https."""
    if scope.get("scheme") == "https":
        return True
    told = list(_values(scope, b"x-forwarded-proto"))
    return _is_trusted(_peer(scope), setting) and [value.strip().lower() for value in told] == ["https"]


def is_from_here(scope: Any, setting: str) -> bool:
    """Whether the request came from this machine and not through a proxy: its sender has an account on the machine."""
    if any(name in (b"x-forwarded-for", b"forwarded", b"via") for name, _ in scope["headers"]):
        return False
    try:
        return ipaddress.ip_address(client_address(scope, setting)).is_loopback
    except ValueError:
        return False


def _peer(scope: Any) -> str:
    client = scope.get("client")
    return str(client[0])[:_ADDRESS_CHARACTERS] if client else ""


@lru_cache(maxsize=1024)
def _is_trusted(address: str, setting: str) -> bool:
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return False
    mapped = getattr(parsed, "ipv4_mapped", None)
    return any((mapped or parsed) in network for network in networks(setting))


def _values(scope: Any, name: bytes) -> Iterable[str]:
    return (value.decode("latin-1") for key, value in scope["headers"] if key == name)
