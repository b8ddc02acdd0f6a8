"""Record what a page is made from. A cached page is valid as long as every answer would be the same.

No one lists what a page depends on. A maker reads through a
:class:`registry_server.pages.registry_view.RegistryView`, which records:

* every SQL statement on its connection, with a digest of the rows (:class:`Listening`). A statement that cannot be
  recorded does not run;
* the answer to every question asked with ``look.ask``, such as which recovery is in effect at the head. It is coarser
  than its statements, so its answer can stay the same while theirs change;
* every age that the page shows, such as "3 days ago" (:class:`Now`).

Bytes that are named by their hash never change and are not recorded.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec
import sqlalchemy as sa
from msgspec import Struct

from registry_server.storage.prepared import Row

if TYPE_CHECKING:
    from registry_server.pages.registry_view import RegistryView

T = TypeVar("T")


class Asked(Struct, Generic[T], frozen=True):
    """A question that a maker asked, and its answer, compared with ``==``."""

    question: Callable[[RegistryView], T]
    answer: T


class Ran(Struct, frozen=True):
    """A statement as the driver ran it, and the SHA-256 of its rows."""

    sql: str
    arguments: Any
    digest: bytes


class Reads(Struct, frozen=True):
    """Everything that one page was made from."""

    ran: tuple[Ran, ...]
    asked: tuple[Asked[Any], ...]

    def hold(self, look: RegistryView, connection: sa.Connection) -> bool:
        """Whether every answer would be the same now. ``look``, ``connection``: ones that do not record."""
        if any(one.question(look) != one.answer for one in self.asked):
            return False
        driver: Any = connection.connection
        cursor = driver.cursor()
        try:
            for one in self.ran:
                cursor.execute(one.sql, one.arguments)
                if _digest(cursor.fetchall()) != one.digest:
                    return False
        finally:
            cursor.close()
        return True


class Listening:
    """A connection that records :class:`registry_server.storage.prepared.Prepared` statements.

    It has only what such a statement needs, so any other query is an ``AttributeError``.
    """

    def __init__(self, connection: sa.Connection) -> None:
        self._driver: Any = connection.connection
        self.dialect = connection.dialect
        self.ran: list[Ran] = []

    @property
    def connection(self) -> Listening:
        """Itself, in place of the driver's connection."""
        return self

    def cursor(self) -> _Cursor:
        """Return a cursor that records."""
        return _Cursor(self._driver.cursor(), self.ran)


class _Cursor:
    def __init__(self, cursor: Any, ran: list[Ran]) -> None:
        self._cursor = cursor
        self._ran = ran
        self._last: tuple[str, Any] = ("", None)

    def execute(self, sql: str, arguments: Any) -> None:
        self._last = (sql, arguments)
        self._cursor.execute(sql, arguments)

    def fetchall(self) -> list[Row]:
        rows: list[Row] = self._cursor.fetchall()
        self._ran.append(Ran(*self._last, _digest(rows)))
        return rows

    def close(self) -> None:
        self._cursor.close()


def _digest(rows: list[Row]) -> bytes:
    return hashlib.sha256(msgspec.msgpack.encode(rows)).digest()


class Now:
    """The hour for which a page is made. It records what the page derives from it."""

    def __init__(self, hour: datetime) -> None:
        self.hour = hour
        self._said: dict[tuple[Callable[[datetime, datetime], object], datetime], object] = {}

    def age(self, then: datetime) -> str:
        """Return how long ago ``then`` is, in words."""
        return self._say(age, then)

    def is_past(self, then: datetime) -> bool:
        """Whether ``then`` is past."""
        return self._say(_is_past, then)

    def is_same(self, hour: datetime) -> bool:
        """Whether the page would say the same at another hour."""
        return hour == self.hour or all(rule(then, hour) == said for (rule, then), said in self._said.items())

    def _say(self, rule: Callable[[datetime, datetime], T], then: datetime) -> T:
        said = rule(then, self.hour)
        self._said[rule, then] = said
        return said


def age(then: datetime, now: datetime) -> str:
    """Return the age in words, in the largest unit that gives at least two. ``now`` is a full hour."""
    hours = int((now - then).total_seconds() // 3600)
    for unit, size in (("years", 8_760), ("months", 730), ("days", 24), ("hours", 1)):
        if hours >= 2 * size:
            return f"{hours // size} {unit} ago"
    if hours < -1:
        return "dated in the future"
    return "today" if then.date() >= now.date() else "yesterday"


def _is_past(then: datetime, now: datetime) -> bool:
    return then <= now
