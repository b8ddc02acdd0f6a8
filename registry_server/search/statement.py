"""The SQL of one search: candidates, ranking, one page. Pure.

There are three sources of candidates, best first: the items whose id is the query, the items with all words in their
name, and the items with all words anywhere. A source is read only if the ones before it leave room. SQLite reads its
index from the newest item on. PostgreSQL collects all matches before it returns the first, so it looks in the newest
blocks of items first (:func:`registry_server.search.words.newest_blocks`): a word that many items have is found often
enough in a small block, and a word that few items have is found fast anywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import sqlalchemy as sa
from msgspec import Struct

from registry_server.search import asking

_COLUMNS = "d.number, d.id, d.kind, d.segment, d.deprecated"


class Shape(Struct, frozen=True, kw_only=True):
    """What the text of the SQL depends on. The rest are parameters."""

    is_sqlite: bool
    anywhere: int
    """Conditions of the parameter ``anywhere``: ``anywhere0``, ``anywhere1``, ... On SQLite always 1."""
    in_name: int = 0
    """Conditions of the parameter ``in_name``. 0: all matches have the same rank."""
    words: int = 0
    """Words that are ranked: ``begins0`` and ``whole0``, ..."""
    may_be_id: bool = False
    """The parameter ``exact`` has names."""
    is_limited: bool = False
    """Only the namespaces in the parameter ``visible`` may be found."""
    blocks: int = 0
    """Blocks that are searched first, in this order: ``block0``, ``block1``, ..."""


@cache
def text(shape: Shape) -> sa.TextClause:
    """Return the statement. Its other parameters are ``most``, ``least``, ``typed``, ``letters``, ``name``, ``limit``
    and ``offset``."""
    sources: dict[str, str] = {}
    if shape.may_be_id:
        sources["exact"] = f"SELECT {_COLUMNS} FROM documents d WHERE d.name IN :exact{_allowed(shape)}"
    if shape.in_name:
        _add(sources, shape, "in_name", shape.in_name)
    _add(sources, shape, "anywhere", shape.anywhere)
    ctes = ", ".join(f"{name} AS MATERIALIZED ({sql})" for name, sql in sources.items())
    parts = [name for name in ("exact", "in_name", "anywhere") if name in sources]
    places = " UNION ALL ".join(
        f"SELECT {place} AS place, {_COLUMNS} FROM {name} d{_not_in(parts[:place])}" for place, name in enumerate(parts)
    )
    statement = sa.text(
        f"WITH {ctes}, candidates AS MATERIALIZED "
        f"(SELECT * FROM ({places}) AS d ORDER BY place, number DESC LIMIT :most), "
        f"ranked AS (SELECT d.number, {_score(shape)} AS score, d.id, d.kind FROM candidates d "
        "ORDER BY score DESC, d.id, d.kind LIMIT :limit OFFSET :offset) "
        "SELECT d.kind, d.id, d.version, d.description, d.deprecated, r.score, "
        "(SELECT count(*) FROM candidates) AS total "
        "FROM ranked r JOIN documents d ON d.number = r.number ORDER BY r.score DESC, d.id, d.kind"
    )
    return statement.bindparams(sa.bindparam("exact", expanding=True)) if shape.may_be_id else statement


def _add(sources: dict[str, str], shape: Shape, name: str, conditions: int) -> None:
    """Add a source that is read if the ones before it leave room."""
    needed = ["(SELECT count(*) FROM in_name) < :most"] if "in_name" in sources else []
    tried = []
    for block in range(shape.blocks):
        source = f"{name}_in_block{block}"
        sources[source] = _matching(shape, name, conditions, needed, f"block{block}")
        is_full = f"(SELECT count(*) FROM {source}) >= :most"
        tried.append(f"SELECT * FROM {source} WHERE {is_full}")
        needed = [*needed, f"NOT {is_full}"]
    sources[name] = " UNION ALL ".join(
        [*tried, f"SELECT * FROM ({_matching(shape, name, conditions, needed)}) AS every"]
    )


def _matching(shape: Shape, name: str, conditions: int, needed: list[str], block: str = "") -> str:
    """Return the query for one source. ``needed``: what must be true, or nothing is read."""
    if shape.is_sqlite:
        table = "documents_fts f JOIN documents d ON d.number = f.rowid"
        where = f"documents_fts MATCH :{name}0"
        order = " ORDER BY f.rowid DESC"
    else:
        table, order = "documents_fts d", ""
        asked = [*([block] if block else []), *(f"{name}{at}" for at in range(conditions))]
        where = " AND ".join(f"d.tokens @@ CAST(:{parameter} AS tsquery)" for parameter in asked)
    # Both databases read nothing for a limit of 0. SQLite would check a condition again for every match.
    limit = f"(CASE WHEN {' AND '.join(needed)} THEN :most ELSE 0 END)" if needed else ":most"
    return f"SELECT {_COLUMNS} FROM {table} WHERE {where}{_allowed(shape)}{order} LIMIT {limit}"


def _allowed(shape: Shape) -> str:
    return f" AND {is_visible(shape.is_sqlite, 'd.namespace')}" if shape.is_limited else ""


def is_visible(is_sqlite: bool, column: str) -> str:
    """Return the condition that a column is one of the namespaces in the parameter ``visible``: on SQLite a JSON list, on
    PostgreSQL an array. A parameter for each would be too many for both databases from some ten thousand on.
    """
    return f"{column} IN (SELECT value FROM json_each(:visible))" if is_sqlite else f"{column} = ANY(:visible)"


def _not_in(before: Sequence[str]) -> str:
    return "".join(
        f" {word} d.number NOT IN (SELECT number FROM {name})"
        for word, name in zip(("WHERE", "AND"), before, strict=False)
    )


def _score(shape: Shape) -> str:
    inside, least_of = ("instr", "min") if shape.is_sqlite else ("strpos", "least")
    score = "CAST(:least AS integer)"
    if shape.words:
        path = "'-' || replace(replace(d.id, '/', '-'), '_', '-')"

        def all_of(text: str, what: str) -> str:
            return " AND ".join(f"{inside}({text}, :{what}{at}) > 0" for at in range(shape.words))

        cases = [
            ("replace(d.segment, '-', '') = :name", asking.NAME),
            (all_of("d.segment", "whole"), asking.NAME_WORDS),
            (all_of("d.segment", "begins"), asking.NAME_BEGINNINGS),
            (all_of(path, "begins"), asking.ID_BEGINNINGS),
        ]
        score = f"CASE {' '.join(f'WHEN {fits} THEN {points}' for fits, points in cases)} ELSE {score} END"
    starts = f"CASE WHEN substr(d.id, 1, :letters) = :typed THEN {asking.START} ELSE 0 END"
    length = f"{least_of}(length(d.id), {asking.MOST_LENGTH})"
    score = f"({score} + {starts} - {length}) / CASE WHEN d.deprecated THEN 10 ELSE 1 END"
    return f"CASE WHEN d.place = 0 THEN {asking.EXACT} ELSE {score} END" if shape.may_be_id else score
