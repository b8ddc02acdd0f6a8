"""Statements that run often: compiled once for each dialect, then passed to the driver directly.

SQLAlchemy's own execution costs more than SQLite's answer to a small query. A :class:`Prepared` statement is written in
SQLAlchemy Core, so it works with both dialects, but it runs on the driver's cursor inside the connection's transaction,
and its rows are plain tuples. The driver's errors are raised unchanged; :mod:`registry_server.storage.database` turns
them into RyeErrors.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.elements import ColumnElement

Row = tuple[Any, ...]
Values = Mapping[str, object]


class Among(ColumnElement[bool]):
    """Whether a text column equals one of the values in the list parameter ``some``: one SQL text for any number of
    values.
    """

    inherit_cache = False
    type: Any = sa.types.NullType()  # as a Boolean, SQLite would compare it with 1

    def __init__(self, column: sa.ColumnElement[Any], parameter: str = "some") -> None:
        self.column = column
        self.values = sa.bindparam(parameter, type_=sa.types.NullType())


@compiles(Among, "sqlite")
def _among_json(element: Among, compiler: Any, **options: Any) -> str:
    column, values = compiler.process(element.column, **options), compiler.process(element.values)
    return f"{column} IN (SELECT value FROM json_each({values}))"


@compiles(Among, "postgresql")
def _among_array(element: Among, compiler: Any, **options: Any) -> str:
    column, values = compiler.process(element.column, **options), compiler.process(element.values)
    return f"{column} = ANY({values})"


class ServerTime(ColumnElement[float]):
    """The database server's clock in seconds since 1970; NULL on SQLite, which has no clock of its own."""

    inherit_cache = False
    type: Any = sa.types.NullType()


@compiles(ServerTime, "sqlite")
def _no_time(element: ServerTime, compiler: Any, **options: Any) -> str:
    return "NULL"


@compiles(ServerTime, "postgresql")
def _time_now(element: ServerTime, compiler: Any, **options: Any) -> str:
    return "extract(epoch FROM clock_timestamp())::float8"  # not now(): waiting for the lock may take long


class Prepared:
    """One statement. Parameters are given by name; a list supplies the values of :class:`Among`."""

    def __init__(self, statement: sa.Executable) -> None:
        self._statement: Any = statement
        self._compiled: dict[tuple[str, tuple[str, ...]], _Text] = {}

    def rows(self, connection: sa.Connection, values: Values = {}) -> list[Row]:  # noqa: B006
        """Return all rows of the answer."""
        cursor = self._cursor(connection)
        try:
            text = self._text(connection, values)
            cursor.execute(text.sql, text.arguments(values))
            fetched: list[Row] = cursor.fetchall()
        finally:
            cursor.close()
        return fetched

    def first(self, connection: sa.Connection, values: Values = {}) -> Row | None:  # noqa: B006
        """Return the first row of the answer; None if there are no rows."""
        rows = self.rows(connection, values)
        return rows[0] if rows else None

    def run(self, connection: sa.Connection, values: Values = {}) -> int:  # noqa: B006
        """Run a statement that returns no rows; return how many rows it changed."""
        cursor = self._cursor(connection)
        try:
            text = self._text(connection, values)
            cursor.execute(text.sql, text.arguments(values))
            return int(cursor.rowcount)
        finally:
            cursor.close()

    def run_all(self, connection: sa.Connection, rows: Sequence[Values]) -> None:
        """Run the statement once for each set of values; all of them have the same names."""
        if not rows:
            return
        if len(rows) == 1:
            self.run(connection, rows[0])
            return
        cursor = self._cursor(connection)
        try:
            text = self._text(connection, rows[0])
            cursor.executemany(text.sql, [text.arguments(row) for row in rows])
        finally:
            cursor.close()

    def text(self, connection: sa.Connection) -> str:
        """Return the SQL of a statement without parameters."""
        text = self._text(connection, {})
        if text.arguments({}):
            raise ValueError("the statement has parameters")
        return text.sql

    @staticmethod
    def _cursor(connection: sa.Connection) -> Any:
        return connection.connection.cursor()

    def _text(self, connection: sa.Connection, values: Values) -> _Text:
        key = (connection.dialect.name, tuple(values))
        text = self._compiled.get(key)
        if text is None:
            text = self._compiled[key] = _Text(self._statement, connection.dialect, key[1])
        return text


class _Text:
    """A statement in one driver's form."""

    def __init__(self, statement: Any, dialect: sa.Dialect, names: tuple[str, ...]) -> None:
        is_insert = isinstance(statement, sa.Insert)
        compiled = statement.compile(dialect=dialect, column_keys=list(names) if is_insert else None)
        self.sql: str = compiled.string
        self._constants = {name: value for name, value in compiled.params.items() if name not in names}
        self._order: list[str] | None = compiled.positiontup
        self._is_sqlite = dialect.name == "sqlite"

    def arguments(self, values: Values) -> Any:
        if self._order is None:
            return {**self._constants, **values} if self._constants else values
        every = {**self._constants, **values} if self._constants else values
        return [json.dumps(value) if type(value) is list else value for value in map(every.__getitem__, self._order)]
