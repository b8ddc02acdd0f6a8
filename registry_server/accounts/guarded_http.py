"""Deliveries to configured addresses, without reaching into the server's own network (:mod:`rye.registry.transport.guarded`)."""

from __future__ import annotations

import contextlib
import ipaddress
import socket
from collections.abc import Mapping
from urllib.parse import urlsplit

from rye.errors import RyeError
from rye.registry.transport import guarded
from rye.registry.transport.guarded import Connect, Resolve, connect, is_public, private_address, resolve

_ANSWER_BYTES = 64 * 1024


def refuse_address(host: str) -> None:
    """Refuse a host that is itself a private address. Raises RyeError ``private-address``."""
    with contextlib.suppress(OSError):  # a short, octal or hexadecimal spelling, which the system's resolver takes
        host = socket.inet_ntoa(socket.inet_aton(host))
    try:
        ipaddress.ip_address(host)
    except ValueError:
        if host == "localhost" or host.endswith((".localhost", ".local", ".internal")):
            raise private_address(host) from None
        return
    if not is_public(host):
        raise private_address(host)


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


def post(
    url: str,
    body: bytes,
    headers: Mapping[str, str],
    resolve: Resolve = resolve,
    connect: Connect = connect,
    seconds: float = guarded.SECONDS,
) -> int:
    """POST a body and return the status. Raises RyeError ``private-address``, ``delivery-failed``."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.scheme != "https" or not host:
        raise RyeError("delivery-failed", "The address is not https.", None)
    try:
        answer = guarded.request(
            "POST", url, body, headers, most_bytes=_ANSWER_BYTES, resolve=resolve, connect=connect, seconds=seconds
        )
    except (guarded.TooLarge, guarded.TooSlow) as error:
        return error.status  # nobody reads the rest
    except guarded.NO_ANSWER as error:
        raise RyeError(
            "delivery-failed", f"{host}: {str(error)[:200] or type(error).__name__}.", "The registry retries it later."
        ) from error
    return answer.status
