"""A registry in this process: the whole application, without a socket."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import httpx

from registry_server.accounts import members, roles, tokens
from registry_server.accounts.scopes import DEFAULT_SCOPES
from registry_server.accounts.times import now_text
from registry_server.api.application import create_app
from registry_server.api.service import Service
from registry_server.settings import load
from registry_server.storage import database
from tests.scenes.publisher import Publisher
from tests.scenes.registry_process import init

ADDRESS = "http://127.0.0.1:8420"


class LocalRegistry:
    """Creates a registry in ``data`` and answers requests until ``close``. ``settings``: lines for registry.toml."""

    def __init__(self, data: Path, settings: str = "", *, make: bool = True) -> None:
        """``make``: False if ``data`` already has a registry."""
        self.data = data
        if make:
            init(data)
        with (data / "registry.toml").open("a") as file:
            file.write(settings)
        self.service = Service(load(data, {}, {}))
        self.service.start()
        self.loop = asyncio.new_event_loop()
        transport = httpx.ASGITransport(create_app(self.service), client=("127.0.0.1", 50_000))  # type: ignore[arg-type]
        self.client = httpx.AsyncClient(transport=transport, base_url=ADDRESS)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.loop.run_until_complete(self.client.aclose())
        self.loop.run_until_complete(self.service.examiners.close())
        self.loop.close()
        self.service.close()

    def ask(self, method: str, path: str, token: str = "", **options: Any) -> httpx.Response:
        headers = {**({"Authorization": f"Bearer {token}"} if token else {}), **options.pop("headers", {})}
        return self.loop.run_until_complete(self.client.request(method, path, headers=headers, **options))

    def get(self, path: str, token: str = "", **options: Any) -> httpx.Response:
        return self.ask("GET", path, token, **options)

    def post(self, path: str, token: str = "", **options: Any) -> httpx.Response:
        return self.ask("POST", path, token, **options)

    def token(
        self,
        *namespaces: str,
        scopes: Sequence[str] = DEFAULT_SCOPES,
        seconds: float | None = 3600,
        account: str | None = None,
    ) -> str:
        with database.change(self.service.engine) as connection:
            return tokens.create(
                connection, "test", namespaces, now_text(), scopes=scopes, seconds=seconds, account=account
            )

    def member(self, name: str, **held: str) -> str:
        """Create an account with these roles and return its ID."""
        with database.change(self.service.engine) as connection:
            made = members.create(connection, name, now_text()).id
            for namespace, role in held.items():
                roles.give(connection, namespace, role, account=made)
            return made

    def owner(self, namespace: str) -> Publisher:
        """Someone who claimed the namespace."""
        publisher = Publisher(namespace)
        answer = self.statements(self.token(), publisher.claim())
        assert answer.status_code == 200, answer.text
        return publisher

    def blob(self, data: bytes, token: str) -> httpx.Response:
        return self.post(f"/api/v1/blobs/{hashlib.sha256(data).hexdigest()}", token, content=data)

    def statements(self, token: str, *texts: str) -> httpx.Response:
        return self.post("/api/v1/statements", token, json={"notes": list(texts)})

    def publish(self, publisher: Publisher, local_id: str, token: str, version: str = "1.0.0") -> httpx.Response:
        data = publisher.file(local_id, version)
        sent = self.blob(data, token)
        if sent.status_code >= 400:
            return sent
        return self.statements(token, publisher.note(publisher.release(local_id, data, version)))
