"""A registry behind a proxy that demands a token for everything but /config.json: log in, install, search, mirror, audit."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.scenes.person import Person
from tests.scenes.prompt_server import PromptServer
from tests.scenes.registry import Registry

pytestmark = pytest.mark.processes


@dataclass
class Proxy:
    """Passes requests on to a registry, except those without a valid token and those that it redirects."""

    target: str
    token: str
    refused: list[str] = field(default_factory=list)
    redirect: str = ""
    """The redirect target of ``/head`` for a client with a valid token."""
    url: str = ""

    def serve(self) -> PromptServer:
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                body = self.rfile.read(length) if length else None
                authorization = self.headers.get("Authorization", "")
                if self.path != "/config.json" and authorization != f"Bearer {proxy.token}":
                    proxy.refused.append(self.path)
                    self._answer(401, b"", {})
                elif self.path == "/head" and proxy.redirect:
                    self._answer(302, b"", {"Location": proxy.redirect})
                else:
                    self._pass_on(body, authorization)

            do_POST = do_GET

            def _pass_on(self, body: bytes | None, authorization: str) -> None:
                connection = http.client.HTTPConnection(urlsplit(proxy.target).netloc, timeout=20)
                given = {"Authorization": authorization} if self.path.startswith("/api/") else {}
                kind = self.headers.get("Content-Type")
                connection.request(self.command, self.path, body, given | ({"Content-Type": kind} if kind else {}))
                answer = connection.getresponse()
                data = answer.read()
                connection.close()
                self._answer(answer.status, data, {"Content-Type": answer.headers["Content-Type"] or "text/plain"})

            def _answer(self, status: int, data: bytes, headers: dict[str, str]) -> None:
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *arguments: object) -> None:
                """Print nothing."""

        server = PromptServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        self.url = f"http://127.0.0.1:{server.server_port}"
        return server


@pytest.fixture
def proxy(registry: Registry) -> Iterator[Proxy]:
    made = Proxy(registry.url, registry.token)
    server = made.serve()
    yield made
    server.shutdown()
    server.server_close()


@pytest.mark.thorough
def test_log_in_publish_install_search_mirror_and_audit_with_a_token(
    registry: Registry, proxy: Proxy, tmp_path: Path
) -> None:
    author = Person(tmp_path / "author", "club")
    author.fails("registry", "add", proxy.url, "--fingerprint", registry.fingerprint, code="fetch-unauthorized")
    author.ok("login", proxy.url, "--token", proxy.token, "--fingerprint", registry.fingerprint)
    author.ok("keys", "generate")
    author.ok("namespace", "claim", "club")
    author.release("work/one")

    reader = Person(tmp_path / "reader")
    reader.ok("init")
    reader.ok(
        "login", proxy.url, "--token", "-", "--fingerprint", registry.fingerprint, stdin=f"{proxy.token}\n".encode()
    )
    assert [row["id"] for row in reader.ok("search", "one", "--json").json["results"]] == ["club/work/one"]
    reader.ok("--yes", "add", "directive:club/work/one", "--approve", "directive:club/work/one@1.0.0")
    assert reader.path("rye.lock").exists()
    reader.ok("mirror", "copy")
    assert (reader.folder / "copy" / "head").read_bytes() == (registry.public / "head").read_bytes()
    reader.ok("log", "verify")
    assert proxy.refused  # in each run, the first request had no token

    ci = Person(tmp_path / "ci")
    for name in ("rye.toml", "rye.lock"):
        ci.write(name, reader.path(name).read_bytes())
    pins = tmp_path / "pins"
    pins.write_text(f"{registry.origin} {registry.fingerprint} {proxy.url}\n")
    ci.fails("ci", code="fetch-unauthorized", env={"RYE_PINS": str(pins)})
    ci.ok("ci", "--trust-lock", env={"RYE_PINS": str(pins), "RYE_TOKEN": proxy.token})


def test_a_token_follows_no_redirect_and_a_wrong_one_is_not_stored(
    registry: Registry, proxy: Proxy, tmp_path: Path
) -> None:
    user = Person(tmp_path / "user")
    wrong = ("login", proxy.url, "--fingerprint", registry.fingerprint, "--token")
    user.fails(*wrong, "rye_0000000000000000_" + "A" * 43, code="fetch-unauthorized")
    assert not (user.home / "config" / "credentials.toml").exists()
    other = Proxy(registry.url, proxy.token)
    server = other.serve()
    try:
        proxy.redirect = f"{other.url}/head"
        user.fails(*wrong, proxy.token, code="fetch-redirect")
        proxy.redirect = f"{proxy.url}/head?again"
        user.fails(*wrong, proxy.token, code="fetch-redirect")
    finally:
        server.shutdown()
        server.server_close()
    assert other.refused == []
