"""What a publish sends: requests of no more statements than the server takes, dependencies first."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

import rye.workspace.publishing.publishing
from rye.items.identity import Identity
from rye.limits import PUBLISHING
from rye.registry.protocol import notes, statements
from rye.registry.protocol.statements import FileEntry, Release
from rye.registry.transport.api import ApiError
from rye.signing.keys import PrivateKey
from rye.workspace.context import LibraryContext
from rye.workspace.publishing.publishing import Batch, _send

KEY = PrivateKey(b"k" * 32)
NOW = datetime(2026, 1, 1, tzinfo=UTC)


class Api:
    """Takes at most ``most`` statements in one request, as a server's operator set it."""

    def __init__(self, most: int, code: str = "request-too-large"):
        self.most, self.code = most, code
        self.requests: list[int] = []
        self.log: list[str] = []

    def put_blob(self, sha256: str, data: bytes) -> None:
        """Nothing to keep."""

    def post_statements(self, texts: list[str]) -> Any:
        self.requests.append(len(texts))
        if len(texts) > self.most:
            raise ApiError(self.code, "Too many.", None, 413)
        results = []
        for text in texts:
            results.append(SimpleNamespace(log=len(self.log)))
            release = statements.parse(notes.parse(text).text)
            assert isinstance(release, Release)
            self.log.append(release.identity.id)
        return SimpleNamespace(results=results)


def batch(count: int) -> Batch:
    releases = tuple(
        Release(
            "registry.example", Identity("directive", f"acme/work/item{number:03}"), "1.0.0", 1, NOW, "Work",
            FileEntry(".md", 1, "ab" * 32),
        )
        for number in range(count)
    )  # fmt: skip
    items: Any = tuple(SimpleNamespace(blobs={}) for _ in releases)
    return Batch("registry.example", releases, items, ())


def send(api: Any, count: int) -> tuple[int, ...]:
    return _send(LibraryContext(Path()), api, batch(count), KEY)


def test_more_items_than_one_request_holds_are_sent_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rye.workspace.publishing.publishing, "PUBLISHING", replace(PUBLISHING, request_statements=5))
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
