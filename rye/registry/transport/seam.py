"""The interface for fetching a registry's files: one method, with implementations for ``https``, for ``file`` and for
offline use.

Rules for every transport:

* Files are fetched in waves. :meth:`Transport.fetch_many` gets all files that are needed now and returns, in the same
  order, each file's bytes or the :class:`FetchError` that says why it failed. One bad file never affects the others.
* A request says how many bytes it accepts; reading stops at the first byte beyond. Nothing is decompressed.
* Results are not trusted: the caller checks hashes and signatures.

``https`` adds deadlines (per file, for all, for the first answer and for the next byte), a minimum speed, bounded concurrency
over keep-alive HTTP/1.1 connections, retries with back-off and ``Retry-After``, redirects to the same scheme, host and
port only, and conditional requests (:class:`ConditionalTransport`). ``http`` is for loopback addresses, unless the user
allowed it for a registry. ``file`` refuses every path that leaves the registry's folder, including through links.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol, runtime_checkable
from urllib.parse import urlsplit

from msgspec import Struct

from rye.errors import RyeError
from rye.limits import OWN_PORT
from rye.text.addresses import is_loopback
from rye.text.lazy import lazy_pattern

_PATH_CHARACTERS = 5_000
"""The longest path names 64 files (:mod:`rye.registry.protocol.joined`)."""
_PATH = lazy_pattern(r"[A-Za-z0-9][A-Za-z0-9._-]*(?:/[A-Za-z0-9][A-Za-z0-9._-]*)*")


class FetchError(RyeError):
    """A file that could not be fetched.

    Codes: ``fetch-not-found``, ``fetch-too-large``, ``fetch-endless``, ``fetch-slow``, ``fetch-deadline``, ``fetch-redirect``,
    ``fetch-status``, ``fetch-unreachable``, ``fetch-truncated``, ``fetch-unsafe``, ``fetch-offline``, ``fetch-unauthorized``.
    """


class NoAnswer(FetchError):
    """The registry is unreachable or failing: no connection, silence, a truncated answer, a 5xx status.

    A refusal, a redirect or a foreign certificate is an answer, and never a NoAnswer.
    """

    def __init__(
        self,
        code: str,
        message: str,
        hint: str | None = None,
        *,
        reason: str | None = None,
        details: dict[str, object] | None = None,
    ):
        """``reason``: what went wrong, without the file and the address, for a message that names the registry."""
        super().__init__(code, message, hint, details=details)
        self.reason = reason or message.rstrip(".")

    def of_registry(self, address: str, hint: str, details: dict[str, object] | None = None) -> NoAnswer:
        """The error about the registry instead of the file. The message names the address once."""
        parts = urlsplit(address)
        if is_loopback(parts.hostname or ""):
            own = "`rye registry serve` starts it"
            if parts.port not in (None, OWN_PORT):
                own = f"`rye registry serve --port {parts.port}` starts it, with --data if its folder is not the default one"
            hint = f"If it is your own, {own}. {hint}"
        message = f"The registry at {address} does not answer: {self.reason}."
        return NoAnswer(self.code, message, hint, reason=self.reason, details=details)


def is_silence(error: RyeError) -> bool:
    """Whether a registry did not answer, or did not answer for so long that its last verified head is too old to go on with. An
    answer that is wrong is never silence."""
    return isinstance(error, NoAnswer) or (error.code == "head-frozen" and isinstance(error.__cause__, NoAnswer))


FIRST_CONTACT = "Check the address and the network. Where only a proxy leads out, HTTPS_PROXY must name it."
"""The hint where an address does not answer that nobody here has used before."""
ASK_AGAIN = "Check the network and the address. What only reads also works with `--offline`, from the cache."
"""The hint where a registry that is known does not answer."""


class Request(Struct, frozen=True):
    """One file: its path below the registry's address, and the most bytes that it can have."""

    path: str
    max_bytes: int


Fetched = bytes | FetchError


class Tagged(Struct, frozen=True):
    """A file, with the tag for asking later only if it changed."""

    data: bytes | None
    """None: unchanged since the tag that was sent."""
    tag: str | None
    """The entity tag (RFC 9110 8.8.3) as the server wrote it; None if it gave none that can be sent back."""
    date: datetime | None = None
    """When the server says that it answered (RFC 9110 6.6.1); None if it does not say."""


class Transport(Protocol):
    """The interface between the client and the network."""

    def fetch_many(self, requests: Sequence[Request]) -> list[Fetched]:
        """Return all of these files, in order. It never raises because of a file."""

    def close(self) -> None:
        """Close the connections."""


@runtime_checkable
class ConditionalTransport(Transport, Protocol):
    """A transport that can ask for a file only if it changed."""

    def fetch_if_changed(self, request: Request, tag: str | None, seconds: float) -> Tagged | FetchError:
        """Fetch one file within ``seconds`` (RFC 9110 13.1.2, If-None-Match). ``tag``: that of the caller's copy."""

    def hurry(self, seconds: float) -> None:
        """From now on, a server of which nothing at all arrives for so long is silent, because the caller can do without it."""


class SilentTransport(Struct, frozen=True):
    """Replaces the transport of a registry that did not answer: it is not asked again in the same run."""

    reason: NoAnswer

    def fetch_many(self, requests: Sequence[Request]) -> list[Fetched]:
        """Refuse every file, for the reason of the first failure."""
        return [
            NoAnswer(
                self.reason.code,
                f"{self.reason.message} {request.path} is needed, and it is not cached.",
                self.reason.hint,
            )
            for request in requests
        ]

    def close(self) -> None:
        """Do nothing: nothing is open."""


class OfflineTransport(Struct, frozen=True):
    """The transport with ``--offline``: nothing can be fetched."""

    def fetch_many(self, requests: Sequence[Request]) -> list[Fetched]:
        """Refuse every file."""
        return [
            FetchError(
                "fetch-offline",
                f"{request.path} is not cached, and --offline does not allow fetching it.",
                "Run the command once without --offline.",
            )
            for request in requests
        ]

    def close(self) -> None:
        """Do nothing: nothing is open."""


def is_safe_path(path: str) -> bool:
    """Whether a path is relative and made of plain segments, none of which begins with a dot."""
    return len(path) <= _PATH_CHARACTERS and _PATH.fullmatch(path) is not None


def not_found(path: str) -> FetchError:
    """The error for a file that does not exist."""
    return FetchError("fetch-not-found", f"The registry has no file {path}.")


def too_large(request: Request) -> FetchError:
    """The error for a file that is larger than the request allows."""
    return FetchError(
        "fetch-too-large", f"The file {request.path} is larger than the {request.max_bytes:,} bytes that it can have."
    )


def endless(request: Request) -> FetchError:
    """The error for an answer without a stated length that exceeds what the request allows."""
    message = (
        f"{request.path} has no stated length, and is larger than the {request.max_bytes:,} bytes that it can have."
    )
    return FetchError("fetch-endless", message)
