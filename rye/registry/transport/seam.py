"""The interface for fetching a registry's files: one method, with implementations for ``https``, for ``file`` and for
offline use.

Rules for every transport:

* Files are fetched in waves. :meth:`Transport.fetch_many` takes all files that are needed now and returns, in the same
  order, each file's bytes or the :class:`FetchError` that says why it failed. One bad file never affects the others.
* A request says how many bytes it accepts; reading stops at the first byte beyond. Nothing is decompressed.
* Results are not trusted: the caller checks hashes and signatures.

``https`` adds deadlines (per file, for the whole wave and for the first answer), a minimum speed, bounded concurrency
over keep-alive HTTP/1.1 connections, retries with back-off and ``Retry-After``, redirects to the same scheme, host and
port only, and conditional requests (:class:`ConditionalTransport`).
``http`` is for loopback addresses, unless the user allowed it for a registry.
``file`` refuses every path that leaves the registry's folder, also through links.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from msgspec import Struct

from rye.errors import RyeError
from rye.text.lazy_pattern import lazy_pattern

_PATH = lazy_pattern(r"[A-Za-z0-9][A-Za-z0-9._-]*(?:/[A-Za-z0-9][A-Za-z0-9._-]*)*")


class FetchError(RyeError):
    """A file that could not be fetched.

    Codes: ``fetch-not-found``, ``fetch-too-large``, ``fetch-endless``, ``fetch-slow``, ``fetch-deadline``, ``fetch-redirect``,
    ``fetch-status``, ``fetch-unreachable``, ``fetch-truncated``, ``fetch-unsafe``, ``fetch-offline``, ``fetch-unauthorized``.
    """


class NoAnswer(FetchError):
    """The registry is out of reach or out of order: no connection, silence, an answer that breaks off, a 5xx status.

    What it says is never one: a refusal, a redirect, a certificate that is not its own.
    """


class Request(Struct, frozen=True):
    """One file: its path below the registry's address, and the most bytes that it may have."""

    path: str
    max_bytes: int


Fetched = bytes | FetchError


class Tagged(Struct, frozen=True):
    """A file with the tag by which it can be asked for again only if it changed."""

    data: bytes | None
    """None: it is the one that the tag named."""
    tag: str | None
    """The entity tag (RFC 9110 8.8.3) as the server wrote it; None where it gave none that can be sent back."""


class Transport(Protocol):
    """The seam between the client and the world."""

    def fetch_many(self, requests: Sequence[Request]) -> list[Fetched]:
        """All of these files, in order; never raises for a file."""

    def close(self) -> None:
        """Give back connections."""


@runtime_checkable
class ConditionalTransport(Transport, Protocol):
    """An end that can ask for a file only if it changed."""

    def fetch_if_changed(self, request: Request, tag: str | None, seconds: float) -> Tagged | FetchError:
        """One file (RFC 9110 13.1.2, If-None-Match), all of it within ``seconds``. ``tag``: of what the caller holds."""


class SilentTransport(Struct, frozen=True):
    """A registry that did not answer is not asked again in the same run."""

    reason: NoAnswer

    def fetch_many(self, requests: Sequence[Request]) -> list[Fetched]:
        return [
            NoAnswer(
                self.reason.code,
                f"{self.reason.message} It is needed for {request.path}, which is not cached.",
                self.reason.hint,
            )
            for request in requests
        ]

    def close(self) -> None:
        """Nothing is open."""


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
