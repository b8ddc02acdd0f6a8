"""What a failure of the database or the store is told to whom.

The driver's own words name hosts, users, buckets and paths behind the registry, and it is the operator who needs them. Requests
from this machine get them, everybody else only what comes before them, with the same code. The server's log has them in any case.
"""

from __future__ import annotations

import logging
import time
from typing import Any

from registry_server.api.forwarded import is_from_here
from rye.errors import RyeError

_log = logging.getLogger("rye.registry")
_BEHIND = frozenset(
    {"clock-jumped", "database-unavailable", "storage-full", "store-credentials", "store-foreign", "store-unavailable"}
)
"""Codes whose message ends, after a colon, with words of a database, a bucket or a disk."""
_AGAIN_SECONDS = 60.0


class FailureWords:
    """Shortens errors for strangers, and logs what they are not told: the same at most once a minute."""

    def __init__(self, trusted_proxies: str) -> None:
        self._trusted = trusted_proxies
        self._logged: tuple[str, float] = ("", 0.0)

    def told(self, error: RyeError, scope: Any) -> RyeError:
        """Return the error with as much of it as the sender of this request may read."""
        if error.code not in _BEHIND:
            return error
        self._note(f"{error.code}: {error.message}")
        return error if is_from_here(scope, self._trusted) else for_strangers(error)

    def _note(self, words: str) -> None:
        now = time.monotonic()
        if words != self._logged[0] or now - self._logged[1] >= _AGAIN_SECONDS:
            self._logged = (words, now)
            _log.warning("%s", words)


def for_strangers(error: RyeError) -> RyeError:
    """Return the error without what a database, a bucket or a disk said."""
    if error.code not in _BEHIND:
        return error
    before, colon, _ = error.message.partition(": ")
    return RyeError(error.code, f"{before}." if colon else before, error.hint)
