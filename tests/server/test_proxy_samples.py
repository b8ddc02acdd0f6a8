"""The proxy from operating/nginx.conf, run in front of a real registry; skipped where nginx is not installed."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from rye.items.identity import Identity
from rye.registry.client import RegistryClient
from rye.registry.store.cache import Cache
from rye.registry.store.state import StateStore
from tests.scenes.publisher import Client, Publisher
from tests.scenes.registry import Registry
from tests.scenes.registry_process import token

pytestmark = pytest.mark.processes

SAMPLE = Path(__file__).parents[2] / "operating" / "nginx.conf"


def free_port() -> int:
    with socket.socket() as chosen:
        chosen.bind(("127.0.0.1", 0))
        port: int = chosen.getsockname()[1]
        return port


def configured(registry: Registry, port: int, folder: Path) -> str:
    """The sample with this machine's paths and without TLS, as a complete configuration that stays in one folder."""
    text = SAMPLE.read_text("utf-8")
    changes = {
        r"listen 443 ssl http2;": f"listen 127.0.0.1:{port};",
        r" *ssl_certificate\S* .*;\n": "",
        r"/srv/registry/public": str(registry.public),
        r"127\.0\.0\.1:8420": registry.url.removeprefix("http://"),
    }
    for pattern, value in changes.items():
        text, count = re.subn(pattern, value, text)
        assert count, pattern
    places = "".join(
        f"{name}_temp_path {folder / name};\n" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    return (
        f"daemon off; pid {folder / 'pid'}; error_log {folder / 'error.log'};\n"
        f"events {{ worker_connections 64; }}\nhttp {{ access_log off;\n{places}{text}}}\n"
    )


def started(program: str, registry: Registry, folder: Path) -> tuple[int, subprocess.Popen[bytes]]:
    """Run nginx on a free port."""
    port = free_port()
    place = folder / "nginx.conf"
    place.write_text(f"user root;\n{configured(registry, port, folder)}")
    return port, subprocess.Popen([program, "-c", str(place)], stderr=subprocess.PIPE)


@pytest.fixture
def address(registry: Registry, tmp_path: Path) -> Iterator[str]:
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")
    if program is None:
        pytest.skip("nginx is not installed")
    registry.data.parent.chmod(0o755)
    for folder in (registry.data, registry.data.parent.parent):
        folder.chmod(0o755)
    attempts = iter(range(5))  # until no other program has taken the port in the meantime
    port, process = started(program, registry, tmp_path)
    deadline = time.monotonic() + 60
    while True:
        try:
            httpx.get(f"http://127.0.0.1:{port}/config.json")
            break
        except httpx.TransportError:
            if process.poll() is not None:
                said = process.communicate()[1].decode()
                assert "in use" in said, said
                assert next(attempts, None) is not None, said
                port, process = started(program, registry, tmp_path)
            assert time.monotonic() < deadline
            time.sleep(0.05)
    yield f"http://127.0.0.1:{port}"
    process.terminate()
    process.communicate(timeout=10)


def test_nginx_serves_the_files_itself_and_passes_on_the_rest(registry: Registry, address: str, tmp_path: Path) -> None:
    acme = Publisher("acme")
    client = Client(address, token(registry.data))
    assert client.statements(acme.claim()).status_code == 200
    for name in ("a/one", "a/two"):
        assert client.publish(acme, name).status_code == 200

    store, cache = StateStore(tmp_path / "state"), Cache(tmp_path / "cache")
    with RegistryClient.open(address, accept_root=registry.fingerprint, store=store, cache=cache) as reader:
        identity = Identity("directive", "acme/a/one")
        (record,) = reader.releases([identity])[identity]
        reader.prove([record])

    head = httpx.get(f"{address}/head")
    assert head.content == (registry.public / "head").read_bytes()
    assert head.headers["cache-control"] == "public, max-age=0, must-revalidate"
    assert head.headers["server"] == "nginx"
    assert httpx.get(f"{address}/head", headers={"If-None-Match": head.headers["etag"]}).status_code == 304
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


@pytest.mark.parametrize(
    "path",
    ["/metrics", "/registry.toml", "/../registry.db", "/keys/", f"/index/.{'a' * 64}.tmp", "/blobs/"],
)
def test_nothing_else_of_the_folder_is_served(address: str, path: str) -> None:
    assert httpx.get(address + path).status_code == 404
    assert httpx.get(f"{address}/blobs/sha256/ab/{'ab' * 32}").json()["error"]["code"] == "not-found"
