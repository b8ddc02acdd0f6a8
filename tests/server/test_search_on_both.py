"""The same documents and queries, drawn at random, give the same answers on SQLite and PostgreSQL."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from registry_server.migrations import opening
from registry_server.search import documents, finding, words
from registry_server.search.documents import SearchDocument
from registry_server.search.finding import SearchResults, find
from registry_server.search.orders import SORTS
from registry_server.search.search_pool import search_engine
from registry_server.settings import Settings
from registry_server.storage import database
from rye.errors import RyeError
from rye.items.kinds import KINDS
from rye.registry.protocol.wire import MORE
from rye.text.ranking.body_words import body_words
from rye.text.ranking.scoring import of_kind
from tests.scenes.effort import rest_thorough

pytestmark = pytest.mark.processes

NAMESPACES = ("acme", "other", "zoo", "x" * 30)
SEGMENTS = ("deploy", "deploying", "dep", "d", "file", "system", "file-system", "file_system", "filesystem", "x" * 64,
            "build", "biuld", "builds", "not", "or", "near", "n1")  # fmt: skip
TEXTS = ("deploy", "de", "d", "ﬁle", "ＦＩＬＥ", "＃16384．6", "café", "cafe\u0301", "straße", "STRASSE", "x" * 70, "y" * 15,
         "y" * 16, "Ⅷ", "½", "'quote'", '"double"', "back\\slash", "#4.0", "#4.1", "wo*", "/deploy", "!deploy", "=acme",
         ":tool", "a:b", "日本語", "मराठी", "ŉ", "İstanbul", "ǆ", "tool", "🎉", "ﷺ", "٣", "ss", "or", "and", "near",
         "NEAR(a b)", "de\0ploy", "de\ud800ploy")  # fmt: skip
STORED = tuple(text for text in TEXTS if "\0" not in text and "\ud800" not in text)
"""No release contains the others."""


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("seed", "blocks", "most"), rest_thorough(1, [(1, (4, 16), 3), (2, (2, 8), 10), (3, (8, 32), 1000)])
)
def test_both_databases_give_the_same_answers(
    empty: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, blocks: tuple[int, int], most: int
) -> None:
    """Only which ones count among too many matches may differ."""
    monkeypatch.setattr(words, "BLOCK_ITEMS", blocks)
    monkeypatch.setattr(finding, "CANDIDATES", most)
    monkeypatch.setattr(finding, "READ", most)
    monkeypatch.setattr(finding, "_PROBED", 2)
    monkeypatch.setattr(finding, "_NAMED_NAMESPACES", 2)
    draw = random.Random(seed)
    stored = list({document.name: document for document in (some_document(draw) for _ in range(40))}.values())
    again, gone = draw.sample(stored, 12), draw.sample(stored, 5)
    asked = [some_question(draw, stored) for _ in range(50)]
    answers = []
    for address in (empty, f"sqlite:///{tmp_path / 'registry.db'}"):
        with filled(address, tmp_path, stored, again, gone) as connection:
            answers.append([answer(connection, query, most, **limits) for query, limits in asked])
    different = [
        (question, one, other)
        for question, one, other in zip(asked, *answers, strict=True)
        if one != other
        and not (
            isinstance(one, SearchResults) and isinstance(other, SearchResults) and one.total == other.total == MORE
        )
    ]
    assert different == []
    assert sum(isinstance(one, SearchResults) and bool(one.hits) for one in answers[0]) > len(asked) // 4


def test_common_words_are_looked_for_among_the_newest_and_a_rare_one_everywhere(
    empty: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of sixty items, all but the oldest two have the words ``alpha beta`` only in their descriptions."""
    monkeypatch.setattr(words, "BLOCK_ITEMS", (4, 16))
    monkeypatch.setattr(finding, "CANDIDATES", 12)
    monkeypatch.setattr(finding, "RANKED", 8)
    monkeypatch.setattr(finding, "READ", 40)
    monkeypatch.setattr(finding, "_PROBED", 3)
    old = [
        SearchDocument("tool", "acme/alpha-beta", "1.0.0", "alpha beta gamma"),
        SearchDocument("tool", "zoo/alpha-beta", "1.0.0", "alpha beta zygote"),
    ]
    new = [SearchDocument("tool", f"other/item{number:02}", "1.0.0", "alpha beta gamma") for number in range(60)]
    for address in (empty, f"sqlite:///{tmp_path / 'registry.db'}"):
        with filled(address, tmp_path, [*old, *new], [], []) as connection:
            first = {
                query: [hit.id for hit in find(connection, query, limit=1).hits]
                for query in ("alpha beta", "alpha zygote")
            }
            mine = find(connection, "alpha beta", namespace="zoo")
            newest = {hit.id for hit in find(connection, "gamma beta", limit=8).hits}
        # Few items have these words in their names, or the rare word at all, so the oldest are found, too.
        assert first == {"alpha beta": ["acme/alpha-beta"], "alpha zygote": ["zoo/alpha-beta"]}
        assert [hit.id for hit in mine.hits] == ["zoo/alpha-beta"]
        assert newest <= {"acme/alpha-beta", *(f"other/item{number:02}" for number in range(44, 60))}


def test_an_old_item_is_found_by_its_whole_name_although_every_word_is_common(
    empty: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of sixty newer items, half have one word of it in their names, half the other."""
    monkeypatch.setattr(words, "BLOCK_ITEMS", (4, 16))
    monkeypatch.setattr(finding, "CANDIDATES", 12)
    monkeypatch.setattr(finding, "RANKED", 8)
    monkeypatch.setattr(finding, "READ", 40)
    monkeypatch.setattr(finding, "_PROBED", 3)
    old = [SearchDocument("tool", "acme/alpha-beta", "1.0.0", "x")]
    new = [
        SearchDocument("tool", f"other/{'alpha' if number % 2 else 'beta'}-n{number:02}", "1.0.0", "x")
        for number in range(60)
    ]
    for address in (empty, f"sqlite:///{tmp_path / 'registry.db'}"):
        with filled(address, tmp_path, [*old, *new], [], []) as connection:
            for query in ("alpha beta", "alpha-beta", "alphabeta", "tool:alpha beta"):
                assert find(connection, query, limit=1).hits[0].id == "acme/alpha-beta", (address, query)


def test_an_item_with_all_of_several_common_words_is_first_although_few_of_the_newest_have_them(
    empty: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the newest items, half have one word in their descriptions, half the other. One has both: fewer than are ranked."""
    monkeypatch.setattr(words, "BLOCK_ITEMS", (4, 16))
    monkeypatch.setattr(finding, "CANDIDATES", 12)
    monkeypatch.setattr(finding, "RANKED", 4)
    monkeypatch.setattr(finding, "READ", 40)
    monkeypatch.setattr(finding, "_PROBED", 2)
    some = [
        SearchDocument("tool", f"other/item{number:02}", "1.0.0", "beta" if number % 2 else "alpha")
        for number in range(80)
    ]
    some.insert(73, SearchDocument("tool", "acme/both", "1.0.0", "alpha beta"))
    for address in (empty, f"sqlite:///{tmp_path / 'registry.db'}"):
        with filled(address, tmp_path, some, [], []) as connection:
            for query in ("alpha beta", "tool:alpha beta"):
                assert find(connection, query, limit=1).hits[0].id == "acme/both", (address, query)


def some_document(draw: random.Random) -> SearchDocument:
    segments = [
        (draw.choice(SEGMENTS) + draw.choice(["", "", f"-{draw.choice(SEGMENTS)}"]))[:64]
        for _ in range(draw.randint(1, 3))
    ]
    description = " ".join(draw.choices(STORED, k=draw.randint(0, 6)))
    keywords = draw.choice([" ", ",", "-"]).join(draw.choices(STORED, k=draw.randint(0, 4)))
    if draw.random() < 0.5:
        keywords += f"\n{body_words(' '.join(draw.choices(STORED, k=9)))}"
    kind = draw.choice(["tool", "directive", "knowledge"])
    identifier = "/".join([draw.choice(NAMESPACES), *segments])
    return SearchDocument(kind, identifier, "1.0.0", description, keywords, draw.random() < 0.1)


def some_question(draw: random.Random, stored: list[SearchDocument]) -> tuple[str, dict[str, Any]]:
    query = draw.choice([" ", "-", "/"]).join(draw.choices(TEXTS + SEGMENTS, k=draw.choice([1, 1, 2, 3, 9])))
    if draw.random() < 0.3:
        query = draw.choice(stored).id[: draw.randint(2, 100)]
    if draw.random() < 0.3:
        at = draw.randrange(len(query))
        query = query[:at] + query[at + 1 : at + 2] + query[at : at + 1] + query[at + 2 :]
    if draw.random() < 0.2:
        query = f"{draw.choice(['tool', 'directive'])}:{query}"
    visible = draw.choice([None, None, draw.sample(NAMESPACES, draw.randint(0, 4)), [*NAMESPACES, "nobody"]])
    limits = {"kind": draw.choice([None, None, "tool"]), "namespace": draw.choice([None, None, "acme"])}
    return query, {**limits, "visible": visible}


@contextmanager
def filled(
    address: str, folder: Path, stored: list[SearchDocument], again: list[SearchDocument], gone: list[SearchDocument]
) -> Iterator[sa.Connection]:
    opening.connect(address).dispose()
    writing, reading = opening.connect(address), search_engine(Settings(data=folder, database=address))
    with database.writer(writing) as connection:
        documents.replace(connection, [], stored)
        documents.replace(connection, [document.name for document in again], again)
        for document in gone:
            documents.remove(connection, document.kind, document.id)
        assert documents.index_problems(connection) == []
    with database.reader(reading) as connection:
        yield connection
    reading.dispose()
    writing.dispose()


def answer(connection: sa.Connection, query: str, most: int, **limits: Any) -> SearchResults | str:
    """All results. Pages show the same ones in the same order."""
    try:
        whole = find(connection, query, limit=most, **limits)
    except RyeError as error:
        return error.code
    if whole.total == MORE:  # a document with one half of a word ("system" of "filesystem") is counted and is no result
        assert 0 < len(whole.hits) <= most
    else:
        assert len(whole.hits) == whole.total
    pages = [
        find(connection, query, limit=4, offset=offset, **limits) for offset in range(0, min(len(whole.hits), 12), 4)
    ]
    check_counts_and_orders(connection, query, most, whole, **limits)
    assert all(page.total == whole.total for page in pages)
    assert [hit for page in pages for hit in page.hits] == list(whole.hits[:12])
    return whole


def check_counts_and_orders(
    connection: sa.Connection, query: str, most: int, whole: SearchResults, **limits: Any
) -> None:
    """A number beside a kind is the total of the search that it leads to, and other orders have the same results."""
    kind = of_kind(query, limits["kind"], KINDS)[1]
    counts = find(connection, query, limit=1, is_counted=True, **limits).counts
    assert counts.get(kind or "", 0) == whole.total
    words, _ = of_kind(query, limits["kind"], KINDS)
    for each in ("", "tool", "directive", "knowledge"):
        if of_kind(words, each or None, KINDS) != (words, each or None):
            continue  # beside ``tool``, ``directive:`` is a word; without a kind, or beside its own, it is a kind
        total = find(connection, words, limit=1, **{**limits, "kind": each or None}).total
        assert counts.get(each, total if counts.get("") == MORE else 0) == total
    for order in SORTS:
        found = find(connection, query, limit=most, order=order, **limits)
        assert found.total == whole.total
        if whole.total != MORE:
            assert {(hit.kind, hit.id) for hit in found.hits} == {(hit.kind, hit.id) for hit in whole.hits}
        if order == "name":
            assert [(hit.id, hit.kind) for hit in found.hits] == sorted((hit.id, hit.kind) for hit in found.hits)
