"""The thread that records failed sign-ins and sends audit events elsewhere (``audit_push``)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

import sqlalchemy as sa

from registry_server.accounts import audit_push, failed_sign_ins
from registry_server.accounts.audit_events import AuditEvent
from registry_server.accounts.failed_sign_ins import FailedSignIns
from registry_server.accounts.times import now_text
from registry_server.api.rounds import Rounds
from registry_server.storage import database
from rye.errors import RyeError

_log = logging.getLogger("rye.registry")
_TICK_SECONDS = 2.0
_MOST_SECONDS = 60.0
"""The longest pause after failures."""

SendEvents = Callable[[Sequence[AuditEvent]], None]


class Auditing:
    """Checks every few seconds. ``send``: None if no address is set."""

    def __init__(self, engine: sa.Engine, failed: FailedSignIns, send: SendEvents | None) -> None:
        self._engine = engine
        self._failed = failed
        self._send = send
        self._rounds = Rounds("audit", self._round, _TICK_SECONDS, "recording or sending audit events", _MOST_SECONDS)
        self.waiting = 0
        """Events that were not sent when this process last sent some."""

    def start(self) -> None:
        """Start the thread."""
        self._rounds.start()

    def stop(self) -> None:
        """Stop the thread, and record the failed sign-ins that are left."""
        self._rounds.stop(_TICK_SECONDS)
        try:
            self.record(is_last=True)
        except RyeError as error:
            _log.warning("failed sign-ins could not be recorded: %s", error)

    def record(self, *, is_last: bool = False) -> None:
        """Record failed sign-ins. Raises RyeError when the database does not answer."""
        now = now_text()
        taken = self._failed.take(now, is_last=is_last)
        if not taken:
            return
        try:
            with database.change(self._engine) as connection:
                failed_sign_ins.record(connection, taken)
        except BaseException:
            self._failed.keep(taken)
            raise

    def push(self, now: str | None = None) -> int:
        """Send the next events and return how many. Raises RyeError ``delivery-failed``, or the database's."""
        if self._send is None:
            return 0
        with database.reader(self._engine) as connection:
            if not audit_push.is_due(connection):
                return 0
        with database.change(self._engine) as connection:
            outgoing = audit_push.take(connection, now or now_text())
        if outgoing is None:
            return 0
        is_sent = False
        try:
            self._send(outgoing.events)
            is_sent = True
        finally:
            with database.change(self._engine) as connection:
                audit_push.settle(connection, outgoing, is_sent)
            unsent = 0 if is_sent else len(outgoing.events)
            self.waiting = outgoing.size - outgoing.events[-1].position - 1 + unsent
        return len(outgoing.events)

    def _round(self) -> int:
        self.record()
        return self.push()
