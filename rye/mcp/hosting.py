"""Which run a request belongs to: the server's only run on stdio, that of its token over HTTP
(docs/explanation/runtime.md)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol

from rye.errors import RyeError
from rye.limits import RUNTIME
from rye.mcp.tokens import Grant, TokenRefused
from rye.runtime.effects import UsableItem
from rye.runtime.opening import Opened

Open = Callable[[str | None], Opened]
"""Opens a run for a directive's reference; None: a run that may only search and load."""


class Runs(Protocol):
    """The runs of one server."""

    def of(self, grant: Grant | None) -> Opened:
        """Return the run that a request belongs to; ``grant``: from its token. Raises TokenRefused."""
        ...

    def close(self) -> None:
        """End all runs."""
        ...


class OneRun:
    """The only run of a server on stdio: the person who started the server chose the directive."""

    def __init__(self, opened: Opened):
        self.opened = opened

    def of(self, grant: Grant | None) -> Opened:
        """Return the run."""
        return self.opened

    def close(self) -> None:
        """End the run."""
        self.opened.session.close()


class RunsByToken:
    """One run per token, and one for all requests without a token. A run belongs to the token, not to a connection: what was
    narrowed for a token stays narrow, however often its owner connects."""

    def __init__(self, open_run: Open):
        self._open = open_run
        self._lock = threading.Lock()
        self._runs: dict[str, tuple[int, Opened]] = {}

    def of(self, grant: Grant | None) -> Opened:
        """Return the token's run, and open it on first use. Raises TokenRefused, and RyeError if it cannot be opened."""
        name = grant.id if grant is not None else ""
        with self._lock:
            known = self._runs.get(name)
            if known is not None:
                return known[1]
            self._make_room(grant)
            opened = self._open(f"directive:{grant.directive}" if grant is not None else None)
            if grant is not None:
                _require_same(grant, opened.directive)
            self._runs[name] = (grant.expires if grant is not None else 0, opened)
            return opened

    def admit(self, grant: Grant | None) -> None:
        """Check that a token's directive is still what the token was made for, and may still be used. Called for each request.

        A run whose token is refused stays: if the bytes come back, it is as narrow as it was. Raises TokenRefused, and
        RyeError for a directive that may not be used any more.
        """
        opened = self.of(grant)
        if grant is not None:
            _require_same(grant, opened.items.read("directive", grant.directive, runs=True))

    def expire(self, now: float) -> None:
        """End the runs whose tokens have expired."""
        with self._lock:
            gone = [name for name, (expires, _) in self._runs.items() if expires and expires <= now]
            runs = [self._runs.pop(name)[1] for name in gone]
        for opened in runs:
            opened.session.close("token-expired")

    def close(self) -> None:
        """End all runs."""
        with self._lock:
            runs, self._runs = list(self._runs.values()), {}
        for _, opened in runs:
            opened.session.close()

    def _make_room(self, grant: Grant | None) -> None:
        if len(self._runs) >= RUNTIME.principals:
            message = f"This server already has {RUNTIME.principals} runs, which is the limit."
            raise TokenRefused("token-refused", message, "Wait until a token expires, or restart the server.")


def _require_same(grant: Grant, found: UsableItem | None) -> None:
    if found is None or (found.id, found.version, found.sha256) != (grant.directive, grant.version, grant.sha256):
        raise TokenRefused(
            "token-refused",
            f"directive:{grant.directive} has changed since the token was created.",
            f"`rye mcp token --as {grant.directive}` creates a token for its current version.",
        )


def refused(error: RyeError, what: str) -> TokenRefused:
    """Convert any error of checking a token to a refusal that tells its caller, who may be anyone, nothing of this machine.

    ``what``: what cannot be done, as a sentence without its full stop."""
    if isinstance(error, TokenRefused):
        return error
    hint = "Where the server runs, `rye mcp token --as ID` says why."
    return TokenRefused("token-refused", f"{what} ({error.code}).", hint)
