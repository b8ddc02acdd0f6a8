"""Statements that are compiled once give the same answers as SQLAlchemy's own execution, for any values."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from registry_server.storage import database
from registry_server.storage.prepared import Among, Prepared
from rye.errors import RyeError

metadata = sa.MetaData()
names = sa.Table(
    "names",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("fold", sa.Text, nullable=False),
    sa.Column("index_size", sa.BigInteger, nullable=False),
)
ADD = Prepared(names.insert())
SOME = Prepared(sa.select(names.c.name, names.c.index_size).where(Among(names.c.name)).order_by(names.c.name))
RENAME = Prepared(
    names.update().where(names.c.name == sa.bindparam("which")).values(fold=sa.bindparam("new"), index_size=7)
)


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[sa.Engine]:
    made = database.engine_of(f"sqlite:///{tmp_path / 'registry.db'}")
    metadata.create_all(made)
    yield made
    made.dispose()


def row(name: str) -> dict[str, object]:
    return {"name": name, "fold": name, "index_size": 1}


def test_rows_are_found_by_lists_of_any_length_and_any_text(engine: sa.Engine) -> None:
    odd = ['it\'s "quoted"', "%_[]", "naïve\u2028", "x" * 1000]
    with database.writer(engine) as connection:
        ADD.run_all(connection, [row(name) for name in odd])
        assert sorted(SOME.rows(connection, {"some": [*odd, "missing"]})) == sorted((name, 1) for name in odd)
        assert SOME.rows(connection, {"some": []}) == []
        assert SOME.first(connection, {"some": ["%"]}) is None
        assert len(SOME.rows(connection, {"some": [f"n{number}" for number in range(2000)] + odd})) == len(odd)


def test_constants_of_a_statement_keep_their_places_among_its_parameters(engine: sa.Engine) -> None:
    with database.writer(engine) as connection:
        ADD.run(connection, row("one"))
        assert RENAME.run(connection, {"which": "one", "new": "other"}) == 1
        assert RENAME.run(connection, {"which": "none", "new": "other"}) == 0
        assert connection.execute(sa.select(names.c.fold, names.c.index_size)).one() == ("other", 7)


def test_it_belongs_to_the_transaction_and_its_errors_are_the_databases(engine: sa.Engine) -> None:
    def add_twice() -> None:
        with database.writer(engine) as connection:
            ADD.run(connection, row("one"))
            ADD.run(connection, row("one"))

    with pytest.raises(RyeError) as refused:
        add_twice()
    assert refused.value.code == "database-unavailable"
    assert isinstance(refused.value.__cause__, sqlite3.IntegrityError)
    with database.reader(engine) as connection:
        assert SOME.rows(connection, {"some": ["one"]}) == []
