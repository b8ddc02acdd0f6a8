"""The questions behind lists of items: their answers, and what they look at among very many items."""

from __future__ import annotations

import random
import time
from types import SimpleNamespace
from typing import Any, cast

import pytest
import sqlalchemy as sa

from registry_server.pages import listings
from registry_server.pages.listings import Filters, counts_by_kind, items_of, publishers_of
from registry_server.pages.name_ranges import offered_counts
from registry_server.pages.page_context import Reader
from registry_server.pages.registry_view import RegistryView
from registry_server.storage import schema
from registry_server.storage.schema import documents, keysets, metadata
from tests.scenes.effort import rest_thorough

KINDS = ("directive", "skill", "tool")


@pytest.fixture(params=rest_thorough(1, ["sqlite", "postgresql"]))
def connection(request: pytest.FixtureRequest) -> Any:
    url = "sqlite://" if request.param == "sqlite" else request.getfixturevalue("empty")
    engine = sa.create_engine(url)
    metadata.create_all(engine)
    with engine.connect() as made:
        yield made
    engine.dispose()


def view(connection: sa.Connection, *namespaces: str) -> RegistryView:
    reader = Reader(namespaces=namespaces) if namespaces else Reader()
    return cast("RegistryView", SimpleNamespace(connection=connection, reader=reader))


def document(number: int, name: str, version: str = "1.0.0") -> dict[str, Any]:
    kind, _, identifier = name.partition(":")
    return {
        "number": number,
        "name": name,
        "kind": kind,
        "namespace": identifier.partition("/")[0],
        "id": identifier,
        "version": version,
        "description": "",
        "keywords": "",
        "deprecated": False,
        "terms": "",
    }


def filled(connection: sa.Connection, chance: random.Random) -> list[tuple[int, int, int, str]]:
    """Documents, most with a listing, few of them used. Returns publishers, uses, number and name of each."""
    rows = []
    for number in range(1, 60):
        name = f"{chance.choice(KINDS)}:space{number % 5}/item-{number}"
        connection.execute(documents.insert(), document(number, name))
        known, uses = chance.random() < 0.9, chance.choice([0, 0, 0, 1, 1, 2, 5])
        publishers = min(uses, chance.choice([1, 2]))
        if known:
            version = chance.choice(["1.0.0", "1.0.0", "0.9.0"])  # what is said of another version does not count
            values = {"code": "c", "declared": True, "alarms": 0, "licence": "", "used_by": uses}
            row = {"name": name, "version": version, "publishers": publishers, **values}
            connection.execute(schema.listings.insert(), row)
            known = version == "1.0.0"
        rows.append((publishers, uses, number, name) if known else (0, 0, number, name))
    return rows


@pytest.mark.parametrize("seed", rest_thorough(2, range(4)))
def test_the_most_used_come_first_and_then_the_newest_on_every_page(connection: sa.Connection, seed: int) -> None:
    rows = filled(connection, random.Random(seed))
    for kind in ("", "skill"):
        wanted = [row[3] for row in sorted(rows, reverse=True) if row[3].startswith(kind)]
        for start in (0, 7, 20, 25, 40, 58, 100):
            page = items_of(view(connection), Filters(kind=kind), start, 7)
            assert [str(one.identity) for one in page] == wanted[start : start + 7], (kind, start)


def test_kinds_are_counted_as_the_filters_say(connection: sa.Connection) -> None:
    rows = filled(connection, random.Random(1))
    every = {kind: sum(row[3].startswith(kind) for row in rows) for kind in KINDS}
    assert counts_by_kind(view(connection)) == every
    some = {kind: sum(row[3].startswith(kind) and ":space1/" in row[3] for row in rows) for kind in KINDS}
    there = {kind: count for kind, count in some.items() if count}
    assert counts_by_kind(view(connection, "space1")) == there
    assert offered_counts(connection, "space1") == there
    described = sum(counts_by_kind(view(connection), filters=Filters(no_alarms=True)).values())
    assert 0 < described < len(rows)


def test_namespaces_are_counted_whatever_their_order(connection: sa.Connection) -> None:
    rows = filled(connection, random.Random(2))
    for position, name in enumerate([*(f"space{number}" for number in (3, 0, 4, 1)), "without"]):
        connection.execute(keysets.insert(), {"namespace": name, "position": position, "note": b""})
    counts = {f"space{number}": sum(f":space{number}/" in row[3] for row in rows) for number in range(5)}
    by_use = {one.namespace: one for one in publishers_of(view(connection), "used", 0, 10)}
    for sort, order in (
        ("newest", ["without", "space1", "space4", "space0", "space3"]),
        ("name", ["space0", "space1", "space3", "space4", "without"]),
    ):
        page = publishers_of(view(connection), cast("Any", sort), 0, 10)
        assert [one.namespace for one in page] == order
        assert {one.namespace: one for one in page} == by_use
        assert publishers_of(view(connection), cast("Any", sort), 1, 2) == page[1:3]
    assert {one.namespace: one.items for one in by_use.values()} == {
        **{name: counts[name] for name in ("space0", "space1", "space3", "space4")},
        "without": 0,
    }


def complete(number: int, name: str, ago: float = 0.0) -> listings._Complete:
    return listings._Complete(10, (number, name, "1.0.0"), time.monotonic() - ago)


class TestWhatIsNew:
    @pytest.fixture(autouse=True)
    def three(self, connection: sa.Connection) -> None:
        for number in (1, 2, 3):
            connection.execute(documents.insert(), document(number, f"tool:acme/t{number}"))

    def test_only_newer_documents_are_looked_at(self, connection: sa.Connection) -> None:
        assert listings._looked_at_from(connection, complete(3, "tool:acme/t3")) == 3
        connection.execute(documents.insert(), document(4, "tool:acme/t4"))
        unknown = connection.execute(listings._UNKNOWN, {"code": "c", "first": 4}).all()
        assert [name for name, _ in unknown] == ["tool:acme/t4"]

    @pytest.mark.parametrize(
        "change",
        [
            documents.delete().where(documents.c.number == 3),
            documents.update().where(documents.c.number == 3).values(name="tool:acme/other"),
            documents.update().where(documents.c.number == 3).values(version="0.9.0"),
        ],
    )
    def test_all_are_when_the_newest_is_gone_as_its_number_may_be_given_again(
        self, connection: sa.Connection, change: sa.Executable
    ) -> None:
        connection.execute(change)
        assert listings._looked_at_from(connection, complete(3, "tool:acme/t3")) == 0

    def test_all_are_at_first_and_now_and_then(self, connection: sa.Connection) -> None:
        assert listings._looked_at_from(connection, None) == 0
        assert listings._looked_at_from(connection, complete(3, "tool:acme/t3", ago=7_200)) == 0
