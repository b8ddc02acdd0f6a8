"""``/api/v1/admin/``: what an operator's token can do over HTTP, and what nobody gains by stealing one
(:mod:`registry_server.accounts.operators`)."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import sqlalchemy as sa

from registry_server.accounts import audit_events, members, roles, tokens
from registry_server.accounts.scopes import DEFAULT_SCOPES, SCOPES
from registry_server.accounts.times import after, now_text
from registry_server.api.application import OPERATIONS
from registry_server.api.unknown_routes import hint_for_path
from registry_server.storage import database
from tests.scenes.local_registry import LocalRegistry
from tests.scenes.publisher import Publisher, error_code
from tests.scenes.registry_process import init, run

ADMIN = "/api/v1/admin"
ADMIN_OPERATIONS = [operation for operation in OPERATIONS if operation.path.startswith(f"{ADMIN}/")]
CALLS = [(one.method.upper(), re.sub(r"\{\w+\}", "acme", one.path)) for one in ADMIN_OPERATIONS]
WEBHOOK = {"url": "https://hooks.example.com/rye"}
WORKFLOW = {"namespace": "acme", "repository": "acme/site", "workflow": "release.yml"}


@pytest.fixture(scope="module")
def bare(local: LocalRegistry) -> str:
    """An operator's token with the scope admin and no other."""
    return local.token(scopes=["admin"])


@pytest.fixture(scope="module")
def full(local: LocalRegistry) -> str:
    """An operator's token that can do everything."""
    return local.token(scopes=list(SCOPES))


@pytest.fixture(scope="module")
def gone(local: LocalRegistry) -> str:
    """A disabled account of this name."""
    made = local.member("gone")
    with database.change(local.service.engine) as connection:
        members.disable(connection, made, now_text())
    return made


@contextmanager
def counted(connection: sa.Connection) -> Iterator[list[str]]:
    """The statements that the block runs."""
    seen: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_: object) -> None:
        seen.append(statement)

    sa.event.listen(connection, "before_cursor_execute", note)
    yield seen
    sa.event.remove(connection, "before_cursor_execute", note)


def refused(answer: httpx.Response, status: int, code: str) -> None:
    assert (answer.status_code, error_code(answer)) == (status, code), answer.text


def done(answer: httpx.Response, status: int = 200) -> Any:
    assert answer.status_code == status, answer.text
    return answer.json()


def chain(local: LocalRegistry) -> tuple[int, str]:
    with database.reader(local.service.engine) as connection:
        return audit_events.head(connection)


def events(local: LocalRegistry, since: int) -> list[audit_events.AuditEvent]:
    with database.reader(local.service.engine) as connection:
        return list(audit_events.listing(connection, since))


class TestWhoIsLetIn:
    def everywhere(self, local: LocalRegistry, token: str, status: int, code: str) -> None:
        before = chain(local)
        for method, path in CALLS:
            refused(local.ask(method, path, token, json={}), status, code)
        assert chain(local) == before

    def test_nobody_without_a_valid_token(self, local: LocalRegistry) -> None:
        revoked, of_nobody = local.token(scopes=["admin"]), "rye_" + "0" * 16 + "_" + "A" * 43
        with database.change(local.service.engine) as connection:
            tokens.revoke(connection, revoked, now_text())
        for token in ("", of_nobody, revoked, local.token(scopes=list(SCOPES), seconds=-1)):
            self.everywhere(local, token, 401, "unauthorized")

    def test_no_token_with_every_other_scope(self, local: LocalRegistry) -> None:
        self.everywhere(local, local.token(scopes=list(DEFAULT_SCOPES)), 403, "insufficient-scope")

    def test_no_token_of_an_account_whatever_the_account_may_do(self, local: LocalRegistry) -> None:
        """Members choose the scopes of their own tokens."""
        owner = local.member("chief", acme="owner")
        self.everywhere(local, local.token(scopes=list(SCOPES), account=owner), 403, "not-an-operator")

    def test_no_token_that_is_bound_to_a_namespace(self, local: LocalRegistry) -> None:
        self.everywhere(local, local.token("acme", scopes=list(SCOPES)), 403, "not-an-operator")

    def test_no_token_of_a_disabled_account(self, local: LocalRegistry) -> None:
        gone = local.member("leaver", acme="owner")
        token = local.token(scopes=list(SCOPES), account=gone)
        with database.change(local.service.engine) as connection:
            members.disable(connection, gone, now_text())
        self.everywhere(local, token, 401, "unauthorized")

    def test_no_session(self, local: LocalRegistry) -> None:
        boss = local.member("boss", acme="owner")
        with database.change(local.service.engine) as connection:
            secret = members.open_session(connection, boss, now_text())
        before = chain(local)
        for method, path in CALLS:
            answer = local.ask(method, path, json={}, headers={"Cookie": f"rye_session={secret}"})
            refused(answer, 401, "unauthorized")
        assert chain(local) == before


class TestWhatAStolenTokenWithAdminAloneCannotDo:
    @pytest.mark.parametrize("scope", DEFAULT_SCOPES)
    def test_make_a_token_that_can_do_more(self, local: LocalRegistry, bare: str, scope: str) -> None:
        for scopes in ([scope], ["admin", scope], [f"admin,{scope}"]):
            answer = local.post(f"{ADMIN}/tokens", bare, json={"name": "more", "scopes": scopes})
            refused(answer, 403, "insufficient-scope")

    def test_make_one_that_outlives_it(self, local: LocalRegistry, bare: str) -> None:
        for span in ("never", "2h", "90d"):
            answer = local.post(f"{ADMIN}/tokens", bare, json={"name": "n", "scopes": ["admin"], "expires": span})
            refused(answer, 422, "invalid-value")
        made = done(local.post(f"{ADMIN}/tokens", bare, json={"name": "next", "scopes": ["admin"]}), 201)
        assert made["row"]["expires"] <= after(now_text(), 3600)
        # Nor does the next generation climb.
        more = local.post(f"{ADMIN}/tokens", made["token"], json={"name": "n", "scopes": ["read"]})
        refused(more, 403, "insufficient-scope")

    def test_let_someone_in_who_could(self, local: LocalRegistry, bare: str, full: str) -> None:
        helper = local.member("helper")
        local.member("boss2", acme="owner")
        done(local.post(f"{ADMIN}/teams", full, json={"team": "strong"}), 201)
        done(local.ask("PUT", f"{ADMIN}/roles/acme/teams/strong", full, json={"role": "reader"}))
        before = chain(local)
        for method, path, body in (
            ("POST", "accounts", {"name": "intruder"}),
            ("POST", "accounts", {"name": "intruder", "namespace": "acme", "role": "reader"}),
            ("POST", "accounts", {"name": "boss2"}),  # a link that signs in as someone else
            ("PUT", "roles/acme/accounts/helper", {"role": "reader"}),
            ("PUT", f"roles/acme/accounts/{helper}", {"role": "publisher"}),
            ("PUT", "roles/acme/teams/strong", {"role": "owner"}),
            ("PUT", "teams/strong/members/helper", None),
            ("POST", "groups", {"group": "platform", "team": "strong"}),
            ("POST", "webhooks", WEBHOOK),
            ("POST", "publishers", WORKFLOW),
        ):
            answer = local.ask(method, f"{ADMIN}/{path}", bare, json=body)
            refused(answer, 403, "insufficient-scope")
        assert chain(local) == before
        assert done(local.get(f"{ADMIN}/teams", bare))["teams"] == [{"team": "strong", "members": []}]

    def test_read_a_role_s_worth_and_give_out_more(self, local: LocalRegistry, acme: Publisher) -> None:
        """With admin and read it lets readers in, and no one who writes."""
        reading, nobody = local.token(scopes=["admin", "read"]), local.member("newcomer")
        assert done(local.ask("PUT", f"{ADMIN}/roles/acme/accounts/{nobody}", reading, json={"role": "reader"}))
        for role in ("publisher", "owner"):
            answer = local.ask("PUT", f"{ADMIN}/roles/acme/accounts/{nobody}", reading, json={"role": role})
            refused(answer, 403, "insufficient-scope")
        refused(local.post(f"{ADMIN}/publishers", reading, json={**WORKFLOW, "scopes": ["publish"]}), 403,
                "insufficient-scope")  # fmt: skip

    def test_publish_claim_or_yank(self, local: LocalRegistry, acme: Publisher, bare: str) -> None:
        refused(local.publish(acme, "a/stolen", bare), 403, "insufficient-scope")
        refused(local.statements(bare, Publisher("fresh").claim()), 403, "insufficient-scope")
        assert local.publish(acme, "a/mine", local.token()).status_code == 200
        refused(local.statements(bare, acme.yank("a/mine")), 403, "insufficient-scope")


class TestWhatItDoes:
    def test_every_change_is_an_audit_event_with_the_token_and_the_address(
        self, local: LocalRegistry, full: str
    ) -> None:
        since = chain(local)[0]
        made = done(
            local.post(f"{ADMIN}/accounts", full, json={"name": "alice", "namespace": "acme", "role": "owner"}), 201
        )
        alice = made["account"]["account"]
        assert made["account"]["roles"] == [{"namespace": "acme", "role": "owner"}]
        assert local.get(made["link"].removeprefix("http://127.0.0.1:8420")).status_code == 200
        token = done(
            local.post(f"{ADMIN}/tokens", full, json={"name": "ci", "scopes": ["read"], "namespaces": ["acme"],
                                                      "account": "alice"}), 201)  # fmt: skip
        assert (token["row"]["account"], token["row"]["state"]) == (alice, "active")
        assert done(local.get("/api/v1/whoami", token["token"]))["scopes"] == ["read"]
        done(local.ask("DELETE", f"{ADMIN}/tokens/{token['row']['id']}", full))
        refused(local.get("/api/v1/whoami", token["token"]), 401, "unauthorized")
        done(local.post(f"{ADMIN}/teams", full, json={"team": "web"}), 201)
        assert done(local.ask("PUT", f"{ADMIN}/teams/web/members/alice", full))["members"] == ["alice"]
        given = done(local.ask("PUT", f"{ADMIN}/roles/site/teams/web", full, json={"role": "publisher"}))
        assert given["roles"] == [{"namespace": "site", "role": "publisher", "account": None, "team": "web"}]
        done(local.ask("PUT", f"{ADMIN}/roles/site/accounts/{alice}", full, json={"role": "reader"}))
        assert done(local.ask("DELETE", f"{ADMIN}/roles/site/accounts/alice", full))["roles"] == []
        assert done(local.ask("DELETE", f"{ADMIN}/roles/site/teams/web", full))["roles"] == []
        assert done(local.ask("DELETE", f"{ADMIN}/teams/web/members/{alice}", full))["members"] == []
        done(local.ask("DELETE", f"{ADMIN}/teams/web", full))
        hook = done(local.post(f"{ADMIN}/webhooks", full, json={**WEBHOOK, "events": ["yank"]}), 201)
        assert hook["secret"]
        assert hook["webhook"] in done(local.get(f"{ADMIN}/webhooks", full))["webhooks"]
        assert hook["secret"] not in local.get(f"{ADMIN}/webhooks", full).text
        assert done(local.get(f"{ADMIN}/webhooks/deliveries", full)) == {"deliveries": []}
        done(local.ask("DELETE", f"{ADMIN}/webhooks/{hook['webhook']['id']}", full))
        publisher = done(local.post(f"{ADMIN}/publishers", full, json=WORKFLOW), 201)
        assert (publisher["issuer"][:8], publisher["scopes"]) == ("https://", ["stage"])
        assert done(local.get(f"{ADMIN}/publishers?namespace=acme", full))["publishers"] == [publisher]
        done(local.ask("DELETE", f"{ADMIN}/publishers/{publisher['id']}", full))
        done(local.ask("PUT", f"{ADMIN}/accounts/alice/disabled", full))
        recorded = events(local, since)
        assert [event.action for event in recorded] == [
            "account.create", "token.create", "token.revoke", "team.create", "team.add", "role.add", "role.add",
            "role.remove", "role.remove", "team.remove", "team.delete", "webhook.add", "webhook.remove",
            "publisher.add", "publisher.remove", "account.disable",
        ]  # fmt: skip
        assert {(event.actor, event.address) for event in recorded} == {(f"token:{tokens.token_id(full)}", "127.0.0.1")}
        assert not [event for event in recorded if token["token"] in json.dumps(event.detail)]
        with database.reader(local.service.engine) as connection:
            assert audit_events.problems(connection) == []

    def test_admin_alone_takes_everything_away_at_once(self, local: LocalRegistry, bare: str) -> None:
        mole = local.member("mole", acme="owner")
        token = local.token(scopes=list(SCOPES), account=mole)
        assert local.get("/api/v1/whoami", token).status_code == 200
        row = done(local.ask("PUT", f"{ADMIN}/accounts/{mole}/disabled", bare))
        assert row["disabled"]
        refused(local.get("/api/v1/whoami", token), 401, "unauthorized")
        other = local.token()
        done(local.ask("DELETE", f"{ADMIN}/tokens/{tokens.token_id(other)}", bare))
        refused(local.get("/api/v1/whoami", other), 401, "unauthorized")

    def test_groups_are_mapped_by_who_gives_and_unmapped_by_who_only_takes(
        self, local: LocalRegistry, bare: str, full: str
    ) -> None:
        done(local.post(f"{ADMIN}/teams", full, json={"team": "grouped"}), 201)
        since = chain(local)[0]
        made = done(local.post(f"{ADMIN}/groups", full, json={"group": "/a b/c", "team": "grouped"}), 201)
        refused(local.post(f"{ADMIN}/groups", full, json={"group": "/a b/c", "team": "grouped"}), 409, "already-exists")
        assert done(local.get(f"{ADMIN}/groups", bare))["groups"] == [made]
        assert (made["group"], made["team"], made["issuer"]) == ("/a b/c", "grouped", "")
        assert done(local.ask("DELETE", f"{ADMIN}/groups/{made['id']}", bare)) == made
        assert done(local.get(f"{ADMIN}/groups", bare))["groups"] == []
        mapped, unmapped = events(local, since)
        assert [mapped.action, unmapped.action] == ["team.map", "team.unmap"]
        assert [mapped.actor, unmapped.actor] == [f"token:{tokens.token_id(each)}" for each in (full, bare)]
        assert mapped.detail == {"group": "/a b/c", "issuer": ""}

    def test_audit_events_come_in_pages_that_follow_each_other(self, local: LocalRegistry, bare: str) -> None:
        size, value = chain(local)
        found: list[dict[str, Any]] = []
        while True:
            page = done(local.get(f"{ADMIN}/audit-events?since={len(found)}&limit=3", bare))
            assert (page["size"], page["hash"]) == (size, value)
            found += page["events"]
            if not page["events"]:
                break
        assert [event["position"] for event in found] == list(range(size))
        assert found[-1]["hash"] == value

    def test_accounts_and_tokens_come_in_pages_without_secrets(self, local: LocalRegistry, bare: str) -> None:
        local.member("page one")
        secret = local.token("acme", account=local.member("page two", acme="reader"))
        total = done(local.get(f"{ADMIN}/accounts?limit=1", bare))["total"]
        rows = [done(local.get(f"{ADMIN}/accounts?offset={n}&limit=1", bare))["accounts"][0] for n in range(total)]
        assert len({row["account"] for row in rows}) == total
        assert rows == done(local.get(f"{ADMIN}/accounts?limit=1000", bare))["accounts"]
        own = done(local.get(f"{ADMIN}/tokens?account=page%20two", bare))
        assert (own["total"], own["tokens"][0]["id"]) == (1, tokens.token_id(secret))
        everything = local.get(f"{ADMIN}/tokens?limit=1000", bare).text
        assert secret not in everything
        assert tokens.digest(secret) not in everything

    def test_a_page_of_accounts_takes_as_many_queries_as_one_account(self, local: LocalRegistry, bare: str) -> None:
        made = [local.member(f"many {number}", acme="reader") for number in range(3)]
        with database.change(local.service.engine) as connection:
            for number, account in enumerate(made):
                roles.create_team(connection, f"many{number}", now_text())
                roles.give(connection, "acme", "publisher", team=f"many{number}")
                roles.join(connection, f"many{number}", account)
            one_by_one = {each: (roles.of_account(connection, each), roles.teams_of(connection, each)) for each in made}
            with counted(connection) as first:
                roles.of_accounts(connection, made[:1])
            with counted(connection) as statements:
                held = roles.of_accounts(connection, made)
        assert len(statements) == len(first) == 2
        assert {each: (own.roles, list(own.teams)) for each, own in held.items()} == one_by_one
        assert held[made[0]].roles == (("acme", "publisher"),)  # the stronger of its own and its team's

    def test_who_sent_what_is_shown(self, local: LocalRegistry, acme: Publisher, bare: str) -> None:
        token = local.token("acme")
        assert local.publish(acme, "a/sent", token).status_code == 200
        rows = done(local.get(f"{ADMIN}/submissions?limit=1000", bare))["submissions"]
        assert (rows[-1]["token"], rows[-1]["address"]) == (tokens.token_id(token), "127.0.0.1")
        assert done(local.get(f"{ADMIN}/submissions?since={rows[-1]['position'] + 1}", bare)) == {"submissions": []}


class TestWhatIsRefused:
    @pytest.mark.parametrize(
        ("method", "path", "body", "status", "code"),
        [
            ("POST", "tokens", {"name": "n", "scopes": ["root"]}, 422, "invalid-value"),
            ("POST", "tokens", {"name": "n", "scopes": []}, 422, "invalid-value"),
            ("POST", "tokens", {"name": "n", "scopes": ["read"], "rank": 1}, 400, "bad-request"),
            ("POST", "tokens", {"name": "n", "scopes": "read"}, 400, "bad-request"),
            ("POST", "tokens", {"name": "n", "scopes": ["read"], "account": "nobody"}, 404, "no-such-entry"),
            ("POST", "tokens", {"name": "n", "scopes": ["read"], "account": "gone"}, 403, "account-disabled"),
            ("POST", "tokens", {"name": "n" * 20_000, "scopes": ["read"]}, 413, "request-too-large"),
            ("DELETE", "tokens/0123456789abcdef", None, 404, "no-such-entry"),
            ("POST", "accounts", {"name": "n", "namespace": "acme"}, 400, "bad-request"),
            ("POST", "accounts", {"name": "n", "role": "owner"}, 400, "bad-request"),
            ("POST", "accounts", {"name": "a\nb"}, 422, "invalid-value"),
            ("POST", "accounts", {"name": "gone"}, 403, "account-disabled"),
            ("PUT", "accounts/nobody/disabled", None, 404, "no-such-entry"),
            ("PUT", "roles/acme/accounts/gone", {"role": "emperor"}, 400, "bad-request"),
            ("PUT", "roles/Not%20One/accounts/gone", {"role": "reader"}, 422, "invalid-value"),
            ("PUT", "roles/acme/teams/none", {"role": "reader"}, 404, "no-such-entry"),
            ("PUT", "teams/none/members/gone", None, 404, "no-such-entry"),
            ("POST", "teams", {"team": "Not One"}, 422, "invalid-value"),
            ("POST", "groups", {"group": "platform", "team": "none"}, 404, "no-such-entry"),
            ("POST", "groups", {"group": "a\nb", "team": "none"}, 422, "invalid-value"),
            ("POST", "groups", {"group": ["platform"], "team": "none"}, 400, "bad-request"),
            ("POST", "groups", {"group": "platform", "team": "none", "issuer": "x"}, 400, "bad-request"),
            ("DELETE", "groups/none", None, 404, "no-such-entry"),
            ("POST", "webhooks", {"url": "https://127.0.0.1/"}, 422, "private-address"),
            ("POST", "webhooks", {"url": "http://hooks.example.com/"}, 422, "invalid-value"),
            ("DELETE", "webhooks/none", None, 404, "no-such-entry"),
            ("POST", "publishers", {**WORKFLOW, "issuer": "http://127.0.0.1/"}, 422, "invalid-value"),
            ("POST", "publishers", {**WORKFLOW, "scopes": ["claim"]}, 422, "invalid-value"),
            ("DELETE", "publishers/none", None, 404, "no-such-entry"),
            ("GET", "audit-events?limit=1001", None, 400, "bad-request"),
            ("GET", "tokens?offset=-1", None, 400, "bad-request"),
        ],
    )
    def test_a_bad_call_changes_nothing(
        self, local: LocalRegistry, full: str, gone: str, method: str, path: str, body: Any, status: int, code: str
    ) -> None:
        before = chain(local)
        refused(local.ask(method, f"{ADMIN}/{path}", full, json=body), status, code)
        assert chain(local) == before

    def test_a_field_that_stands_twice_is_refused(self, local: LocalRegistry, full: str) -> None:
        twice = b'{"name": "n", "scopes": ["read"], "scopes": ["publish"]}'
        refused(local.post(f"{ADMIN}/tokens", full, content=twice), 400, "bad-request")


@pytest.mark.parametrize(
    ("method", "path", "hint"),
    [
        ("GET", "/api/v1/admin/acounts", "Did you mean GET /api/v1/admin/accounts? "),
        ("POST", "/api/v1/admin/account", "Did you mean POST /api/v1/admin/accounts? "),
        (
            "PUT",
            "/api/v1/admin/team/web/member/alice",
            "Did you mean PUT /api/v1/admin/teams/{team}/members/{account}? ",
        ),
        ("GET", "/api/v1/admin/users", ""),
        ("GET", "/api/v1/admin", ""),
        ("GET", "/api/v1/admin/" + "a/" * 50, ""),
    ],
)
def test_a_call_that_there_is_not_names_the_near_one_and_the_list(
    local: LocalRegistry, method: str, path: str, hint: str
) -> None:
    answer = local.ask(method, path, json={})
    refused(answer, 404, "not-found")
    assert answer.json()["error"]["hint"] == f"{hint}GET /openapi.json describes every call."


def test_a_method_that_there_is_not_names_the_others(local: LocalRegistry) -> None:
    answer = local.ask("DELETE", "/api/v1/admin/teams", json={})
    refused(answer, 405, "method-not-allowed")
    assert answer.json()["error"]["hint"] == "Here: GET, POST. GET /openapi.json describes every call."


def test_a_long_wrong_path_costs_little(local: LocalRegistry) -> None:
    """Nobody is asked who they are before the hint is looked up."""
    began = time.process_time()
    for _ in range(20):
        hint_for_path(OPERATIONS, "GET", "/api/v1/admin/" + "/".join(["accountz" * 500] * 3))
        hint_for_path(OPERATIONS, "GET", "/api/v1/admin/" + "accounty/" * 2000)
    assert time.process_time() - began < 0.5


def test_the_commands_refuse_a_disabled_account_as_well(tmp_path: Path) -> None:
    data = str(tmp_path / "data")
    init(tmp_path / "data")
    run("account", "create", "alice", "--data", data)
    run("account", "disable", "alice", "--data", data)
    for words in (["token", "create", "ci", "--account", "alice"], ["account", "create", "alice"]):
        refusal = run(*words, "--data", data, "--json", check=False)
        assert (refusal.returncode, json.loads(refusal.stdout)["error"]["code"]) == (1, "account-disabled")


def test_a_misspelt_parameter_is_refused_and_every_described_one_is_known(local: LocalRegistry, bare: str) -> None:
    for one in ADMIN_OPERATIONS:
        path = re.sub(r"\{\w+\}", "acme", one.path)
        found = local.ask(one.method.upper(), f"{path}?acount=alice", bare, json={})
        assert (found.status_code, error_code(found)) == (400, "bad-request"), path
        for parameter in one.parameters:
            if parameter.place == "query":
                found = local.ask("GET", f"{path}?{parameter.name}=1", bare)
                assert "Unknown query parameter" not in found.text, (path, parameter.name)


def test_the_operator_s_page_names_every_call() -> None:
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "registry-access.md").read_text("utf-8")
    table = page.partition("### Administering over HTTP")[2].partition("\n## ")[0]
    named = set(re.findall(r"`(?:(?:GET|PUT|POST|DELETE) )?([a-z-]+(?:/[a-z{}]+)*)`", table))
    assert {one.path.removeprefix(f"{ADMIN}/") for one in ADMIN_OPERATIONS} <= named
