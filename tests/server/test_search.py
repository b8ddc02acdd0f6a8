"""Search: what is found and in which order, with bounded work for any query. On a real database file."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st

from registry_server.migrations import opening
from registry_server.search import asking, documents, finding, search_pool
from registry_server.search.documents import SearchDocument
from registry_server.search.finding import SearchResults, find
from registry_server.search.search_pool import SearchPool
from registry_server.search.words import BLOCK_ITEMS, beginnings_of, blocks_of, newest_blocks, tokens_of
from registry_server.settings import Settings
from registry_server.storage import database
from rye.errors import RyeError
from rye.items.kinds import KINDS
from rye.registry.protocol.wire import MORE, SEARCH_TOTAL
from rye.text.ranking.mistakes import grams_of, mistakes_between, nearest
from rye.text.ranking.scoring import BEGINNING_LETTERS, QUERY_WORDS, Searched, of_kind, question_of, terms_of
from rye.text.ranking.words import WORD_LETTERS, words_of

DOCUMENTS = [
    SearchDocument(
        "directive", "acme/workflows/deploy_and_test", "1.0.0", "Deploy to staging, then run tests", "workflows"
    ),
    SearchDocument("directive", "acme/workflows/build", "2.1.0", "Build the project", "workflows ci"),
    SearchDocument("tool", "acme/file-system/read", "1.2.0", "Read a file", "file-system"),
    SearchDocument("knowledge", "other/guides/deploying", "0.1.0", "How deployments work", "guides"),
    SearchDocument("tool", "other/ops/deploy", "0.9.0", "The way it was done before", "", deprecated=True),
    SearchDocument("tool", "other/ops/release", "1.0.0", "Calls deploy on every machine", ""),
]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sa.Engine]:
    engine = opening.connect(f"sqlite:///{tmp_path_factory.mktemp('search') / 'registry.db'}")
    yield engine
    engine.dispose()


@pytest.fixture
def connection(engine: sa.Engine) -> Iterator[sa.Connection]:
    """A transaction with the documents above, rolled back at the end."""
    with engine.connect().execution_options(rye_writer=True) as connection, connection.begin() as transaction:
        documents.replace(connection, [], DOCUMENTS)
        yield connection
        transaction.rollback()


def ids(connection: sa.Connection, query: str, **narrowed: object) -> list[str]:
    return [hit.id for hit in find(connection, query, **narrowed).hits]  # type: ignore[arg-type]


def asked_terms(query: str) -> Iterator[asking.Term]:
    question = question_of(query)
    for step in asking.steps(question, 1) if question else ():
        for terms in step.asked:
            yield from terms


class TestWhatIsFound:
    def test_words_are_found_by_their_beginning_in_id_and_description(self, connection: sa.Connection) -> None:
        assert ids(connection, "STAGING tes") == ["acme/workflows/deploy_and_test"]
        assert ids(connection, "file system") == ["acme/file-system/read"]
        assert ids(connection, "filesystem") == ["acme/file-system/read"]
        assert ids(connection, "bu") == ["acme/workflows/build"]

    def test_the_beginning_of_a_long_word_is_enough_and_a_very_long_one_is_found_in_full(
        self, connection: sa.Connection
    ) -> None:
        long, very_long = "containerization", "internationalization"
        some = [SearchDocument("tool", f"acme/{word}", "1.0.0", "", "") for word in (long, very_long)]
        documents.replace(connection, [], some)
        for letters in range(2, len(long) + 1):
            assert f"acme/{long}" in ids(connection, long[:letters]), letters
        assert ids(connection, very_long[:BEGINNING_LETTERS]) == [f"acme/{very_long}"]
        assert ids(connection, very_long) == [f"acme/{very_long}"]
        assert ids(connection, f"acme/{very_long[:-2]}")[0] == f"acme/{very_long}"  # as a prefix of an id

    def test_what_a_beginning_finds_as_well_is_not_looked_up_again(self) -> None:
        """The whole word, and itself joined to the next one, begin with it."""
        red, *_ = asking.steps(question_of("red green"), 1)[2].asked  # type: ignore[arg-type]
        assert red == (asking.Term("red", is_prefix=True),)
        (name,) = asking.steps(question_of("merging"), 1)[0].asked  # type: ignore[arg-type]
        assert {asking.Term("/merg"), asking.Term("/merging", is_prefix=True)} <= set(name)
        assert asking.occurrence(question_of("red").clauses[0]) == ((asking.Term("red", is_prefix=True),),)  # type: ignore[union-attr]

    def test_the_rarest_parts_are_intersected_first_with_the_same_result(self, connection: sa.Connection) -> None:
        some = [
            SearchDocument(
                "tool", f"acme/i{number}", "1.0.0", " ".join(f"w{by}" for by in (2, 3, 5, 7) if number % by == 0)
            )
            for number in range(212)
        ]
        documents.replace(connection, [], some)
        asked = tuple((asking.Term(f"w{by}"), asking.Term("nowhere")) for by in (7, 5, 3, 2))
        match = sa.text("SELECT rowid FROM documents_fts WHERE documents_fts MATCH :asked ORDER BY rowid DESC")
        found = [connection.scalars(match, {"asked": asking.fts5(asked, first)}).all() for first in (0, 2, 3)]
        assert found[0] == found[1] == found[2]
        assert len(found[0]) == 2  # numbers 0 and 210

    def test_parts_are_intersected_first_if_hardly_any_item_has_them_together(self) -> None:
        assert asking.rarest_together([0.02, 0.02]) == 0
        assert asking.rarest_together([0.02] * 8) == 3
        assert asking.rarest_together([0.001, 0.005, 0.1, 0.3]) == 2
        assert asking.rarest_together([0.3, 0.3, 0.4]) == 0

    def test_sqlite_has_an_index_of_every_beginning_that_is_asked_for(self, connection: sa.Connection) -> None:
        (made,) = connection.exec_driver_sql("SELECT sql FROM sqlite_master WHERE name = 'documents_fts'").one()
        indexed = {int(letters) for letters in re.findall(r"prefix='([\d ]+)'", made)[0].split()}
        for letters in range(1, WORD_LETTERS + 1):
            for term in asked_terms("a" * letters):
                assert not term.is_prefix or len(term.token) in indexed, letters

    def test_the_better_the_fit_the_earlier_and_what_is_deprecated_sinks(self, connection: sa.Connection) -> None:
        assert ids(connection, "deploy") == [
            "other/guides/deploying",  # the only word of the name
            "acme/workflows/deploy_and_test",  # a word of the name
            "other/ops/release",  # the description alone
            "other/ops/deploy",  # the name itself, but deprecated
        ]

    def test_an_id_typed_in_full_is_first_with_full_score_even_deprecated(self, connection: sa.Connection) -> None:
        for typed in ("other/ops/deploy", "tool:other/ops/deploy", "  OTHER/ops/deploy "):
            hits = find(connection, typed).hits
            assert (hits[0].id, hits[0].score) == ("other/ops/deploy", 1.0)
        assert ids(connection, "agent:other/ops/deploy") == []

    def test_the_beginning_of_an_id_and_a_name_with_other_separators(self, connection: sa.Connection) -> None:
        assert ids(connection, "acme/workflows/bui")[0] == "acme/workflows/build"
        for typed in ("deploy-and-test", "deploy and test"):
            assert ids(connection, typed)[0] == "acme/workflows/deploy_and_test"

    def test_scores_are_in_the_order_that_clients_sort_by(self, connection: sa.Connection) -> None:
        hits = find(connection, "deploy").hits
        assert list(hits) == sorted(hits, key=lambda hit: (-hit.score, hit.id, hit.kind))
        assert all(0 < hit.score <= 1 for hit in hits)

    def test_a_typing_mistake_in_an_id_is_put_right(self, connection: sa.Connection) -> None:
        for wrong in ("delpoy", "deplpy", "dploy", "depploy"):
            assert "acme/workflows/deploy_and_test" in ids(connection, wrong), wrong
        assert ids(connection, "biuld project") == ["acme/workflows/build"]
        assert ids(connection, "stagign") == []  # only of ids

    def test_when_nothing_has_all_words_any_is_enough(self, connection: sa.Connection) -> None:
        assert ids(connection, "build elephants") == ["acme/workflows/build"]

    def test_kind_and_namespace_narrow(self, connection: sa.Connection) -> None:
        assert ids(connection, "knowledge: deploy") == ["other/guides/deploying"]
        assert ids(connection, "deploy", kind="knowledge") == ["other/guides/deploying"]
        assert ids(connection, "deploy", namespace="acme") == ["acme/workflows/deploy_and_test"]
        assert ids(connection, "deploy", namespace="nobody") == []
        assert "other/ops/deploy" not in ids(connection, "other/ops/deploy", namespace="acme")

    def test_a_newer_version_replaces_and_a_removed_name_is_gone(self, connection: sa.Connection) -> None:
        documents.put(connection, SearchDocument("tool", "acme/file-system/read", "2.0.0", "Read anything", ""))
        assert [(hit.version, hit.description) for hit in find(connection, "read").hits] == [("2.0.0", "Read anything")]
        assert find(connection, "file-system/read anything").total == 1
        for _ in range(2):
            documents.remove(connection, "tool", "acme/file-system/read")
        assert find(connection, "read") == SearchResults((), 0)
        assert documents.index_problems(connection) == []


class TestWhoMayRead:
    def test_other_namespaces_change_neither_results_nor_total_nor_corrections(self, connection: sa.Connection) -> None:
        every = find(connection, "deploy", visible=["acme", "other"])
        assert every == find(connection, "deploy")
        assert find(connection, "deploy", visible=["acme"]).total == 1
        assert find(connection, "acme/workflows/build", visible=["other"]) == SearchResults((), 0)
        assert find(connection, "deploy", visible=[]) == SearchResults((), 0)
        assert find(connection, "deploy", namespace="acme", visible=["other"]) == SearchResults((), 0)
        assert ids(connection, "biuld", visible=["other"]) == []
        assert ids(connection, "biuld", visible=["acme"]) == ["acme/workflows/build"]

    def test_hidden_words_do_not_crowd_out_corrections(self, connection: sa.Connection) -> None:
        near = [SearchDocument("tool", f"secret/x/buil{letter}", "1.0.0", "", "") for letter in "abcefghi"]
        documents.replace(connection, [], near)
        assert ids(connection, "builx", visible=["acme"]) == ["acme/workflows/build"]

    def test_hidden_words_with_the_same_trigrams_do_not_hide_corrections(
        self, connection: sa.Connection, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Before, the first words with a trigram were read from all namespaces, and those of others were left out only then."""
        monkeypatch.setattr(finding, "_WORDS_OF_A_GRAM", 2)
        documents.put(connection, SearchDocument("tool", "acme/x/zeppelin", "1.0.0", "", ""))
        asked: list[dict[str, object]] = [
            {"visible": ["acme"]},
            {"visible": ["acme", *(f"n{number}" for number in range(99))]},
            {"namespace": "acme"},
        ]
        for limits in asked:
            assert ids(connection, "zeppelln", **limits) == ["acme/x/zeppelin"]
        hidden = [
            *(f"a{letter}a{gram}" for letter in "ab" for gram in ("zep", "epp", "ppe", "pel", "ell", "lln")),
            *("zeaaaa", "zeaaab", "aaaaln", "aaabln"),
        ]
        documents.replace(
            connection, [], [SearchDocument("tool", f"secret/x/{word}", "1.0.0", "", "") for word in hidden]
        )
        for limits in asked:
            assert ids(connection, "zeppelln", **limits) == ["acme/x/zeppelin"]

    def test_a_reader_of_very_many_words_gets_corrections_by_trigrams(
        self, connection: sa.Connection, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(finding, "_VISIBLE_WORDS", 3)
        assert ids(connection, "biuld", visible=["acme"]) == ["acme/workflows/build"]
        assert ids(connection, "biuld", visible=["other"]) == []

    def test_many_namespaces_are_asked_for_in_the_database_too(self, connection: sa.Connection) -> None:
        many = [f"n{number}" for number in range(500)]
        assert find(connection, "deploy", visible=[*many, "acme"]).total == 1
        assert find(connection, "biuld", visible=[*many, "other"]).total == 0

    def test_more_namespaces_than_a_statement_has_parameters(self, connection: sa.Connection) -> None:
        visible = [f"n{number}" for number in range(70_000)]
        assert find(connection, "deploy", visible=[*visible, "acme"]).total == 1
        assert ids(connection, "biuld", visible=[*visible, "acme"]) == ["acme/workflows/build"]


class TestBounds:
    def test_beyond_a_thousand_the_total_is_not_counted_and_pages_end(
        self, connection: sa.Connection, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(finding, "CANDIDATES", 5)
        wombats = [SearchDocument("tool", f"zoo/wombats/n{number:02}", "1.0.0", "A wombat", "") for number in range(9)]
        documents.replace(connection, [], [SearchDocument("tool", "zoo/birds/wombat", "1.0.0", "", ""), *wombats])
        found = find(connection, "wombat")
        assert (found.total, len(found.hits)) == (MORE, 5)
        assert found.hits[0].id == "zoo/birds/wombat"  # first published of all, so only its name brings it among five
        assert find(connection, "wombat", offset=4).hits == found.hits[4:]
        assert find(connection, "wombat", offset=5) == SearchResults((), MORE)
        assert find(connection, "build", offset=3) == SearchResults((), 1)

    def test_the_totals_bound_is_the_protocols(self) -> None:
        assert finding.CANDIDATES == SEARCH_TOTAL == 1000

    @pytest.mark.parametrize("query", ["", " ", "d", "a b", '"', "*", "-", "\0", "\u202e", "é"])
    def test_a_query_needs_a_word_of_two_letters(self, connection: sa.Connection, query: str) -> None:
        with pytest.raises(RyeError) as caught:
            find(connection, query)
        assert caught.value.code == "query-too-short"

    def test_a_long_query_asks_for_few_words(self) -> None:
        long = question_of("word" + " ".join(f"w{number}" for number in range(5000)))
        assert long is not None
        assert len(long.clauses) == QUERY_WORDS
        assert len(asking.steps(long, 1)) <= 13
        assert max(len(term.token) for term in asked_terms("x" * 10_000)) <= WORD_LETTERS + 1
        assert any(term.is_prefix for term in asked_terms("red green blue black"))
        assert not any(term.is_prefix for term in asked_terms("red green blue black yellow"))

    @pytest.mark.parametrize(
        "query",
        ['dep"loy', "deploy OR build", "NEAR(deploy build)", "id:deploy", "de* ^bu", "'; DROP TABLE x", "-deploy", "a\0bc",
         "deploy & !build | <-> (", "\u202edeploy\u2066", "%% __ de", "deploy\\", "'deploy':*", "\ud800deploy"],
    )  # fmt: skip
    def test_what_a_person_types_is_never_query_syntax(self, connection: sa.Connection, query: str) -> None:
        assert isinstance(ids(connection, query), list)

    def test_accents_and_case_make_no_difference(self) -> None:
        assert words_of("Café STRASSE Straße ﬁle") == ["cafe", "strasse", "file"]


class TestTheTablesFollowFromTheDocuments:
    @pytest.mark.parametrize(
        "damage",
        [
            "DELETE FROM search_words WHERE word = 'deploy'",
            "UPDATE search_words SET uses = uses + 1 WHERE word = 'deploy'",
            "DELETE FROM search_grams WHERE word = 'build'",
            "INSERT INTO search_grams VALUES ('^ev', 4, 'evil')",
            "INSERT INTO documents_fts(documents_fts) VALUES ('delete-all')",
            "INSERT INTO documents_fts(rowid, tokens) VALUES (1, 'free money')",
            "INSERT INTO documents_fts(rowid, tokens) VALUES (99, 'free money')",
            "UPDATE documents SET terms = ' free:z '",
        ],
    )
    def test_what_was_changed_behind_them_is_found_and_made_again(self, connection: sa.Connection, damage: str) -> None:
        assert documents.index_problems(connection) == []
        connection.exec_driver_sql(damage)
        assert documents.index_problems(connection) != []
        documents.refill(connection)
        assert documents.index_problems(connection) == []
        assert "acme/workflows/deploy_and_test" in ids(connection, "deploy")


class TestWords:
    def test_tokens_hold_nothing_that_a_database_reads(self) -> None:
        item = Searched("tool", "acme/a-b/c_d", "it's \"x\" \\ ' & | ! ( ) : * \0", "k' :* `h` | % _")
        hostile = tokens_of(item.kind, item.id, terms_of(item))
        assert not {letter for token in hostile for letter in token} & set("'\"\\&|()* \0")

    @given(st.text(alphabet="abcd", max_size=8), st.text(alphabet="abcd", max_size=8))
    def test_mistakes_are_symmetric_and_none_only_between_equals(self, one: str, other: str) -> None:
        found = mistakes_between(one, other, 8)
        assert found == mistakes_between(other, one, 8)
        assert (found == 0) == (one == other)
        assert found <= max(len(one), len(other))

    def test_a_swap_is_one_mistake_and_a_bound_is_kept(self) -> None:
        assert mistakes_between("deploy", "delpoy", 2) == 1
        assert mistakes_between("deploy", "build", 2) == 3
        assert nearest("delpoy", ["deploy", "employ", "build"], 4) == ["deploy"]
        assert nearest("abc", ["abd"], 4) == []  # too short to tell

    def test_postgresql_has_a_token_for_every_beginning_that_is_asked_for(self) -> None:
        long = "internationalization"
        stored = tokens_of("tool", f"acme/{long}", terms_of(Searched("tool", f"acme/{long}", "a b")))
        stored |= beginnings_of(stored)
        for word in [long[:letters] for letters in range(2, len(long) + 1)]:
            asked = {asking.tsqueries(((term,),))[0].strip("'") for term in asked_terms(word)}
            assert asked & stored, word
        assert not {token for token in beginnings_of(stored) if token.startswith(("=", ":"))}

    @given(st.integers(0, 10 * BLOCK_ITEMS[-1]))
    def test_the_newest_block_has_the_newest_items_and_at_least_half_a_block(self, largest: int) -> None:
        newest = newest_blocks(largest)
        sizes = [size for size in BLOCK_ITEMS if largest > 2 * size]
        assert len(newest) == len(sizes)
        for block, size in zip(newest, sizes, strict=True):
            inside = [block.token in blocks_of(number) for number in (largest, largest - size // 2 + 1)]
            outside = [block.token in blocks_of(number) for number in (largest + size, largest - size)]
            assert (inside, outside) == ([True, True], [False, False])

    def test_grams_of_neighbouring_words_overlap(self) -> None:
        assert set(grams_of("deploy")) & set(grams_of("delpoy"))
        assert grams_of("ab") == ["^ab", "ab$"]


@given(st.text(max_size=60))
@settings(max_examples=60, deadline=None)
def test_no_text_makes_a_search_fail(engine: sa.Engine, query: str) -> None:
    with database.reader(engine) as connection:
        try:
            problem = None if find(connection, query).total == 0 else "found something in nothing"
        except RyeError as error:
            problem = None if error.code == "query-too-short" else error.code
    assert problem is None


class TestTheDesk:
    def test_more_searches_than_places_are_refused_before_any_work(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        opening.connect(f"sqlite:///{tmp_path / 'registry.db'}").dispose()
        go, begun = threading.Event(), threading.Semaphore(0)
        asked: list[str] = []

        def slow(_connection: sa.Connection, query: str, **_more: object) -> SearchResults:
            asked.append(query)
            begun.release()
            assert go.wait(10)
            return SearchResults((), 0)

        monkeypatch.setattr(search_pool, "find", slow)
        searches = SearchPool(Settings(data=tmp_path, search_threads=2, search_waiting=3))
        try:
            answers = [searches.ask(f"q{number}") for number in range(5)]
            for _ in range(2):
                assert begun.acquire(timeout=10)
            for _ in range(7):
                with pytest.raises(RyeError) as caught:
                    searches.ask("one too many")
                assert caught.value.code == "busy"
            assert len(asked) == 2  # two running, three waiting, the other seven cost nothing
            go.set()
            assert [answer.result(10) for answer in answers] == [SearchResults((), 0)] * 5
            assert searches.ask("again").result(10).total == 0  # the slots are free again
        finally:
            go.set()
            searches.close()
        with pytest.raises(RyeError):
            searches.ask("closed")

    def test_a_search_cannot_write(self, tmp_path: Path) -> None:
        opening.connect(f"sqlite:///{tmp_path / 'registry.db'}").dispose()
        engine = search_pool.search_engine(Settings(data=tmp_path))
        with pytest.raises(RyeError), database.reader(engine) as connection:
            connection.exec_driver_sql("DELETE FROM documents")
        engine.dispose()


@pytest.mark.parametrize(
    ("query", "kind", "words", "meant"),
    [
        ("skill:pdf", None, "pdf", "skill"),
        ("skill:pdf", "skill", "pdf", "skill"),
        ("skill:pdf", "tool", "skill pdf", "tool"),
        ("tool:skill:pdf", None, "skill pdf", "tool"),
        ("tool:tool:pdf", "tool", "tool pdf", "tool"),
        ("spell:pdf", None, "spell:pdf", None),
    ],
)
def test_a_query_without_its_kind_means_the_same_where_a_page_links_to_it(
    query: str, kind: str | None, words: str, meant: str | None
) -> None:
    """Links to other kinds repeat the words: with a colon left in them, they would lead to another kind than they say."""
    assert of_kind(query, kind, KINDS) == (words, meant)
    assert of_kind(words, None, KINDS) == (words, None)
