"""Tokens and the schema against a real database file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from registry_server.accounts import tokens
from registry_server.migrations import opening
from registry_server.storage import database, schema
from rye.errors import RyeError

pytestmark = pytest.mark.slow

NOW = "2026-01-02T03:04:05Z"


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[sa.Engine]:
    engine = opening.connect(f"sqlite:///{tmp_path / 'registry.db'}")
    yield engine
    engine.dispose()


def test_the_migrations_make_the_tables_that_the_code_describes(engine: sa.Engine) -> None:
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    def is_ours(name: str | None, kind: str, _parents: object) -> bool:
        return not (kind == "table" and (name or "").startswith("documents_fts"))

    with database.reader(engine) as connection:
        context = MigrationContext.configure(connection, opts={"include_name": is_ours})
        assert compare_metadata(context, schema.metadata) == []


def test_the_newest_revision_is_the_one_that_the_code_asks_for(engine: sa.Engine) -> None:
    from alembic.script import ScriptDirectory

    folder = Path(opening.__file__).parent
    assert ScriptDirectory(str(folder)).get_current_head() == schema.REVISION
    with database.reader(engine) as connection:
        assert connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar() == schema.REVISION


def test_a_database_of_a_newer_version_is_left_alone(engine: sa.Engine, tmp_path: Path) -> None:
    with database.writer(engine) as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(RyeError) as caught:
        opening.connect(f"sqlite:///{tmp_path / 'registry.db'}")
    assert caught.value.code == "database-too-new"


def test_the_database_survives_losing_power(engine: sa.Engine) -> None:
    with database.reader(engine) as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2  # FULL


class TestTokens:
    def test_a_token_is_known_by_its_secret_and_stored_only_as_a_hash(self, engine: sa.Engine, tmp_path: Path) -> None:
        with database.writer(engine) as connection:
            token = tokens.create(connection, "ci", ["acme"], NOW)
        with database.reader(engine) as connection:
            account = tokens.check(connection, token)
        assert account is not None
        assert account.name == "ci"
        assert account.may_write("acme")
        assert not account.may_write("other")
        stored = b"".join(path.read_bytes() for path in tmp_path.iterdir())
        assert token[-43:].encode() not in stored

    def test_a_token_without_namespaces_may_write_to_any(self, engine: sa.Engine) -> None:
        with database.writer(engine) as connection:
            token = tokens.create(connection, "admin", [], NOW)
            account = tokens.check(connection, token)
        assert account is not None
        assert account.may_write("anything")

    def test_a_wrong_secret_and_a_malformed_token_are_unknown(self, engine: sa.Engine) -> None:
        with database.writer(engine) as connection:
            token = tokens.create(connection, "ci", [], NOW)
            swapped = token[:-1] + ("A" if token[-1] != "A" else "B")
            for wrong in (swapped, "", "rye_", token + "x", token.upper(), "rye_" + "0" * 16 + "_" + "A" * 43):
                assert tokens.check(connection, wrong) is None

    def test_a_revoked_token_stays_listed_and_is_worthless(self, engine: sa.Engine) -> None:
        with database.writer(engine) as connection:
            token = tokens.create(connection, "ci", ["acme"], NOW)
            revoked = tokens.revoke(connection, token, NOW)
            assert revoked.revoked == NOW
            assert tokens.check(connection, token) is None
            assert [account.revoked for account in tokens.listing(connection)] == [NOW]
            with pytest.raises(RyeError, match="no token"):
                tokens.revoke(connection, "0" * 16, NOW)

    def test_bad_names_are_refused(self, engine: sa.Engine) -> None:
        with database.writer(engine) as connection:
            for name, namespaces in (("", []), ("a\nb", []), ("ok", ["Not A Namespace"])):
                with pytest.raises(RyeError):
                    tokens.create(connection, name, namespaces, NOW)
