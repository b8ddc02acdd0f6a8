"""Choosing the transport for a registry's address."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote, urlsplit

from rye.errors import UsageError
from rye.limits import REGISTRY, RegistryLimits
from rye.registry.transport.file import FileTransport
from rye.registry.transport.seam import Transport
from rye.text.addresses import is_loopback, without_credentials


def open_transport(
    address: str,
    limits: RegistryLimits = REGISTRY,
    *,
    allow_http: bool = False,
    token: str | Callable[[], str | None] | None = None,
) -> Transport:
    """Return the transport for an address: ``https://…``, ``http://`` on loopback, or ``file://…``.

    Raises UsageError (``bad-argument``).

    ``token`` is sent with every request to this host only, for registries that only members can read; a function is
    called when the registry asks for a token. Over plain http it is sent only to this machine.
    """
    parts = urlsplit(address)
    if parts.username or parts.password or parts.query or parts.fragment or re.search(r"[\x00-\x20\\]", address):
        raise _bad_address(address, "it contains a user name, a query, a fragment or spaces")
    if parts.scheme == "file":
        if parts.netloc not in ("", "localhost") or not parts.path.startswith("/"):
            raise _bad_address(address, "a file address is file:// and an absolute path")
        return FileTransport(Path(unquote(parts.path)))
    if parts.scheme not in ("https", "http") or not parts.hostname:
        raise _bad_address(address, "it does not begin with https:// or file://")
    if parts.scheme == "http" and not allow_http and not is_loopback(parts.hostname):
        raise _bad_address(
            address, "http:// is for loopback addresses only, because anyone on the network could read along"
        )
    if parts.scheme == "http" and not is_loopback(parts.hostname):
        token = None
    from rye.registry.transport.http import HttpTransport  # not needed for a folder

    return HttpTransport(address, limits, token=token)


def _bad_address(address: str, reason: str) -> UsageError:
    return UsageError(
        "bad-argument",
        f"{without_credentials(address)!r} cannot be a registry's address: {reason}.",
        "Give https://host/path or file:///absolute/path.",
        what="registry",
    )
