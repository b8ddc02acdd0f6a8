"""Somebody who is signed in, in a browser."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import httpx

from tests.cli.registry_fixture import Registry, operator


def link(registry: Registry, name: str, *words: str) -> str:
    """The address of a link that signs somebody in, at the port where the registry listens."""
    made = operator("account", "create", name, *words, "--data", str(registry.data)).strip()
    return f"{registry.url}{urlsplit(made).path}"


def cookies_of(registry: Registry, name: str, *words: str) -> list[dict[str, Any]]:
    """The cookies of a browser in which somebody is signed in."""
    answer = httpx.post(link(registry, name, *words))
    assert answer.status_code == 303
    key, _, value = answer.headers["set-cookie"].partition(";")[0].partition("=")
    host = urlsplit(registry.url).hostname
    return [{"name": key, "value": value, "domain": host, "path": "/-/account", "httpOnly": True, "sameSite": "Lax"}]
