"""What an office behind one address shares, what monitoring sees of sign-ins, and small promises of the API."""

from __future__ import annotations

import base64
import re
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from registry_server.accounts import device_logins, guarded_http, members, webhooks
from registry_server.accounts.quotas import Quotas
from registry_server.accounts.scopes import SCOPES
from registry_server.accounts.times import after, now_text
from registry_server.api.application import framework
from registry_server.api.delivering import Deliverer
from registry_server.settings import load
from registry_server.storage import database
from rye.errors import RyeError
from tests.scenes.local_registry import LocalRegistry
from tests.scenes.publisher import Publisher, error_code
from tests.scenes.registry_process import ORIGIN, run

pytestmark = pytest.mark.processes


@pytest.fixture
def small(tmp_path: Path) -> Iterator[LocalRegistry]:
    with LocalRegistry(tmp_path / "data", "sign_in_tries = 3\nwebhooks = true\n") as made:
        yield made


def series(local: LocalRegistry, name: str) -> float:
    match = re.search(rf"^{re.escape(name)} ([0-9.e+]+)$", local.get("/metrics").text, re.MULTILINE)
    return float(match[1]) if match is not None else 0.0


class TestBudgets:
    def test_programs_that_ask_for_codes_keep_nobody_from_signing_in(self, small: LocalRegistry) -> None:
        codes = [small.post("/api/v1/device/authorize", data={"name": "x"}).status_code for _ in range(5)]
        assert codes == [200] * 3 + [429] * 2
        with database.change(small.service.engine) as connection:
            member = members.create(connection, "alice", now_text())
            link = members.make_link(connection, member.id, now_text())
        assert small.get(f"/-/account/link/{link}").status_code == 200
        assert small.get("/-/account/login").status_code == 404  # no issuer, but not 429
        assert error_code(small.post("/api/v1/oidc/exchange", json={"token": "a.b.c"})) != "too-many-requests"

    def test_each_of_the_four_has_its_own_limit(self, small: LocalRegistry) -> None:
        asked: dict[str, Callable[[], httpx.Response]] = {
            "link": lambda: small.get("/-/account/link/" + "A" * 43),
            "sign-in": lambda: small.get("/-/account/callback?state=x"),
            "device": lambda: small.post("/api/v1/device/authorize", data={"name": "x"}),
            "exchange": lambda: small.post("/api/v1/oidc/exchange", json={"token": "a.b.c"}),
        }
        for name, ask in asked.items():
            assert [ask().status_code == 429 for _ in range(4)] == [False, False, False, True], name

    def test_the_one_who_waits_longest_makes_room_for_a_newcomer_at_the_same_address(
        self, small: LocalRegistry
    ) -> None:
        now = now_text()
        with database.change(small.service.engine) as connection:
            begun = [
                device_logins.begin(connection, "x", after(now, number), "192.0.2.1")
                for number in range(device_logins._MOST_OF_ADDRESS + 1)
            ]
            known = [device_logins.is_known(connection, one.device_code, now) for one in begun]
            other = device_logins.begin(connection, "x", now, "192.0.2.2")
            assert device_logins.is_known(connection, other.device_code, now)
        assert known == [False] + [True] * device_logins._MOST_OF_ADDRESS


class TestMetrics:
    def test_failed_sign_ins_and_refused_tokens_are_counted_without_names(self, small: LocalRegistry) -> None:
        small.get("/api/v1/whoami", "rye_" + "0" * 16 + "_" + "A" * 43)
        small.get("/api/v1/whoami")  # no token
        assert series(small, "rye_bearers_refused_total") == 1.0
        grant = "urn:ietf:params:oauth:grant-type:device_code"
        small.post("/api/v1/device/token", data={"grant_type": grant, "device_code": "guess"})
        assert series(small, 'rye_sign_ins_total{result="refused",way="device"}') == 1.0
        small.post("/api/v1/oidc/exchange", json={"token": "a.b.c"})
        assert series(small, 'rye_sign_ins_total{result="refused",way="exchange"}') == 1.0
        with database.change(small.service.engine) as connection:
            member = members.create(connection, "alice", now_text())
            link = members.make_link(connection, member.id, now_text())
        used = [small.post(f"/-/account/link/{link}").status_code for _ in range(2)]
        assert used == [303, 410]
        for result in ("ok", "refused"):
            assert series(small, f'rye_sign_ins_total{{result="{result}",way="link"}}') == 1.0

    def test_process_and_pool_have_series(self, small: LocalRegistry) -> None:
        text = small.get("/metrics").text
        for name in ("process_resident_memory_bytes", "process_open_fds", "process_cpu_seconds_total"):
            assert re.search(rf"^{name} [0-9.e+]+$", text, re.MULTILINE), name
        assert 'rye_database_connections{state="used"}' in text
        assert series(small, 'rye_database_connections{state="idle"}') >= 1

    def test_uploads_that_were_published_count_no_longer_at_once(self, small: LocalRegistry) -> None:
        acme, token = Publisher("acme"), small.token()
        assert small.statements(token, acme.claim()).status_code == 200
        assert small.blob(b"x" * 5000, token).status_code == 201
        assert series(small, "rye_uploads_bytes") == 5000
        assert small.publish(acme, "a/one", token).status_code == 200
        small.service.sequencer.stop()  # its clean-up comes after the answer
        assert series(small, "rye_uploads_bytes") == 5000

    def test_files_that_come_with_statements_count_until_they_are_published_or_refused(
        self, small: LocalRegistry, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        acme, token, service = Publisher("acme"), small.token(), small.service
        assert small.statements(token, acme.claim()).status_code == 200
        good, other = acme.file("a/one", "1.0.0"), acme.file("a/two", "1.0.0")
        note = acme.note(acme.release("a/one", good, "1.0.0"))

        def publish(*files: bytes) -> httpx.Response:
            sent = [base64.b64encode(data).decode() for data in files]
            return small.post("/api/v1/statements", token, json={"notes": [note], "blobs": sent})

        for refused in (other, b"large " * 60_000):
            assert error_code(publish(refused)) == "blob-missing"
            assert series(small, "rye_uploads_bytes") == 0
        assert list(service.uploads.listing()) == []
        assert small.blob(other, small.token()).status_code == 201
        assert error_code(publish(other)) == "blob-missing"
        assert series(small, "rye_uploads_bytes") == len(other)  # another account's, which stays pending
        monkeypatch.setattr(service.quotas, "_uploads_bytes", 10)
        assert error_code(publish(good)) == "uploads-full"
        monkeypatch.undo()
        assert publish(good).status_code == 200
        service.sequencer.stop()  # its clean-up comes after the answer
        assert series(small, "rye_uploads_bytes") == len(other)
        assert [size for _, size, _ in service.uploads.listing()] == [len(other)]

    def test_uploads_of_other_processes_count_from_the_next_listing(self) -> None:
        quotas = Quotas(1, 100)
        quotas.keep("t", "a", 10)
        quotas.settle("t", ["a"], lambda _: True)
        quotas.update({"a": 10, "b": 7}, quotas.written())
        assert quotas.kept_bytes == 17
        quotas.forget(["a", "unknown"])
        assert quotas.kept_bytes == 7
        quotas.update({}, quotas.written())
        assert quotas.kept_bytes == 0


class TestMethods:
    def test_405_names_the_methods_that_the_path_has(self, small: LocalRegistry) -> None:
        expected = {
            "/api/v1/statements": "OPTIONS, POST",
            "/api/v1/search": "GET, OPTIONS",
            f"/api/v1/blobs/{'a' * 64}": "OPTIONS, POST, PUT",
            "/api/v1/stages": "GET, OPTIONS, POST",
            "/livez": "GET, OPTIONS",
            "/head": "GET, HEAD, OPTIONS",
        }
        for path, methods in expected.items():
            answer = small.ask("PATCH", path)
            assert (answer.status_code, answer.headers.get("allow")) == (405, methods), path

    def test_options_names_the_methods_of_all_calls_at_the_path(self, small: LocalRegistry) -> None:
        answer = small.ask("OPTIONS", "/api/v1/stages")
        assert (answer.status_code, answer.headers["allow"]) == (204, "GET, OPTIONS, POST")

    def test_the_description_is_as_strict_as_the_server(self, small: LocalRegistry) -> None:
        token, document = small.token(scopes=list(SCOPES)), small.get("/openapi.json").json()
        schemas = document["components"]["schemas"]
        assert schemas["TokenRequest"]["properties"]["scopes"]["minItems"] == 1
        assert schemas["TokenRequest"]["properties"]["scopes"]["items"]["enum"] == list(SCOPES)
        assert schemas["TeamRequest"]["properties"]["team"]["pattern"].startswith("^[a-z0-9]")
        (offset,) = (
            one for one in document["paths"]["/api/v1/admin/accounts"]["get"]["parameters"] if one["name"] == "offset"
        )
        assert small.get(f"/api/v1/admin/accounts?offset={offset['schema']['maximum']}", token).status_code == 200
        assert small.get(f"/api/v1/admin/accounts?offset={offset['schema']['maximum'] + 1}", token).status_code == 400
        for size, status in ((200, 200), (201, 400)):
            assert small.get(f"/api/v1/admin/roles?namespace={'a' * size}", token).status_code == status
        assert small.post("/api/v1/admin/teams", token, json={"team": ""}).status_code == 422  # with its own words

    def test_every_route_says_so(self, small: LocalRegistry) -> None:
        for route in framework().routes:
            path = re.sub(r"\{\w+:\w+\}", "x", route.path)
            answer = small.ask("TRACE", path)
            if answer.status_code == 405:
                assert set(answer.headers["allow"].split(", ")) >= set(getattr(route, "methods", ())) - {"HEAD"}, path

    def test_a_parameter_that_means_nothing_is_refused(self, small: LocalRegistry) -> None:
        token = small.token()
        for value, status in (("1", 200), ("AAA", 400), ("", 400), ("0", 400)):
            assert small.get(f"/api/v1/stages?all={value}", token).status_code == status, value

    def test_forms_are_described_as_forms(self, small: LocalRegistry) -> None:
        paths: dict[str, Any] = small.get("/openapi.json").json()["paths"]
        for name, required in (("authorize", []), ("token", ["grant_type", "device_code"])):
            body = paths[f"/api/v1/device/{name}"]["post"]["requestBody"]
            form = body["content"]["application/x-www-form-urlencoded"]["schema"]
            assert (form["required"], body["required"]) == (required, bool(required))


class TestWebhooks:
    def test_adding_one_tells_where_its_host_leads(self) -> None:
        def none(_host: str, _port: int) -> list[str]:
            raise socket.gaierror("Name or service not known")

        private = guarded_http.told("h.example", lambda *_: ["192.0.2.1"])
        assert "192.0.2.1, which is not public, so deliveries will be given up." in private
        assert "`webhook_networks`" in private
        assert guarded_http.told("h.example", lambda *_: ["8.8.8.8"]) == "h.example resolves to 8.8.8.8."
        assert "nothing can be delivered yet" in guarded_http.told("h.example", none)

    def test_the_command_says_it(self, small: LocalRegistry, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(guarded_http, "told", lambda host, **_: f"{host} was looked up.")
        done = run("webhook", "add", "https://hooks.example.com/x", "--data", str(small.data))
        assert "hooks.example.com was looked up." in done.stdout + done.stderr

    @pytest.mark.parametrize(("code", "state"), [("private-address", "given up"), ("delivery-failed", "due ")])
    def test_a_delivery_to_a_private_address_is_given_up_at_once(
        self, small: LocalRegistry, code: str, state: str
    ) -> None:
        def post(*_: object) -> int:
            raise RyeError(code, "It leads inside.", None)

        with database.change(small.service.engine) as connection:
            webhooks.add(connection, "https://hooks.example.com/x", "", (), now_text())
        assert small.statements(small.token(), Publisher("acme").claim()).status_code == 200
        Deliverer(small.service.engine, ORIGIN, post).round()
        with database.reader(small.service.engine) as connection:
            (row,) = webhooks.history(connection, 10)
        assert webhooks.state_of(row).startswith(state)
        assert row["error"] == "It leads inside."


def test_init_writes_the_region_of_the_bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = run("init", "--help")
    assert "--s3-region" in done.stdout
    written: list[dict[str, str]] = []

    class Root:
        def sha256(self) -> str:
            return "0" * 64

    def found(*given: Any) -> Root:
        written.append(given[2])
        return Root()

    monkeypatch.setattr("registry_server.cli.init.found", found)
    run(
        "init",
        "--origin",
        ORIGIN,
        "--data",
        str(tmp_path / "data"),
        "--objects",
        "s3://b/p",
        "--s3-region",
        "eu-west-1",
    )
    assert written == [{"objects": "s3://b/p", "s3_region": "eu-west-1"}]
    (tmp_path / "registry.toml").write_text('objects = "s3://b/p"\ns3_region = "eu-west-1"\n')
    assert load(tmp_path, {}, {}).s3_region == "eu-west-1"
