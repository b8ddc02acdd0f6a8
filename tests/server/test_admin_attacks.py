"""Attacks on ``/api/v1/admin/`` by someone who holds an operator's token (:mod:`registry_server.accounts.operators`)."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
import sqlalchemy as sa

from registry_server.accounts import administration, audit_events, members, tokens
from registry_server.accounts.administration import By
from registry_server.accounts.scopes import DEFAULT_SCOPES, SCOPES
from registry_server.accounts.times import now_text
from registry_server.api import sessions
from registry_server.migrations import opening
from registry_server.storage import database
from tests.scenes.local_registry import LocalRegistry
from tests.scenes.publisher import error_code

ADMIN = "/api/v1/admin"
WORKFLOW = {"namespace": "acme", "repository": "acme/site", "workflow": "release.yml"}


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalRegistry]:
    with LocalRegistry(tmp_path_factory.mktemp("attacks") / "data", 'read = "members"\n') as made:
        yield made


@pytest.fixture(scope="module")
def full(local: LocalRegistry) -> str:
    return local.token(scopes=list(SCOPES))


def refused(answer: httpx.Response, status: int, code: str) -> None:
    assert (answer.status_code, error_code(answer)) == (status, code), answer.text


def created(local: LocalRegistry, token: str, **wanted: Any) -> str:
    answer = local.post(f"{ADMIN}/tokens", token, json={"name": "child", "scopes": ["admin"], **wanted})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["token"])


def revoke(local: LocalRegistry, token: str) -> None:
    with database.change(local.service.engine) as connection:
        tokens.revoke(connection, token, now_text())


class TestTheTokenIsRevokedWhileTheCallArrives:
    @pytest.mark.parametrize(
        ("path", "body"),
        [("tokens", {"name": "successor", "scopes": ["admin"]}), ("accounts", {"name": "late"}), ("teams", {"team": "t"})],
    )  # fmt: skip
    def test_a_body_that_ends_after_the_revocation_changes_nothing(
        self, local: LocalRegistry, path: str, body: dict[str, Any]
    ) -> None:
        """The thief sends half of a request, waits for the revocation, and sends the rest."""
        stolen = local.token(scopes=list(SCOPES))
        content = json.dumps(body).encode()

        async def slowly() -> AsyncIterator[bytes]:
            yield content[:5]
            revoke(local, stolen)
            yield content[5:]

        refused(local.post(f"{ADMIN}/{path}", stolen, content=slowly()), 401, "unauthorized")

    def test_nor_does_a_call_without_a_body(self, local: LocalRegistry, monkeypatch: pytest.MonkeyPatch) -> None:
        stolen, victim = local.token(scopes=["admin"]), local.member("victim")
        plain = sessions.changing

        async def late(service: Any, change: Callable[[Any], Any]) -> Any:
            revoke(local, stolen)
            return await plain(service, change)

        monkeypatch.setattr("registry_server.api.admin.calls.changing", late)
        refused(local.ask("PUT", f"{ADMIN}/accounts/{victim}/disabled", stolen), 401, "unauthorized")
        with database.reader(local.service.engine) as connection:
            assert members.get(connection, victim).disabled is None

    def test_a_token_that_expires_meanwhile_has_no_successor(
        self, local: LocalRegistry, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        old = local.token(scopes=["admin"], seconds=60)
        monkeypatch.setattr(local.service, "now_text", lambda: "9999-01-01T00:00:00Z")
        body = {"name": "n", "scopes": ["admin"]}
        refused(local.post(f"{ADMIN}/tokens", old, json=body), 401, "unauthorized")


class TestATokenDoesNotOutliveTheOneThatCreatedIt:
    def test_revoking_it_revokes_all_generations(self, local: LocalRegistry, full: str) -> None:
        stolen = local.token(scopes=list(SCOPES))
        child = created(local, stolen)
        other = created(local, stolen, scopes=["read"])
        grandchild = created(local, child)
        bystander = created(local, full)
        answer = local.ask("DELETE", f"{ADMIN}/tokens/{tokens.token_id(stolen)}", full)
        assert answer.json()["state"] == "revoked"
        for gone in (stolen, child, other, grandchild):
            refused(local.get("/api/v1/whoami", gone), 401, "unauthorized")
        assert local.get("/api/v1/whoami", bystander).status_code == 200
        with database.reader(local.service.engine) as connection:
            last = list(audit_events.listing(connection))[-4:]
            assert audit_events.problems(connection) == []
        assert [event.subject for event in last] == [
            f"token:{tokens.token_id(one)}" for one in (stolen, child, other, grandchild)
        ]

    def test_a_generation_between_that_is_already_revoked_shields_nobody(self, local: LocalRegistry, full: str) -> None:
        stolen = local.token(scopes=["admin"])
        child = created(local, stolen)
        grandchild = created(local, child)
        revoke(local, child)
        local.ask("DELETE", f"{ADMIN}/tokens/{tokens.token_id(stolen)}", full)
        refused(local.get("/api/v1/whoami", grandchild), 401, "unauthorized")

    def test_events_that_form_a_circle_do_not_stop_the_revocation(self, local: LocalRegistry, full: str) -> None:
        first, second = (str(tokens.token_id(local.token(scopes=["admin"]))) for _ in range(2))
        with database.change(local.service.engine) as connection:
            for creator, made in ((first, second), (second, first), (second, second)):
                audit_events.record(connection, now_text(), "token.create", f"token:{made}", actor=f"token:{creator}")
        assert local.ask("DELETE", f"{ADMIN}/tokens/{first}", full).status_code == 200
        with database.reader(local.service.engine) as connection:
            assert not any(tokens.is_active(connection, one, now_text()) for one in (first, second))

    @pytest.mark.thorough
    def test_a_chain_of_a_thousand_generations_cannot_stop_the_revocation(
        self, local: LocalRegistry, full: str
    ) -> None:
        stolen = local.token(scopes=["admin"])
        ids = [str(tokens.token_id(stolen))]
        with database.change(local.service.engine) as connection:
            for _ in range(1100):
                made = str(tokens.token_id(tokens.create(connection, "n", [], now_text(), scopes=["admin"])))
                audit_events.record(
                    connection, now_text(), "token.create", f"token:{made}", actor=f"token:{ids[-1]}"
                )  # fmt: skip
                ids.append(made)
        assert local.ask("DELETE", f"{ADMIN}/tokens/{ids[0]}", full).status_code == 200
        with database.reader(local.service.engine) as connection:
            assert not any(tokens.is_active(connection, one, now_text()) for one in ids)


class TestRacesOnPostgresql:
    """There, two transactions write at the same time; on SQLite they take turns."""

    @pytest.fixture
    def engine(self, empty: str) -> Iterator[sa.Engine]:
        engine = opening.connect(empty)
        yield engine
        engine.dispose()

    def make(self, engine: sa.Engine, by: str) -> str:
        with database.change(engine) as connection:
            made, _ = administration.create_token(connection, "n", ["admin"], [], None, None, By(now_text(), by))
            return made

    @pytest.mark.thorough
    def test_a_token_that_is_creating_another_is_revoked_after_it_and_with_it(self, engine: sa.Engine) -> None:
        stolen = self.make(engine, "operator")
        child = self.make(engine, f"token:{tokens.token_id(stolen)}")
        with ThreadPoolExecutor(1) as pool:
            with database.change(engine) as connection:  # a call of the child, between its check and its change
                assert tokens.check(connection, child, now_text(), hold=True) is not None
                revoking = pool.submit(self.revoke, engine, stolen)
                while not revoking.done() and not self.is_waiting(engine):
                    time.sleep(0.02)
                assert not revoking.done()
                by = By(now_text(), f"token:{tokens.token_id(child)}")
                grandchild, _ = administration.create_token(connection, "n", ["admin"], [], None, None, by)
            revoking.result(20)
        with database.reader(engine) as connection:
            assert [tokens.check(connection, one) for one in (stolen, child, grandchild)] == [None] * 3
            assert audit_events.problems(connection) == []

    def revoke(self, engine: sa.Engine, token: str) -> None:
        with database.change(engine) as connection:
            administration.revoke_token(connection, token, By(now_text()))

    def is_waiting(self, engine: sa.Engine) -> bool:
        with database.reader(engine) as connection:
            query = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
            return bool(connection.scalar(sa.text(query)))


def test_nobody_joins_a_team_that_has_no_role_yet(local: LocalRegistry, full: str) -> None:
    """The operator gives the team a role later, and the thief's account has it as well."""
    local.member("sleeper")
    assert local.post(f"{ADMIN}/teams", full, json={"team": "future"}).status_code == 201
    for scopes in (["admin"], ["admin", "read"], ["admin", *DEFAULT_SCOPES[1:]]):
        answer = local.ask("PUT", f"{ADMIN}/teams/future/members/sleeper", local.token(scopes=scopes))
        refused(answer, 403, "insufficient-scope")


def test_a_token_that_may_not_read_administers_a_private_registry(local: LocalRegistry) -> None:
    """The operator's API checks its tokens itself; the registry's files stay closed to the same token."""
    bare = local.token(scopes=["admin"])
    assert local.get(f"{ADMIN}/tokens", bare).status_code == 200
    assert local.get("/head", bare).status_code == 403


@pytest.mark.parametrize(
    ("path", "body", "code"),
    [
        ("webhooks", {"url": "https://[::1"}, "invalid-value"),
        ("webhooks", {"url": "https://℀.example/"}, "invalid-value"),
        ("webhooks", {"url": "https://:secret@hooks.example.com/"}, "invalid-value"),
        ("webhooks", {"url": "https://@hooks.example.com/"}, "invalid-value"),
        ("webhooks", {"url": "https://hooks.example.com:99999/"}, "invalid-value"),
        ("publishers", {**WORKFLOW, "issuer": "https://[::1"}, "invalid-value"),
        ("publishers", {**WORKFLOW, "issuer": "https://127.0.0.1/"}, "invalid-value"),
        ("publishers", {**WORKFLOW, "issuer": "https://169.254.169.254/"}, "invalid-value"),
        ("publishers", {**WORKFLOW, "issuer": "https://localhost/"}, "invalid-value"),
        ("publishers", {**WORKFLOW, "issuer": "HTTP://127.0.0.1/"}, "invalid-value"),
        ("publishers", {**WORKFLOW, "issuer": "https://:secret@login.example.com/"}, "invalid-value"),
        ("publishers", {**WORKFLOW, "issuer": f"https://{'a' * 500}.example.com/"}, "invalid-value"),
        ("publishers", {**WORKFLOW, "repository": "/".join(["a" * 100] * 5)}, "invalid-value"),
        ("publishers", {**WORKFLOW, "workflow": "/".join(["a" * 100] * 5)}, "invalid-value"),
    ],
)
def test_an_address_or_a_name_that_nothing_can_use_is_refused(
    local: LocalRegistry, full: str, path: str, body: dict[str, Any], code: str
) -> None:
    """Too long for PostgreSQL, not an address at all, or one in the server's own network."""
    refused(local.post(f"{ADMIN}/{path}", full, json=body), 422, code)


def test_an_event_that_is_named_many_times_is_stored_once(local: LocalRegistry, full: str) -> None:
    body = {"url": "https://hooks.example.com/", "events": ["yank"] * 100}
    made = local.post(f"{ADMIN}/webhooks", full, json=body).json()
    assert made["webhook"]["events"] == ["yank"]


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PUT", "accounts/%00/disabled", None),
        ("DELETE", "tokens/%00", None),
        ("GET", "tokens?account=%00", None),
        ("GET", "webhooks/deliveries?webhook=a%00", None),
        ("POST", "tokens", b'{"name": "n", "scopes": ["read"], "account": "\\u0000"}'),
        ("POST", "tokens", b'{"name": "\\ud800", "scopes": ["read"]}'),
        ("POST", "tokens", b'{"name": "n", "scopes": ["read"], "\\u0073copes": ["publish"]}'),
        ("POST", "tokens", b'{"name": "n", "scopes": ["read"]}{}'),
        ("POST", "tokens", b'{"name": 1e400, "scopes": ["read"]}'),
    ],
)
def test_what_no_database_could_compare_is_refused_at_the_door(
    local: LocalRegistry, full: str, method: str, path: str, body: bytes | None
) -> None:
    refused(local.ask(method, f"{ADMIN}/{path}", full, content=body), 400, "bad-request")


def test_the_operator_s_page_says_that_tokens_are_revoked_with_their_creator() -> None:
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "registry-access.md").read_text("utf-8")
    assert "it expires no later, and is revoked with it" in page
