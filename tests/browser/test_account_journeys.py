"""The account pages in a real browser: what users can do there, and what other sites cannot make them do."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from playwright.sync_api import Browser

from registry_server.embedded import start_embedded, stop_embedded
from tests.browser.chromium import NARROW, Visit
from tests.browser.people import cookies_of, link
from tests.scenes.registry import Registry
from tests.scenes.registry_process import init, operator

pytestmark = [pytest.mark.browser, pytest.mark.processes]
TOKEN = re.compile(r"rye_[0-9a-f]{16}_[A-Za-z0-9_-]{43}")


def whoami(registry: Registry, token: str) -> httpx.Response:
    return httpx.get(f"{registry.url}/api/v1/whoami", headers={"Authorization": f"Bearer {token}"})


class TestJourneys:
    def test_from_a_link_to_a_token_and_out_again(self, registry: Registry, browser: Browser) -> None:
        visit = Visit(browser, scripts=False)
        page = visit.page
        address = link(registry, "alice", "--namespace", "acme", "--role", "owner")
        visit.open(address)
        page.get_by_role("button", name="Sign in").click()
        assert page.url == f"{registry.url}/-/account"
        (cookie,) = visit.context.cookies()
        assert (cookie["httpOnly"], cookie["sameSite"], cookie["path"]) == (True, "Lax", "/-/account")
        page.get_by_role("link", name="Tokens", exact=True).click()
        page.get_by_role("textbox", name="Name", exact=True).fill("laptop")
        page.get_by_role("checkbox", name=re.compile("publish:")).check()
        page.get_by_role("button", name="Create it").click()
        token = TOKEN.search(page.content())
        assert token is not None
        assert whoami(registry, token[0]).json()["scopes"] == ["read", "publish"]
        page.get_by_role("link", name="Tokens", exact=True).click()
        assert token[0] not in page.content()
        page.set_viewport_size({"width": NARROW["width"], "height": NARROW["height"]})
        page.get_by_role("link", name="Revoke laptop").click()
        assert page.get_by_role("heading", name="Revoke the token laptop?").is_visible()
        page.get_by_role("link", name="Keep it").click()
        assert whoami(registry, token[0]).status_code == 200
        page.get_by_role("link", name="Revoke laptop").click()
        revoke = page.get_by_role("button", name="Revoke it")
        box = revoke.bounding_box()
        assert box is not None
        assert box["x"] + box["width"] <= NARROW["width"]
        revoke.click()
        assert page.url == f"{registry.url}/-/account/tokens"
        assert whoami(registry, token[0]).status_code == 401
        page.get_by_role("button", name="Sign out").click()
        assert page.get_by_role("heading", name="Sign in").is_visible()
        assert visit.context.cookies() == []
        visit.context.add_cookies([cookie])  # type: ignore[list-item]
        visit.open(f"{registry.url}/-/account")
        assert page.get_by_role("heading", name="Sign in").is_visible()
        assert visit.said == []
        visit.close()

    def test_a_program_is_confirmed(self, registry: Registry, browser: Browser) -> None:
        begun = httpx.post(f"{registry.url}/api/v1/device/authorize", data={"name": "rye on a laptop"}).json()
        visit = Visit(browser, cookies=cookies_of(registry, "bob"), scripts=False)
        visit.open(begun["verification_uri_complete"])
        assert visit.page.get_by_text(begun["user_code"]).is_visible()
        visit.page.get_by_role("button", name=re.compile("give it a token")).click()
        grant = "urn:ietf:params:oauth:grant-type:device_code"
        sent = {"grant_type": grant, "device_code": begun["device_code"]}
        token = httpx.post(f"{registry.url}/api/v1/device/token", data=sent).json()["access_token"]
        assert whoami(registry, token).status_code == 200
        visit.close()

    def test_an_owner_gives_a_role_and_takes_it_back(self, registry: Registry, browser: Browser) -> None:
        operator("account", "create", "helper", "--data", str(registry.data))
        visit = Visit(browser, cookies=cookies_of(registry, "owner", "--namespace", "acme", "--role", "owner"))
        visit.open(f"{registry.url}/-/account")
        visit.page.get_by_role("link", name="Manage the roles in acme").click()
        visit.page.get_by_role("textbox", name="Account").fill("helper")
        visit.page.get_by_label("Role", exact=True).select_option("publisher")
        visit.page.get_by_role("button", name="Give role").click()
        take = visit.page.get_by_role("link", name="Remove helper")
        assert take.is_visible()
        take.click()
        assert visit.page.get_by_text("helper loses what the role publisher allows here").is_visible()
        visit.page.get_by_role("button", name="Remove the role").click()
        assert take.count() == 0
        visit.close()


def test_signing_in_at_an_issuer(tmp_path: Path, browser: Browser) -> None:
    mock = pytest.importorskip("oidc_provider_mock")
    data = tmp_path / "data"
    init(data)
    with mock.run_server_in_thread() as server:
        issuer = f"http://localhost:{server.server_port}"
        with (data / "registry.toml").open("a") as file:
            file.write(f'oidc_issuer = "{issuer}"\noidc_client_id = "rye"\noidc_client_secret_file = "oidc.secret"\n')
        secret = data / "oidc.secret"
        secret.touch(0o600)
        secret.write_text("sesame\n")
        process, url = start_embedded(data)
        try:
            visit = Visit(browser)
            visit.open(f"{url}/-/account")
            visit.page.get_by_role("link", name=re.compile("Sign in with")).click()
            visit.page.locator("input[name=sub]").fill("carol@example.org")
            visit.page.locator("button").first.click()
            visit.page.wait_for_url(f"{url}/-/account")
            assert visit.page.get_by_role("heading", name="carol@example.org").is_visible()
            assert [cookie["name"] for cookie in visit.context.cookies(url + "/-/account")] == ["rye_session"]
            visit.close()
        finally:
            stop_embedded(process)


def test_a_member_reads_after_signing_in_and_a_stranger_learns_where(tmp_path: Path, browser: Browser) -> None:
    data = tmp_path / "data"
    init(data)
    with (data / "registry.toml").open("a") as file:
        file.write('read = "members"\n')
    process, url = start_embedded(data)
    try:
        visit = Visit(browser, scripts=False)
        for path in ("/", "/-/log", "/-/namespaces/acme"):
            assert visit.open(url + path) == 401
            assert "Head:" not in visit.page.content()
        visit.page.get_by_role("link", name="Sign in", exact=True).click()
        assert visit.page.url == f"{url}/-/account?next=%2F-%2Fnamespaces%2Facme"
        made = operator("account", "create", "member", "--data", str(data)).strip()
        visit.open(url + urlsplit(made).path)
        visit.page.get_by_role("button", name="Sign in").click()
        assert visit.open(f"{url}/-/log") == 200
        (cookie,) = visit.context.cookies()
        assert (cookie["path"], cookie["httpOnly"]) == ("/", True)
        visit.open(f"{url}/-/account")
        visit.page.get_by_role("button", name="Sign out").click()
        assert visit.open(f"{url}/-/log") == 401
        visit.close()
    finally:
        stop_embedded(process)


class TestOtherSites:
    """A signed-in person opens another site. ``localhost`` is a different site; another port of this host is the same
    site."""

    @pytest.fixture(scope="class")
    @staticmethod
    def evil(registry: Registry) -> Iterator[ThreadingHTTPServer]:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                path = self.path.partition("?to=")[2]
                body = f"""<!doctype html><form method=post action="{registry.url}{path}"><input name=proof value=x>
                <input name=name value=stolen><input name=scope value=publish></form>
                <iframe src="{registry.url}/-/account"></iframe>
                <script>document.forms[0].submit()</script>""".encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                """Log nothing."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        yield server
        server.shutdown()
        server.server_close()

    @pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
    def test_sends_no_form_and_frames_no_page(
        self, registry: Registry, browser: Browser, evil: ThreadingHTTPServer, host: str
    ) -> None:
        cookies = cookies_of(registry, "victim")
        unused = link(registry, "attacker-s-own").removeprefix(registry.url)
        visit = Visit(browser, cookies=cookies)
        answers: list[tuple[str, int]] = []
        visit.page.on("response", lambda answer: answers.append((answer.request.method, answer.status)))
        for path in ("/-/account/tokens", "/-/account/logout", unused):
            visit.page.goto(f"http://{host}:{evil.server_port}/?to={path}", wait_until="networkidle")
            assert visit.page.url == registry.url + path
        posted = [status for method, status in answers if method == "POST"]
        assert len(posted) == 3
        assert set(posted) <= {401, 403}
        assert visit.context.cookies() == [] or visit.context.cookies()[0]["value"] == cookies[0]["value"]
        assert httpx.get(registry.url + unused).status_code == 200  # the link was not used up
        assert not any("chrome-error" not in frame.url and frame.url for frame in visit.page.frames[1:])
        visit.close()
