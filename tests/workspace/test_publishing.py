"""The requests of a publish: never more statements than the server accepts, dependencies first."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from rye.items.identity import Identity
from rye.limits import PUBLISHING
from rye.registry.protocol import notes, statements
from rye.registry.protocol.statements import FileEntry, Release
from rye.registry.transport.api import ApiError
from rye.signing.keys import PrivateKey
from rye.storage.home import Home
from rye.workspace.context import LibraryContext
from rye.workspace.publishing import sending
from rye.workspace.publishing.batch import Batch

KEY = PrivateKey(b"k" * 32)
NOW = datetime(2026, 1, 1, tzinfo=UTC)


class Api:
    """Accepts at most ``most`` statements in one request, as the server's operator configured it."""

    def __init__(self, most: int, code: str = "request-too-large"):
        self.most, self.code = most, code
        self.requests: list[int] = []
        self.log: list[str] = []
        self.most_bytes = 1 << 30
        self.uploads: list[bytes] = []
        self.along: list[list[bytes]] = []
        """The files of each accepted request."""

    def put_blob(self, sha256: str, data: bytes) -> None:
        self.uploads.append(data)

    def post_statements(self, texts: list[str], blobs: list[bytes]) -> Any:
        self.requests.append(len(texts))
        if len(texts) > self.most or sum(map(len, blobs)) > self.most_bytes:
            raise ApiError(self.code, "Too many.", None, 413)
        self.along.append(blobs)
        results = []
        for text in texts:
            results.append(SimpleNamespace(log=len(self.log)))
            release = statements.parse(notes.parse(text).text)
            assert isinstance(release, Release)
            self.log.append(release.identity.id)
        return SimpleNamespace(results=results)


def batch(count: int, *files: bytes) -> Batch:
    """That many items. The first ones have a file, the others have none."""
    releases = tuple(
        Release(
            "registry.example", Identity("directive", f"acme/work/item{number:03}"), "1.0.0", 1, NOW, "Work",
            FileEntry(".md", 1, "ab" * 32),
        )
        for number in range(count)
    )  # fmt: skip
    given = [*files, *[b""] * (count - len(files))]
    items: Any = tuple(
        SimpleNamespace(shown="x", size=len(data), blobs={str(hash(data)): data} if data else {}) for data in given
    )
    alarms = ((),) * len(items)
    return Batch(origin="registry.example", releases=releases, items=items, alarms=alarms, unchanged=())


def send(api: Any, count: int, *files: bytes) -> tuple[int, ...]:
    return sent(api, count, *files)[1]


def sent(api: Any, count: int, *files: bytes) -> tuple[Batch, tuple[int, ...]]:
    return sending.send(LibraryContext(cwd=Path(), home=Home(Path(), Path(), Path())), api, batch(count, *files), KEY)


def test_more_items_than_one_request_holds_are_sent_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "PUBLISHING", replace(PUBLISHING, request_statements=5))
    api = Api(most=5)
    assert send(api, 12) == tuple(range(12))
    assert api.requests == [5, 5, 2]
    assert api.log == sorted(api.log)


def test_a_server_that_takes_fewer_gets_fewer() -> None:
    api = Api(most=3)
    assert send(api, 20) == tuple(range(20))
    assert max(api.requests[-6:]) <= 3
    assert api.log == sorted(api.log)


def test_a_refusal_of_one_statement_ends_it() -> None:
    api = Api(most=0)
    with pytest.raises(ApiError):
        send(api, 2)
    assert len(api.requests) < 5
    with pytest.raises(ApiError):
        send(Api(most=0, code="version-exists"), 2)


class Choosy(Api):
    """Refuses requests with some items for what they say."""

    def __init__(self, *refused: str) -> None:
        super().__init__(most=200)
        self.refused = refused

    def post_statements(self, texts: list[str], blobs: list[bytes]) -> Any:
        if any(f"acme/work/{name}" in str(text) for text in texts for name in self.refused):
            self.requests.append(len(texts))
            raise ApiError("invalid-item", "No.", None, 422)
        return super().post_statements(texts, blobs)


def test_an_item_that_the_server_refuses_does_not_stop_the_others() -> None:
    api = Choosy("item007", "item150")
    done, positions = sent(api, 200)
    assert [one.error.code for one in done.refused] == ["invalid-item", "invalid-item"]
    assert len(positions) == len(done.releases) == len(done.items) == 198
    assert "acme/work/item007" not in api.log
    assert api.log == [release.identity.id for release in done.releases]
    assert len(api.requests) < 50
    with pytest.raises(ApiError):
        sent(Choosy("item0"), 3)


def test_small_files_travel_with_their_statements_and_large_ones_before() -> None:
    api = Api(most=5)
    large = b"x" * (PUBLISHING.inline_item_bytes + 1)
    assert send(api, 3, b"a", large, b"c") == (0, 1, 2)
    assert api.uploads == [large]
    assert api.along == [[b"a", b"c"]]


def test_one_request_carries_no_more_files_than_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "PUBLISHING", replace(PUBLISHING, inline_bytes=10))
    api = Api(most=5)
    assert send(api, 4, b"a" * 6, b"b" * 4, b"c" * 9, b"d") == (0, 1, 2, 3)
    assert api.along == [[b"a" * 6, b"b" * 4], [b"c" * 9, b"d"]]


def test_where_the_server_takes_shorter_requests_the_files_go_by_themselves() -> None:
    api = Api(most=5)
    api.most_bytes = 3
    assert send(api, 2, b"four", b"more") == (0, 1)
    assert api.uploads == [b"four", b"more"]
    assert api.along == [[]]
