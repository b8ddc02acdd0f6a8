"""Attacks on accounts, sign-in and private reading (design/server.md 4). Some of them once worked."""

from __future__ import annotations

import json
import re
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from registry_server.accounts import device_logins, guarded_http, members, publishers, rate_limits, stages
from registry_server.accounts.issuers import Issuer
from registry_server.accounts.publishers import Identity
from registry_server.accounts.rate_limits import RateLimit, address_key
from registry_server.accounts.times import after, now_text
from registry_server.api.request_log import loggable
from registry_server.settings import Settings
from registry_server.storage import database, schema
from rye.errors import RyeError
from tests.scenes.local_registry import ADDRESS, LocalRegistry
from tests.scenes.publisher import Publisher, error_code
from tests.scenes.registry_process import init, run
from tests.server.test_account_pages import HTTPS, link, proof, sign_in

HOST = ADDRESS.removeprefix("http://")


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalRegistry]:
    with LocalRegistry(tmp_path_factory.mktemp("attacked") / "data") as made:
        made.service.sign_in_rate = made.service.form_rate = made.service.poll_rate = RateLimit(100_000)
        yield made


def member_of_issuer(local: LocalRegistry, wanted: str, subject: str) -> members.AccountMember:
    with database.change(local.service.engine) as connection:
        return members.of_issuer(connection, "https://id.example.org", subject, wanted, now_text())


class TestNames:
    """With an issuer, users choose the names that the operator sees."""

    def test_nobody_is_named_like_another_s_id(self, local: LocalRegistry) -> None:
        victim = local.member("victim-of-names")
        thief = member_of_issuer(local, victim, "thief")
        assert thief.name != victim
        run("role", "add", "vault", "--account", victim, "--role", "owner", "--data", str(local.data))
        with database.reader(local.service.engine) as connection:
            assert members.named(connection, victim).id == victim
        with database.change(local.service.engine) as connection, pytest.raises(RyeError, match="mistaken"):
            members.create(connection, "0123456789abcdef", now_text())

    def test_a_long_name_that_is_cut_before_a_word_signs_in(self, local: LocalRegistry) -> None:
        """The cut name ended in a space, which no account's name may."""
        assert member_of_issuer(local, "a" * 89 + " bcdef", "long").name == "a" * 89

    def test_an_account_for_a_name_that_somebody_took_at_the_issuer_is_refused(self, local: LocalRegistry) -> None:
        member_of_issuer(local, "new-colleague", "squatter")
        words = ("account", "create", "new-colleague", "--namespace", "acme", "--role", "owner", "--json")
        done = run(*words, "--data", str(local.data), check=False)
        assert json.loads(done.stdout)["error"]["code"] == "already-exists"
        roles = json.loads(run("role", "list", "acme", "--data", str(local.data), "--json").stdout)["roles"]
        assert not [role for role in roles if role["account"] == "new-colleague"]


class TestLinks:
    def test_what_only_looks_at_a_link_uses_nothing(self, local: LocalRegistry) -> None:
        path = link(local, "prefetched")
        for method in ("GET", "HEAD", "OPTIONS", "GET"):
            local.ask(method, path, headers={"Sec-Purpose": "prefetch"})
        assert local.post(path).status_code == 303
        local.client.cookies.clear()

    def test_two_at_once_sign_one_in(self, local: LocalRegistry) -> None:
        secret = link(local, "twice").rpartition("/")[2]
        barrier = threading.Barrier(8)

        def use() -> bool:
            barrier.wait()
            try:
                with database.change(local.service.engine) as connection:
                    members.use_link(connection, secret, now_text())
            except RyeError as error:
                return error.code != "link-used"
            return True

        with ThreadPoolExecutor(8) as threads:
            assert sorted(threads.map(lambda _: use(), range(8))) == [False] * 7 + [True]

    def test_a_late_one_and_one_of_a_disabled_account_are_none(self, local: LocalRegistry) -> None:
        secret = link(local, "late-comer").rpartition("/")[2]
        with database.change(local.service.engine) as connection:
            later = after(now_text(), members.LINK_SECONDS)
            with pytest.raises(RyeError, match="expired"):
                members.use_link(connection, secret, later)
        path = link(local, "sacked")
        run("account", "disable", "sacked", "--data", str(local.data))
        assert local.post(path).status_code == 410

    def test_a_link_is_in_no_log(self) -> None:
        assert loggable("/-/account/link/" + "A" * 43) == "/-/account/link/…"
        assert loggable("/-/account") == "/-/account"

    def test_a_link_that_leads_nowhere_else_than_here_says_so_and_how_to_mend_it(self, tmp_path: Path) -> None:
        init(tmp_path / "data")
        done = run("account", "create", "alice", "--data", str(tmp_path / "data"))
        assert 'address = "https://' in done.stderr
        assert "registry.toml" in done.stderr
        with (tmp_path / "data" / "registry.toml").open("a") as file:
            file.write('address = "https://registry.example.org/"\n')
        done = run("account", "create", "alice", "--data", str(tmp_path / "data"))
        assert done.stdout.startswith("https://registry.example.org/-/account/link/")
        assert "warning" not in done.stderr


class TestSessions:
    def cookie(self, local: LocalRegistry, name: str, **headers: str) -> str:
        answer = local.post(link(local, name), headers=headers)
        local.client.cookies.clear()
        return str(answer.headers["set-cookie"])

    def test_over_https_only_this_host_can_set_the_cookie(self, local: LocalRegistry) -> None:
        made = self.cookie(local, "tossed", **HTTPS)
        assert made.startswith("__Secure-rye_session=")
        value = made.partition("=")[2].partition(";")[0]
        known = {"Cookie": f"__Secure-rye_session={value}", **HTTPS}
        assert "tossed" in local.get("/-/account", headers=known).text
        for cookie in (f"rye_session={value}", f"__Secure-rye_session={value}; __Secure-rye_session={'A' * 43}"):
            assert "tossed" not in local.get("/-/account", headers={"Cookie": cookie, **HTTPS}).text

    def test_with_private_reading_its_name_binds_it_to_this_host(self, tmp_path: Path) -> None:
        club = LocalRegistry(tmp_path / "data", 'read = "members"\n')
        made = self.cookie(club, "bound", **HTTPS)
        assert made.startswith("__Host-rye_session=")
        assert "Path=/;" in f"{made};"
        assert "Secure" in made
        assert "Domain" not in made
        value = made.partition("=")[2].partition(";")[0]
        assert club.get("/head", headers={"Cookie": f"__Host-rye_session={value}", **HTTPS}).status_code == 200
        for cookie in (f"rye_session={value}", f"__Secure-rye_session={value}"):
            assert club.get("/head", headers={"Cookie": cookie, **HTTPS}).status_code == 401
        club.close()

    def test_a_session_that_the_browser_brought_along_ends_where_another_begins(self, local: LocalRegistry) -> None:
        planted = sign_in(local, "planter")
        answer = local.post(link(local, "planted-on"), headers=planted)
        local.client.cookies.clear()
        assert answer.headers["set-cookie"].partition(";")[0] != planted["Cookie"]
        assert "planter" not in local.get("/-/account", headers=planted).text

    def test_it_ends_by_itself(self, local: LocalRegistry) -> None:
        now = now_text()
        with database.change(local.service.engine) as connection:
            member = members.create(connection, "sleeper", now).id
            secret = members.open_session(connection, member, now)
            assert members.session_member(connection, secret, now) is not None
            assert members.session_member(connection, secret, after(now, members.SESSION_SECONDS)) is None


class TestForms:
    @pytest.mark.parametrize(
        "origin", ["https://evil.example", "null", f"http://{HOST}.evil.example", f"http://evil@{HOST}x"]
    )
    def test_another_site_sends_none_even_where_the_browser_knows_no_fetch_metadata(
        self, local: LocalRegistry, origin: str
    ) -> None:
        """Over plain http, browsers send only ``Origin``. The proof would also be wrong."""
        browser = sign_in(local, "careful-with-forms")
        path = link(local, "signed-in-by-another-site")
        for asked in ("/-/account/logout", path):
            answer = local.post(asked, headers={**browser, "Origin": origin}, data={"proof": proof(local, browser)})
            assert answer.status_code == 403
        assert local.get(path).status_code == 200
        sent = {"proof": proof(local, browser)}
        assert local.post("/-/account/logout", headers={**browser, "Origin": ADDRESS}, data=sent).status_code == 303

    def test_the_size_of_a_compressed_page_tells_nothing_of_its_proof(self, local: LocalRegistry) -> None:
        """Proxies compress pages. With one proof for a whole session, a text of others on the page could have guessed it."""
        browser = sign_in(local, "reader-of-guesses")
        first, second = (proof(local, browser) for _ in range(2))
        assert first[:16] != second[:16]
        assert first[16:] != second[16:]
        assert "content-encoding" not in local.get("/-/account", headers=browser).headers
        for wrong in ("", first[:16], first[:63], first[:16] + second[16:], "0" * 64, first.upper(), "é" * 64):
            answer = local.post("/-/account/logout", headers=browser, data={"proof": wrong})
            assert answer.status_code == 403, wrong
        other = sign_in(local, "other-session")
        assert local.post("/-/account/logout", headers=other, data={"proof": first}).status_code == 403
        assert local.post("/-/account/logout", headers=browser, data={"proof": first}).status_code == 303

    def test_the_pages_let_browsers_say_where_a_form_comes_from(self, local: LocalRegistry) -> None:
        """Under ``no-referrer``, a browser sends ``Origin: null`` even with our own forms."""
        assert local.get("/-/account").headers["referrer-policy"] == "strict-origin"

    def test_a_link_is_in_no_other_request_of_the_browser(self, local: LocalRegistry) -> None:
        """The proxy logs no path of a link, but the referrer of the style sheet that its page loads."""
        path = link(local, "looks-before-using")
        for answer in (local.get(path), local.post(path, headers={"Origin": "https://evil.example"})):
            assert answer.headers["referrer-policy"] == "strict-origin"
            assert 'rel="stylesheet"' in answer.text

    @pytest.mark.parametrize(
        "target", ["//evil.example", "\\\\evil.example", "/%09/evil.example", "https://evil.example", "/\\evil.example"]
    )
    def test_nothing_that_a_request_says_is_where_the_browser_goes(self, local: LocalRegistry, target: str) -> None:
        words = {"next": target, "code": target, "return": target, "redirect_uri": target}
        answer = local.post(link(local, "redirected"), params=words)
        local.client.cookies.clear()
        assert answer.headers["location"] == "/-/account"
        for path in ("/-/account", "/-/account/device", f"/-/account/device/{target}"):
            answer = local.get(path, params=words)
            assert "location" not in answer.headers
            assert not [found for found in re.findall(r'(?:href|action)="([^"]*)"', answer.text) if "evil" in found]


class TestPace:
    def test_so_many_tries_a_minute_and_more_later(self) -> None:
        moment = [0.0]
        tries = RateLimit(3, lambda: moment[0])
        for _ in range(3):
            tries.take("a")
        tries.take("b")
        with pytest.raises(RyeError) as caught:
            tries.take("a")
        assert caught.value.code == "too-many-requests"
        moment[0] += 20
        tries.take("a")
        with pytest.raises(RyeError):
            tries.take("a")

    def test_many_keys_do_not_fill_the_memory(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(rate_limits, "_KEYS", 10)
        tries = RateLimit(1)
        for number in range(100):
            tries.take(str(number))
        assert len(tries._left) == 10

    def test_one_machine_s_addresses_are_one(self) -> None:
        assert address_key("2001:db8::1") == address_key("2001:db8::ffff:1") != address_key("2001:db8:0:1::1")
        assert address_key("::ffff:192.0.2.1") == address_key("192.0.2.1") != address_key("192.0.2.2")

    def test_what_costs_something_is_counted_by_address(self, tmp_path: Path) -> None:
        data = tmp_path / "data"
        with Closing(LocalRegistry(data, "sign_in_tries = 3\n")) as small:
            paths = ("/-/account/link/" + "A" * 43, "/-/account/callback?state=x", "/-/account/login")
            assert [small.get(path).status_code for path in paths] == [410, 403, 404]
            for path in paths * 2:
                small.get(path)
            for path in paths:
                assert small.get(path).status_code == 429
            for _ in range(3):
                small.post("/api/v1/device/authorize", data={"name": "x"})
                small.post("/api/v1/oidc/exchange", json={"token": "a.b.c"})
            assert small.post("/api/v1/device/authorize", data={"name": "x"}).status_code == 429
            assert error_code(small.post("/api/v1/oidc/exchange", json={"token": "a.b.c"})) == "too-many-requests"
            elsewhere = {"X-Forwarded-For": "203.0.113.7"}
            assert small.post("/api/v1/device/authorize", data={"name": "x"}, headers=elsewhere).status_code == 200

    def test_guesses_of_codes_are_counted_by_account(self, tmp_path: Path) -> None:
        with Closing(LocalRegistry(tmp_path / "data", "form_tries = 5\n")) as small:
            browser = sign_in(small, "guesser")
            seen = [small.get("/-/account/device?code=BBBB-BBBB", headers=browser).status_code for _ in range(7)]
            assert seen == [200] * 5 + [429] * 2
            other = sign_in(small, "somebody-else")
            assert small.get("/-/account/device?code=BBBB-BBBB", headers=other).status_code == 200


class Closing:
    def __init__(self, made: LocalRegistry) -> None:
        self._made = made

    def __enter__(self) -> LocalRegistry:
        return self._made

    def __exit__(self, *_: object) -> None:
        self._made.close()


class TestDevices:
    def test_what_a_program_calls_itself_makes_no_sentences(self, local: LocalRegistry) -> None:
        name = "Rye support: your account is locked! Approve <b>now</b> \u202eevil\u202c аdmin https://evil.example/?x"
        begun = local.post("/api/v1/device/authorize", data={"name": name}).json()
        browser = sign_in(local, "phished")
        page = local.get(f"/-/account/device?code={begun['user_code']}", headers=browser).text
        for sign in (":", "!", "<b>now", "\u202e", "https://evil"):
            assert sign not in re.sub(r"<[^>]*>", "", page.partition("calls itself")[2].partition("asks for")[0])
        assert "127.0.0.1" in page
        assert "Deny" in page

    def test_one_address_does_not_take_all_places(self, local: LocalRegistry) -> None:
        now = now_text()
        with database.change(local.service.engine) as connection:
            other = device_logins.begin(connection, "x", now, "192.0.2.2")
            for _ in range(device_logins._MOST_OF_ADDRESS * 2):
                device_logins.begin(connection, "x", now, "192.0.2.1")
            mine = schema.device_logins.c.address == "192.0.2.1"
            count = sa.select(sa.func.count()).select_from(schema.device_logins).where(mine)
            assert connection.scalar(count) == device_logins._MOST_OF_ADDRESS
            assert device_logins.is_known(connection, other.device_code, now)
            connection.execute(schema.device_logins.delete())

    def test_a_guess_of_a_device_code_waits_for_nobody_s_writing(self, local: LocalRegistry) -> None:
        grant = "urn:ietf:params:oauth:grant-type:device_code"
        with database.writer(local.service.engine):
            started = time.monotonic()
            answer = local.post("/api/v1/device/token", data={"grant_type": grant, "device_code": "guess"})
        assert answer.json() == {"error": "expired_token"}
        assert time.monotonic() - started < 20  # SQLite waits half a minute for a writer

    def test_the_token_that_a_program_gets_is_an_event(self, local: LocalRegistry) -> None:
        begun = local.post("/api/v1/device/authorize", data={"name": "rye on a laptop"}).json()
        browser = sign_in(local, "recorded")
        sent = {"proof": proof(local, browser), "code": begun["user_code"], "decision": "approve"}
        local.post("/-/account/device", headers=browser, data=sent)
        grant = "urn:ietf:params:oauth:grant-type:device_code"
        sent = {"grant_type": grant, "device_code": begun["device_code"]}
        token = local.post("/api/v1/device/token", data=sent).json()["access_token"]
        events = json.loads(run("audit-events", "list", "--data", str(local.data), "--json").stdout)["events"]
        made = [event for event in events if event["action"] == "token.create"]  # refused sign-ins are told later
        assert made[-1]["detail"]["token"] in token
        assert token not in json.dumps(events)


class TestTokens:
    def test_one_account_has_so_many(self, tmp_path: Path) -> None:
        with Closing(LocalRegistry(tmp_path / "data", "account_tokens = 2\n")) as small:
            browser = sign_in(small, "collector")
            sent = {"proof": proof(small, browser), "name": "x", "scope": "read", "expires": "1d"}
            made = [small.post("/-/account/tokens", headers=browser, data=sent).status_code for _ in range(3)]
            assert made == [200, 200, 409]
            begun = small.post("/api/v1/device/authorize", data={"name": "one more"}).json()
            sent = {"proof": proof(small, browser), "code": begun["user_code"], "decision": "approve"}
            assert small.post("/-/account/device", headers=browser, data=sent).status_code == 409
            denied = small.post("/-/account/device", headers=browser, data={**sent, "decision": "deny"})
            assert denied.status_code == 200

    def test_programs_that_were_confirmed_and_have_not_come_yet_count(self, tmp_path: Path) -> None:
        """Each confirmation saw the tokens that there were, and the programs came for theirs later."""
        with Closing(LocalRegistry(tmp_path / "data", "account_tokens = 2\n")) as small:
            browser = sign_in(small, "patient")
            begun = [small.post("/api/v1/device/authorize", data={"name": "later"}).json() for _ in range(3)]
            sent = {"proof": proof(small, browser), "decision": "approve"}
            codes = [{**sent, "code": program["user_code"]} for program in begun]
            confirmed = [small.post("/-/account/device", headers=browser, data=one).status_code for one in codes]
            assert confirmed == [200, 200, 409]
            grant = "urn:ietf:params:oauth:grant-type:device_code"
            asked = [{"grant_type": grant, "device_code": program["device_code"]} for program in begun]
            assert [small.post("/api/v1/device/token", data=one).status_code for one in asked] == [200, 200, 400]
            assert small.post("/-/account/device", headers=browser, data=codes[2]).status_code == 409

    def test_one_token_names_so_many_namespaces(self, local: LocalRegistry) -> None:
        browser = sign_in(local, "lists-many")
        sent = {"proof": proof(local, browser), "name": "x", "scope": "read", "expires": "1d"}
        for count, status in ((50, 200), (51, 400)):
            names = " ".join(f"n{number}" for number in range(count))
            answer = local.post("/-/account/tokens", headers=browser, data={**sent, "namespaces": names})
            assert answer.status_code == status

    def test_scopes_and_namespaces_beyond_one_s_roles_open_nothing(self, local: LocalRegistry) -> None:
        acme = local.owner("acme")
        reader = local.member("only-reader", acme="reader")
        token = local.token("acme", account=reader, scopes=["publish", "stage", "yank", "claim", "admin"])
        answer = local.publish(acme, "a/escalated", token)
        assert (answer.status_code, error_code(answer)) == (403, "wrong-namespace")


class TestTrustedPublishing:
    CLAIMS = {
        "iss": publishers.GITHUB,
        "repository": "acme/site",
        "repository_owner_id": "4711",
        "job_workflow_ref": "acme/site/.github/workflows/release.yml@refs/tags/@acme/site@1.0.0",
    }

    def test_a_repository_s_name_in_other_hands_is_another_repository(self, local: LocalRegistry) -> None:
        with database.change(local.service.engine) as connection:
            made = publishers.add(
                connection, "acme", publishers.GITHUB, "acme/site", "release.yml", "", ("stage",), now_text()
            )
            first = publishers.identity_of(self.CLAIMS)
            assert (first.owner, publishers.is_meant(made, first)) == ("4711", True)
            publishers.bind(connection, [made], first)
            (bound,) = publishers.listing(connection, "acme")
            for owner in ("4712", ""):
                again = publishers.identity_of({**self.CLAIMS, "repository_owner_id": owner})
                assert not publishers.is_meant(bound, again)
            publishers.bind(connection, [bound], Identity("acme/site", "release.yml", "", "4712"))
            assert publishers.is_meant(publishers.listing(connection, "acme")[0], first)

    @pytest.mark.parametrize(
        "reference",
        [
            "acme/site/.github/workflows/release.yml@evil.yml@refs/heads/main",
            "acme/site/.github/workflows/release.yml",
            "acme/site/.github/workflows/release.yml@",
            "acme/site/.github/workflows/release.yml@main",
        ],
    )
    def test_a_file_whose_name_begins_like_the_workflow_s_is_another(self, reference: str) -> None:
        with pytest.raises(RyeError, match="no workflow file"):
            publishers.identity_of({**self.CLAIMS, "job_workflow_ref": reference})

    def test_the_workflow_that_calls_another_repository_s_is_not_trusted_by_its_own_name(self) -> None:
        claims = {**self.CLAIMS, "workflow_ref": self.CLAIMS["job_workflow_ref"]}
        with pytest.raises(RyeError, match="another repository"):
            publishers.identity_of(
                {**claims, "job_workflow_ref": "evil/kit/.github/workflows/release.yml@refs/heads/x"}
            )

    def test_an_issuer_that_does_not_answer_is_asked_once_in_a_while(self) -> None:
        asked, moment = [], [0.0]

        def fetch(address: str) -> bytes:
            asked.append(address)
            raise RyeError("issuer-unavailable", "It does not answer.", None)

        issuer = Issuer(address="https://id.example.org", fetch=fetch, clock=lambda: moment[0])
        for _ in range(50):
            with pytest.raises(RyeError, match="does not answer"):
                issuer.endpoint("token_endpoint")
        assert len(asked) == 1
        moment[0] += 16
        with pytest.raises(RyeError):
            issuer.endpoint("token_endpoint")
        assert len(asked) == 2


class TestPrivateReading:
    def test_bytes_that_another_namespace_has_can_be_published_by_who_has_them(self, tmp_path: Path) -> None:
        """The answer to the upload does not reveal whether another namespace has them."""
        with Closing(LocalRegistry(tmp_path / "data", 'read = "namespaces"\n')) as split:
            acme, other = Publisher("acme"), Publisher("other")
            for publisher in (acme, other):
                assert split.statements(split.token(), publisher.claim()).status_code == 200
            data = acme.file("a/shared")
            assert split.blob(data, split.token("acme")).status_code == 201
            note = acme.note(acme.release("a/shared", data))
            assert split.statements(split.token("acme"), note).status_code == 200
            assert split.blob(data, split.token("acme")).status_code == 200
            assert split.blob(data, split.token("other")).status_code == 201
            assert split.blob(data + b"\n", split.token("other")).status_code == 201

    def test_pages_for_nobody_say_nothing_of_the_log(self, tmp_path: Path) -> None:
        with Closing(LocalRegistry(tmp_path / "data", 'read = "members"\n')) as club:
            browser = sign_in(club, "member-of-it")
            assert "last signed" in club.get("/", headers={**browser, "Accept": "text/html"}).text
            for path in ("/", "/-/log", "/-/account", "/-/account/nothing", "/-/account/link/x"):
                text = club.get(path, headers={"Accept": "text/html"}).text
                assert "registry.example.org" in text
                assert "last signed" not in text
                assert "Fingerprint" not in text


class TestStages:
    def add(self, local: LocalRegistry, acme: Publisher, name: str, token: str) -> str:
        data = acme.file(name, text=name)
        local.blob(data, token)
        sent = {"drafts": [acme.release(name, data, description=name).text()]}
        answer = local.post("/api/v1/stages", token, json=sent)
        assert answer.status_code == 201, answer.text
        return str(answer.json()["stages"][0]["id"])

    def test_one_whose_time_is_over_is_at_an_end_and_counts_no_more(self, tmp_path: Path) -> None:
        with Closing(LocalRegistry(tmp_path / "data", "account_stages_bytes = 1500\n")) as small:
            acme, token = Publisher("acme"), small.token("acme")
            assert small.statements(small.token(), acme.claim()).status_code == 200
            old = self.add(small, acme, "a/old", token)
            with database.change(small.service.engine) as connection:
                past = {"expires": after(now_text(), -1)}
                connection.execute(schema.stages.update().where(schema.stages.c.id == old).values(past))
            assert small.get("/api/v1/stages", token).json()["stages"] == []
            row = small.get(f"/api/v1/stages/{old}", token).json()["stage"]
            assert row["state"] == "expired"
            rejected = small.post(f"/api/v1/stages/{old}/rejection", token, json={"reason": "late"})
            assert error_code(rejected) == "stage-decided"
            self.add(small, acme, "a/new", token)  # there is room again
            small.service.staging._swept = time.monotonic() - 3600
            self_free = small.service.staging
            self_free._sweep_sometimes()
            with database.reader(small.service.engine) as connection:
                assert stages.get(connection, old).state == "expired"

    def test_another_s_many_stages_do_not_hide_one_s_own(
        self, local: LocalRegistry, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("registry_server.api.staging._LISTED", 3)
        quiet, loud = Publisher("quiet"), Publisher("loud")
        for publisher in (quiet, loud):
            assert local.statements(local.token(), publisher.claim()).status_code == 200
        token = local.token("quiet")
        own = self.add(local, quiet, "a/own", token)
        for number in range(4):
            self.add(local, loud, f"a/n{number}", local.token("loud", scopes=["stage"]))
        assert [row["id"] for row in local.get("/api/v1/stages", token).json()["stages"]] == [own]


class TestWebhooks:
    def test_a_receiver_that_drips_is_cut_off(self) -> None:
        ours, theirs = socket.socketpair()
        ending = threading.Event()

        def drip() -> None:
            theirs.sendall(b"HTTP/1.1 200 OK\r\n")
            while not ending.wait(0.05):
                try:
                    theirs.sendall(b"X-Slow: 1\r\n")
                except OSError:
                    return

        thread = threading.Thread(target=drip)
        thread.start()
        started = time.monotonic()
        url = "https://hooks.example.com/x"
        guarded_http.post(url, b"{}", {}, lambda *_: ["93.184.216.34"], lambda *_: ours, seconds=0.5)
        assert 0.4 < time.monotonic() - started < 20
        ending.set()
        thread.join(5)
        theirs.close()


def test_counts_of_downloads_are_gone(local: LocalRegistry) -> None:
    """Popularity is not shown anywhere, so it is not counted."""
    assert "downloads_daily" not in sa.inspect(local.service.engine).get_table_names()


def test_the_limits_are_settings() -> None:
    found: Any = Settings(data=Path())
    assert (found.sign_in_tries, found.form_tries, found.account_tokens) == (120, 60, 100)
