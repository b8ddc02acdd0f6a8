"""The proxies of ``operating/``, run in front of a real registry; skipped where nginx or Caddy is not installed."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import httpx
import pytest

from rye.items.identity import Identity
from rye.registry.client import RegistryClient
from rye.registry.store.cache import Cache
from rye.registry.store.state import StateStore
from tests.scenes.effort import rest_thorough
from tests.scenes.publisher import Client, Publisher
from tests.scenes.registry import Registry
from tests.scenes.registry_process import token
from tests.scenes.web_servers import OPERATING, caddy, caddy_sample, nginx, nginx_sample

pytestmark = pytest.mark.processes

MUTABLE = ("head", "checkpoint", "config.json")


def sample(name: str, registry: Registry, folder: Path) -> AbstractContextManager[str]:
    for opened in (registry.data, registry.data.parent, registry.data.parent.parent):
        opened.chmod(0o755)
    if name == "nginx":
        return nginx(folder / "nginx", nginx_sample(registry))
    return caddy(folder / "caddy", caddy_sample(registry))


@pytest.fixture(params=["nginx", "caddy"])
def address(request: pytest.FixtureRequest, registry: Registry, tmp_path: Path) -> Iterator[str]:
    with sample(request.param, registry, tmp_path) as running:
        yield running


def test_it_serves_the_files_itself_and_passes_on_the_rest(registry: Registry, address: str, tmp_path: Path) -> None:
    acme = Publisher(f"n{secrets.token_hex(8)}")  # the registry is the same in all tests
    client = Client(address, token(registry.data))
    assert client.statements(acme.claim()).status_code == 200
    for name in ("a/one", "a/two"):
        assert client.publish(acme, name).status_code == 200

    store, cache = StateStore(tmp_path / "state"), Cache(tmp_path / "cache")
    with RegistryClient.open(address, accept_root=registry.fingerprint, store=store, cache=cache) as reader:
        identity = Identity("directive", f"{acme.namespace}/a/one")
        (record,) = reader.releases([identity])[identity]
        reader.prove([record])

    head = httpx.get(f"{address}/head")
    assert head.content == (registry.public / "head").read_bytes()
    assert head.headers["cache-control"] == "public, max-age=0, must-revalidate"
    assert head.headers["server"].lower() in ("nginx", "caddy")
    assert "x-request-id" not in head.headers  # it reads the file itself, also while the registry restarts
    blob = next((registry.public / "blobs").rglob("*/*/*"))
    path = f"/{blob.relative_to(registry.public).as_posix()}"
    found = httpx.get(address + path)
    assert found.content == blob.read_bytes()
    assert found.headers["content-type"] == "application/octet-stream"
    assert "immutable" in found.headers["cache-control"]
    assert httpx.get(address + path, headers={"Range": "bytes=0-3"}).content == blob.read_bytes()[:4]
    index = next((registry.public / "index").iterdir())
    assert "immutable" in httpx.get(f"{address}/index/{index.name}").headers["cache-control"]
    assert httpx.get(f"{address}/tile/0/000.p/4").status_code in (200, 404)


def test_two_publishes_within_a_second_are_two_heads_to_every_condition(registry: Registry, address: str) -> None:
    """A tag of whole seconds and the length is the same for both, and a reader that has the first would keep it."""
    acme = Publisher(f"n{secrets.token_hex(8)}")  # the registry is the same in all tests
    client = Client(registry.url, token(registry.data))
    assert client.statements(acme.claim()).status_code == 200
    assert client.publish(acme, "a/zero").status_code == 200
    for number in range(8):
        time.sleep(-time.time() % 1)  # a second begins
        assert client.statements(acme.yank("a/zero", reason=f"Reason {number}")).status_code == 200
        before = {path: httpx.get(f"{address}/{path}") for path in MUTABLE}
        seconds = {path: (registry.public / path).stat().st_mtime for path in MUTABLE}
        undone = acme.yank("a/zero", yanked=False, reason=f"Reason {number}")
        assert client.statements(undone).status_code == 200
        for path, answer in before.items():
            conditions = {
                "If-None-Match": answer.headers.get("etag"),
                "If-Modified-Since": answer.headers.get("last-modified", _date(seconds[path])),
            }
            now = (registry.public / path).read_bytes()
            assert (now == answer.content) == (path == "config.json"), path
            for name, value in conditions.items():
                if value is not None and now != answer.content:
                    again = httpx.get(f"{address}/{path}", headers={name: value})
                    assert (again.status_code, again.content) == (200, now), (path, name, value, number)


def _date(seconds: float) -> str:
    return time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(seconds))


def test_part_of_a_head_is_never_sent_on_a_date(registry: Registry, address: str) -> None:
    """``If-Range`` with the file's date would join two halves of two heads."""
    file = registry.public / "head"
    asked = {"Range": "bytes=0-3", "If-Range": _date(file.stat().st_mtime)}
    answer = httpx.get(f"{address}/head", headers=asked)
    assert (answer.status_code, answer.content) == (200, file.read_bytes())


def test_a_missing_file_is_answered_by_the_registry(address: str) -> None:
    """A cache may keep a 404 without ``no-store``, and hide the name that is published next."""
    for path in (f"index/{'ab' * 32}", f"map/{'cd' * 32}", "root/9", f"blobs/sha256/ab/{'ab' * 32}"):
        answer = httpx.get(f"{address}/{path}")
        assert (answer.status_code, answer.headers["cache-control"]) == (404, "no-store"), path


@pytest.mark.parametrize(
    "path",
    rest_thorough(
        4,
        [
            "/metrics",
            "/metrics/",
            "/metrics%2f",
            "/registry.toml",
            "/../registry.db",
            "/keys/",
            f"/index/.{'a' * 64}.tmp",
            "/blobs/",
        ],
    ),
)
def test_nothing_else_of_the_folder_is_served(address: str, path: str) -> None:
    assert httpx.get(address + path).status_code == 404
    assert httpx.get(f"{address}/blobs/sha256/ab/{'ab' * 32}").json()["error"]["code"] == "not-found"


def test_plain_http_is_sent_to_https_and_browsers_remember_it() -> None:
    conf = (OPERATING / "nginx.conf").read_text("utf-8")
    assert "listen 80;" in conf
    assert "return 301 https://$host$request_uri;" in conf
    for name in ("nginx.conf", "Caddyfile"):
        assert "Strict-Transport-Security" in (OPERATING / name).read_text("utf-8"), name


def test_a_cache_is_told_that_compressed_answers_are_for_some(registry: Registry, address: str) -> None:
    """Clients unpack nothing: a CDN that gave them another client's compressed index file would break installations."""
    acme = Publisher(f"n{secrets.token_hex(8)}")  # the registry is the same in all tests
    client = Client(registry.url, token(registry.data))
    assert client.statements(acme.claim()).status_code == 200
    for number in range(4):
        assert client.publish(acme, "a/one", f"1.{number}.0").status_code == 200
    index = max((registry.public / "index").iterdir(), key=lambda path: path.stat().st_size)
    unpacked = []
    paths = (f"index/{index.name}", "head", "-/items", "feed.atom", "openapi.json")
    for path in paths:
        asked = {"Accept": "text/html, */*"}
        packed = httpx.get(f"{address}/{path}", headers={**asked, "Accept-Encoding": "gzip"})
        plain = httpx.get(f"{address}/{path}", headers={**asked, "Accept-Encoding": "identity"})
        assert "content-encoding" not in plain.headers
        assert plain.content == packed.content, path
        if "content-encoding" not in packed.headers:
            unpacked.append(path)
            continue
        for answer in (packed, plain):
            varying = [word.strip() for word in answer.headers.get("vary", "").split(",")]
            assert "Accept-Encoding" in varying, path
    assert set(unpacked) <= {
        "head",
        "feed.atom",
        "openapi.json",
    }  # they can be short, or the registry does not compress them


def test_what_only_one_person_may_see_is_not_compressed(registry: Registry, address: str) -> None:
    """The registry itself compresses no such page: its size would tell what is on it (BREACH)."""
    asked = {"Accept": "text/html", "Accept-Encoding": "gzip, zstd"}
    for path in ("-/account", "-/nowhere", "api/v1/whoami"):
        for server in (address, registry.url):
            assert "content-encoding" not in httpx.get(f"{server}/{path}", headers=asked).headers, (server, path)


@pytest.mark.parametrize("name", rest_thorough(1, ["nginx", "caddy"]))
def test_nobody_chooses_the_address_that_the_registry_logs(name: str, tmp_path: Path) -> None:
    """nginx passed on what a client said of itself with requests for tiles and for files that are missing."""
    with Registry(tmp_path / "data") as registry:
        registry.stop()
        with (registry.data / "registry.toml").open("a") as file:
            file.write('log_requests = "all"\nlog_format = "json"\n')
        registry.start()
        paths = ("/root/99", "/tile/0/000.p/99", f"/blobs/sha256/ab/{'ab' * 32}", "/-/items")
        with sample(name, registry, tmp_path) as address:
            for path in paths:
                httpx.get(address + path, headers={"X-Forwarded-For": "203.0.113.9"})
        registry.stop()
        lines = [
            json.loads(line)
            for line in (registry.data / "server.log").read_text("utf-8").splitlines()
            if line[0] == "{"
        ]
        seen = {line["path"]: line["address"] for line in lines if line.get("path") in paths}
        assert seen == dict.fromkeys(paths, "127.0.0.1")
