"""Where issuers are asked: by a few threads of their own, so that one which does not answer holds nothing else up.

Anybody may begin a sign-in or send an identity token, and each may cost a request to the issuer. At most ``most`` of them wait;
any further one is refused at once (``busy``: 503).
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
        """What the call answers. Raises RyeError ``busy``, and what the call raises."""
        if self._under_way >= self._most:
            raise RyeError("busy", "Too many people sign in at this moment.", "Try again in a moment.")
        self._under_way += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, call, *words)
        finally:
            self._under_way -= 1

    def close(self) -> None:
        """Take no more; what is under way ends by its own limit of time."""
        self._threads.shutdown(wait=False, cancel_futures=True)
