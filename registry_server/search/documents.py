"""The search tables: one document for each name, its tokens, and the words of all ids.

``documents_fts`` holds the tokens: on SQLite a contentless FTS5 index, on PostgreSQL a stored ``tsvector`` with a GIN
index. The column ``terms`` has what the ranking reads of an item. Both are derived only from the other columns of ``documents``
(:func:`rye.text.ranking.scoring.terms_of`, :func:`registry_server.search.words.tokens_of`); the words and their trigrams are
derived from the ids. So ``verify`` can recompute all of them (:func:`index_problems`), and :func:`refill` rebuilds them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from msgspec import Struct, structs

from registry_server.search.words import beginnings_of, blocks_of, tokens_of
from registry_server.storage import database
from registry_server.storage.prepared import Among, Prepared
from registry_server.storage.room import has_room_in
from registry_server.storage.schema import documents, search_grams, search_words
from registry_server.storage.statement_batch import RowChange, StatementBatch, deleting, inserting
from rye.errors import RyeError
from rye.text.ranking.mistakes import corrections_for, grams_of
from rye.text.ranking.scoring import BEGINNING_LETTERS, Searched, terms_of
from rye.text.ranking.words import LEAST_LETTERS

_AT_ONCE = 500
_LISTED = 20
_PREFIXES = " ".join(str(letters) for letters in range(LEAST_LETTERS, BEGINNING_LETTERS + 2))
"""The prefix lengths that SQLite indexes: a token is a word, or a mark and a word. A prefix of any other length would be
searched among all tokens that begin with it."""
_FTS5 = (
    "CREATE VIRTUAL TABLE documents_fts USING fts5(tokens, content='', detail=none, columnsize=0, "
    f"tokenize=\"ascii tokenchars './!=:-_#'\", prefix='{_PREFIXES}')"
)
_REPEATED = ("namespace",)
"""The columns of ``documents`` that ``documents_fts`` repeats on PostgreSQL."""
# Without statistics of the tokens the plan is the same for every word, and planning is quick. New rows wait in a list of the
# index (`fastupdate`), which `settle_index` keeps short: putting an item's hundreds of tokens into their places one by one
# takes PostgreSQL longer than everything else that a batch does.
_TSVECTOR = (
    """CREATE TABLE documents_fts (
        number integer PRIMARY KEY,
        namespace varchar(64) NOT NULL,
        tokens tsvector NOT NULL
    )""",
    "ALTER TABLE documents_fts ALTER COLUMN tokens SET STATISTICS 0",
)
_GIN = "CREATE INDEX documents_fts_tokens ON documents_fts USING gin (tokens) WITH (fastupdate = on)"
_GIN_MEMORY = "SET LOCAL maintenance_work_mem = '512MB'"
"""For the time in which PostgreSQL makes the whole index."""


class SearchDocument(Struct, frozen=True):
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
    for statement in (_FTS5,) if connection.dialect.name == "sqlite" else (*_TSVECTOR, _GIN):
        connection.exec_driver_sql(statement)


@contextmanager
def indexing_last(connection: sa.Connection) -> Iterator[None]:
    """A block that adds very many documents: PostgreSQL makes the whole index once they are there, which takes a fraction of the
    time. Others cannot search until the transaction ends.
    """
    if connection.dialect.name == "sqlite":
        yield
        return
    connection.exec_driver_sql("DROP INDEX documents_fts_tokens")
    yield
    connection.exec_driver_sql(_GIN_MEMORY)
    connection.exec_driver_sql(_GIN)


def settle_index(engine: sa.Engine) -> bool:
    """Take a step towards an index that is read with fewer look-ups; returns whether another one would do more. Raises RyeError.

    On PostgreSQL the rows that wait in the index's list get their places. Searches find them before that, too, but read the whole
    list for it. PostgreSQL also does this by itself: when the list exceeds ``gin_pending_list_limit``, in the transaction that
    adds to it, and when it vacuums.

    On SQLite two parts of the index become one. Each batch adds a part, each word of a search is looked up in every part, and the
    batches themselves only merge four of a size. A step is short, because it holds SQLite's lock for writing. It takes no room
    that the next batch may need.
    """
    file = engine.url.database if engine.dialect.name == "sqlite" else None
    if file and not has_room_in(Path(file).parent, _STEP_BYTES):
        raise RyeError("storage-full", f"The disk of {file} has too little room for it.", "Free some space.")
    with database.change(engine) as connection:  # which waits for a lock no longer than it may
        if connection.dialect.name == "postgresql":
            _SETTLE.rows(connection)
            return False
        driver: Any = connection.connection.driver_connection
        if driver.execute(_LEAST_PARTS).fetchone() != (_PARTS,):
            driver.execute(_MERGE, ("usermerge", _PARTS))
        before = driver.total_changes
        driver.execute(_MERGE, ("merge", _MERGED_PAGES))
        return bool(driver.total_changes - before >= 2)  # as the manual of FTS5 says


_SETTLE = Prepared(sa.text("SELECT gin_clean_pending_list('documents_fts_tokens')"))
_LEAST_PARTS = "SELECT v FROM documents_fts_config WHERE k = 'usermerge'"
_MERGE = "INSERT INTO documents_fts(documents_fts, rank) VALUES (?, ?)"
_PARTS = 2
"""Parts of a size from which on a step merges them (https://www.sqlite.org/fts5.html, 6.8)."""
_MERGED_PAGES = 64
"""What a step writes: 4 kB each, 15 to 40 ms."""
_STEP_BYTES = 1_250_000
"""The room that a step takes, before what it freed is used again: up to 0.6 MB in SQLite's write-ahead log, and in its file."""


def put(connection: sa.Connection, document: SearchDocument) -> None:
    """Add a document or replace it."""
    replace(connection, [document.name], [document])


def remove(connection: sa.Connection, kind: str, identifier: str) -> None:
    """Remove a name's document, if there is one."""
    replace(connection, [f"{kind}:{identifier}"], [])


def replace(
    connection: sa.Connection,
    some: Sequence[str],
    offered: Sequence[SearchDocument],
    changes: StatementBatch | None = None,
) -> None:
    """Remove the documents of the names ``some`` and add ``offered``. Only the log's writer may call this.

    ``changes``: the caller writes them later, together with others; None: they are written now.
    """
    later = StatementBatch() if changes is None else changes
    present = _known(connection, some, offered)
    rows = _numbered(present.last, offered)
    kept = {row["name"] for row in rows}
    before = list(present.documents.values())
    _unindex(connection, later, before)
    later.add(_REMOVE, [{"number": row["number"]} for row in before if row["name"] not in kept])
    later.add(_ADD, [row for row in rows if row["name"] not in present.documents])
    later.add(_MOVE, [row for row in rows if row["name"] in present.documents])
    _index(connection, later, rows)
    _count_words(
        connection,
        later,
        present.words,
        added=[row["id"] for row in rows if row["name"] not in present.documents],
        gone=[row["id"] for row in before if row["name"] not in kept],
    )
    if changes is None:
        later.run(connection)


def refill(connection: sa.Connection) -> None:
    """Rebuild the index and the words from the rows of ``documents``."""
    connection.exec_driver_sql("DROP TABLE IF EXISTS documents_fts")
    create_index(connection)
    connection.execute(search_words.delete())
    connection.execute(search_grams.delete())
    at_number = documents.c.number == sa.bindparam("at")
    change = documents.update().where(at_number).values({"terms": sa.bindparam("new")})
    with indexing_last(connection):
        for rows in _all_rows(connection):
            for row in rows:
                row["terms"] = _terms(row)
            connection.execute(change, [{"at": row["number"], "new": row["terms"]} for row in rows])
            changes = StatementBatch()
            _index(connection, changes, rows)
            present = _known(connection, (), (), [row["id"] for row in rows])
            _count_words(connection, changes, present.words, added=[row["id"] for row in rows], gone=[])
            changes.run(connection)


# -- comparing -----------------------------------------------------------------------------------------------------------


def index_problems(connection: sa.Connection) -> list[str]:
    """Return messages about every difference between index and words and the rows of ``documents``."""
    wrong: list[str] = []
    indexed = _indexed(connection)
    words: Counter[tuple[str, str]] = Counter()
    wanted = _tokens if connection.dialect.name == "sqlite" else _lexemes
    for rows in _all_rows(connection):
        for row in rows:
            if indexed.pop(row["number"], 0) != _digest(wanted(row)) or row["terms"] != _terms(row):
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
    counts: dict[int, int] = {}
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql(
            "CREATE VIRTUAL TABLE IF NOT EXISTS temp.documents_terms USING fts5vocab(main, documents_fts, 'instance')"
        )
        for term, number in connection.exec_driver_sql("SELECT term, doc FROM temp.documents_terms"):
            counts[number] = counts.get(number, 0) ^ hash(term)
        return counts
    same = " AND ".join(f"f.{name} = d.{name}" for name in _REPEATED)
    counts = dict.fromkeys(connection.scalars(sa.text("SELECT number FROM documents_fts")), -1)
    for number, tokens in connection.exec_driver_sql(
        f"SELECT number, tokens::text FROM documents_fts f JOIN documents d USING (number) WHERE {same}"
    ):
        counts[number] = _digest(re.findall(r"'([^']*)'", tokens))
    return counts


def _digest(tokens: Iterable[str]) -> int:
    digest = 0
    for token in tokens:
        digest ^= hash(token)  # equal texts have equal hashes within one process
    return digest


# -- rows ----------------------------------------------------------------------------------------------------------------


class _Known(Struct, frozen=True):
    """What the tables contain before a change."""

    last: int
    """The largest number of a document."""
    words: frozenset[str]
    """Those of the words in question that have trigrams."""
    documents: dict[str, dict[str, Any]]
    """The documents to be removed, by name: only the columns from which their tokens are computed."""


def _known(
    connection: sa.Connection, some: Sequence[str], offered: Sequence[SearchDocument], ids: Sequence[str] = ()
) -> _Known:
    """Ask for all of that at once. ``ids``: more ids, for their words."""
    every = [*(name.partition(":")[2] for name in some), *(document.id for document in offered), *ids]
    words = sorted({word for identifier in every for word in corrections_for(identifier)})
    last, present, documents_ = 0, set(), {}
    for name, number, *rest in _BEFORE.rows(connection, {"some": list(some), "words": words}):
        if rest[0] is not None:
            row = dict(zip(("kind", "id", "terms"), rest, strict=True))
            documents_[name] = {"name": name, "number": number, **row}
        elif name:
            present.add(name)
        else:
            last = number or 0
    return _Known(last, frozenset(present), documents_)


def _all_rows(connection: sa.Connection) -> Iterator[list[dict[str, Any]]]:
    """Yield all rows of ``documents`` in batches."""
    last = -1
    chosen = sa.select(documents).where(documents.c.number > sa.bindparam("last"))
    chosen = chosen.order_by(documents.c.number).limit(_AT_ONCE)
    while rows := [dict(row) for row in connection.execute(chosen, {"last": last}).mappings()]:
        yield rows
        last = rows[-1]["number"]


def _numbered(last: int, offered: Sequence[SearchDocument]) -> list[dict[str, Any]]:
    """Return the rows of new documents. Newer ones have larger numbers, so that the index returns the newest first."""
    first = last + 1
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
            "terms": _terms(structs.asdict(document)),
        }
        for number, document in enumerate(offered, first)
    ]


def _tokens(row: Mapping[str, Any]) -> frozenset[str]:
    """Return all tokens of a document on SQLite."""
    return tokens_of(row["kind"], row["id"], row["terms"]).union(blocks_of(row["number"]))


def _terms(row: Mapping[str, Any]) -> str:
    """Return what the ranking reads of a document."""
    return terms_of(Searched(row["kind"], row["id"], row["description"], row["keywords"]))


def _lexemes(row: Mapping[str, Any]) -> frozenset[str]:
    """Return all tokens of a document on PostgreSQL."""
    tokens = _tokens(row)
    return tokens | beginnings_of(tokens)


def _change(each: str, at_once: str, types: dict[str, str]) -> RowChange:
    return RowChange(sa.text(each), at_once, types)


# -- the index -----------------------------------------------------------------------------------------------------------

_NOTHING = [sa.null() for _ in range(3)]
_BEFORE = Prepared(
    sa.union_all(
        sa.select(sa.literal_column("''").label("what"), sa.func.max(documents.c.number), *_NOTHING),
        sa.select(search_words.c.word, sa.literal_column("0"), *_NOTHING)
        .where(Among(search_words.c.word, "words"))
        .distinct(),
        sa.select(
            documents.c.name,
            documents.c.number,
            documents.c.kind,
            documents.c.id,
            documents.c.terms,
        ).where(Among(documents.c.name)),
    )
)
_ADD = inserting(documents)
_REMOVE = deleting(documents, "number")
_MOVED = ("number", "version", "description", "keywords", "deprecated", "terms")
_MOVE = _change(
    f"UPDATE documents SET {', '.join(f'{name} = :{name}' for name in _MOVED)} WHERE name = :name",
    f"UPDATE documents SET {', '.join(f'{name} = given.{name}' for name in _MOVED)} "
    "FROM {rows} WHERE documents.name = given.name",
    {"name": "text", "number": "bigint", "version": "text", "description": "text", "keywords": "text",
     "deprecated": "boolean", "terms": "text"},
)  # fmt: skip
"""A document that is replaced keeps its row, and gets a new number."""
_ADD_TOKENS = _change(
    "INSERT INTO documents_fts(rowid, tokens) VALUES (:number, :tokens)",
    f"INSERT INTO documents_fts(number, {', '.join(_REPEATED)}, tokens) SELECT number, {', '.join(_REPEATED)}, "
    "array_to_tsvector(string_to_array(tokens, ' ')) FROM {rows}",
    {"number": "bigint", "namespace": "text", "tokens": "text"},
)
# SQLite's contentless index needs the old tokens to delete them.
_FORGET_TOKENS = _change(
    "INSERT INTO documents_fts(documents_fts, rowid, tokens) VALUES ('delete', :number, :tokens)",
    "DELETE FROM documents_fts WHERE number = ANY({number})",
    {"number": "bigint"},
)


def _index(connection: sa.Connection, changes: StatementBatch, rows: Sequence[Mapping[str, Any]]) -> None:
    """Add the tokens of documents. No token contains a space."""
    wanted = _tokens if connection.dialect.name == "sqlite" else _lexemes
    names = ("number", *_REPEATED)
    changes.add(
        _ADD_TOKENS,
        [{**{name: row[name] for name in names}, "tokens": " ".join(sorted(wanted(row)))} for row in rows],
    )


def _unindex(connection: sa.Connection, changes: StatementBatch, rows: Sequence[Mapping[str, Any]]) -> None:
    if connection.dialect.name == "sqlite":
        rows = [{"number": row["number"], "tokens": " ".join(sorted(_tokens(row)))} for row in rows]
    changes.add(_FORGET_TOKENS, rows)


# -- the words of ids ----------------------------------------------------------------------------------------------------

_COUNT = _change(
    "INSERT INTO search_words(word, namespace, uses) VALUES (:word, :namespace, :uses) "
    "ON CONFLICT (word, namespace) DO UPDATE SET uses = search_words.uses + excluded.uses",
    "INSERT INTO search_words(word, namespace, uses) SELECT word, namespace, uses FROM {rows} "
    "ON CONFLICT (word, namespace) DO UPDATE SET uses = search_words.uses + excluded.uses",
    {"word": "text", "namespace": "text", "uses": "integer"},
)
_FORGET_UNUSED = _change(
    "DELETE FROM search_words WHERE word = :word AND namespace = :namespace AND uses <= 0",
    "DELETE FROM search_words USING {rows} WHERE search_words.word = given.word "
    "AND search_words.namespace = given.namespace AND search_words.uses <= 0",
    {"word": "text", "namespace": "text"},
)
_GRAM = {"gram": "text", "letters": "integer", "word": "text"}
_ADD_GRAMS = _change(
    "INSERT INTO search_grams(gram, letters, word) VALUES (:gram, :letters, :word) ON CONFLICT DO NOTHING",
    "INSERT INTO search_grams(gram, letters, word) SELECT gram, letters, word FROM {rows} ON CONFLICT DO NOTHING",
    _GRAM,
)
_FORGET_GRAMS = _change(
    "DELETE FROM search_grams WHERE gram = :gram AND letters = :letters AND word = :word",
    "DELETE FROM search_grams USING {rows} WHERE search_grams.gram = given.gram "
    "AND search_grams.letters = given.letters AND search_grams.word = given.word",
    _GRAM,
)
_STILL_KNOWN = Prepared(sa.select(search_words.c.word).where(Among(search_words.c.word)).distinct())


def _count_words(
    connection: sa.Connection,
    changes: StatementBatch,
    counted: frozenset[str],
    *,
    added: Sequence[str],
    gone: Sequence[str],
) -> None:
    """Count the words of ids that come and go. ``counted``: the words that have trigrams."""
    uses: Counter[tuple[str, str]] = Counter()
    for identifiers, step in ((added, 1), (gone, -1)):
        for identifier in identifiers:
            for word in corrections_for(identifier):
                uses[word, identifier.partition("/")[0]] += step
    changed = sorted((word, namespace, count) for (word, namespace), count in uses.items() if count)
    changes.add(_COUNT, [{"word": word, "namespace": namespace, "uses": count} for word, namespace, count in changed])
    touched = {word for word, _, _ in changed}
    changes.add(_ADD_GRAMS, _grams(touched - counted))
    fewer = [{"word": word, "namespace": namespace} for word, namespace, count in changed if count < 0]
    if fewer:  # which words are gone can be read only when the counts are written
        changes.run(connection)
        changes.add(_FORGET_UNUSED, fewer)
        changes.run(connection)
        still = {word for (word,) in _STILL_KNOWN.rows(connection, {"some": sorted(touched)})}
        changes.add(_FORGET_GRAMS, _grams(touched - still))


def _grams(words: Iterable[str]) -> list[dict[str, object]]:
    return [{"gram": gram, "letters": len(word), "word": word} for word in sorted(words) for gram in grams_of(word)]


def _gram_keys(word: str) -> list[tuple[str, int, str]]:
    return [(gram, len(word), word) for gram in grams_of(word)]
