"""What a reader may not see leaves no trace in a search: in no hit, score, total or correction. Hostile queries cost little."""

from __future__ import annotations

import contextlib
import time
from unittest import mock

import pytest
import sqlalchemy as sa
from hypothesis import example, given, settings
from hypothesis import strategies as st

from registry_server.migrations.opening import connect
from registry_server.search import documents, finding
from registry_server.search.documents import SearchDocument
from registry_server.search.finding import SearchResults, find
from rye.errors import RyeError
from rye.text.ranking.body_words import body_words
from tests.scenes.effort import rest_thorough, tries
from tests.scenes.local_registry import LocalRegistry

NAMESPACES = ("acme", "club", "secret", "zoo")
WORDS = ("deploy", "rollout", "cluster", "payroll", "mergers", "elephant", "file", "system")
QUESTIONS = (
    *WORDS,
    "delpoy",
    "paryoll",
    "elephnat cluster",
    "secret",
    "filesystem",
    "secret/payroll",
    "k8s",
    "pa",
    "skill:mergers",
)
SECONDS = 2.0
"""What one hostile query may take of a processor; it takes milliseconds."""

_some_words = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3)
_documents = st.lists(
    st.builds(
        lambda kind, namespace, name, says, keywords, deprecated: SearchDocument(
            kind, f"{namespace}/{'-'.join(name)}", "1.0.0", " ".join(says), "\n" + body_words(" ".join(keywords)), deprecated
        ),
        st.sampled_from(("skill", "tool")), st.sampled_from(NAMESPACES), _some_words, _some_words, _some_words, st.booleans(),
    ),
    max_size=12,
    unique_by=lambda document: document.id,
)  # fmt: skip


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> sa.Engine:
    return connect(f"sqlite:///{tmp_path_factory.mktemp('search') / 'registry.db'}")


def answers(engine: sa.Engine, stored: list[SearchDocument], question: str, visible: set[str] | None) -> SearchResults:
    """Search in a registry that has these documents and no others."""
    with engine.connect().execution_options(rye_writer=True) as connection, connection.begin() as transaction:
        documents.replace(connection, [], stored)
        found = find(connection, question, visible=visible, limit=100, is_counted=True)
        transaction.rollback()
    return found


UNSEEN_CORRECTION = [
    SearchDocument("skill", "secret/payroll", "1.0.0", ""),
    SearchDocument("skill", "acme/file", "1.0.0", "Payroll"),
]
"""Only what may not be seen says that a mistyped word of the question means one of what may."""


@example(UNSEEN_CORRECTION, {"acme"}, "paryoll", 1000)
@settings(max_examples=tries(60, 1000), deadline=None)
@given(
    _documents, st.sets(st.sampled_from(NAMESPACES), min_size=1), st.sampled_from(QUESTIONS), st.sampled_from((3, 1000))
)
def test_an_answer_is_the_one_of_a_registry_without_what_the_reader_may_not_see(
    engine: sa.Engine, stored: list[SearchDocument], member_of: set[str], question: str, candidates: int
) -> None:
    may_see = [document for document in stored if document.namespace in member_of]
    with mock.patch.object(finding, "CANDIDATES", candidates):
        assert answers(engine, stored, question, member_of) == answers(engine, may_see, question, None)


HOSTILE = (
    "word " * 2_000,
    " ".join(f"w{number}" for number in range(1_000)),
    "a" * 1_000,
    "a " * 1_000,
    "ab" * 5_000,
    '"deploy" OR NEAR(file system, 3) AND NOT id:*',
    "'& | ! <-> (deploy):*",
    "de\0ploy",
    "de\ud800ploy",
    "\u202eyolped\u2066",
    "%_\\'; DROP TABLE documents; --",
    "e\u0301" * 5_000,
    "\ufdfa" * 1_000,  # each becomes eighteen letters
)


@pytest.mark.parametrize("query", rest_thorough(4, HOSTILE), ids=range(len(HOSTILE)))
def test_a_hostile_query_is_answered_or_refused_soon(engine: sa.Engine, query: str) -> None:
    stored = [SearchDocument("skill", f"zoo/{WORDS[n % 8]}-{n}", "1.0.0", " ".join(WORDS)) for n in range(500)]
    statements: list[str] = []
    with engine.connect().execution_options(rye_writer=True) as connection, connection.begin() as transaction:
        documents.replace(connection, [], stored)
        sa.event.listen(connection, "before_cursor_execute", lambda *given: statements.append(given[2]))
        began = time.thread_time()
        with contextlib.suppress(RyeError):  # query-too-short
            find(connection, query, visible=["zoo"])
        assert time.thread_time() - began < SECONDS
        transaction.rollback()
    assert len(statements) <= 30


def test_the_api_refuses_a_long_query(tmp_path_factory: pytest.TempPathFactory) -> None:
    local = LocalRegistry(tmp_path_factory.mktemp("local") / "data")
    try:
        for query in HOSTILE:
            answer = local.get(
                "/api/v1/search", params={"q": query.encode("utf-8", "surrogatepass").decode("utf-8", "replace")}
            )
            assert answer.status_code in ((400,) if len(query) > 200 else (200, 400)), query[:20]
    finally:
        local.close()
