"""Searches never block publishing or the health check. Counted on a running service, without a clock."""

from __future__ import annotations

import asyncio
import hashlib
import threading
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import cast

import httpx
import pytest
import sqlalchemy as sa

from registry_server.api import similar_names
from registry_server.api.application import create_app
from registry_server.api.service import Service
from registry_server.search import search_pool
from registry_server.search.finding import SearchResults
from registry_server.settings import Settings
from tests.scenes.publisher import Publisher, error_code
from tests.scenes.registry_process import init, token

pytestmark = pytest.mark.processes


@pytest.mark.parametrize(
    ("question", "module", "name", "found", "threads"),
    [
        ("/api/v1/search?q=deploy", search_pool, "find", SearchResults((), 0), 2),
        ("/api/v1/similar?name=namespace:acne", similar_names, "similar_names", [[]], 1),
    ],
    ids=["search", "similar"],
)
def test_twelve_anonymous_searchers_delay_neither_health_nor_publishing(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    question: str,
    module: ModuleType,
    name: str,
    found: object,
    threads: int,
) -> None:
    """A question for similar names has up to 100,000 spellings: in the threads of everything else, a hundred of them kept the
    health check waiting until it failed."""
    data = tmp_path / "data"
    init(data)
    secret = token(data)
    go, at_work, most = threading.Event(), Counter[str](), Counter[str]()

    def hang(_connection: sa.Connection, *_asked: object, **_more: object) -> object:
        at_work["now"] += 1
        most["at once"] = max(most["at once"], at_work["now"])
        assert go.wait(60)
        at_work["now"] -= 1
        return found

    monkeypatch.setattr(module, name, hang)
    service = Service(Settings(data=data, search_threads=2, search_waiting=4, examiners=0))
    service.start()

    async def scene() -> None:
        transport = httpx.ASGITransport(cast("httpx._transports.asgi._ASGIApp", create_app(service)))
        async with httpx.AsyncClient(
            transport=transport, base_url="http://registry.example.org", headers={"Authorization": f"Bearer {secret}"}
        ) as client:
            searches = [asyncio.create_task(client.get(question)) for _ in range(12)]
            refused, waiting = await asyncio.wait(searches, timeout=0.05)
            async with asyncio.timeout(20):
                while len(refused) < 8 - threads:
                    refused, waiting = await asyncio.wait(searches, timeout=0.05)
            assert len(waiting) == threads + 4
            for answer in (task.result() for task in refused):
                assert answer.status_code == 503
                assert int(answer.headers["Retry-After"]) >= 1
                assert error_code(answer) == "busy"
            # While every search slot is taken, everything else must still work.
            assert (await client.get("/readyz")).status_code == 200
            acme = Publisher("acme")
            assert (await client.post("/api/v1/statements", json={"notes": [acme.claim()]})).status_code == 200
            item = acme.file("a/one")
            blob = await client.post(f"/api/v1/blobs/{hashlib.sha256(item).hexdigest()}", content=item)
            assert blob.status_code == 201
            note = acme.note(acme.release("a/one", item))
            assert (await client.post("/api/v1/statements", json={"notes": [note]})).status_code == 200
            assert (await client.get("/readyz")).status_code == 200
            assert len([task for task in searches if not task.done()]) == threads + 4
            go.set()
            assert [(await task).status_code for task in waiting] == [200] * (threads + 4)

    try:
        asyncio.run(scene())
    finally:
        go.set()
        service.close(5)
    assert most["at once"] == threads
