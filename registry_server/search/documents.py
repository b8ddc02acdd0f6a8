"""Full-text search over the latest release of each name that is not yanked.

SQLite answers from an FTS5 index, PostgreSQL from a text index. A query is words: each stands for every word that begins with
it, all must occur; when nothing has them all, any of them is enough. What a person types is never query syntax: it is cut into
words first, and every word is quoted.

Scores are between 0 and 1: 1 for the name itself, else the rank relative to the best result of the query.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from registry_server.storage.schema import documents

_WORD = re.compile(r"[^\W_]+")
_MAX_WORDS = 16


@dataclass(frozen=True, slots=True)
class Document:
    """What is found of one name."""

    kind: str
    id: str
    version: str
    description: str
    keywords: str = ""


@dataclass(frozen=True, slots=True)
class Hit:
    """One result."""

    kind: str
    id: str
    version: str
    description: str
    score: float


def put(connection: sa.Connection, document: Document) -> None:
    """Add the name to the index, or replace its entry."""
    remove(connection, document.kind, document.id)
    put_all(connection, [document])


def put_all(connection: sa.Connection, some: Sequence[Document]) -> None:
    """Add names that are not in the index. The connection is the log's writer."""
    rows: list[dict[str, object]] = [
        {
            "name": f"{document.kind}:{document.id}",
            "kind": document.kind,
            "namespace": document.id.split("/", 1)[0],
            "id": document.id,
            "version": document.version,
            "description": document.description,
            "keywords": document.keywords,
        }
        for document in some
    ]
    if not rows:
        return
    if connection.dialect.name == "sqlite":
        first = (connection.scalar(sa.select(sa.func.max(documents.c.number))) or 0) + 1
        rows = [{"number": number, **row} for number, row in enumerate(rows, first)]
    connection.execute(documents.insert(), rows)
    if connection.dialect.name == "sqlite":
        connection.execute(
            sa.text(
                "INSERT INTO documents_fts(rowid, id, description, kind, keywords) "
                "VALUES (:number, :id, :description, :kind, :keywords)"
            ),
            rows,
        )


def remove(connection: sa.Connection, kind: str, identifier: str) -> None:
    """Take the name out of the index, where it is in it."""
    remove_all(connection, [f"{kind}:{identifier}"])


def remove_all(connection: sa.Connection, some: Sequence[str]) -> None:
    """Take names out of the index, at most some hundreds at once."""
    found = connection.execute(sa.select(documents).where(documents.c.name.in_(some))).mappings().all()
    if not found:
        return
    if connection.dialect.name == "sqlite":
        # An index without content of its own is told what to forget.
        connection.execute(
            sa.text(
                "INSERT INTO documents_fts(documents_fts, rowid, id, description, kind, keywords) "
                "VALUES ('delete', :number, :id, :description, :kind, :keywords)"
            ),
            [dict(row) for row in found],
        )
    connection.execute(documents.delete().where(documents.c.number.in_([row["number"] for row in found])))


def find(
    connection: sa.Connection,
    query: str,
    *,
    kind: str | None = None,
    namespace: str | None = None,
    visible: Sequence[str] | None = None,
    limit: int = 20,
    offset: int = 0,
) -> tuple[list[Hit], int]:
    """One page of results, the best first, and how many there are in all. An empty query finds everything, by id.

    ``visible``: the namespaces whose items may be found; None: all.
    """
    words = [word.lower() for word in _WORD.findall(query)][:_MAX_WORDS]
    if not words and query.strip():
        return [], 0
    for joined in ("all", "any") if len(words) > 1 else ("all",):
        ranked = _ranked(connection, words, joined)
        conditions = []
        if kind is not None:
            conditions.append(documents.c.kind == kind)
        if namespace is not None:
            conditions.append(documents.c.namespace == namespace)
        if visible is not None:
            conditions.append(documents.c.namespace.in_(sorted(visible)))
        found = (
            sa.select(documents, ranked.c.rank).join(ranked, ranked.c.number == documents.c.number).where(*conditions)
        )
        total = connection.scalar(sa.select(sa.func.count()).select_from(found.subquery())) or 0
        if total:
            break
    else:
        return [], 0
    exact = "/".join(query.strip().lower().removeprefix(f"{kind}:" if kind else "").split("/"))
    is_exact = sa.case((sa.or_(documents.c.id == exact, documents.c.name == exact), 1), else_=0)
    best = connection.scalar(sa.select(sa.func.max(found.subquery().c.rank))) or 1.0
    rows = connection.execute(
        found.add_columns(is_exact.label("is_exact"))
        .order_by(sa.desc("is_exact"), sa.desc("rank"), documents.c.id, documents.c.kind)
        .limit(limit)
        .offset(offset)
    ).all()
    hits = []
    for row in rows:
        score = 1.0 if row.is_exact else max(0.0, min(1.0, row.rank / best if best > 0 else 0.0))
        hits.append(Hit(row.kind, row.id, row.version, row.description, round(score, 4)))
    return hits, total


def _ranked(connection: sa.Connection, words: list[str], joined: str) -> sa.FromClause:
    """``(number, rank)`` of the documents that match."""
    if not words:
        return sa.select(documents.c.number, sa.literal(1.0).label("rank")).subquery()
    if connection.dialect.name == "sqlite":
        match = (" AND " if joined == "all" else " OR ").join(f'"{word}"*' for word in words)
        return (
            sa.text(
                "SELECT rowid AS number, -bm25(documents_fts, 8.0, 4.0, 1.0, 2.0) AS rank FROM documents_fts "
                "WHERE documents_fts MATCH :match"
            )
            .bindparams(match=match)
            .columns(sa.column("number", sa.Integer), sa.column("rank", sa.Float))
            .cte("ranked")
            .prefix_with("MATERIALIZED")  # bm25 works only in a query of its own
        )
    # The same expression as the index `documents_text` is built on, else it would not be used.
    text: sa.ColumnElement[object] = sa.literal_column(
        "to_tsvector('simple', translate(id, '_-/', '   ') || ' ' || description || ' ' || kind || ' ' || keywords)"
    )
    match = (" & " if joined == "all" else " | ").join(f"'{word}':*" for word in words)
    wanted = sa.func.to_tsquery("simple", match)
    return (
        sa.select(documents.c.number, sa.cast(sa.func.ts_rank(text, wanted), sa.Float).label("rank"))
        .where(text.op("@@")(wanted))
        .subquery()
    )
