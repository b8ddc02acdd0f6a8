"""The search tables: one document for each name, its tokens, and the words of all ids.

``documents_fts`` holds the tokens: on SQLite a contentless FTS5 index, on PostgreSQL a stored ``tsvector`` with a GIN
index, next to the columns that the ranking needs, so that a match needs no second look-up. Both are derived only from
the rows of ``documents`` by :func:`registry_server.search.words.tokens_of`; the words and their trigrams are derived
from the ids. So ``verify`` can recompute all of them (:func:`index_problems`), and :func:`refill` rebuilds them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from msgspec import Struct

from registry_server.search.words import (
    LEAST_LETTERS,
    PREFIX_LETTERS,
    beginnings_of,
    blocks_of,
    corrections_for,
    grams_of,
    segment_of,
    tokens_of,
)
from registry_server.storage.prepared import Among, Prepared
from registry_server.storage.schema import documents, search_grams, search_words

_AT_ONCE = 500
_LISTED = 20
_PREFIXES = " ".join(str(letters) for letters in range(LEAST_LETTERS, PREFIX_LETTERS + 2))
"""The prefix lengths that SQLite indexes: a token is a word, or a mark and a word. A prefix of any other length would be
searched among all tokens that begin with it."""
_FTS5 = (
    "CREATE VIRTUAL TABLE documents_fts USING fts5(tokens, content='', detail=none, columnsize=0, "
    f"tokenize=\"ascii tokenchars './!=:-_'\", prefix='{_PREFIXES}')"
)
_RANKED = ("kind", "namespace", "id", "segment", "deprecated")
"""The columns of ``documents`` that ``documents_fts`` repeats on PostgreSQL."""
# Without statistics of the tokens the plan is the same for every word, and planning is quick.
_TSVECTOR = (
    """CREATE TABLE documents_fts (
        number integer PRIMARY KEY,
        kind varchar(16) COLLATE "C" NOT NULL,
        namespace varchar(64) NOT NULL,
        id varchar(1100) COLLATE "C" NOT NULL,
        segment varchar(70) NOT NULL,
        deprecated boolean NOT NULL,
        tokens tsvector NOT NULL
    )""",
    "ALTER TABLE documents_fts ALTER COLUMN tokens SET STATISTICS 0",
    "CREATE INDEX documents_fts_tokens ON documents_fts USING gin (tokens) WITH (fastupdate = off)",
)


class Document(Struct, frozen=True):
    """The searchable data of one name."""

    kind: str
    id: str
    version: str
    description: str
    keywords: str = ""
    deprecated: bool = False

    @property
    def name(self) -> str:
        """``kind:id``."""
        return f"{self.kind}:{self.id}"

    @property
    def namespace(self) -> str:
        """The first part of the id."""
        return self.id.partition("/")[0]


def create_index(connection: sa.Connection) -> None:
    """Create an empty ``documents_fts``."""
    for statement in (_FTS5,) if connection.dialect.name == "sqlite" else _TSVECTOR:
        connection.exec_driver_sql(statement)


def put(connection: sa.Connection, document: Document) -> None:
    """Add a document or replace it."""
    replace(connection, [document.name], [document])


def remove(connection: sa.Connection, kind: str, identifier: str) -> None:
    """Remove a name's document, if there is one."""
    replace(connection, [f"{kind}:{identifier}"], [])


def replace(connection: sa.Connection, some: Sequence[str], offered: Sequence[Document]) -> None:
    """Remove the documents of the names ``some`` and add ``offered``. Only the log's writer may call this."""
    before = _rows(connection, some)
    _unindex(connection, before)
    rows = _numbered(connection, offered)
    _ADD.run_all(connection, rows)
    _index(connection, rows)
    ids_before, ids_after = {row["name"]: row["id"] for row in before}, {row["name"]: row["id"] for row in rows}
    _count_words(
        connection,
        added=[identifier for name, identifier in ids_after.items() if name not in ids_before],
        gone=[identifier for name, identifier in ids_before.items() if name not in ids_after],
    )


def refill(connection: sa.Connection) -> None:
    """Rebuild the index and the words from the rows of ``documents``."""
    connection.exec_driver_sql("DROP TABLE IF EXISTS documents_fts")
    create_index(connection)
    connection.execute(search_words.delete())
    connection.execute(search_grams.delete())
    at_number = documents.c.number == sa.bindparam("at")
    change = documents.update().where(at_number).values({"segment": sa.bindparam("new")})
    for rows in _all_rows(connection):
        connection.execute(change, [{"at": row["number"], "new": segment_of(row["id"])} for row in rows])
        _index(connection, rows)
        _count_words(connection, added=[row["id"] for row in rows], gone=[])


# -- comparing -----------------------------------------------------------------------------------------------------------


def index_problems(connection: sa.Connection) -> list[str]:
    """Return messages about every difference between index and words and the rows of ``documents``."""
    wrong: list[str] = []
    indexed = _indexed(connection)
    words: Counter[tuple[str, str]] = Counter()
    wanted = _tokens if connection.dialect.name == "sqlite" else _lexemes
    for rows in _all_rows(connection):
        for row in rows:
            if indexed.pop(row["number"], 0) != _digest(wanted(row)) or row["segment"] != segment_of(row["id"]):
                wrong.append(f"The search index is wrong for {row['name']}.")
            words.update((word, row["namespace"]) for word in corrections_for(row["id"]))
    wrong += [f"The search index has an entry {number} without a document." for number in indexed]
    present = {(row.word, row.namespace): row.uses for row in connection.execute(sa.select(search_words))}
    wrong += [f"The table search_words is wrong for {word}." for word, _ in sorted(_differing(words, present))]
    grams = Counter(gram for word in {word for word, _ in words} for gram in _gram_keys(word))
    keys = Counter((row.gram, row.letters, row.word) for row in connection.execute(sa.select(search_grams)))
    wrong += [f"The table search_grams is wrong for {word}." for _, _, word in sorted(_differing(grams, keys))]
    listed = wrong[:_LISTED]
    return [*listed, f"Search has {len(wrong) - _LISTED} more wrong rows."] if len(wrong) > _LISTED else listed


def _differing(wanted: Mapping[Any, int], present: Mapping[Any, int]) -> set[Any]:
    return {key for key in wanted.keys() | present.keys() if wanted.get(key) != present.get(key)}


def _indexed(connection: sa.Connection) -> dict[int, int]:
    """Return each document's number and a digest of its tokens in the index, independent of their order.

    On PostgreSQL, documents whose repeated columns differ from ``documents`` are left out.
    """
    found: dict[int, int] = {}
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql(
            "CREATE VIRTUAL TABLE IF NOT EXISTS temp.documents_terms USING fts5vocab(main, documents_fts, 'instance')"
        )
        for term, number in connection.exec_driver_sql("SELECT term, doc FROM temp.documents_terms"):
            found[number] = found.get(number, 0) ^ hash(term)
        return found
    same = " AND ".join(f"f.{name} = d.{name}" for name in _RANKED)
    found = dict.fromkeys(connection.scalars(sa.text("SELECT number FROM documents_fts")), -1)
    for number, tokens in connection.exec_driver_sql(
        f"SELECT number, tokens::text FROM documents_fts f JOIN documents d USING (number) WHERE {same}"
    ):
        found[number] = _digest(re.findall(r"'([^']*)'", tokens))
    return found


def _digest(tokens: Iterable[str]) -> int:
    digest = 0
    for token in tokens:
        digest ^= hash(token)  # equal texts have equal hashes within one process
    return digest


# -- rows ----------------------------------------------------------------------------------------------------------------


def _rows(connection: sa.Connection, some: Sequence[str]) -> list[dict[str, Any]]:
    if not some:
        return []
    names = [column.name for column in documents.columns]
    return [dict(zip(names, row, strict=True)) for row in _NAMED.rows(connection, {"some": list(some)})]


def _all_rows(connection: sa.Connection) -> Iterator[list[dict[str, Any]]]:
    """Yield all rows of ``documents`` in batches."""
    last = -1
    chosen = sa.select(documents).where(documents.c.number > sa.bindparam("last"))
    chosen = chosen.order_by(documents.c.number).limit(_AT_ONCE)
    while rows := [dict(row) for row in connection.execute(chosen, {"last": last}).mappings()]:
        yield rows
        last = rows[-1]["number"]


def _numbered(connection: sa.Connection, offered: Sequence[Document]) -> list[dict[str, Any]]:
    """Return the rows of new documents. Newer ones have larger numbers, so that the index returns the newest first."""
    if not offered:
        return []
    (last,) = _LAST.rows(connection)[0]
    first = (last or 0) + 1
    return [
        {
            "number": number,
            "name": document.name,
            "kind": document.kind,
            "namespace": document.namespace,
            "id": document.id,
            "version": document.version,
            "description": document.description,
            "keywords": document.keywords,
            "deprecated": document.deprecated,
            "segment": segment_of(document.id),
        }
        for number, document in enumerate(offered, first)
    ]


def _tokens(row: Mapping[str, Any]) -> frozenset[str]:
    return tokens_of(row["kind"], row["id"], row["description"], row["keywords"])


def _lexemes(row: Mapping[str, Any]) -> frozenset[str]:
    """Return all tokens of a document on PostgreSQL."""
    tokens = _tokens(row)
    return tokens | beginnings_of(tokens) | frozenset(blocks_of(row["number"]))


def _text(statement: str) -> Prepared:
    return Prepared(sa.text(statement))


# -- the index -----------------------------------------------------------------------------------------------------------

_NAMED = Prepared(sa.select(documents).where(Among(documents.c.name)))
_LAST = Prepared(sa.select(sa.func.max(documents.c.number)))
_ADD = Prepared(documents.insert())
_REMOVE = Prepared(documents.delete().where(documents.c.number == sa.bindparam("number")))
_ADD_FTS5 = _text("INSERT INTO documents_fts(rowid, tokens) VALUES (:number, :tokens)")
# A contentless index needs the old tokens to delete them.
_FORGET_FTS5 = _text("INSERT INTO documents_fts(documents_fts, rowid, tokens) VALUES ('delete', :number, :tokens)")
_ADD_TSVECTOR = _text(
    f"INSERT INTO documents_fts(number, {', '.join(_RANKED)}, tokens) VALUES "
    f"(:number, {', '.join(f':{name}' for name in _RANKED)}, array_to_tsvector(CAST(:tokens AS text[])))"
)
_FORGET_TSVECTOR = _text("DELETE FROM documents_fts WHERE number = :number")


def _index(connection: sa.Connection, rows: Sequence[Mapping[str, Any]]) -> None:
    if connection.dialect.name == "sqlite":
        values = [{"number": row["number"], "tokens": " ".join(sorted(_tokens(row)))} for row in rows]
        _ADD_FTS5.run_all(connection, values)
        return
    ranked = [{name: row[name] for name in ("number", *_RANKED)} for row in rows]
    _ADD_TSVECTOR.run_all(
        connection, [{**values, "tokens": sorted(_lexemes(row))} for values, row in zip(ranked, rows, strict=True)]
    )


def _unindex(connection: sa.Connection, rows: Sequence[Mapping[str, Any]]) -> None:
    if not rows:
        return
    if connection.dialect.name == "sqlite":
        values = [{"number": row["number"], "tokens": " ".join(sorted(_tokens(row)))} for row in rows]
        _FORGET_FTS5.run_all(connection, values)
    numbers = [{"number": row["number"]} for row in rows]
    if connection.dialect.name != "sqlite":
        _FORGET_TSVECTOR.run_all(connection, numbers)
    _REMOVE.run_all(connection, numbers)


# -- the words of ids ----------------------------------------------------------------------------------------------------

_COUNT = _text(
    "INSERT INTO search_words(word, namespace, uses) VALUES (:word, :namespace, :uses) "
    "ON CONFLICT (word, namespace) DO UPDATE SET uses = search_words.uses + excluded.uses"
)
_FORGET_UNUSED = _text("DELETE FROM search_words WHERE word = :word AND namespace = :namespace AND uses <= 0")
_ADD_GRAM = _text(
    "INSERT INTO search_grams(gram, letters, word) VALUES (:gram, :letters, :word) ON CONFLICT DO NOTHING"
)
_FORGET_GRAM = _text("DELETE FROM search_grams WHERE gram = :gram AND letters = :letters AND word = :word")
_KNOWN = Prepared(sa.select(search_words.c.word).where(Among(search_words.c.word)).distinct())


def _count_words(connection: sa.Connection, *, added: Sequence[str], gone: Sequence[str]) -> None:
    uses: Counter[tuple[str, str]] = Counter()
    for identifiers, step in ((added, 1), (gone, -1)):
        for identifier in identifiers:
            for word in corrections_for(identifier):
                uses[word, identifier.partition("/")[0]] += step
    changed = sorted((word, namespace, count) for (word, namespace), count in uses.items() if count)
    if not changed:
        return
    touched = sorted({word for word, _, _ in changed})
    known_before = _known(connection, touched)
    _COUNT.run_all(
        connection, [{"word": word, "namespace": namespace, "uses": count} for word, namespace, count in changed]
    )
    fewer = [{"word": word, "namespace": namespace} for word, namespace, count in changed if count < 0]
    known_after = set(touched)
    if fewer:
        _FORGET_UNUSED.run_all(connection, fewer)
        known_after = _known(connection, touched)
    for change, words in ((_ADD_GRAM, known_after - known_before), (_FORGET_GRAM, known_before - known_after)):
        keys = [key for word in sorted(words) for key in _gram_keys(word)]
        change.run_all(connection, [{"gram": gram, "letters": size, "word": word} for gram, size, word in keys])


def _known(connection: sa.Connection, some: Sequence[str]) -> set[str]:
    return {word for (word,) in _KNOWN.rows(connection, {"some": list(some)})}


def _gram_keys(word: str) -> list[tuple[str, int, str]]:
    return [(gram, len(word), word) for gram in grams_of(word)]
