"""Whether the rows of a backup outside its log can be restored: accounts, roles, tokens, audit events and the others.

The tables of a backup have no constraints, and no signature covers their rows. They are checked with SQL in the backup
itself, before anything is written: a value that the registry's tables refuse would stop the restore halfway, and one
that they accept but the server cannot read (a role that does not exist) would make every later answer fail.

1. A backup contains plain tables and indexes: no views, triggers, virtual tables or generated columns.
2. Values have the type of their column, are not missing, and contain no NUL. Times have the form that sorts.
3. Keys occur once, and a row refers to rows that are there.
4. Roles and scopes exist. The details of audit events are JSON, and the next event has a free position.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping

import sqlalchemy as sa

from registry_server.accounts.roles import ROLES
from registry_server.accounts.scopes import SCOPES
from registry_server.storage import schema

_TIMES = frozenset({"created", "expires", "last_used", "revoked", "disabled", "groups_time", "time"})
_TIME = "[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T[0-9][0-9]:[0-9][0-9]:[0-9][0-9]Z"
_VERIFIED = frozenset({"head", "log_entries"})
"""Tables that are read and verified in full."""
_SCOPED = ("tokens", "trusted_publishers")


def strange_object(database: sqlite3.Connection) -> str | None:
    """What the database contains besides plain tables and indexes (rule 1); None if nothing."""
    names = database.execute("SELECT type, name FROM sqlite_schema WHERE type NOT IN ('table', 'index')").fetchone()
    if names is not None:
        return f"it contains the {names[0]} {names[1]!r}"
    for _, name, kind, *_ in database.execute("PRAGMA main.table_list").fetchall():
        if kind != "table":
            return f"the table {name!r} is {kind}"
        hidden = "SELECT name FROM pragma_table_xinfo(?) WHERE hidden <> 0"
        column = database.execute(hidden, (name,)).fetchone()
        if column is not None:
            return f"the column {name}.{column[0]} is computed"
    return None


def problem(database: sqlite3.Connection, tables: Mapping[str, frozenset[str]]) -> str | None:
    """The first row that cannot be restored (rules 2 to 4), in words; None if there is none.

    ``tables``: names and columns of the backup's tables, which the schema knows. Raises sqlite3.Error.
    """
    for table, columns in tables.items():
        if table in _VERIFIED:
            continue
        for where, words in _conditions(schema.metadata.tables[table], columns, tables):
            # Names come from the schema, values from this file.
            if database.execute(f"SELECT 1 FROM {table} WHERE {where} LIMIT 1").fetchone() is not None:
                return f"a row of the table {table} {words}"
        for _ in database.execute(f"SELECT {', '.join(sorted(columns))} FROM {table}"):
            pass  # the driver raises an error for text that is not UTF-8
    if tables.get("audit_events"):
        return _problem_of_events(database, tables)
    return None


def _conditions(
    table: sa.Table, columns: frozenset[str], tables: Mapping[str, frozenset[str]]
) -> Iterator[tuple[str, str]]:
    """Yield conditions that no row may fulfil, and what is wrong with a row that does."""
    for column in table.columns:
        if column.name in columns:
            yield f"NOT ({_good(column)})", f"has no valid {column.name}"
    for names in _unique(table):
        if columns.issuperset(names):
            listed = ", ".join(names)
            filled = " AND ".join(f"{name} IS NOT NULL" for name in names)
            twice = f"SELECT {listed} FROM {table.name} WHERE {filled} GROUP BY {listed} HAVING count(*) > 1"
            yield f"({listed}) IN ({twice})", f"has the same {' and '.join(names)} as another"
    for key in table.foreign_keys:
        name, target = key.parent.name, key.column.table.name
        if name in columns:
            referred = (
                f"SELECT {key.column.name} FROM {target}" if key.column.name in tables.get(target, ()) else "NULL"
            )
            there = f"{name} IN ({referred})" if referred != "NULL" else "0"
            yield f"{name} IS NOT NULL AND NOT {there}", f"names a {name} that is not in the table {target}"
    if table.name == "namespace_roles":
        yield f"role NOT IN ({_quoted(ROLES)})", "has a role that does not exist"
        yield "(account IS NULL) = (team IS NULL)", "does not belong to either an account or a team"
    if table.name in _SCOPED and "scopes" in columns:
        rest = "' ' || scopes || ' '"
        for scope in SCOPES:
            rest = f"replace({rest}, ' {scope} ', '  ')"
        yield f"trim({rest}) <> '' OR trim(scopes) = ''", "has a scope that does not exist"


def _good(column: sa.Column[object]) -> str:
    """The condition that a value of this column fulfils."""
    name = column.name
    if isinstance(column.type, sa.Integer):
        is_right = f"typeof({name}) = 'integer'"
    elif isinstance(column.type, sa.String):
        is_right = f"typeof({name}) = 'text' AND instr({name}, char(0)) = 0"
        if name in _TIMES:
            is_right += f" AND {name} GLOB '{_TIME}'"
    else:
        is_right = f"typeof({name}) = 'blob'"
    return f"{name} IS NULL OR ({is_right})" if column.nullable else is_right


def _unique(table: sa.Table) -> Iterator[tuple[str, ...]]:
    for constraint in table.constraints:
        if isinstance(constraint, sa.PrimaryKeyConstraint | sa.UniqueConstraint):
            yield tuple(column.name for column in constraint.columns)


def _problem_of_events(database: sqlite3.Connection, tables: Mapping[str, frozenset[str]]) -> str | None:
    """Rule 4 for audit events. Whether their chain is intact is a question for ``verify``, which reports it."""
    if database.execute("SELECT 1 FROM audit_events WHERE NOT json_valid(detail) LIMIT 1").fetchone() is not None:
        return "a row of the table audit_events has no valid detail"
    (last,) = database.execute("SELECT max(position) FROM audit_events").fetchone()
    size = database.execute("SELECT size FROM audit_head").fetchone() if "audit_head" in tables else None
    if last is not None and (size is None or size[0] <= last):
        return "the table audit_head counts fewer audit events than there are"
    return None


def _quoted(words: tuple[str, ...]) -> str:
    return ", ".join(f"'{word}'" for word in words)
