"""GET with an answer of any status and its headers, undecoded: for checks of what stands before a registry.

Reading a registry needs none of this: :mod:`rye.registry.transport.http` returns files or errors.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from rye.limits import RegistryLimits
from rye.registry.front_check import Seen
from rye.registry.transport.bearer_token import bearer
from rye.registry.transport.http_connection import authorities_for
from rye.registry.transport.seam import FetchError, NoAnswer
from rye.text.lazy import lazy_module

if TYPE_CHECKING:
    import httpx
else:
    httpx = lazy_module("httpx")  # not needed until the first request


class PlainAnswers:
    """Requests below one address. Redirects are not followed, and nothing is decoded."""

    def __init__(self, address: str, limits: RegistryLimits, most_bytes: int, token: str | None = None) -> None:
        """``most_bytes``: of one answer. ``token``: sent with every request."""
        self._base = address.rstrip("/") + "/"
        self._limits = limits
        self._most = most_bytes
        self._client = httpx.Client(
            verify=authorities_for(address),
            timeout=httpx.Timeout(limits.stall_seconds, connect=limits.connect_seconds),
            headers={"User-Agent": "rye", "Accept": "*/*", **({"Authorization": bearer(token)} if token else {})},
            follow_redirects=False,
        )

    def ask(self, path: str, headers: Mapping[str, str]) -> Seen:
        """Send a GET. Raises FetchError."""
        begun, body = time.monotonic(), bytearray()
        try:
            with self._client.stream("GET", self._base + path, headers=dict(headers)) as response:
                for piece in response.iter_raw():
                    body += piece
                    if len(body) > self._most:
                        raise FetchError(
                            "fetch-too-large", f"The answer for {path} has more than {self._most:,} bytes.", None
                        )
                    if time.monotonic() - begun > self._limits.file_seconds:
                        raise NoAnswer(
                            "fetch-deadline", f"{path} did not arrive within {self._limits.file_seconds:g} seconds."
                        )
                return Seen(
                    response.status_code, {name.lower(): value for name, value in response.headers.items()}, bytes(body)
                )
        except httpx.HTTPError as error:
            raise NoAnswer(
                "fetch-unreachable",
                f"{path} could not be fetched from {self._base}: {error!s:.200}.",
                "Check the network and the address.",
            ) from None

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


def over_plain_http(host: str, path: str, limits: RegistryLimits, most_bytes: int) -> Callable[[], Seen | None]:
    """A function that asks for a path over http on port 80 of a host; None if nothing answers there."""

    def ask() -> Seen | None:
        answers = PlainAnswers(f"http://{host}", limits, most_bytes)
        try:
            return answers.ask(path, {})
        except FetchError:
            return None
        finally:
            answers.close()

    return ask
