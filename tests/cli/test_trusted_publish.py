"""``rye publish --trusted``: a build that proves its identity, against a registry process that gets the issuer's keys."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest
from joserfc import jwt
from joserfc.jwk import ECKey

from tests.scenes.registry import Registry
from tests.scenes.registry_process import run

pytestmark = pytest.mark.processes


@dataclass
class BuildServer:
    """An issuer, and the address where a job gets its identity token."""

    url: str = ""
    key: ECKey = field(default_factory=lambda: ECKey.generate_key("P-256", {"kid": "one"}))
    audiences: list[str] = field(default_factory=list)

    def answer(self, path: str, authorization: str) -> dict[str, object]:
        parts = urlsplit(path)
        if parts.path == "/.well-known/openid-configuration":
            return {"issuer": self.url, "jwks_uri": f"{self.url}/keys"}
        if parts.path == "/keys":
            return {"keys": [self.key.as_dict(private=False)]}
        assert authorization == "Bearer job"
        (audience,) = parse_qs(parts.query)["audience"]
        self.audiences.append(audience)
        now = int(time.time())
        claims = {"iss": self.url, "aud": audience, "sub": "x", "iat": now, "exp": now + 60, "repository": "acme/site"}
        claims["workflow_ref"] = "acme/site/.github/workflows/release.yml@refs/heads/main"
        claims["jti"] = str(time.monotonic_ns())
        return {"value": jwt.encode({"alg": "ES256", "kid": "one"}, claims, self.key)}


@pytest.fixture
def build() -> Iterator[BuildServer]:
    made = BuildServer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            data = json.dumps(made.answer(self.path, self.headers.get("Authorization", ""))).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *arguments: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    made.url = f"http://127.0.0.1:{server.server_port}"
    yield made
    server.shutdown()
    server.server_close()


@pytest.mark.thorough
def test_a_build_without_key_or_token_stages_and_a_maintainer_publishes(registry: Registry, build: BuildServer) -> None:
    words = ("--issuer", build.url, "--repository", "acme/site", "--workflow", "release.yml")
    run("publisher", "add", "trusted", *words, "--data", str(registry.data))
    owner = registry.owner("trusted")
    ci = registry.reader("trusted")
    path = owner.directive("work/one")
    ci.write(path, owner.path(path).read_bytes())
    ci.fails("publish", "--trusted", "--stage", path, code="no-build-identity")
    job = {"ACTIONS_ID_TOKEN_REQUEST_URL": f"{build.url}/id?x=1", "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "job"}
    ci.ok("keys", "generate")
    owner.ok(
        "namespace", "keys", "add", "trusted", ci.public_key()
    )  # even a key of the namespace does not help the build
    ci.fails("publish", path, "--yes", code="insufficient-scope", env=job)
    staged = ci.ok("publish", "--stage", path, "--json", env=job).json["staged"]
    assert set(build.audiences) == {registry.url}
    assert owner.approve_stage(staged[0]["stage"])["state"] == "approved"
    assert not (ci.home / "config" / "credentials.toml").exists()


def identity(build: BuildServer, audience: object) -> str:
    answer = build.answer("/id?audience=x", "Bearer job")
    claims = jwt.decode(str(answer["value"]), build.key).claims | {"aud": audience}
    return str(jwt.encode({"alg": "ES256", "kid": "one"}, claims, build.key))


def test_a_registry_that_rye_toml_names_does_not_get_the_identity_that_is_for_another(
    registry: Registry, build: BuildServer
) -> None:
    """Who can commit chooses among the pinned registries, and the other one could exchange the token."""
    words = ("--issuer", build.url, "--repository", "acme/site", "--workflow", "release.yml")
    run("publisher", "add", "meant", *words, "--data", str(registry.data))
    owner = registry.owner("meant")
    ci = registry.reader("meant")
    path = owner.directive("work/one")
    ci.write(path, owner.path(path).read_bytes())
    company = "https://company.example"
    for audience in (company, [company, registry.url], [], None, {"a": 1}):
        given = {"RYE_ID_TOKEN": identity(build, audience)}
        error = ci.fails("publish", "--trusted", "--stage", path, code="no-build-identity", env=given)
        assert registry.url in error["message"]
    for text in ("", "x", "a.b.c", "a.e30.c", f"a.{'W1' * 3000}.c"):
        ci.fails("publish", "--trusted", "--stage", path, code="no-build-identity", env={"RYE_ID_TOKEN": text})
    for audience in (registry.url, [f"{registry.url}/"]):
        ci.ok("publish", "--trusted", "--stage", path, env={"RYE_ID_TOKEN": identity(build, audience)})
