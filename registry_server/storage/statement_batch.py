"""Changes of many rows of many tables that reach the database in one message.

A :class:`RowChange` inserts, updates or deletes any number of rows; :class:`StatementBatch` collects changes and runs them.
SQLite runs each change for each row, in order. PostgreSQL gets one statement for all of them: each change is a data-modifying
``WITH`` query, and its rows are arrays. So there is one round trip, and no moment at which PostgreSQL has received a part
of it and waits for the rest without measuring the time (:mod:`registry_server.storage.database`).

PostgreSQL shows all parts of such a statement the tables as they were before it, and promises no order. So changes that
are collected together must not

* touch the same row, or
* read what another of them writes.

Foreign keys are checked at the end of the statement.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import sqlalchemy as sa

from registry_server.storage.prepared import Prepared, Values

_TYPES: tuple[tuple[type[Any], str], ...] = (
    (sa.BigInteger, "bigint"),
    (sa.Integer, "integer"),
    (sa.Boolean, "boolean"),
    (sa.LargeBinary, "bytea"),
    (sa.String, "text"),
)


class RowChange:
    """A statement for any number of rows."""

    def __init__(self, each: sa.Executable, at_once: str, types: dict[str, str]) -> None:
        """``each``: for one row, whose values are parameters. ``at_once``: for all rows, on PostgreSQL, where ``{rows}`` is
        a table ``given`` with the columns ``types``, and ``{NAME}`` the array of one column."""
        self._each = Prepared(each)
        self._at_once = at_once
        self._types = types

    def run_each(self, connection: sa.Connection, rows: Sequence[Values]) -> None:
        """Run it for one row after the other."""
        self._each.run_all(connection, rows)

    def run_one(self, connection: sa.Connection, row: Values) -> int:
        """Run it for one row; return how many rows it changed."""
        return self._each.run(connection, row)

    def text(self, prefix: str) -> str:
        """Return the SQL for all rows, with a prefix before the names of its parameters."""
        arrays = {name: f"%({prefix}{name})s::{kind}[]" for name, kind in self._types.items()}
        rows = f"unnest({', '.join(arrays.values())}) AS given({', '.join(arrays)})"
        return self._at_once.format(rows=rows, **arrays)

    def arguments(self, prefix: str, rows: Sequence[Values]) -> dict[str, object]:
        """Return the values of these parameters."""
        return {prefix + name: _array(kind, [row[name] for row in rows]) for name, kind in self._types.items()}


def inserting(table: sa.Table, *, replacing: Sequence[str] | None = None) -> RowChange:
    """Return the change that inserts rows with all columns. ``replacing``: the key, if existing rows are replaced."""
    types = {column.name: _type_of(column) for column in table.columns}
    names = ", ".join(types)
    conflict, each = "", table.insert()
    if replacing is not None:
        values = ", ".join(f"{name} = excluded.{name}" for name in types if name not in replacing)
        conflict = f" ON CONFLICT ({', '.join(replacing)}) DO UPDATE SET {values}"
        places = ", ".join(f":{name}" for name in types)
        each = sa.text(f"INSERT INTO {table.name} ({names}) VALUES ({places}){conflict}")  # type: ignore[assignment]
    return RowChange(each, f"INSERT INTO {table.name} ({names}) SELECT {names} FROM {{rows}}{conflict}", types)


def deleting(table: sa.Table, name: str) -> RowChange:
    """Return the change that deletes the rows with the values of one column."""
    column = table.columns[name]
    return RowChange(
        table.delete().where(column == sa.bindparam(name)),
        f"DELETE FROM {table.name} WHERE {name} = ANY({{{name}}})",
        {name: _type_of(column)},
    )


class StatementBatch:
    """Changes that are written when :meth:`run` is called."""

    def __init__(self) -> None:
        self._changes: list[tuple[RowChange, tuple[Values, ...]]] = []

    def add(self, change: RowChange, rows: Iterable[Values]) -> None:
        """Add a change of some rows."""
        some = tuple(rows)
        if some:
            self._changes.append((change, some))

    def run(self, connection: sa.Connection, guard: tuple[RowChange, Values] | None = None) -> bool:
        """Write what was added since the last time.

        ``guard``: one more change, of one row. Returns False if there was no such row; then the caller must not commit.
        """
        changes, self._changes = self._changes, []
        if connection.dialect.name == "sqlite":
            for change, rows in changes:
                change.run_each(connection, rows)
            return guard is None or guard[0].run_one(connection, guard[1]) == 1
        if guard is not None:
            changes.append((guard[0], (guard[1],)))
        if not changes:
            return True
        arguments: dict[str, object] = {}
        for number, (change, rows) in enumerate(changes):
            arguments.update(change.arguments(f"w{number}_", rows))
        driver: Any = connection.connection
        with driver.cursor() as cursor:
            cursor.execute(_statement(tuple(change for change, _ in changes), guard is not None), arguments)
            (changed,) = cursor.fetchone()
        return bool(changed == 1)


_STATEMENTS: dict[tuple[tuple[RowChange, ...], bool], str] = {}
"""The SQL of changes that ran together before; there are few combinations."""
_MOST_STATEMENTS = 1000


def _statement(changes: tuple[RowChange, ...], has_guard: bool) -> str:
    """Return the statement, whose answer is 1, or with a guard the number of rows that the last change found."""
    key = (changes, has_guard)
    statement = _STATEMENTS.get(key)
    if statement is None:
        if len(_STATEMENTS) >= _MOST_STATEMENTS:
            _STATEMENTS.clear()
        last = len(changes) - 1
        parts = [
            f"w{number} AS ({change.text(f'w{number}_')}{' RETURNING 1' if has_guard and number == last else ''})"
            for number, change in enumerate(changes)
        ]
        answer = f"SELECT count(*) FROM w{last}" if has_guard else "SELECT 1"
        statement = _STATEMENTS[key] = f"WITH {', '.join(parts)} {answer}"
    return statement


def _array(kind: str, values: list[Any]) -> object:
    """Return an array as the driver sends it: always with the same type, so that the statement stays prepared."""
    if kind in ("text", "bytea"):
        return values
    plain = (str(int(value)) if kind != "boolean" else "true" if value else "false" for value in values)
    return f"{{{','.join(plain)}}}"


def _type_of(column: sa.Column[Any]) -> str:
    return next(name for kind, name in _TYPES if isinstance(column.type, kind))
