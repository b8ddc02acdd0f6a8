"""Which run a request belongs to: the server's own on stdio, that of its token over HTTP (docs/explanation/runtime.md)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol

from rye.errors import RyeError
from rye.limits import RUNTIME
from rye.mcp.tokens import Grant, TokenRefused
from rye.runtime.opening import Opened

Open = Callable[[str | None], Opened]
"""Opens a run for a directive's reference; None: one that may search and load."""


class Runs(Protocol):
    """The runs of one server."""

    def of(self, grant: Grant | None) -> Opened:
        """The run that a request belongs to. Raises TokenRefused."""
        ...

    def close(self) -> None:
        """The end of all of them."""
        ...


class OneRun:
    """The run of a server on stdio: whoever started it said whom it speaks for."""

    def __init__(self, opened: Opened):
        self.opened = opened

    def of(self, grant: Grant | None) -> Opened:
        return self.opened

    def close(self) -> None:
        self.opened.session.close()


class RunsByToken:
    """A run for each token, and one for all requests without any. A run is the token's, not a connection's or a session's:
    what was narrowed for a token stays narrow, however often its owner connects."""

    def __init__(self, open_run: Open):
        self._open = open_run
        self._lock = threading.Lock()
        self._runs: dict[str, tuple[int, Opened]] = {}

    def of(self, grant: Grant | None) -> Opened:
        name = grant.id if grant is not None else ""
        with self._lock:
            known = self._runs.get(name)
            if known is not None:
                return known[1]
            self._make_room(grant)
            opened = self._open(f"directive:{grant.directive}" if grant is not None else None)
            if grant is not None:
                _require_same(grant, opened)
            self._runs[name] = (grant.expires if grant is not None else 0, opened)
            return opened

    def expire(self, now: float) -> None:
        """End the runs whose tokens have expired."""
        with self._lock:
            gone = [name for name, (expires, _) in self._runs.items() if expires and expires <= now]
            runs = [self._runs.pop(name)[1] for name in gone]
        for opened in runs:
            opened.session.close("token-expired")

    def close(self) -> None:
        with self._lock:
            runs, self._runs = list(self._runs.values()), {}
        for _, opened in runs:
            opened.session.close()

    def _make_room(self, grant: Grant | None) -> None:
        if len(self._runs) >= RUNTIME.principals:
            message = f"This server keeps {RUNTIME.principals} runs at once, and no more."
            raise TokenRefused("token-refused", message, "Wait until a token has expired, or restart the server.")


def _require_same(grant: Grant, opened: Opened) -> None:
    found = opened.directive
    if found is None or (found.id, found.version, found.sha256) != (grant.directive, grant.version, grant.sha256):
        raise TokenRefused(
            "token-refused",
            f"directive:{grant.directive} is no longer the one that the token was made for.",
            f"`rye mcp token --as {grant.directive}` makes a token for what is here now.",
        )


def refused(error: RyeError) -> TokenRefused:
    """Any error of opening a token's run: the token gives nothing."""
    return error if isinstance(error, TokenRefused) else TokenRefused("token-refused", error.message, error.hint)
