"""Token look-ups from the event loop: the same answers as the ordinary look-up, without ever waiting."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from registry_server.accounts import tokens
from registry_server.accounts.token_lookup import TokenLookup, Unanswered
from registry_server.storage import database
from registry_server.storage.schema import metadata

NOW = "2026-01-02T03:04:05Z"


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[sa.Engine]:
    engine = database.engine_of(f"sqlite:///{tmp_path / 'registry.db'}")
    with database.change(engine) as connection:
        metadata.create_all(connection)
    yield engine
    engine.dispose()


def test_the_answers_are_those_of_the_ordinary_way_and_a_revocation_counts_at_once(engine: sa.Engine) -> None:
    with database.change(engine) as connection:
        bound = tokens.create(connection, "bound", ("b", "a"), NOW)
        free = tokens.create(connection, "free", (), NOW)
    look = TokenLookup(engine)
    wrong = f"{bound[:-1]}{'A' if bound[-1] != 'A' else 'B'}"
    for token in (bound, free, wrong, "rye_" + "0" * 16 + "_" + "A" * 43, "nothing", ""):
        with database.reader(engine) as connection:
            assert look.check(token) == tokens.check(connection, token)
    with database.change(engine) as connection:
        tokens.revoke(connection, free, NOW)
    assert look.check(free) is None
    assert look.check(bound) is not None
    look.close()


def test_a_database_that_is_locked_is_not_waited_for(engine: sa.Engine, tmp_path: Path) -> None:
    with database.change(engine) as connection:
        token = tokens.create(connection, "test", (), NOW)
    engine.dispose()
    look = TokenLookup(engine)
    with sqlite3.connect(tmp_path / "registry.db") as other:
        other.execute("PRAGMA locking_mode=EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(Unanswered):
            look.check(token)
    other.close()
    assert look.check(token) is not None
    look.close()


def test_a_file_put_in_the_place_of_the_database_is_opened_anew(engine: sa.Engine, tmp_path: Path) -> None:
    look = TokenLookup(engine)
    with database.change(engine) as connection:
        token = tokens.create(connection, "test", (), NOW)
    assert look.check(token) is not None
    (tmp_path / "registry.db").rename(tmp_path / "old.db")
    with pytest.raises(Unanswered):
        look.check(token)
    sqlite3.connect(tmp_path / "registry.db").close()
    with pytest.raises(Unanswered):  # it has no tables
        look.check(token)


def test_another_database_is_asked_the_ordinary_way() -> None:
    look = TokenLookup(sa.create_engine("postgresql+psycopg://nobody@127.0.0.1:1/none"))
    with pytest.raises(Unanswered):
        look.check("rye_" + "0" * 16 + "_" + "A" * 43)
    assert look.check("no token") is None
