"""Sending one request to a model's endpoint over httpx."""

from __future__ import annotations

import time
from collections.abc import Mapping

import httpx

from rye.limits import RUN
from rye.runtime.run.endpoint import Answered, Unreachable


class HttpPost:
    """:class:`Post` over httpx. Proxies of the environment are used; redirects are not followed."""

    def __init__(self) -> None:
        self._client: httpx.Client | None = None

    def __call__(self, url: str, headers: Mapping[str, str], body: bytes, seconds: float) -> Answered:
        if self._client is None:
            self._client = httpx.Client(follow_redirects=False)
        deadline = time.monotonic() + seconds
        timeout = httpx.Timeout(seconds, connect=min(seconds, RUN.connect_seconds))
        found = bytearray()
        try:
            with self._client.stream("POST", url, headers=dict(headers), content=body, timeout=timeout) as response:
                for chunk in response.iter_bytes():
                    found += chunk
                    if len(found) > RUN.answer_bytes:
                        raise Unreachable(f"{url} answers more than {RUN.answer_bytes} bytes", sent=True)
                    if time.monotonic() > deadline:
                        raise Unreachable(f"{url} did not finish its answer in {seconds:.0f} s", sent=True)
                return Answered(response.status_code, bytes(found), response.headers.get("retry-after"))
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise Unreachable(f"{url} cannot be reached: {error}", sent=False) from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise Unreachable(f"{url} gave no answer: {error or type(error).__name__}", sent=True) from None

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
