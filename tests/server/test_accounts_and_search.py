"""Tokens and search against a real database file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st

from registry_server.accounts import tokens
from registry_server.migrations import opening
from registry_server.search import documents as search
from registry_server.search.documents import Document
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


DOCUMENTS = [
    Document(
        "directive", "acme/workflows/deploy_and_test", "1.0.0", "Deploy to staging, then run the tests", "workflows"
    ),
    Document("directive", "acme/workflows/build", "2.1.0", "Build the project", "workflows ci"),
    Document("tool", "acme/file-system/read", "1.2.0", "Read a file", "file-system"),
    Document("knowledge", "other/guides/deploying", "0.1.0", "How deployments work", "guides"),
]


class TestSearch:
    @pytest.fixture(autouse=True)
    def _filled(self, engine: sa.Engine) -> None:
        with database.writer(engine) as connection:
            for document in DOCUMENTS:
                search.put(connection, document)

    def _ids(self, engine: sa.Engine, query: str, kind: str | None = None, namespace: str | None = None) -> list[str]:
        with database.reader(engine) as connection:
            return [hit.id for hit in search.find(connection, query, kind=kind, namespace=namespace)[0]]

    def test_words_are_found_by_their_beginning_in_id_and_description(self, engine: sa.Engine) -> None:
        assert set(self._ids(engine, "deploy")) == {"acme/workflows/deploy_and_test", "other/guides/deploying"}
        assert self._ids(engine, "STAGING tes") == ["acme/workflows/deploy_and_test"]
        assert self._ids(engine, "file system") == ["acme/file-system/read"]

    def test_kind_and_namespace_narrow(self, engine: sa.Engine) -> None:
        assert self._ids(engine, "deploy", kind="knowledge") == ["other/guides/deploying"]
        assert self._ids(engine, "deploy", namespace="acme") == ["acme/workflows/deploy_and_test"]
        assert self._ids(engine, "deploy", namespace="nobody") == []

    def test_when_nothing_has_all_words_any_is_enough(self, engine: sa.Engine) -> None:
        assert self._ids(engine, "build elephants") == ["acme/workflows/build"]

    def test_the_name_itself_comes_first_with_full_score(self, engine: sa.Engine) -> None:
        with database.reader(engine) as connection:
            hits, total = search.find(connection, "acme/workflows/build")
        assert hits[0].id == "acme/workflows/build"
        assert hits[0].score == 1.0
        assert total >= 1
        assert all(0 <= hit.score <= 1 for hit in hits)

    def test_pages_and_the_total(self, engine: sa.Engine) -> None:
        with database.reader(engine) as connection:
            first, total = search.find(connection, "", limit=3)
            rest, _ = search.find(connection, "", limit=3, offset=3)
        assert total == 4
        assert [hit.id for hit in first + rest] == sorted(document.id for document in DOCUMENTS)

    def test_a_newer_version_replaces_and_a_removed_name_is_gone(self, engine: sa.Engine) -> None:
        with database.writer(engine) as connection:
            search.put(connection, Document("tool", "acme/file-system/read", "2.0.0", "Read anything", ""))
            hits, _ = search.find(connection, "read")
            assert [(hit.version, hit.description) for hit in hits] == [("2.0.0", "Read anything")]
            assert search.find(connection, "file-system/read anything")[1] == 1
            search.remove(connection, "tool", "acme/file-system/read")
            search.remove(connection, "tool", "acme/file-system/read")
            assert search.find(connection, "read") == ([], 0)

    @pytest.mark.parametrize(
        "query", ['"', "deploy OR", "NEAR(a b)", "id:deploy", "*", "a* b^", "'; DROP TABLE x", "-x", "\0"]
    )
    def test_what_a_person_types_is_never_query_syntax(self, engine: sa.Engine, query: str) -> None:
        assert isinstance(self._ids(engine, query), list)


@given(st.text(max_size=60))
@settings(max_examples=60, deadline=None)
def test_no_text_makes_a_search_fail(query: str) -> None:
    engine = sa.create_engine("sqlite://", poolclass=sa.StaticPool)
    with engine.begin() as connection:
        schema.documents.create(connection)
        connection.exec_driver_sql(
            "CREATE VIRTUAL TABLE documents_fts USING fts5(id, description, kind, keywords, "
            "content='documents', content_rowid='number', prefix='2 3')"
        )
        search.put(connection, DOCUMENTS[0])
        hits, total = search.find(connection, query)
        assert total >= len(hits)
    engine.dispose()
