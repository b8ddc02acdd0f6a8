"""Deliveries to configured addresses, without reaching into the server's own network (:mod:`rye.registry.transport.guarded`)."""

from __future__ import annotations

import contextlib
import ipaddress
import socket
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from rye.errors import RyeError, UsageError
from rye.registry.transport import guarded
from rye.registry.transport.guarded import Connect, Network, Resolve, connect, may_reach, private_address, resolve

_ANSWER_BYTES = 64 * 1024


_NEVER = (ipaddress.ip_network("169.254.0.0/16"), ipaddress.ip_network("fe80::/10"))
"""Link-local addresses: a cloud gives the machine's own credentials to whoever asks there."""


def listed_networks(listed: Sequence[str]) -> tuple[Network, ...]:
    """The networks of ``webhook_networks``. Raises UsageError ``bad-setting``."""
    networks = []
    for text in listed:
        try:
            network = ipaddress.ip_network(text)
        except ValueError as error:
            raise _bad_network(f"{error}", "Give networks, such as 10.20.0.0/16.") from None
        if network.prefixlen == 0 or any(
            network.version == never.version and network.overlaps(never) for never in _NEVER
        ):
            raise _bad_network(
                f"{text} contains link-local addresses, which serve credentials",
                "List only the networks of your receivers.",
            )
        networks.append(network)
    return tuple(networks)


def _bad_network(reason: str, hint: str) -> UsageError:
    return UsageError("bad-setting", f"webhook_networks in registry.toml: {reason}.", hint)


def refuse_address(host: str, inside: Sequence[Network] = ()) -> None:
    """Refuse a host that is itself a private address outside these networks. Raises RyeError ``private-address``.

    With networks, a name of the own network is not refused: what it resolves to is checked at each delivery.
    """
    with contextlib.suppress(OSError):  # a short, octal or hexadecimal spelling, which the system's resolver takes
        host = socket.inet_ntoa(socket.inet_aton(host))
    try:
        ipaddress.ip_address(host)
    except ValueError:
        if not inside and (host == "localhost" or host.endswith((".localhost", ".local", ".internal"))):
            raise private_address(host) from None
        return
    if not may_reach(host, inside):
        raise private_address(host)


def told(host: str, resolve: Resolve = resolve, inside: Sequence[Network] = ()) -> str:
    """Say what a host resolves to from here, and what follows for deliveries."""
    try:
        addresses = list(dict.fromkeys(resolve(host, 443)))
    except (OSError, UnicodeError) as error:
        return f"{host} does not resolve here ({str(error)[:200]}), so nothing can be delivered yet."
    private = [address for address in addresses if not may_reach(address, inside)]
    if private:
        return (
            f"{host} resolves to {private[0]}, which is not public, so deliveries will be given up. "
            "If it is yours, list its network in `webhook_networks` in registry.toml."
        )
    return f"{host} resolves to {', '.join(addresses)}."


def post(
    url: str,
    body: bytes,
    headers: Mapping[str, str],
    resolve: Resolve = resolve,
    connect: Connect = connect,
    seconds: float = guarded.SECONDS,
    inside: Sequence[Network] = (),
) -> int:
    """POST a body and return the status. Raises RyeError ``private-address``, ``delivery-failed``."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.scheme != "https" or not host:
        raise RyeError("delivery-failed", "The address is not https.", None)
    try:
        answer = guarded.request(
            "POST", url, body, headers, most_bytes=_ANSWER_BYTES, inside=inside, resolve=resolve, connect=connect,
            seconds=seconds,
        )  # fmt: skip
    except (guarded.TooLarge, guarded.TooSlow) as error:
        return error.status  # nobody reads the rest
    except guarded.NO_ANSWER as error:
        raise RyeError(
            "delivery-failed", f"{host}: {str(error)[:200] or type(error).__name__}.", "The registry retries it later."
        ) from error
    return answer.status
