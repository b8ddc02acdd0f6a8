"""The thread that notifies webhooks of new log entries. It runs only if the setting ``webhooks`` is on."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import sqlalchemy as sa

from registry_server.accounts import guarded_http, webhooks
from registry_server.accounts.times import now_text
from registry_server.api.rounds import Rounds
from registry_server.storage import database
from rye import __version__
from rye.errors import RyeError

_TICK_SECONDS = 2.0

Post = Callable[[str, bytes, Mapping[str, str]], int]


class Deliverer:
    """Checks every few seconds for entries that have not been announced and for deliveries that are due."""

    def __init__(self, engine: sa.Engine, origin: str, post: Post = guarded_http.post) -> None:
        self._engine = engine
        self._origin = origin
        self._post = post
        self._rounds = Rounds("webhooks", self.round, _TICK_SECONDS, "webhook deliveries")

    def start(self) -> None:
        """Start the thread."""
        self._rounds.start()

    def stop(self) -> None:
        """Stop the thread. A delivery that is cut off is retried in the next round, here or in another process."""
        self._rounds.stop()

    def round(self, now: str | None = None) -> int:
        """Do one round and return the number of deliveries tried. Raises RyeError when the database does not answer."""
        now = now or now_text()
        with database.reader(self._engine) as connection:
            if not webhooks.listing(connection):
                return 0
        with database.change(self._engine) as connection:
            webhooks.collect(connection, self._origin, now)
            due = webhooks.take_due(connection, now)
        for delivery in due:
            status, error, is_final = self._try(delivery)
            with database.change(self._engine) as connection:
                webhooks.settle(connection, delivery, status, error, now, is_final=is_final)
        return len(due)

    def _try(self, delivery: webhooks.Delivery) -> tuple[int | None, str | None, bool]:
        """The status, the error, and whether trying again is useless."""
        body = delivery.body.encode()
        headers = {
            "Content-Type": "application/json",
            "User-Agent": f"rye-registry/{__version__}",
            "X-Rye-Event": delivery.event,
            "X-Rye-Delivery": delivery.id,
            "X-Rye-Signature": webhooks.signature(delivery.secret, body),
        }
        try:
            status = self._post(delivery.url, body, headers)
        except RyeError as error:
            return None, error.message[:500], error.code == "private-address"
        return status, None if 200 <= status < 300 else f"It answered {status}.", False
