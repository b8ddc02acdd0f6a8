"""Changes that are written together: the same rows on SQLite and PostgreSQL, all or none, whatever the values
(registry_server/storage/statement_batch.py)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from registry_server.storage import database
from registry_server.storage.statement_batch import RowChange, StatementBatch, deleting, inserting
from rye.errors import RyeError

pytestmark = pytest.mark.processes

metadata = sa.MetaData()
items = sa.Table(
    "items",
    metadata,
    sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("name", sa.String(2000), nullable=False, unique=True),
    sa.Column("note", sa.Text),
    sa.Column("data", sa.LargeBinary, nullable=False),
    sa.Column("good", sa.Boolean, nullable=False),
)
marks = sa.Table(
    "marks",
    metadata,
    sa.Column("item", sa.BigInteger, sa.ForeignKey("items.number"), primary_key=True, autoincrement=False),
    sa.Column("mark", sa.Integer, primary_key=True, autoincrement=False),
)
ADD, MARK = inserting(items), inserting(marks)
PUT = inserting(items, replacing=["number"])
REMOVE, UNMARK = deleting(items, "number"), deleting(marks, "item")
RENAME = RowChange(
    items.update().where(items.c.number == sa.bindparam("which")).values(name=sa.bindparam("new")),
    "UPDATE items SET name = given.new FROM {rows} WHERE items.number = given.which",
    {"which": "bigint", "new": "text"},
)
ODD = ["", "NULL", "null", "{}", '{"a","b"}', "a,b", '"', "'", "\\", "\\x41", "'); DROP TABLE items; --", "%s %(x)s", "$1",
       ":name", "naïve\u2028", "日本", " ", "\n", "x" * 1500]  # fmt: skip


@pytest.fixture(params=["sqlite", "postgresql"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[sa.Engine]:
    url = f"sqlite:///{tmp_path / 'x.db'}" if request.param == "sqlite" else request.getfixturevalue("empty")
    made = database.engine_of(url)
    metadata.create_all(made)
    yield made
    made.dispose()


def row(number: int, name: str, **others: Any) -> dict[str, Any]:
    return {"number": number, "name": name, "note": None, "data": b"", "good": False, **others}


def stored(engine: sa.Engine) -> list[tuple[Any, ...]]:
    with database.reader(engine) as connection:
        return [tuple(found) for found in connection.execute(sa.select(items).order_by(items.c.number))]


def test_any_value_arrives_unchanged(engine: sa.Engine) -> None:
    rows = [
        row(2**40 + at, text, note=text if at % 2 else None, data=bytes([0, at, 255, 92, 34]), good=at % 3 == 0)
        for at, text in enumerate(ODD)
    ]
    changes = StatementBatch()
    changes.add(ADD, rows)
    changes.add(MARK, [{"item": rows[-1]["number"], "mark": -7}])  # its item is written by the same statement
    with database.writer(engine) as connection:
        changes.run(connection)
        changes.run(connection)  # nothing is left to write
    assert stored(engine) == [tuple(found.values()) for found in rows]
    with database.reader(engine) as connection:
        assert connection.execute(sa.select(marks.c.mark)).scalars().all() == [-7]


def test_different_changes_and_any_number_of_rows_go_together(engine: sa.Engine) -> None:
    changes = StatementBatch()
    changes.add(ADD, [row(number, f"n{number}") for number in range(1000)])
    with database.writer(engine) as connection:
        changes.run(connection)
        changes.add(REMOVE, [{"number": number} for number in range(5, 1000)])
        changes.add(RENAME, [{"which": 1, "new": "one"}, {"which": 3, "new": "three"}])
        changes.add(PUT, [row(4, "four", good=True), row(2000, "new")])
        changes.add(UNMARK, [])
        changes.run(connection)
    names = [(number, name) for number, name, *_ in stored(engine)]
    assert names == [(0, "n0"), (1, "one"), (2, "n2"), (3, "three"), (4, "four"), (2000, "new")]


@pytest.mark.parametrize("wrong", [[row(1, "taken")], [row(7, "a"), row(8, "a")]])
def test_one_change_that_fails_undoes_all(engine: sa.Engine, wrong: list[dict[str, Any]]) -> None:
    with database.writer(engine) as connection:
        ADD.run_each(connection, [row(1, "first")])
    changes = StatementBatch()
    changes.add(RENAME, [{"which": 1, "new": "other"}])
    changes.add(ADD, wrong)

    def write() -> None:
        with database.writer(engine) as connection:
            changes.run(connection)

    with pytest.raises(RyeError) as refused:
        write()
    assert refused.value.code == "database-unavailable"
    assert [name for _, name, *_ in stored(engine)] == ["first"]


def test_a_row_whose_parent_is_nowhere_is_refused(engine: sa.Engine) -> None:
    changes = StatementBatch()
    changes.add(ADD, [row(1, "one")])
    changes.add(MARK, [{"item": 2, "mark": 1}])

    def write() -> None:
        with database.writer(engine) as connection:
            changes.run(connection)

    with pytest.raises(RyeError):
        write()
    assert stored(engine) == []


def test_only_numbers_go_where_numbers_belong() -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        MARK.arguments("", [{"item": "1},{2", "mark": 1}])


def test_a_guard_that_finds_no_row_is_reported(engine: sa.Engine) -> None:
    with database.writer(engine) as connection:
        changes = StatementBatch()
        changes.add(ADD, [row(1, "one"), row(2, "two")])
        assert changes.run(connection, guard=(RENAME, {"which": 7, "new": "x"})) is False
        assert changes.run(connection, guard=(RENAME, {"which": 1, "new": "x"})) is True
        changes.add(REMOVE, [{"number": 2}])
        assert changes.run(connection, guard=(RENAME, {"which": 1, "new": "y"})) is True
    assert [name for _, name, *_ in stored(engine)] == ["y"]
