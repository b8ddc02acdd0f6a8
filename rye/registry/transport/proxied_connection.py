"""GET through a proxy, using httpx. Imported only if a proxy is set, because importing httpx is slow."""

from __future__ import annotations

import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import httpx

from rye.limits import RegistryLimits
from rye.registry.transport.http_connection import (
    NO_HEADERS,
    Answer,
    AnswerTimeout,
    BrokenAnswer,
    ForeignCertificate,
    NoConnection,
    authorities_for,
)


class ProxiedConnection:
    """A :class:`~rye.registry.transport.http_connection.Connection` through the proxy in the environment."""

    def __init__(self, headers: Mapping[str, str], limits: RegistryLimits, tls: ssl.SSLContext | None):
        self._client = httpx.Client(
            verify=tls or authorities_for("http://"),  # redirects from http to another scheme are refused
            timeout=httpx.Timeout(limits.stall_seconds, connect=limits.connect_seconds),
            headers=dict(headers),
            http2=False,
            follow_redirects=False,
            limits=httpx.Limits(max_connections=1, max_keepalive_connections=1),
        )

    @contextmanager
    def get(self, address: str, headers: Mapping[str, str] = NO_HEADERS) -> Iterator[Answer]:
        """Request an address (:meth:`Connection.get <rye.registry.transport.http_connection.Connection.get>`)."""
        try:
            with self._client.stream("GET", address, headers=dict(headers)) as response:
                stated = response.headers.get("content-length")
                length = None if stated is None else int(stated)  # h11 accepts only digits, and few of them
                yield Answer(response.status_code, response.headers, length, response.iter_raw())
        except httpx.TimeoutException as error:
            raise AnswerTimeout(type(error).__name__) from None
        except httpx.RemoteProtocolError as error:
            raise BrokenAnswer(str(error)) from None
        except httpx.ConnectError as error:
            if "CERTIFICATE_VERIFY_FAILED" in str(error):  # httpx keeps only the text
                raise ForeignCertificate(str(error)) from None
            raise NoConnection(str(error)) from None
        except httpx.TransportError as error:
            raise OSError(str(error)) from None
        except httpx.InvalidURL as error:
            raise ValueError(str(error)) from None

    def close(self) -> None:
        """Close the connection (:meth:`Connection.close <rye.registry.transport.http_connection.Connection.close>`)."""
        self._client.close()
