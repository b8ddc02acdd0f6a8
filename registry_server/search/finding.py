"""Answer a search from the search tables, with bounded work for any query and any number of items.

If at most :data:`CANDIDATES` documents have a word of the question, one query of the index finds them, and all of them are ranked
by :mod:`rye.text.ranking.scoring`: the ranking is exact. If more have one, the index gives :data:`RANKED` documents in steps from
those that match best (:mod:`registry_server.search.asking`), newest releases first. These are ranked, and the others follow on
later pages. A query for all of several words that very many documents have (:data:`READ`) asks for the newest ones only. A word
that no item has is corrected.

Every query is limited to the visible namespaces, and a score depends on nothing but question and item. So other items influence
neither scores nor the total nor the corrections. The one exception is a reader of more than :data:`_VISIBLE_WORDS` words: other
namespaces' words can hide corrections from them.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from functools import cache
from typing import NamedTuple

import sqlalchemy as sa
from msgspec import Struct
from msgspec.structs import replace

from registry_server.search import asking
from registry_server.search.asking import AllOf, AnyOf, IndexQuery, Term
from registry_server.search.orders import Order, allowed, in_order
from registry_server.search.words import ItemBlock, kind_token, namespace_token, newest_blocks
from registry_server.storage.prepared import Among, Prepared
from registry_server.storage.schema import documents
from rye.errors import RyeError
from rye.items.kinds import KINDS
from rye.registry.protocol.wire import MORE, SEARCH_TOTAL, SearchTotal
from rye.text.ranking.mistakes import COMPARED, CORRECTIONS, GRAMS, allowed_mistakes, grams_of, meant, nearest
from rye.text.ranking.scoring import Question, of_kind, question_of, ranked, unknown_words

CANDIDATES = SEARCH_TOTAL
"""Documents that can be results. If there are more, the total is "1000+"."""
RANKED = 300
"""Documents that are ranked first if more than :data:`CANDIDATES` have a word of the question."""
READ = 150_000
"""Entries of the index that a query for all of several words may read: the documents of one word and those of the others."""
_PROBED = 64
"""The newest documents with a word that tell how many may have it. A word with fewer is looked for everywhere."""
_NAMED_NAMESPACES = 64
"""Visible namespaces that become part of the index query. More are filtered in the table of documents."""
_WORDS_OF_A_GRAM = 300
_VISIBLE_WORDS = 20_000
"""Words of the visible namespaces among which corrections are looked for one by one. If there are more, the table of trigrams
is used, where the first words with a trigram can be those of other namespaces."""


class Hit(Struct, frozen=True):
    """One result. Hits are sorted by score (:mod:`rye.text.ranking.scoring`)."""

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
    counts: Mapping[str, SearchTotal] = {}
    """The total of the same search among each kind that has results, and under an empty name among all kinds. What would take too
    long to count is missing."""


def find(
    connection: sa.Connection,
    query: str,
    *,
    kind: str | None = None,
    namespace: str | None = None,
    visible: Collection[str] | None = None,
    limit: int = 20,
    offset: int = 0,
    order: Order = "relevance",
    is_counted: bool = False,
) -> SearchResults:
    """Return one page of results, best first. A query can begin with a kind and a colon.

    ``visible``: the namespaces whose items may be found; None: all. ``order``: if there are more than :data:`CANDIDATES`, another
    than ``relevance`` rearranges the :data:`RANKED` best, and there are no others. ``is_counted``: whether to count the results
    of each kind. Raises RyeError ``query-too-short``.
    """
    query, kind = of_kind(query, kind, KINDS)
    question = question_of(query)
    if question is None:
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
    is_sqlite = connection.dialect.name == "sqlite"
    ((largest,),) = _LARGEST.rows(connection)
    within = _Within(
        is_sqlite=is_sqlite,
        largest=largest or 0,
        blocks=tuple(newest_blocks(largest or 0)),
        kind=kind,
        namespaces=namespaces,
        visible=None if namespaces is None else json.dumps(sorted(namespaces)) if is_sqlite else sorted(namespaces),
    )
    found = _candidates(connection, within, question)
    corrections = {
        clause.word: _meant(connection, within, clause.word)
        for clause in unknown_words(question, [row.terms for row in found.best])
        if not _numbers(connection, within.of_kind(None), asking.occurrence(clause), 1)
    }
    if any(corrections.values()):
        question = question_of(query, corrections) or question
        found = _candidates(connection, within, question)
    results = ranked(question, found.best, weak=found.is_more)
    if order != "relevance":
        results = in_order(connection, results, allowed(order, is_limited=visible is not None))
    elif found.is_more and offset + limit > len(results):
        least = results[-1][0] if results else 1.0
        others = ranked(question, _rows(connection, found.rest), weak=True)
        results += [(min(points, least), row) for points, row in others]
    page = results[offset : offset + limit]
    numbers = [row.number for _, row in page]
    shown = {row[0]: row[1:] for row in _SHOWN.rows(connection, {"some": numbers})} if numbers else {}
    hits = (
        Hit(row.kind, row.id, shown[row.number][0], shown[row.number][1], points, bool(row.deprecated))
        for points, row in page
    )
    total: SearchTotal = MORE if found.is_more else len(results)
    counts = _counts(connection, within, question, found, total) if is_counted else {}
    return SearchResults(tuple(hits), total, counts)


def _counts(
    connection: sa.Connection, within: _Within, question: Question, found: _Candidates, total: SearchTotal
) -> dict[str, SearchTotal]:
    """Count the results of each kind. If all kinds together have more than :data:`CANDIDATES`, at most as many documents of the
    kinds with the fewest are ranked for it, and the other kinds are left out.

    Each kind is ranked by itself, since its best result decides what is left out beside it.
    """
    asked = asking.any_word(question)
    rows = found.best if not found.is_more else None
    if within.kind is not None:
        numbers = _numbers(connection, within.of_kind(None), asked, CANDIDATES + 1)
        rows = _rows(connection, numbers) if len(numbers) <= CANDIDATES else None
    if rows is not None:
        of_kinds = {kind: [row for row in rows if row.kind == kind] for kind in KINDS}
        counts: dict[str, SearchTotal] = {kind: len(ranked(question, some)) for kind, some in of_kinds.items() if some}
        return counts | {"": len(ranked(question, rows))}
    counts = {within.kind or "": total}
    counts[""] = MORE
    left = CANDIDATES
    others = {
        kind: _numbers(connection, within.of_kind(kind), asked, CANDIDATES + 1) for kind in KINDS if kind != within.kind
    }
    for kind, some in sorted(others.items(), key=lambda each: len(each[1])):
        if len(some) > CANDIDATES:
            counts[kind] = MORE
        elif 0 < len(some) <= left:
            left -= len(some)
            counts[kind] = len(ranked(question, _rows(connection, some)))
    return counts


class _Within(Struct, frozen=True, kw_only=True):
    """What all queries of one search have in common."""

    is_sqlite: bool
    largest: int
    """The number of the newest document."""
    blocks: tuple[ItemBlock, ...]
    """The newest block of each size. PostgreSQL searches them first."""
    kind: str | None
    namespaces: frozenset[str] | None
    visible: str | list[str] | None
    """The namespaces as a parameter (:func:`_is_visible`)."""

    def facets(self) -> AllOf:
        """The conditions for kind and namespaces in the index query."""
        kinds: AllOf = ((Term(kind_token(self.kind)),),) if self.kind is not None else ()
        if self.namespaces is None or self.is_many:
            return kinds
        return (*kinds, tuple(Term(namespace_token(name)) for name in sorted(self.namespaces)))

    def of_kind(self, kind: str | None) -> _Within:
        """The same among items of a kind; None: of all."""
        return replace(self, kind=kind)

    @property
    def is_many(self) -> bool:
        """Whether the namespaces are too many for the index query."""
        return self.namespaces is not None and len(self.namespaces) > _NAMED_NAMESPACES


class _Candidates(Struct, frozen=True):
    """The documents that can be results."""

    best: list[_Document]
    """Those that are ranked first: all of them, or at least :data:`RANKED`."""
    rest: list[int]
    """The numbers of those that follow, if there are more than :data:`CANDIDATES`."""
    is_more: bool
    """Whether there are more than :data:`CANDIDATES`."""


def _candidates(connection: sa.Connection, within: _Within, question: Question) -> _Candidates:
    """Return the documents that have a word of the question."""
    every = _numbers(connection, within, asking.commonest_word(question), CANDIDATES + 1)
    if len(every) <= CANDIDATES:
        every = _numbers(connection, within, asking.any_word(question), CANDIDATES + 1)
    if len(every) <= CANDIDATES:
        return _Candidates(_rows(connection, every), [], False)
    wanted = min(RANKED, CANDIDATES)
    named = _named(connection, within, question)
    best = dict.fromkeys(named)
    steps = asking.steps(question, wanted, is_answered=bool(named))
    shares = _Shares(connection, within, steps)
    for step in steps:
        best.update(dict.fromkeys(_in_step(connection, within, step, shares)))
        if len(best) >= wanted:
            break
    in_turn = list(dict.fromkeys([*best, *every]))[:CANDIDATES]
    return _Candidates(_rows(connection, in_turn[:wanted]), in_turn[wanted:], True)


def _named(connection: sa.Connection, within: _Within, question: Question) -> list[int]:
    """Return the documents whose id is the query."""
    item_id = question.typed
    if not item_id or (within.namespaces is not None and item_id.partition("/")[0] not in within.namespaces):
        return []
    kinds = KINDS if within.kind is None else [within.kind]
    return [number for (number,) in _EXACT.rows(connection, {"some": [f"{kind}:{item_id}" for kind in kinds]})]


def _in_step(connection: sa.Connection, within: _Within, step: IndexQuery, shares: _Shares) -> list[int]:
    """Return the documents that one step finds. On PostgreSQL the newest small block often has enough, and then nothing has to be
    known about the parts."""
    parts = (*step.asked, *within.facets())
    if not shares.can_limit(parts):
        return _numbers(connection, within, step.asked, step.most)
    if within.is_sqlite:
        newest = shares.newest(parts)
        rarest_first = tuple(sorted(step.asked, key=shares.of))
        together = asking.rarest_together([shares.of(part) for part in rarest_first])
        return _numbers(connection, within, rarest_first, step.most, newest, together=together)
    first = _numbers(connection, within, step.asked, step.most, newest=1)
    if len(first) == step.most:
        return first
    newest = shares.newest(parts)
    return first if newest == 1 else _numbers(connection, within, step.asked, step.most, newest, looked_in=1)


class _Shares:
    """Which share of the newest documents has each part of the queries for several: 0 if few have it. Each is asked for once,
    when it is needed.

    On SQLite it is estimated from the :data:`_PROBED` newest documents that have the part, on PostgreSQL from the newest small
    block.
    """

    def __init__(self, connection: sa.Connection, within: _Within, steps: list[IndexQuery]) -> None:
        self._connection, self._within = connection, within
        asked = [part for step in steps if len(step.asked) > 1 for part in (*step.asked, *within.facets())]
        self._askable = frozenset(asked if within.blocks and not within.is_many else ())
        self._known: dict[AnyOf, float] = {}

    def can_limit(self, parts: AllOf) -> bool:
        """Whether a query for all of the parts may be about the newest blocks only."""
        return len(parts) > 1 and self._askable.issuperset(parts)

    def newest(self, parts: AllOf) -> int | None:
        """Return how many blocks a query for all of the parts is about; None: it is about all documents."""
        self._ask([part for part in dict.fromkeys(parts) if part not in self._known])
        shares = [self._known[part] for part in parts]
        read = sum(shares)
        if not all(shares) or self._within.largest * read <= READ:
            return None
        return max(sum(block.size * read <= READ for block in self._within.blocks), 1)

    def of(self, part: AnyOf) -> float:
        """Return the share of a part that was asked for."""
        return self._known[part]

    def _ask(self, parts: list[AnyOf]) -> None:
        if not parts:
            return
        within = self._within
        token, size = within.blocks[0]
        values: dict[str, object] = {"behind": _PROBED - 1} if within.is_sqlite else {"block": f"'{token}'"}
        for at, part in enumerate(parts):
            values[f"asked{at}"] = asking.fts5((part,)) if within.is_sqlite else asking.tsqueries((part,))[0]
        (found,) = _probe(within.is_sqlite, len(parts)).rows(self._connection, values)
        for part, oldest_or_count in zip(parts, found, strict=True):
            if within.is_sqlite:
                share = 0.0 if oldest_or_count is None else _PROBED / (within.largest + 1 - oldest_or_count)
            else:
                share = oldest_or_count / size if oldest_or_count >= _PROBED else 0.0
            self._known[part] = share


def _numbers(
    connection: sa.Connection,
    within: _Within,
    asked: AllOf,
    most: int,
    newest: int | None = None,
    looked_in: int = 0,
    together: int = 0,
) -> list[int]:
    """Return the numbers of at most ``most`` documents, among all of them or those of the ``newest`` smallest blocks.

    ``looked_in``: so many blocks do not have enough. PostgreSQL does not look in them again. ``together``: how many of the
    first parts SQLite intersects before the others."""
    every = (*asked, *within.facets())
    # The largest of the newest blocks contains the smaller ones.
    blocks = within.blocks[looked_in:] if newest is None else within.blocks[newest - 1 : newest]
    if within.is_sqlite:
        if newest is not None:
            every = (*every, (Term(blocks[0].token),))
        conditions, blocks = [asking.fts5(every, together)], ()
    else:
        conditions = asking.tsqueries(every)
    values: dict[str, object] = {f"asked{at}": condition for at, condition in enumerate(conditions)}
    values |= {f"block{at}": f"'{block.token}'" for at, block in enumerate(blocks)} | {"most": most}
    if within.is_many:
        values["visible"] = within.visible
    shape = _Shape(
        is_sqlite=within.is_sqlite,
        conditions=len(conditions),
        is_limited=within.is_many,
        is_recent=newest is not None,
        blocks=len(blocks),
    )
    return [number for (number,) in _statement(shape).rows(connection, values)]


_LARGEST = Prepared(sa.text("SELECT max(number) FROM documents"))
_EXACT = Prepared(sa.select(documents.c.number).where(Among(documents.c.name)))


class _Document(NamedTuple):
    """What the ranking reads of a document."""

    number: int
    id: str
    kind: str
    deprecated: bool
    terms: str


def _rows(connection: sa.Connection, numbers: list[int]) -> list[_Document]:
    return list(map(_Document._make, _RANKED.rows(connection, {"some": numbers}))) if numbers else []


_RANKED = Prepared(sa.select(*(documents.c[name] for name in _Document._fields)).where(Among(documents.c.number)))
_SHOWN = Prepared(
    sa.select(documents.c.number, documents.c.version, documents.c.description).where(Among(documents.c.number))
)


# -- the SQL -----------------------------------------------------------------------------------------------------------


class _Shape(Struct, frozen=True, kw_only=True):
    """What the SQL of one query depends on. The rest are parameters."""

    is_sqlite: bool
    conditions: int
    """Parameters ``asked0``, ``asked1``, ... On SQLite always 1."""
    is_limited: bool = False
    """Only the namespaces in the parameter ``visible`` may be found."""
    is_recent: bool = False
    """Only those in a block are asked for: ``block0``. On SQLite that is one of the conditions."""
    blocks: int = 0
    """Blocks that are searched first, in this order: ``block0``, ``block1``, ..."""


@cache
def _statement(shape: _Shape) -> Prepared:
    """Return the statement for the numbers of documents. Its other parameter is ``most``.

    SQLite reads its index from the newest item on. PostgreSQL collects all matches before it returns the first, so it looks in
    the newest blocks of items first (:func:`registry_server.search.words.newest_blocks`): a word that many items have is found
    often enough in a small block, and a word that few items have is found fast anywhere.
    """
    if shape.is_sqlite:
        table = "documents_fts f" + (" JOIN documents d ON d.number = f.rowid" if shape.is_limited else "")
        where = f"documents_fts MATCH :asked0{_allowed(shape)}"
        return Prepared(sa.text(f"SELECT f.rowid FROM {table} WHERE {where} ORDER BY f.rowid DESC LIMIT :most"))
    if shape.is_recent:
        return Prepared(sa.text(_matching(shape, [], "block0")))
    sources: dict[str, str] = {}
    tried: list[str] = []
    needed: list[str] = []
    for block in range(shape.blocks):
        source = f"in_block{block}"
        sources[source] = _matching(shape, needed, f"block{block}")
        is_full = f"(SELECT count(*) FROM {source}) >= :most"
        tried.append(f"SELECT number FROM {source} WHERE {is_full}")
        needed.append(f"NOT {is_full}")
    tried.append(f"SELECT number FROM ({_matching(shape, needed)}) AS every")
    every = " UNION ALL ".join(tried)
    ctes = ", ".join(f"{name} AS MATERIALIZED ({sql})" for name, sql in sources.items())
    return Prepared(sa.text(f"WITH {ctes} {every}" if ctes else every))


@cache
def _probe(is_sqlite: bool, parts: int) -> Prepared:
    """Return the statement for one row with a column for each of the parameters ``asked0``, ``asked1``, ...: on SQLite the number
    of the document that is ``behind`` newer ones with the part, on PostgreSQL how many documents of ``block`` have it."""
    one = (
        "(SELECT f.rowid FROM documents_fts f WHERE documents_fts MATCH :asked{} ORDER BY f.rowid DESC LIMIT 1 OFFSET :behind)"
        if is_sqlite
        else "(SELECT count(*) FROM documents_fts d "
        "WHERE d.tokens @@ CAST(:asked{} AS tsquery) AND d.tokens @@ CAST(:block AS tsquery))"
    )
    return Prepared(sa.text(f"SELECT {', '.join(one.format(at) for at in range(parts))}"))


def _matching(shape: _Shape, needed: list[str], block: str = "") -> str:
    """Return the query of PostgreSQL. ``needed``: what must be true, or nothing is read.

    The block is the second condition: the index goes from the oldest item of the first one to those of the block. If the block
    were the last one, it would look for old items that the other parts agree on; if it were the first one, for many of its own.
    """
    first, *others = (f"asked{at}" for at in range(shape.conditions))
    asked = [first, *([block] if block else []), *others]
    where = " AND ".join(f"d.tokens @@ CAST(:{parameter} AS tsquery)" for parameter in asked)
    limit = f"(CASE WHEN {' AND '.join(needed)} THEN :most ELSE 0 END)" if needed else ":most"
    return f"SELECT d.number FROM documents_fts d WHERE {where}{_allowed(shape)} LIMIT {limit}"


def _allowed(shape: _Shape) -> str:
    return f" AND {_is_visible(shape.is_sqlite, 'd.namespace')}" if shape.is_limited else ""


def _is_visible(is_sqlite: bool, column: str) -> str:
    """Return the condition that a column is one of the namespaces in the parameter ``visible``: on SQLite a JSON list, on
    PostgreSQL an array. A parameter for each would be too many for both databases from some ten thousand on.
    """
    return f"{column} IN (SELECT value FROM json_each(:visible))" if is_sqlite else f"{column} = ANY(:visible)"


# -- typing mistakes -----------------------------------------------------------------------------------------------------


def _meant(connection: sa.Connection, within: _Within, word: str) -> list[str]:
    """Return corrections of ``word``: words of ids in the visible namespaces."""
    if not allowed_mistakes(word):
        return []
    values: dict[str, object] = {
        "least": len(word) - allowed_mistakes(word),
        "most": len(word) + allowed_mistakes(word),
    }
    if within.visible is not None:
        values["visible"] = within.visible
        some = {"visible": within.visible, "counted": _VISIBLE_WORDS + 1}
        ((count,),) = _own_words(within.is_sqlite).rows(connection, some)
        if count <= _VISIBLE_WORDS:
            return meant(word, (own for (own,) in _own_fitting(within.is_sqlite).rows(connection, values)))
    grams = grams_of(word)[:GRAMS]
    values |= {f"gram{at}": gram for at, gram in enumerate(grams)} | {"of_a_gram": _WORDS_OF_A_GRAM}
    near = _near(within.is_sqlite, len(grams), within.visible is not None).rows(connection, values)
    return nearest(word, (other for (other,) in near if other != word), CORRECTIONS)


@cache
def _own_words(is_sqlite: bool) -> Prepared:
    """Return the statement for how many words the visible namespaces have, of which at most ``counted`` are counted."""
    mine = _is_visible(is_sqlite, "namespace")
    return Prepared(sa.text(f"SELECT count(*) FROM (SELECT 1 FROM search_words WHERE {mine} LIMIT :counted) AS w"))


@cache
def _own_fitting(is_sqlite: bool) -> Prepared:
    """Return the statement for the words of the visible namespaces that have ``least`` to ``most`` letters."""
    mine = _is_visible(is_sqlite, "namespace")
    return Prepared(
        sa.text(f"SELECT DISTINCT word FROM search_words WHERE {mine} AND length(word) BETWEEN :least AND :most")
    )


@cache
def _near(is_sqlite: bool, grams: int, is_limited: bool) -> Prepared:
    """Return the statement for the words that share the most of the trigrams ``gram0``, ``gram1``, ...; of a trigram it
    looks at ``of_a_gram`` words."""
    parts = (
        f"SELECT * FROM (SELECT word FROM search_grams WHERE gram = :gram{at} AND letters BETWEEN :least AND :most "
        f"ORDER BY letters, word LIMIT :of_a_gram) AS g{at}"
        for at in range(grams)
    )
    allowed = (
        f"WHERE EXISTS (SELECT 1 FROM search_words WHERE word = near.word AND {_is_visible(is_sqlite, 'namespace')}) "
        if is_limited
        else ""
    )
    return Prepared(
        sa.text(
            f"SELECT word FROM (SELECT word, count(*) AS shared FROM ({' UNION ALL '.join(parts)}) AS every GROUP BY word) "
            f"AS near {allowed}ORDER BY shared DESC, word LIMIT {COMPARED}"
        )
    )
