"""A signed-in person in a browser."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import httpx

from tests.scenes.registry import Registry
from tests.scenes.registry_process import operator


def link(registry: Registry, name: str, *words: str) -> str:
    """Return the address of a sign-in link, at the registry's port."""
    made = operator("account", "create", name, *words, "--data", str(registry.data)).strip()
    return f"{registry.url}{urlsplit(made).path}"


def cookies_of(registry: Registry, name: str, *words: str) -> list[dict[str, Any]]:
    """Return the cookies of a signed-in browser."""
    answer = httpx.post(link(registry, name, *words))
    assert answer.status_code == 303
    key, _, value = answer.headers["set-cookie"].partition(";")[0].partition("=")
    host = urlsplit(registry.url).hostname
    return [{"name": key, "value": value, "domain": host, "path": "/-/account", "httpOnly": True, "sameSite": "Lax"}]
