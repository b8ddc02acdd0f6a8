"""Answer a search from the search tables, with bounded work for any query and any number of items.

One query covers all sorts of matches (:mod:`registry_server.search.asking`). Each contributes at most
:data:`CANDIDATES` documents, newest releases first, and the best :data:`CANDIDATES` of all are ranked. If nothing
matches all words, a second query corrects typing mistakes and a third accepts any of the words.

Every query is limited to the visible namespaces, so other items influence neither the total nor the corrections. The one
exception is a reader of more than :data:`_VISIBLE_WORDS` words: other namespaces' words can hide corrections from them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Sequence
from functools import cache
from typing import Any

import sqlalchemy as sa
from msgspec import Struct

from registry_server.search import asking, statement
from registry_server.search.asking import Question, Term
from registry_server.search.words import (
    allowed_mistakes,
    grams_of,
    joined,
    kind_token,
    namespace_token,
    nearest,
    newest_blocks,
    query_words,
)
from rye.errors import RyeError
from rye.items.kinds import KINDS
from rye.registry.protocol.wire import MORE, SEARCH_TOTAL, SearchTotal

CANDIDATES = SEARCH_TOTAL
"""Documents that are ranked. If there are more, the total is "1000+"."""
_NAMED_NAMESPACES = 64
"""Visible namespaces that become part of the index query. More are filtered in the table of documents."""
_CORRECTIONS = 4
"""Corrections of one mistyped word."""
_GRAMS = 16
_WORDS_OF_A_GRAM = 300
_COMPARED = 50
"""Known words that are compared with a mistyped one: those that share the most trigrams."""
_VISIBLE_WORDS = 20_000
"""Words of the visible namespaces among which corrections are looked for one by one. If there are more, the table of trigrams
is used, where the first words with a trigram can be those of other namespaces."""


class Hit(Struct, frozen=True):
    """One result. Hits are sorted by score, which is between 0 and 1."""

    kind: str
    id: str
    version: str
    description: str
    score: float
    deprecated: bool = False


class SearchResults(Struct, frozen=True):
    """One page of results."""

    hits: tuple[Hit, ...]
    total: SearchTotal
    """The number of all results, or ``"1000+"``."""


def find(
    connection: sa.Connection,
    query: str,
    *,
    kind: str | None = None,
    namespace: str | None = None,
    visible: Collection[str] | None = None,
    limit: int = 20,
    offset: int = 0,
) -> SearchResults:
    """Return one page of results, best first. A query can begin with a kind and a colon.

    ``visible``: the namespaces whose items may be found; None: all. Raises RyeError ``query-too-short``.
    """
    head, colon, rest = query.partition(":")
    if colon and (of := head.strip().lower()) in KINDS and kind in (None, of):
        query, kind = rest, of
    words = query_words(query)
    if not words:
        raise RyeError(
            "query-too-short",
            "The query has no word with at least two letters.",
            "Give at least two letters of a word.",
        )
    namespaces = None if visible is None else frozenset(visible)
    if namespace is not None:
        namespaces = frozenset({namespace}) if namespaces is None or namespace in namespaces else frozenset()
    if namespaces is not None and not namespaces:
        return SearchResults((), 0)
    typed = query.strip().lower()
    is_sqlite = connection.dialect.name == "sqlite"
    within = _Within(
        is_sqlite=is_sqlite,
        blocks=() if is_sqlite else tuple(newest_blocks(connection.scalar(_LARGEST) or 0)),
        kind=kind,
        namespaces=namespaces,
        visible=None if namespaces is None else json.dumps(sorted(namespaces)) if is_sqlite else sorted(namespaces),
        typed=typed if _id_like().fullmatch(typed) else "",
        name=joined(query.rpartition("/")[2]),
        words=tuple(words),
        limit=limit,
        offset=offset,
    )
    results = _ask(connection, within, asking.all_words(words), asking.ANYWHERE)
    if results.total == 0:
        few = words if len(words) <= asking.BEGINNINGS else []  # a sentence has enough correct words
        unknown = [word for word in few if len(few) == 1 or not _occurs(connection, within, word)]
        meant = {word: _meant(connection, within, word) for word in unknown}
        alternatives = [[word, *meant.get(word, ())] for word in words]
        if any(meant.values()):
            results = _ask(connection, within, asking.corrected(alternatives), asking.CORRECTED)
        if results.total == 0 and len(words) > 1:
            results = _ask(connection, within, asking.any_word(alternatives), asking.ANY_WORD)
    return results


class _Within(Struct, frozen=True, kw_only=True):
    """What all queries of one search have in common."""

    is_sqlite: bool
    blocks: tuple[str, ...]
    """The newest blocks, which PostgreSQL searches first."""
    kind: str | None
    namespaces: frozenset[str] | None
    visible: str | list[str] | None
    """The namespaces as a parameter (:func:`registry_server.search.statement.is_visible`)."""
    typed: str
    """The query, if it can be an id or the beginning of one; otherwise empty."""
    name: str
    """The query's last segment as one word, compared with names."""
    words: tuple[str, ...]
    limit: int
    offset: int

    def facets(self) -> Question:
        """The clauses for kind and namespaces in the index query."""
        kinds: Question = ((Term(kind_token(self.kind)),),) if self.kind is not None else ()
        if self.namespaces is None or self.is_many:
            return kinds
        return (*kinds, tuple(Term(namespace_token(name)) for name in sorted(self.namespaces)))

    @property
    def is_many(self) -> bool:
        return self.namespaces is not None and len(self.namespaces) > _NAMED_NAMESPACES

    def exact(self) -> list[str]:
        """The names that the query spells in full."""
        if not self.typed:
            return []
        return [f"{kind}:{self.typed}" for kind in (KINDS if self.kind is None else [self.kind])]


@cache
def _id_like() -> re.Pattern[str]:
    return re.compile(r"[a-z0-9/_-]{1,1100}")


def _ask(connection: sa.Connection, within: _Within, question: Question, least: int) -> SearchResults:
    """Return one page of matches. ``least``: the points of any match, wherever its words are."""
    limit = max(min(within.limit, CANDIDATES - within.offset), 0)
    rows = _page(connection, within, question, least, limit, within.offset) if limit else []
    if not rows and within.offset:  # a page after the last one has no row with the total
        first = _page(connection, within, question, least, 1, 0)
        total = first[0].total if first else 0
    else:
        total = rows[0].total if rows else 0
    hits = tuple(
        Hit(row.kind, row.id, row.version, row.description, row.score / asking.EXACT, bool(row.deprecated))
        for row in rows
    )
    return SearchResults(hits, MORE if total > CANDIDATES else total)


def _page(
    connection: sa.Connection,
    within: _Within,
    question: Question,
    least: int,
    limit: int,
    offset: int,
    most: int | None = None,
) -> Sequence[sa.Row[Any]]:
    """Return rows with the columns of :class:`Hit` and ``total``: how many candidates there are, at most ``most``."""
    conditions = _conditions(within.is_sqlite, "anywhere", (*question, *within.facets()))
    names: dict[str, object] = {}
    values: dict[str, object] = {
        "most": most or CANDIDATES + 1,
        "least": least,
        "limit": limit,
        "offset": offset,
        "typed": within.typed,
        "letters": max(len(within.typed), 1),
    }
    ranks = least == asking.ANYWHERE
    if ranks:
        names = _conditions(within.is_sqlite, "in_name", (*asking.all_in_name(within.words), *within.facets()))
        values |= {
            "name": within.name,
            **{f"begins{at}": f"-{word}" for at, word in enumerate(within.words)},
            **{f"whole{at}": f"-{word}-" for at, word in enumerate(within.words)},
        }
        if within.typed:
            values["exact"] = within.exact()
    if within.visible is not None:
        values["visible"] = within.visible
    values |= {f"block{at}": f"'{block}'" for at, block in enumerate(within.blocks)}
    shape = statement.Shape(
        is_sqlite=within.is_sqlite,
        anywhere=len(conditions),
        in_name=len(names),
        words=len(within.words) if ranks else 0,
        may_be_id=ranks and bool(within.typed),
        is_limited=within.visible is not None,
        blocks=len(within.blocks),
    )
    return connection.execute(statement.text(shape), values | conditions | names).all()


def _conditions(is_sqlite: bool, name: str, question: Question) -> dict[str, object]:
    asked = [asking.fts5(question)] if is_sqlite else asking.tsqueries(question)
    return {f"{name}{at}": condition for at, condition in enumerate(asked)}


_LARGEST = sa.text("SELECT max(number) FROM documents")


# -- typing mistakes -----------------------------------------------------------------------------------------------------


def _occurs(connection: sa.Connection, within: _Within, word: str) -> bool:
    """Whether any item has the word."""
    question = (*asking.all_words([word]), *within.facets())
    return bool(_page(connection, within, question, asking.CORRECTED, 1, 0, most=1))


def _meant(connection: sa.Connection, within: _Within, word: str) -> list[str]:
    """Return corrections of ``word``: words of ids in the visible namespaces."""
    if not allowed_mistakes(word):
        return []
    grams = grams_of(word)[:_GRAMS]
    values: dict[str, object] = {
        "least": len(word) - allowed_mistakes(word),
        "most": len(word) + allowed_mistakes(word),
    }
    allowed = ""
    if within.visible is not None:
        values["visible"] = within.visible
        mine = statement.is_visible(within.is_sqlite, "namespace")
        count = f"SELECT count(*) FROM (SELECT 1 FROM search_words WHERE {mine} LIMIT {_VISIBLE_WORDS + 1}) AS w"
        if connection.scalar(sa.text(count), {"visible": values["visible"]}) <= _VISIBLE_WORDS:
            fitting = f"SELECT DISTINCT word FROM search_words WHERE {mine} AND length(word) BETWEEN :least AND :most"
            return nearest(word, _sharing_most(grams, word, connection.scalars(sa.text(fitting), values)), _CORRECTIONS)
        allowed = f"WHERE EXISTS (SELECT 1 FROM search_words WHERE word = near.word AND {mine}) "
    parts = (
        f"SELECT * FROM (SELECT word FROM search_grams WHERE gram = :gram{at} AND letters BETWEEN :least AND :most "
        f"ORDER BY letters, word LIMIT {_WORDS_OF_A_GRAM}) AS g{at}"
        for at in range(len(grams))
    )
    text = sa.text(
        f"SELECT word FROM (SELECT word, count(*) AS shared FROM ({' UNION ALL '.join(parts)}) AS every GROUP BY word) "
        f"AS near {allowed}ORDER BY shared DESC, word LIMIT {_COMPARED}"
    )
    values |= {f"gram{at}": gram for at, gram in enumerate(grams)}
    return nearest(word, (other for other in connection.scalars(text, values) if other != word), _CORRECTIONS)


def _sharing_most(grams: Sequence[str], word: str, visible: Iterable[str]) -> list[str]:
    """Return the words that share the most trigrams with ``word``, without itself."""
    shared = [(-sum(map(f"^{other}$".__contains__, grams)), other) for other in visible if other != word]
    return [other for few, other in sorted(shared)[:_COMPARED] if few]
