"""Run requests to issuers in a few separate threads, so an issuer that does not answer blocks nothing else.

Anyone can begin a sign-in or send an identity token, and each can cost a request to the issuer. At most ``most`` of
them wait; further ones are refused at once (``busy``: 503).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from rye.errors import RyeError

_T = TypeVar("_T")


class IssuerCalls:
    """Belongs to one event loop."""

    def __init__(self, threads: int = 4, most: int = 32) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="issuers")
        self._most = most
        self._under_way = 0

    async def run(self, call: Callable[..., _T], *words: Any) -> _T:
        """The call's result. Raises RyeError ``busy``, and whatever the call raises."""
        if self._under_way >= self._most:
            raise RyeError("busy", "Too many people are signing in right now.", "Try again in a moment.")
        self._under_way += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, call, *words)
        finally:
            self._under_way -= 1

    def close(self) -> None:
        """Accept no more calls; those under way end by their own timeouts."""
        self._threads.shutdown(wait=False, cancel_futures=True)
