"""How a registry's files are fetched: one method, in waves, with an end for ``https``, for ``file`` and for memory.

Rules of every end:

* Callers think in waves: :meth:`Transport.fetch_many` takes all files that are needed now and returns, in the same order,
  each file's bytes or the :class:`FetchError` that says why there are none. One bad file never loses the others.
* A request says how many bytes it accepts; reading stops at the first byte beyond. Nothing is unpacked.
* What arrives is not trusted: hashes and signatures are checked by the caller.

``https`` adds: a deadline per file and for all together, a minimum speed, bounded concurrency over kept-alive HTTP/1.1
connections, repeats with back-off and ``Retry-After``, redirects on the same scheme, host and port only.
``http`` is for loopback addresses, unless the user allowed it for a registry.
``file`` refuses every path that leaves the registry's folder, through links too.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from rye.errors import RyeError, UsageError
from rye.limits import REGISTRY, RegistryLimits

_PATH = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(?:/[A-Za-z0-9][A-Za-z0-9._-]*)*")
_LOOPBACK = re.compile(r"localhost|127(?:\.[0-9]{1,3}){3}|::1")


class FetchError(RyeError):
    """A file that could not be fetched.

    Codes: ``fetch-not-found``, ``fetch-too-large``, ``fetch-endless``, ``fetch-slow``, ``fetch-deadline``, ``fetch-redirect``,
    ``fetch-status``, ``fetch-unreachable``, ``fetch-truncated``, ``fetch-unsafe``, ``fetch-offline``.
    """


class Request(Struct, frozen=True):
    """One file: its path below the registry's address, and the most bytes that it may have."""

    path: str
    max_bytes: int


Fetched = bytes | FetchError


class Transport(Protocol):
    """The seam between the client and the world."""

    def fetch_many(self, requests: Sequence[Request]) -> list[Fetched]:
        """All of these files, in order; never raises for a file."""

    def close(self) -> None:
        """Give back connections."""


class MemoryTransport:
    """Files in a mapping, for tests and simulations; ``requested`` lists the paths of each wave."""

    def __init__(self, files: Mapping[str, bytes]):
        self.files = files
        self.requested: list[list[str]] = []

    def fetch_many(self, requests: Sequence[Request]) -> list[Fetched]:
        if requests:
            self.requested.append([request.path for request in requests])
        return [self._fetch(request) for request in requests]

    def close(self) -> None:
        """Nothing is open."""

    def _fetch(self, request: Request) -> Fetched:
        data = self.files.get(request.path)
        if data is None:
            return not_found(request.path)
        return data if len(data) <= request.max_bytes else too_large(request)


class OfflineTransport(Struct, frozen=True):
    """``--offline``: what is not cached is not there."""

    def fetch_many(self, requests: Sequence[Request]) -> list[Fetched]:
        return [
            FetchError(
                "fetch-offline",
                f"{request.path} is not cached, and --offline forbids fetching it.",
                "Run it once online.",
            )
            for request in requests
        ]

    def close(self) -> None:
        """Nothing is open."""


class FileTransport(Struct, frozen=True):
    """A registry in a folder."""

    folder: Path

    def fetch_many(self, requests: Sequence[Request]) -> list[Fetched]:
        root = self.folder.resolve()
        return [self._fetch(root, request) for request in requests]

    def close(self) -> None:
        """Nothing is open."""

    def _fetch(self, root: Path, request: Request) -> Fetched:
        if not is_safe_path(request.path):
            return FetchError("fetch-unsafe", f"{request.path!r} is not a path below the registry.")
        try:
            target = (root / request.path).resolve(strict=True)
            if not target.is_relative_to(root):
                return FetchError("fetch-unsafe", f"{request.path} leads out of the registry's folder through a link.")
            # Non-blocking, so that a named pipe in the folder cannot hold the client; only regular files are read.
            descriptor = os.open(target, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
            with os.fdopen(descriptor, "rb") as file:
                if not target.is_file():
                    return not_found(request.path)
                data = file.read(request.max_bytes + 1)
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return not_found(request.path)
        except (OSError, RuntimeError) as error:
            return FetchError("fetch-unreachable", f"{request.path} cannot be read: {error}.")
        return data if len(data) <= request.max_bytes else too_large(request)


def open_transport(
    address: str, limits: RegistryLimits = REGISTRY, *, allow_http: bool = False, token: str | None = None
) -> Transport:
    """The end for an address: ``https://…``, ``http://`` on loopback, or ``file://…``. Raises UsageError (``registry-address``).

    ``token`` is sent with every request to this host, for registries that only members may read.
    """
    parts = urlsplit(address)
    if parts.username or parts.password or parts.query or parts.fragment or re.search(r"[\x00-\x20\\]", address):
        raise _bad_address(address, "it holds a user name, a query, a fragment or blanks")
    if parts.scheme == "file":
        if parts.netloc not in ("", "localhost") or not parts.path.startswith("/"):
            raise _bad_address(address, "a file address is file:// and an absolute path")
        return FileTransport(Path(unquote(parts.path)))
    if parts.scheme not in ("https", "http") or not parts.hostname:
        raise _bad_address(address, "it begins with neither https:// nor file://")
    if parts.scheme == "http" and not allow_http and not is_loopback(parts.hostname):
        raise _bad_address(
            address, "http:// is for loopback addresses only; anybody on the way could read what you fetch"
        )
    from rye.registry.transport.http import HttpTransport

    return HttpTransport(address, limits, token=token)


def is_loopback(host: str) -> bool:
    """Whether a host is this machine by its very name."""
    return _LOOPBACK.fullmatch(host) is not None


def is_safe_path(path: str) -> bool:
    """Whether a path is relative and made of plain segments; none begins with a dot."""
    return len(path) <= 1_024 and _PATH.fullmatch(path) is not None


def not_found(path: str) -> FetchError:
    return FetchError("fetch-not-found", f"The registry has no file {path}.")


def too_large(request: Request) -> FetchError:
    return FetchError(
        "fetch-too-large", f"The file {request.path} is larger than the {request.max_bytes:,} bytes allowed for it."
    )


def endless(request: Request) -> FetchError:
    message = f"{request.path} states no length and does not end at the {request.max_bytes:,} bytes allowed for it."
    return FetchError("fetch-endless", message)


def _bad_address(address: str, reason: str) -> UsageError:
    return UsageError(
        "registry-address",
        f"{address!r} cannot be a registry's address: {reason}.",
        "Give https://host/path or file:///absolute/path.",
    )
