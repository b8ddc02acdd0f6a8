"""A thread that does its work in rounds, for what no request waits for: webhooks, audit events, checking proofs again."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from rye.errors import RyeError

_log = logging.getLogger("rye.registry")


class Rounds:
    """Calls ``work`` again and again while it returns more than 0, then pauses."""

    def __init__(
        self,
        name: str,
        work: Callable[[], int],
        seconds: float,
        failed: str,
        most_seconds: float | None = None,
    ) -> None:
        """``name``: the thread's. ``seconds``: the pause; after each failure it doubles up to ``most_seconds`` (None: it stays).
        ``failed``: what the log says did not work.
        """
        self._work = work
        self._seconds = seconds
        self._most_seconds = seconds if most_seconds is None else most_seconds
        self._failed = failed
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self, seconds: float = 0.0) -> None:
        """Begin no more work, and wait at most ``seconds`` for what is under way."""
        self._ending.set()
        if seconds and self._thread.ident is not None:
            self._thread.join(seconds)

    @property
    def is_running(self) -> bool:
        """Whether the thread runs."""
        return self._thread.is_alive()

    @property
    def is_ending(self) -> bool:
        """Whether the work should stop at the next good place."""
        return self._ending.is_set()

    def _run(self) -> None:
        pause = self._seconds
        while not self._ending.wait(pause):
            try:
                while self._work() and not self._ending.is_set():
                    pass
                pause = self._seconds
            except RyeError as error:
                pause = min(pause * 2, self._most_seconds)
                _log.warning("%s failed: %s", self._failed, error)
            except Exception:  # all such work is done here, so a bug must be logged and not end the thread
                pause = self._most_seconds
                _log.exception("%s failed", self._failed)
