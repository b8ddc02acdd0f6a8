"""``docs/how-to/registry-teams.md``: from ``init`` to a colleague who leaves, typed over a real registry and a real issuer."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urljoin

import httpx
import pytest

from registry_server.accounts import directory_list
from registry_server.accounts.times import now_text
from registry_server.embedded import start_embedded, stop_embedded
from registry_server.settings import Settings, from_file
from tests.docs.typed_blocks import DOCS, typed
from tests.scenes.directive_text import directive
from tests.scenes.person import Person
from tests.scenes.registry_process import run

pytestmark = pytest.mark.processes
PAGE = "how-to/registry-teams.md"
TEXT = (DOCS / PAGE).read_text("utf-8")


@pytest.fixture(scope="module")
def issuer() -> Iterator[str]:
    mock = pytest.importorskip("oidc_provider_mock")
    with mock.run_server_in_thread() as server:
        yield f"http://localhost:{server.server_port}"


def settings_of_the_page() -> str:
    (block,) = re.findall(r"^```toml\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
    return str(block)


def test_the_settings_of_the_page_are_settings(tmp_path: Path) -> None:
    path = tmp_path / "registry.toml"
    path.write_text(settings_of_the_page(), "utf-8")
    read: Settings = from_file(path, tmp_path, {}, {})
    assert (read.read, read.webhook_networks) == ("members", ("10.20.0.0/16",))


def sign_in(url: str, issuer: str, name: str, groups: list[str]) -> httpx.Client:
    """A browser that signed in at the issuer, as someone in these groups."""
    assert httpx.put(f"{issuer}/users/{name}", json={"groups": groups}).status_code < 300
    browser = httpx.Client()
    begun = browser.get(f"{url}/-/account/login")
    back = browser.post(begun.headers["location"], data={"sub": name})
    ended = browser.get(urljoin(url, back.headers["location"]))
    assert ended.status_code == 303, ended.text
    return browser


def token_of(browser: httpx.Client, url: str) -> str:
    """A token that this person makes on the page."""
    proof = re.search(r'name="proof" value="([0-9a-f]{64})"', browser.get(f"{url}/-/account/tokens").text)
    assert proof is not None
    scopes = ["read", "publish", "claim"]
    form = {"proof": proof[1], "name": "laptop", "expires": "90d", "scope": scopes}
    made = re.search(r"rye_[0-9a-f]{16}_[A-Za-z0-9_-]{43}", browser.post(f"{url}/-/account/tokens", data=form).text)
    assert made is not None
    return made[0]


def test_from_the_first_command_to_a_colleague_who_leaves(issuer: str, tmp_path: Path) -> None:
    data = tmp_path / "rye"
    here = {"/srv/rye": str(data), "accounts.json": str(tmp_path / "accounts.json")}
    ((_, init),) = typed(PAGE, "begin", here)
    fingerprint = json.loads(run(*init, "--json").stdout)["fingerprint"]
    (data / "oidc.secret").touch(0o600)
    (data / "oidc.secret").write_text("sesame")
    lines = [line for line in settings_of_the_page().splitlines() if not line.startswith(("address", "audit_push"))]
    with (data / "registry.toml").open("a", encoding="utf-8") as file:
        file.write("\n".join(lines).replace("https://id.example.org", issuer) + "\n")
    for _, words in typed(PAGE, "teams", here):
        shown = run(*words).stdout
    assert "/company/platform" in shown
    process, url = start_embedded(data)
    try:
        alice = sign_in(url, issuer, "alice", ["/company/platform", "/company/all"])
        bob = sign_in(url, issuer, "bob", ["/company/all"])
        token, of_bob = token_of(alice, url), token_of(bob, url)
        author = Person(tmp_path / "alice", "platform")
        author.write(".ai/directives/work/deploy.md", directive("work/deploy"))
        real = {"https://registry.example.org": url, "HASH": fingerprint}
        for _, words in typed(PAGE, "colleague", real):
            author.ok(*words, "--yes", stdin=token.encode() if words[0] == "login" else b"")
        reader = Person(tmp_path / "bob")
        reader.ok("login", url, "--fingerprint", fingerprint, "--token", "-", stdin=of_bob.encode())
        reader.ok("init", "--name", "shop")
        reader.ok("add", "platform/work/deploy", "--yes")
        assert reader.run("publish", "--json").code != 0  # a reader publishes nothing
        groups = ["/company/platform", "/company/all"]
        everyone = [{"subject": "alice", "groups": groups}, {"subject": "bob", "groups": groups[:1]}]
        listed = {"format": "rye.accounts/v1", "issuer": issuer, "time": now_text(), "accounts": everyone}
        (tmp_path / "accounts.json").write_text(json.dumps(listed), "utf-8")
        (_, look), (_, apply) = typed(PAGE, "sync", here)
        run(*look)
        run(*apply)
        ((_, retain),) = typed(PAGE, "retention", here)
        assert "nothing to remove" in run(*retain).stdout
        for _, words in typed(PAGE, "leaves", here):
            said = run(*words).stdout
        assert "intact" in said
        bearer = {"Authorization": f"Bearer {token}"}
        assert httpx.get(f"{url}/api/v1/whoami", headers=bearer).status_code == 401
        assert "laptop" not in alice.get(f"{url}/-/account/tokens").text
        assert httpx.get(f"{url}/api/v1/whoami", headers={"Authorization": f"Bearer {of_bob}"}).status_code == 200
    finally:
        stop_embedded(process)


def test_the_list_of_the_page_is_one() -> None:
    (block,) = re.findall(r"^```json\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
    assert directory_list.read(block.encode()).accounts[0].groups == ["/company/platform", "/company/all"]
