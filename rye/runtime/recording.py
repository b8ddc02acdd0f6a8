"""Writes the log lines of one run's calls, and counts how many were allowed and denied."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from threading import RLock
from typing import Literal

from msgspec.structs import replace

from rye.limits import RUNTIME
from rye.runtime.asked import Allowed, Asked
from rye.runtime.calls import CallError
from rye.runtime.effects import Clock
from rye.runtime.event_log import Event, EventLog
from rye.runtime.redaction import redacted_text


class Recording:
    """Writes one run's log. Every method can raise RyeError ``log-unwritable``; then the event must not take effect."""

    def __init__(self, log: EventLog, clock: Clock, secrets: tuple[str, ...], lock: RLock):
        self.allowed = 0
        """How many calls were allowed."""
        self.denied = 0
        """How many calls were refused."""
        self.closed = False
        """Whether the run is over."""
        self._log = log
        self._clock = clock
        self._secrets = secrets
        self._lock = lock

    @property
    def path(self) -> Path:
        """The file of the log."""
        return self._log.path

    @property
    def ended(self) -> bool:
        """Whether the log accepts no more lines: the run is over, or writing failed."""
        return self._log.ended

    def call(self, asked: Asked) -> int:
        """Log a call that waits for a person, and return the number of its line."""
        return self._append(_event("call", asked))

    def allow(self, asked: Asked, allowed: Allowed, *, with_call: bool = False) -> None:
        """Log that a call is allowed; ``with_call``: log the call itself as well."""
        decided = replace(_event("allow", asked, allowed), decision="allowed", by=allowed.decision.by)
        self._append(*([_event("call", asked)] if with_call else []), decided)
        self.allowed += 1

    def deny(self, asked: Asked, error: CallError, *, with_call: bool = False) -> None:
        """Log that a call is refused. Writes nothing after the end of the run."""
        by = next((level.id for level in error.chain if level.by is None), None)
        name: Literal["deny", "limit"] = "limit" if error.code == "limit-exceeded" else "deny"
        refused = replace(_event(name, asked), decision=error.code, by=by)
        if name == "limit":
            refused = replace(refused, params_redacted=_crossing(error.details))
        self.denied += 1
        if not self.closed:
            self._append(*([_event("call", asked)] if with_call else []), refused)

    def crossed(self, crossing: Mapping[str, object]) -> None:
        """Log that a limit ends the run; ``crossing``: ``{"limit", "current", "maximum"}``."""
        self._append(Event(event="limit", decision="limit-exceeded", params_redacted=_crossing(crossing)))

    def approve(self, asked: Asked, allowed: Allowed, by: str) -> None:
        """Log a person's approval; ``by``: how it was given."""
        self._append(replace(_event("approve", asked, allowed), by=by, decision="allowed"))

    def made(
        self, asked: Asked, allowed: Allowed, code: str, exit_status: int | None, seconds: float, stderr: str
    ) -> None:
        """Log how an effect ended. The line reaches the disk with the next one."""
        event = _event("return", asked, allowed)
        event = replace(event, decision=code, exit=exit_status, seconds=round(seconds, 3))
        if stderr:
            event = replace(event, params_redacted={"stderr": self._end_of(stderr)})
        with self._lock:
            if not self._log.ended:
                self._append(event, flush=False)

    def note(self, event: Event) -> None:
        """Log an event of a front end, such as a hook."""
        self._append(event)

    def close(self, decision: str | None, seconds: float, model: Mapping[str, object] | None = None) -> None:
        """Write the last line, with what the run's model used, and close the log."""
        with self._lock:
            if self.closed:
                return
            self.closed = True
            end = Event(event="end", decision=decision, seconds=round(seconds, 3), params_redacted=model)
            self._log.close(self._clock.now(), end)

    def _append(self, *events: Event, flush: bool = True) -> int:
        with self._lock:
            return self._log.append(self._clock.now(), *events, flush=flush)

    def _end_of(self, text: str) -> str:
        """Return the end of a tool's standard error, without secrets."""
        shown = redacted_text(text, self._secrets)
        most = RUNTIME.logged_stderr_characters
        return shown if len(shown) <= most else f"({len(shown)} characters) …{shown[-most:]}"


def _crossing(details: Mapping[str, object]) -> dict[str, object]:
    """``{"limit", "current", "maximum"}``: which limit was exceeded, by what."""
    return {name: details[name] for name in ("limit", "current", "maximum") if name in details}


def _event(
    event: Literal["call", "allow", "deny", "approve", "limit", "return"], asked: Asked, allowed: Allowed | None = None
) -> Event:
    return Event(
        event=event,
        tool=asked.name,
        item=(allowed.label if allowed is not None else None) or asked.item or None,
        sha256=allowed.sha256 if allowed is not None else None,
        params_sha256=asked.params_sha256,
        params_redacted=asked.params if event == "call" else None,
    )
