"""Other users of the server's machine read neither its database nor what is not published."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from registry_server.settings import load
from tests.scenes.local_registry import LocalRegistry
from tests.scenes.publisher import Publisher

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no modes")


@pytest.fixture
def local(tmp_path: Path) -> Iterator[LocalRegistry]:
    before = os.umask(0o022)
    try:
        made = LocalRegistry(tmp_path / "data")
        yield made
        made.close()
    finally:
        os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_the_database_and_what_is_not_published_are_the_servers_own(local: LocalRegistry) -> None:
    token, acme = local.token(), Publisher("acme")
    assert local.statements(token, acme.claim()).status_code == 200
    waits, uploaded = acme.file("work/waits", text="Not published"), acme.file("work/uploaded", text="Not yet")
    local.blob(waits, token)
    answer = local.post("/api/v1/stages", token, json={"drafts": [acme.release("work/waits", waits).text()]})
    assert answer.status_code == 201, answer.text
    assert local.blob(uploaded, token).status_code in (200, 201)
    local.service.analysed.put("00/analysis", b"")
    assert {path.name: mode(path) for path in local.data.iterdir() if path.name != "registry.toml"} == {
        "analyses": 0o700,
        "keys": 0o700,
        "public": 0o755,  # a proxy may serve it
        "registry.db": 0o600,
        "registry.db-shm": 0o600,
        "registry.db-wal": 0o600,
        "staged": 0o700,
        "uploads": 0o700,
    }
    assert load(local.data, {}, {}).open_to_others() == []


def test_serve_names_what_an_earlier_version_left_open(local: LocalRegistry) -> None:
    data = local.data
    for name in ("staged", "uploads", "analyses"):
        (data / name).mkdir(exist_ok=True)
        (data / name).chmod(0o755)
    (data / "registry.db").chmod(0o644)
    settings = load(data, {}, {})
    assert settings.open_to_others() == [data / "staged", data / "uploads", data / "analyses", data / "registry.db"]
    assert data / "public" in replace(settings, read="members").open_to_others()
    data.chmod(0o700)
    assert settings.open_to_others() == []
    data.chmod(0o755)
