"""The pages below /-/account, as browsers and attackers use them: signing in, tokens, confirming programs."""

from __future__ import annotations

import html
import re
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import lxml.html
import pytest

from registry_server.accounts import device_logins, members
from registry_server.accounts.times import after, now_text
from registry_server.sequencer.clock import Clock
from registry_server.settings import load
from registry_server.storage import database
from rye.errors import RyeError
from rye.storage.home import Home
from tests.scenes.local_registry import LocalRegistry
from tests.scenes.registry_process import init, run

HTTPS = {"X-Forwarded-Proto": "https"}


def link(local: LocalRegistry, name: str, *words: str) -> str:
    """Return the path of a sign-in link."""
    made = run("account", "create", name, *words, "--data", str(local.data)).stdout.strip()
    return urlsplit(made).path


def sign_in(local: LocalRegistry, name: str, *words: str) -> dict[str, str]:
    """Return the headers of a signed-in browser."""
    local.client.cookies.clear()
    answer = local.post(link(local, name, *words))
    assert answer.status_code == 303
    local.client.cookies.clear()
    cookie = answer.headers["set-cookie"].partition(";")[0]
    return {"Cookie": cookie}


def tree(answer: httpx.Response) -> Any:
    """Return a page's HTML."""
    return lxml.html.fromstring(answer.content)


def page_of(local: LocalRegistry, browser: dict[str, str]) -> httpx.Response:
    """Return the overview of an account."""
    answer: httpx.Response = local.get("/-/account", headers=browser)
    return answer


def proof(local: LocalRegistry, browser: dict[str, str]) -> str:
    found = re.search(r'name="proof" value="([0-9a-f]{64})"', local.get("/-/account", headers=browser).text)
    assert found is not None
    return found[1]


class TestLinks:
    def test_looking_at_a_link_uses_nothing_and_the_form_signs_in_once(self, local: LocalRegistry) -> None:
        path = link(local, "alice")
        for _ in range(2):
            page = local.get(path)
            assert page.status_code == 200
            assert "alice" in page.text
        answer = local.post(path)
        assert (answer.status_code, answer.headers["location"]) == (303, "/-/account")
        local.client.cookies.clear()
        for method in ("POST", "GET"):
            assert local.ask(method, path).status_code == 410
            assert "set-cookie" not in local.ask(method, path).headers

    def test_a_guessed_link_is_none(self, local: LocalRegistry) -> None:
        for secret in ("A" * 43, "x", "%00"):
            assert local.post(f"/-/account/link/{secret}").status_code in (404, 410)

    def test_the_cookie_is_for_this_host_and_not_for_scripts_and_secure_behind_https(
        self, local: LocalRegistry
    ) -> None:
        plain = local.post(link(local, "bob")).headers["set-cookie"]
        assert "HttpOnly" in plain
        assert "SameSite=lax" in plain
        assert "Path=/-/account" in plain
        assert "Secure" not in plain
        local.client.cookies.clear()
        assert "Secure" in local.post(link(local, "bob"), headers=HTTPS).headers["set-cookie"]
        local.client.cookies.clear()

    def test_another_site_cannot_sign_somebody_in(self, local: LocalRegistry) -> None:
        path = link(local, "victim")
        assert local.post(path, headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403
        assert local.get(path).status_code == 200


class TestOwnTokens:
    def test_a_person_makes_sees_and_revokes_a_token(self, local: LocalRegistry) -> None:
        browser = sign_in(local, "maker", "--namespace", "acme", "--role", "publisher")
        fields = {"proof": proof(local, browser), "name": "laptop", "scope": ["read", "publish"], "expires": "7d"}
        page = local.post("/-/account/tokens", headers=browser, data=fields)
        found = re.search(r"rye_([0-9a-f]{16})_[A-Za-z0-9_-]{43}", page.text)
        assert found is not None
        who = local.get("/api/v1/whoami", found[0]).json()
        assert (who["name"], who["scopes"]) == ("laptop", ["read", "publish"])
        assert found[0] not in local.get("/-/account", headers=browser).text
        other = sign_in(local, "other")
        answer = local.post(f"/-/account/tokens/{found[1]}/revoke", headers=other, data={"proof": proof(local, other)})
        assert answer.status_code == 404
        assert local.get("/api/v1/whoami", found[0]).status_code == 200
        local.post(f"/-/account/tokens/{found[1]}/revoke", headers=browser, data={"proof": fields["proof"]})
        assert local.get("/api/v1/whoami", found[0]).status_code == 401

    def test_revoking_asks_before_it_does_it(self, local: LocalRegistry) -> None:
        browser, other = sign_in(local, "asker"), sign_in(local, "not-asked")
        made = {"proof": proof(local, browser), "name": "old & <i>laptop</i>", "scope": "read", "expires": "7d"}
        page = local.post("/-/account/tokens", headers=browser, data=made).text
        token = re.search(r"rye_([0-9a-f]{16})_[A-Za-z0-9_-]{43}", page)
        assert token is not None
        path = f"/-/account/tokens/{token[1]}/revoke"
        listed = tree(local.get("/-/account/tokens", headers=browser))
        assert [form.action for form in listed.forms if form.method == "POST"] == [
            "/-/account/logout",
            "/-/account/tokens",
        ]
        (link,) = listed.xpath("//a[contains(@href, '/revoke')]")
        assert (link.get("href"), link.text_content()) == (path, "Revoke old & <i>laptop</i>")
        asked = local.get(path, headers=browser)
        assert asked.headers["content-security-policy"] == page_of(local, browser).headers["content-security-policy"]
        question = tree(asked)
        assert question.xpath("//h1")[0].text_content() == "Revoke the token old & <i>laptop</i>?"
        assert question.xpath("//a[contains(@class, 'button')]/@href") == ["/-/account/tokens"]
        assert local.get("/api/v1/whoami", token[0]).status_code == 200
        assert local.get(path, headers=other).status_code == 404
        assert "laptop" not in local.get(path).text
        (form,) = (each for each in question.forms if each.action == path)
        assert local.post(path, headers=browser, data={**form.fields, "proof": "0" * 64}).status_code == 403
        crossed = {**browser, "Sec-Fetch-Site": "cross-site"}
        assert local.post(path, headers=crossed, data=dict(form.fields)).status_code == 403
        assert local.get("/api/v1/whoami", token[0]).status_code == 200
        done = local.post(path, headers=browser, data=dict(form.fields))
        assert (done.status_code, done.headers["location"]) == (303, "/-/account/tokens")
        assert local.get("/api/v1/whoami", token[0]).status_code == 401
        assert local.get(path, headers=browser).status_code == 404
        assert local.get("/-/account/tokens/%3Cscript%3E/revoke", headers=browser).status_code == 404

    def test_a_form_without_the_session_s_proof_does_nothing(self, local: LocalRegistry) -> None:
        browser, other = sign_in(local, "careful"), sign_in(local, "attacker")
        for given in ("", "0" * 64, proof(local, other)):
            data = {"proof": given, "name": "stolen", "scope": "publish"}
            assert local.post("/-/account/tokens", headers=browser, data=data).status_code == 403
        data = {"proof": proof(local, browser), "name": "stolen", "scope": "publish"}
        crossed = {**browser, "Sec-Fetch-Site": "cross-site"}
        assert local.post("/-/account/tokens", headers=crossed, data=data).status_code == 403
        assert "stolen" not in local.get("/-/account", headers=browser).text

    def test_names_are_shown_as_text(self, local: LocalRegistry) -> None:
        name = "<script>alert(1)</script>"
        page = local.get("/-/account", headers=sign_in(local, name))
        assert html.escape(name) in page.text
        assert name not in page.text
        assert page.headers["content-security-policy"].startswith(
            "default-src 'none'; style-src 'self'; img-src 'self'"
        )
        assert page.headers["cache-control"] == "private, no-store"

    def test_signing_out_ends_the_session(self, local: LocalRegistry) -> None:
        browser = sign_in(local, "leaving")
        local.post("/-/account/logout", headers=browser, data={"proof": proof(local, browser)})
        assert "leaving" not in local.get("/-/account", headers=browser).text


class TestDevices:
    def begun(self, local: LocalRegistry) -> dict[str, Any]:
        answer = local.post("/api/v1/device/authorize", data={"client_id": "rye", "name": "rye on laptop"})
        found: dict[str, Any] = answer.json()
        return found

    def poll(self, local: LocalRegistry, code: str) -> httpx.Response:
        grant = "urn:ietf:params:oauth:grant-type:device_code"
        return local.post("/api/v1/device/token", data={"grant_type": grant, "device_code": code})

    def test_a_confirmed_program_gets_one_token_of_that_person(self, local: LocalRegistry) -> None:
        begun = self.begun(local)
        assert self.poll(local, begun["device_code"]).json() == {"error": "authorization_pending"}
        assert self.poll(local, begun["device_code"]).json() == {"error": "slow_down"}
        page = f"/-/account/device?code={begun['user_code']}"
        assert "Sign in" in local.get(page).text  # no one is signed in here
        browser = sign_in(local, "dora", "--namespace", "acme", "--role", "publisher")
        assert "rye on laptop" in local.get(page, headers=browser).text
        data = {"proof": proof(local, browser), "code": begun["user_code"].lower(), "decision": "approve"}
        assert "has its token" in local.post("/-/account/device", headers=browser, data=data).text
        answer = self.poll(local, begun["device_code"]).json()
        assert answer["token_type"] == "Bearer"
        assert local.get("/api/v1/whoami", answer["access_token"]).json()["name"] == "rye on laptop"
        assert self.poll(local, begun["device_code"]).json() == {"error": "expired_token"}

    def test_a_refused_one_gets_none(self, local: LocalRegistry) -> None:
        begun, browser = self.begun(local), sign_in(local, "eve")
        data = {"proof": proof(local, browser), "code": begun["user_code"], "decision": "deny"}
        local.post("/-/account/device", headers=browser, data=data)
        assert self.poll(local, begun["device_code"]).json() == {"error": "access_denied"}

    def test_nobody_confirms_for_somebody_else_without_their_form(self, local: LocalRegistry) -> None:
        begun = self.begun(local)
        data = {"code": begun["user_code"], "decision": "approve", "proof": ""}
        assert local.post("/-/account/device", data=data).status_code == 401
        assert local.post("/-/account/device", headers=sign_in(local, "frank"), data=data).status_code == 403
        assert self.poll(local, begun["device_code"]).json() == {"error": "authorization_pending"}

    def test_a_code_ends_and_a_guess_is_none(self, local: LocalRegistry) -> None:
        now = now_text()
        with database.change(local.service.engine) as connection:
            begun = device_logins.begin(connection, "x", now)
            member = members.create(connection, "late", now).id
            later = after(now, device_logins.EXPIRES_SECONDS)
            assert not device_logins.decide(connection, begun.user_code, member, True, later)
            assert device_logins.poll(connection, begun.device_code, later) == ("error", "expired_token")
            moment = datetime.now(UTC) + timedelta(seconds=5)
            assert device_logins.poll(connection, "guess", now, moment) == ("error", "expired_token")
        assert self.poll(local, "").json() == {"error": "expired_token"}
        assert local.post("/api/v1/device/token", data={}).json() == {"error": "unsupported_grant_type"}


class TestOidc:
    @pytest.fixture(scope="class")
    @staticmethod
    def issuer() -> Iterator[str]:
        mock = pytest.importorskip("oidc_provider_mock")
        with mock.run_server_in_thread() as server:
            yield f"http://localhost:{server.server_port}"

    @pytest.fixture(scope="class")
    @staticmethod
    def club(issuer: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalRegistry]:
        settings = f'oidc_issuer = "{issuer}"\noidc_client_id = "rye"\noidc_client_secret_file = "oidc.secret"\n'
        data = tmp_path_factory.mktemp("oidc") / "data"
        init(data)
        secret = data / "oidc.secret"
        secret.touch(0o600)
        secret.write_text("sesame\n")
        made = LocalRegistry(data, settings, make=False)
        yield made
        made.close()

    def begin(self, club: LocalRegistry) -> tuple[str, str]:
        """Begin a sign-in; return the issuer's redirect address and the browser's cookie."""
        club.client.cookies.clear()
        answer = club.get("/-/account/login")
        cookie = answer.headers["set-cookie"].partition(";")[0]
        query = parse_qs(urlsplit(answer.headers["location"]).query)
        assert query["code_challenge_method"] == ["S256"]
        assert query["redirect_uri"] == ["http://127.0.0.1:8420/-/account/callback"]
        back = httpx.post(answer.headers["location"], data={"sub": "alice@example.org"}, follow_redirects=False)
        assert back.status_code in (302, 303), back.text
        club.client.cookies.clear()
        parts = urlsplit(back.headers["location"])
        return f"{parts.path}?{parts.query}", cookie

    @pytest.mark.processes
    def test_who_the_issuer_vouches_for_is_signed_in_as_one_account(self, club: LocalRegistry) -> None:
        for _ in range(2):
            path, cookie = self.begin(club)
            answer = club.get(path, headers={"Cookie": cookie})
            assert (answer.status_code, answer.headers["location"]) == (303, "/-/account"), answer.text
            session = next(c for c in answer.headers.get_list("set-cookie") if c.startswith("rye_session="))
            club.client.cookies.clear()
            page = club.get("/-/account", headers={"Cookie": session.partition(";")[0]})
            assert "alice@example.org" in page.text
        with database.reader(club.service.engine) as connection:
            assert [member.subject for member in members.listing(connection)] == ["alice@example.org"]

    @pytest.mark.processes
    def test_a_clock_that_was_set_back_prolongs_no_identity_token(
        self, club: LocalRegistry, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Whoever had an old answer of the issuer could still sign in with it."""
        clock = Clock(club.service.settings, steady=lambda: time.monotonic() + later)
        later = 0.0
        clock.check(None)
        monkeypatch.setattr(club.service.sequencer, "clock", clock)
        path, cookie = self.begin(club)
        later = 2 * 86_400.0  # two days pass, and the wall clock does not see them
        answer = club.get(path, headers={"Cookie": cookie})
        assert answer.status_code in (401, 403), answer.text
        assert "it has expired" in answer.text
        later = 0.0
        path, cookie = self.begin(club)
        assert club.get(path, headers={"Cookie": cookie}).status_code == 303
        club.client.cookies.clear()

    @pytest.mark.processes
    def test_an_answer_that_this_browser_did_not_ask_for_signs_nobody_in(self, club: LocalRegistry) -> None:
        path, _ = self.begin(club)
        _, other = self.begin(club)
        for headers in ({}, {"Cookie": other}, {"Cookie": "rye_sign_in=a.b.c."}):
            answer = club.get(path, headers=headers)
            assert answer.status_code == 403
            assert "rye_session=" not in answer.headers.get("set-cookie", "")
        club.client.cookies.clear()


class TestSecretsOfSettings:
    def test_a_file_with_a_password_is_for_the_server_alone(self, tmp_path: Path) -> None:
        init(tmp_path / "data")
        path = tmp_path / "data" / "registry.toml"
        with path.open("a") as file:
            file.write('database = "postgresql+psycopg://rye:sesame@db/rye"\n')
        path.chmod(0o644)
        with pytest.raises(RyeError) as caught:
            load(tmp_path / "data", {}, {})
        assert caught.value.code == "exposed-secret"
        assert "sesame" not in caught.value.message
        path.chmod(0o600)
        assert load(tmp_path / "data", {}, {}).database.endswith("@db/rye")

    def test_a_client_secret_that_others_can_read_is_refused(self, tmp_path: Path) -> None:
        init(tmp_path / "data")
        secret = tmp_path / "data" / "oidc.secret"
        secret.write_text("sesame")
        secret.chmod(0o644)
        settings = load(tmp_path / "data", {"oidc_client_secret_file": "oidc.secret"}, {})
        with pytest.raises(RyeError, match="Other users can read"):
            _ = settings.oidc_client_secret


def test_the_program_logs_in_through_the_page(
    home: Home, local: LocalRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rye.workspace.context import LibraryContext
    from rye.workspace.registries import device_login

    browser = sign_in(local, "gina")
    lock = threading.Lock()

    class Client(httpx.Client):
        def __init__(self, **options: Any) -> None:
            super().__init__(transport=httpx.MockTransport(self._pass_on), **options)

        @staticmethod
        def _pass_on(request: httpx.Request) -> httpx.Response:
            with lock:
                answer = local.ask(
                    request.method, request.url.path, content=request.read(), headers=dict(request.headers)
                )
            return httpx.Response(answer.status_code, content=answer.content)

    monkeypatch.setattr(device_login, "api_of", lambda address: f"{address}/api/v1")
    monkeypatch.setattr(f"{device_login.__name__}.httpx.Client", Client)
    seen: list[str] = []

    def confirm(prompt: device_login.BrowserPrompt) -> None:
        seen.append(prompt.page)
        data = {"proof": proof(local, browser), "code": prompt.code, "decision": "approve"}
        local.post("/-/account/device", headers=browser, data=data)

    context = LibraryContext(cwd=Path.cwd(), home=home)
    token = device_login.token_from_browser(context, "http://127.0.0.1:8420", confirm, sleep=lambda seconds: None)
    assert local.get("/api/v1/whoami", token).status_code == 200
    assert seen[0].startswith("http://127.0.0.1:8420/-/account/device?code=")
