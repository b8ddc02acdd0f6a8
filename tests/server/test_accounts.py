"""Accounts, roles, scopes and the record of what was done (design/server.md 4), as an attacker with a token would try them."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from registry_server.accounts import audit_events, members, roles, tokens
from registry_server.accounts.times import now_text, read_span
from registry_server.storage import database
from registry_server.storage.schema import audit_events as events_table
from registry_server.storage.schema import metadata
from rye.errors import RyeError
from tests.scenes.local_registry import LocalRegistry
from tests.scenes.person import refusal
from tests.scenes.publisher import Publisher, error_code
from tests.scenes.registry_process import init, run

NOW = "2026-01-02T03:04:05Z"
LATER = "2026-01-09T03:04:05Z"


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[sa.Engine]:
    engine = database.engine_of(f"sqlite:///{tmp_path / 'registry.db'}")
    with database.change(engine) as connection:
        metadata.create_all(connection)
    yield engine
    engine.dispose()


def refused(answer: Any, status: int, code: str) -> None:
    assert (answer.status_code, error_code(answer)) == (status, code), answer.text


class TestTokens:
    def test_a_token_is_good_until_the_moment_that_it_expires(self, engine: sa.Engine) -> None:
        with database.change(engine) as connection:
            token = tokens.create(connection, "ci", [], NOW, seconds=7 * 86_400)
            assert tokens.check(connection, token, "2026-01-09T03:04:04Z") is not None
            assert tokens.check(connection, token, LATER) is None

    @pytest.mark.parametrize("text", ["", "7", "0d", "-1d", "7 d", "1y", "9999999d", "d", "٧d", "7d7d"])
    def test_a_span_of_time_that_is_none_is_refused(self, text: str) -> None:
        with pytest.raises(RyeError, match="not a duration"):
            read_span(text)

    def test_spans_of_time(self) -> None:
        assert [read_span(text) for text in ("30m", "12h", "7d", "4w", "never")] == [
            1800,
            43_200,
            604_800,
            2_419_200,
            None,
        ]

    def test_a_disabled_account_ends_its_tokens_sessions_and_links(self, engine: sa.Engine) -> None:
        with database.change(engine) as connection:
            alice = members.create(connection, "alice", NOW)
            token = tokens.create(connection, "ci", [], NOW, account=alice.id)
            session = members.open_session(connection, alice.id, NOW)
            link = members.make_link(connection, alice.id, NOW)
            assert tokens.check(connection, token, NOW) is not None
            members.disable(connection, alice.id, NOW)
            assert tokens.check(connection, token, NOW) is None
            assert members.session_member(connection, session, NOW) is None
            assert members.link_account(connection, link, NOW) is None

    def test_no_secret_of_any_kind_is_stored(self, engine: sa.Engine, tmp_path: Path) -> None:
        with database.change(engine) as connection:
            alice = members.create(connection, "alice", NOW)
            secrets = [
                tokens.create(connection, "ci", [], NOW)[-43:],
                members.open_session(connection, alice.id, NOW),
                members.make_link(connection, alice.id, NOW),
            ]
        stored = b"".join(path.read_bytes() for path in tmp_path.iterdir())
        assert not [secret for secret in secrets if secret.encode() in stored]

    def test_an_unknown_token_costs_a_comparison_as_a_known_one_does(self, monkeypatch: pytest.MonkeyPatch) -> None:
        compared: list[tuple[str, str]] = []

        def compare(one: str, other: str) -> bool:
            compared.append((one, other))
            return one == other

        monkeypatch.setattr("hmac.compare_digest", compare)
        assert not tokens.matches("rye_x", None)
        assert tokens.matches("rye_x", hashlib.sha256(b"rye_x").hexdigest())
        assert [len(one) == len(other) == 64 for one, other in compared] == [True, True]


class TestLinks:
    def test_a_link_signs_in_once(self, engine: sa.Engine) -> None:
        with database.change(engine) as connection:
            alice = members.create(connection, "alice", NOW)
            link = members.make_link(connection, alice.id, NOW)
            assert members.use_link(connection, link, NOW).id == alice.id
            with pytest.raises(RyeError, match="was used"):
                members.use_link(connection, link, NOW)

    def test_a_second_link_makes_the_first_worthless_and_a_link_expires(self, engine: sa.Engine) -> None:
        with database.change(engine) as connection:
            alice = members.create(connection, "alice", NOW)
            first = members.make_link(connection, alice.id, NOW)
            second = members.make_link(connection, alice.id, NOW)
            for link, when in ((first, NOW), (second, LATER), ("x", NOW)):
                with pytest.raises(RyeError, match="was used or has expired"):
                    members.use_link(connection, link, when)

    def test_a_person_of_an_issuer_is_one_account_and_cannot_take_over_a_name(self, engine: sa.Engine) -> None:
        with database.change(engine) as connection:
            alice = members.create(connection, "alice", NOW)
            other = members.of_issuer(connection, "https://id.example", "42", "alice", NOW)
            assert (other.name, other.id != alice.id) == ("alice-2", True)
            assert members.of_issuer(connection, "https://id.example", "42", "renamed", NOW) == other
            assert members.of_issuer(connection, "https://evil.example", "42", "alice", NOW).id != other.id


class TestRoles:
    def test_the_strongest_role_counts_and_a_team_gives_its_own(self, engine: sa.Engine) -> None:
        with database.change(engine) as connection:
            alice = members.create(connection, "alice", NOW).id
            roles.create_team(connection, "web", NOW)
            roles.join(connection, "web", alice)
            roles.give(connection, "acme", "reader", account=alice)
            roles.give(connection, "acme", "publisher", team="web")
            roles.give(connection, "other", "reader", team="web")
            assert roles.of_account(connection, alice) == (("acme", "publisher"), ("other", "reader"))
            token = tokens.create(connection, "ci", ["acme"], NOW, account=alice)
            found = tokens.check(connection, token, NOW)
            assert found is not None
            assert (found.may_write("acme"), found.may_write("other"), found.may_read("other")) == (True, False, False)
            roles.leave(connection, "web", alice)
            found = tokens.check(connection, token, NOW)
            assert found is not None
            assert not found.may_write("acme")

    def test_a_role_is_replaced_not_added(self, engine: sa.Engine) -> None:
        with database.change(engine) as connection:
            alice = members.create(connection, "alice", NOW).id
            roles.give(connection, "acme", "owner", account=alice)
            roles.give(connection, "acme", "reader", account=alice)
            assert roles.of_account(connection, alice) == (("acme", "reader"),)


class TestAuditEvents:
    @pytest.fixture
    def filled(self, engine: sa.Engine) -> sa.Engine:
        with database.change(engine) as connection:
            for number in range(4):
                audit_events.record(connection, NOW, "token.create", f"token:{number}", detail={"n": number})
            assert audit_events.problems(connection) == []
        return engine

    @pytest.mark.parametrize(
        "change",
        [
            "UPDATE audit_events SET actor = 'nobody' WHERE position = 1",
            "UPDATE audit_events SET detail = '{}' WHERE position = 2",
            "UPDATE audit_events SET time = '2020-01-01T00:00:00Z' WHERE position = 0",
            "DELETE FROM audit_events WHERE position = 0",
            "DELETE FROM audit_events WHERE position = 1",
            "DELETE FROM audit_events WHERE position = 3",
            "DELETE FROM audit_events",
            "UPDATE audit_events SET position = position + 10 WHERE position = 3",
            "DELETE FROM audit_head",
        ],
    )
    def test_a_row_that_was_changed_or_removed_is_found(self, filled: sa.Engine, change: str) -> None:
        with database.change(filled) as connection:
            connection.exec_driver_sql(change)
            assert len(audit_events.problems(connection)) == 1

    def test_a_row_that_was_changed_together_with_its_hash_is_found_at_the_next(self, filled: sa.Engine) -> None:
        with database.change(filled) as connection:
            row = dict(connection.execute(sa.select(events_table).where(events_table.c.position == 1)).one()._mapping)
            row["actor"] = "nobody"
            del row["hash"]
            change = {"actor": "nobody", "hash": audit_events._hash(row)}
            connection.execute(events_table.update().where(events_table.c.position == 1).values(change))
            assert audit_events.problems(connection) == ["audit event 2 does not follow the one before it"]


class TestAuthority:
    def test_a_token_of_one_namespace_sends_nothing_to_another(self, local: LocalRegistry, acme: Publisher) -> None:
        other = Publisher("stranger")
        refused(local.statements(local.token("acme"), other.claim()), 403, "wrong-namespace")
        refused(local.publish(acme, "a/stolen", local.token("stranger")), 403, "wrong-namespace")

    @pytest.mark.parametrize("scope", ["read", "stage", "yank", "claim", "admin"])
    def test_no_other_scope_publishes(self, local: LocalRegistry, acme: Publisher, scope: str) -> None:
        data = acme.file("a/scoped")
        assert local.blob(data, local.token()).status_code in (200, 201)
        note = acme.note(acme.release("a/scoped", data))
        refused(local.statements(local.token(scopes=[scope]), note), 403, "insufficient-scope")

    @pytest.mark.parametrize("scope", ["read", "yank", "claim", "admin"])
    def test_who_may_not_publish_or_stage_uploads_nothing(self, local: LocalRegistry, scope: str) -> None:
        refused(local.blob(b"x", local.token(scopes=[scope])), 403, "insufficient-scope")

    def test_a_token_for_publishing_neither_yanks_nor_claims(self, local: LocalRegistry, acme: Publisher) -> None:
        token = local.token(scopes=["publish"])
        assert local.publish(acme, "a/one", token).status_code == 200
        refused(local.statements(token, acme.yank("a/one")), 403, "insufficient-scope")
        refused(local.statements(token, Publisher("fresh").claim()), 403, "insufficient-scope")
        data = acme.file("a/two")
        mixed = [acme.note(acme.release("a/two", data)), acme.yank("a/one")]
        assert local.blob(data, token).status_code == 201
        refused(local.statements(token, *mixed), 403, "insufficient-scope")  # all or none

    def test_an_expired_and_a_revoked_token_are_unknown(self, local: LocalRegistry) -> None:
        ended = local.token(seconds=-1)
        revoked = local.token()
        with database.change(local.service.engine) as connection:
            tokens.revoke(connection, revoked, now_text())
        for token in (ended, revoked, "rye_" + "0" * 16 + "_" + "A" * 43):
            refused(local.get("/api/v1/whoami", token), 401, "unauthorized")
            refused(local.blob(b"x", token), 401, "unauthorized")

    @pytest.mark.parametrize(("role", "status"), [("owner", 200), ("publisher", 200), ("reader", 403)])
    def test_an_account_s_token_may_what_its_role_may(
        self, local: LocalRegistry, acme: Publisher, role: str, status: int
    ) -> None:
        token = local.token(account=local.member(f"a-{role}", acme=role))
        assert local.publish(acme, f"roles/{role}", token).status_code == status

    def test_an_account_without_a_role_publishes_nothing_whatever_its_token_says(
        self, local: LocalRegistry, acme: Publisher
    ) -> None:
        token = local.token("acme", account=local.member("nobody"))
        refused(local.publish(acme, "a/mine", token), 403, "wrong-namespace")

    def test_who_claims_a_namespace_owns_it_and_who_replays_the_claim_does_not(self, local: LocalRegistry) -> None:
        first, thief = local.member("first"), local.member("thief")
        mine = Publisher("mine")
        assert local.statements(local.token(account=first), mine.claim()).status_code == 200
        again = local.statements(local.token(account=thief), mine.claim())
        assert again.status_code == 403
        with database.reader(local.service.engine) as connection:
            assert roles.of_account(connection, first) == (("mine", "owner"),)
            assert roles.of_account(connection, thief) == ()

    def test_a_claim_that_is_a_duplicate_of_ones_own_counts_once(
        self, local: LocalRegistry, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The process that appended it ended before it answered, and the batch was appended again."""
        first, thief = local.member("late"), local.member("late-thief")
        work, claimed = local.service.sequencer.work, local.service.claimed
        told: list[Any] = []

        def work_twice(requests: Any, senders: Any) -> Any:
            work(requests, senders)
            return work(requests, senders)

        def held(account: str) -> tuple[tuple[str, str], ...]:
            with database.reader(local.service.engine) as connection:
                return roles.of_account(connection, account)

        monkeypatch.setattr(local.service.sequencer, "work", work_twice)
        monkeypatch.setattr(local.service, "claimed", lambda *asked: told.append(asked))
        answer = local.statements(local.token(account=first), Publisher("late").claim())
        assert answer.json()["results"][0]["duplicate"] is True
        ((account, *rest),) = told
        claimed(replace(account, account=thief), *rest)
        assert held(thief) == ()
        claimed(account, *rest)
        assert held(first) == (("late", "owner"),)
        with database.change(local.service.engine) as connection:
            roles.take(connection, "late", account=first)
        claimed(account, *rest)
        assert held(first) == ()

    def test_the_last_use_is_noted_and_who_sent_an_entry_is_known(self, local: LocalRegistry, acme: Publisher) -> None:
        alice = local.member("alice", acme="publisher")
        token = local.token(account=alice)
        position = local.publish(acme, "a/traced", token).json()["results"][0]["log"]
        deadline = time.monotonic() + 30
        used = None
        while used is None and time.monotonic() < deadline:
            with database.reader(local.service.engine) as connection:
                used = next(one.last_used for one in tokens.listing(connection, alice))
        assert used is not None
        with sqlite3.connect(local.data / "registry.db") as connection_:
            row = connection_.execute(
                "SELECT token, account, address FROM submissions WHERE position = ?", (position,)
            ).fetchone()
        connection_.close()
        assert row == (token.split("_")[1], alice, "127.0.0.1")

    def test_many_tokens_of_an_account_have_one_share(self, local: LocalRegistry) -> None:
        member = local.member("many")
        bound, unbound = ([local.token(account=who) for _ in range(2)] for who in (member, None))
        with database.reader(local.service.engine) as connection:
            own, free = ([tokens.check(connection, token) for token in some] for some in (bound, unbound))
        assert len({one.owner for one in own if one is not None}) == 1
        assert len({one.owner for one in free if one is not None}) == 2

    def test_whoami_tells_scopes_and_expiry(self, local: LocalRegistry) -> None:
        document = local.get("/api/v1/whoami", local.token("acme", scopes=["read"])).json()
        assert (document["namespaces"], document["scopes"]) == (["acme"], ["read"])
        assert document["expires"] > now_text()

    def test_whoami_names_the_account_to_who_asks_and_to_no_one_else(self, local: LocalRegistry) -> None:
        """Clients from before refuse an answer with a member that they do not know."""
        token = local.token(account=local.member("person"))
        assert local.get("/api/v1/whoami?account=1", token).json()["account"] == "person"
        assert "account" not in local.get("/api/v1/whoami", token).json()
        assert "account" not in local.get("/api/v1/whoami?account=0", token).json()
        assert "account" not in local.get("/api/v1/whoami?account=1", local.token("acme")).json()
        refused(local.get("/api/v1/whoami?account=yes", token), 400, "bad-request")


class TestCommands:
    @pytest.fixture(scope="class")
    @staticmethod
    def data(tmp_path_factory: pytest.TempPathFactory) -> str:
        data = tmp_path_factory.mktemp("registry") / "data"
        init(data)
        return str(data)

    def test_tokens_have_scopes_an_end_and_a_last_use(self, data: str) -> None:
        words = ("--scope", "read", "--scope", "stage,publish", "--namespace", "acme", "--expires", "7d")
        made = json.loads(run("token", "create", "ci", *words, "--data", data, "--json").stdout)
        assert made["scopes"] == ["read", "publish", "stage"]
        rows = json.loads(run("token", "list", "--data", data, "--json").stdout)["tokens"]
        row = next(row for row in rows if row["id"] == made["id"])
        assert row["expires"] == made["expires"] > now_text()
        assert row["last_used"] is None
        assert row["namespaces"] == ["acme"]
        assert made["token"] not in json.dumps(rows)

    def test_ninety_days_unless_said_otherwise_and_never_on_request(self, data: str) -> None:
        made = json.loads(run("token", "create", "--data", data, "--json").stdout)
        assert made["scopes"] == ["read", "publish", "stage", "yank", "claim"]
        assert int(made["expires"][:4]) in (int(made["created"][:4]), int(made["created"][:4]) + 1)
        assert (
            json.loads(run("token", "create", "--expires", "never", "--data", data, "--json").stdout)["expires"] is None
        )

    @pytest.mark.parametrize(
        ("words", "code"),
        [
            (["--scope", "root"], "invalid-value scope"),
            (["--expires", "soon"], "invalid-value time span"),
            (["--account", "nobody"], "no-such-entry account"),
            (["--namespace", "Not One"], "invalid-value namespace"),
        ],
    )
    def test_what_is_no_scope_or_span_is_refused(self, data: str, words: list[str], code: str) -> None:
        done = run("token", "create", *words, "--data", data, "--json", check=False)
        assert (done.returncode, refusal(json.loads(done.stdout)["error"])) == (1, code)

    def test_accounts_teams_and_roles_from_beginning_to_end(self, data: str) -> None:
        made = json.loads(
            run(
                "account", "create", *("bob", "--namespace", "acme", "--role", "publisher", "--data", data, "--json")
            ).stdout
        )
        assert made["link"].startswith("http://127.0.0.1:8420/-/account/")
        run("team", "create", "web", "--data", data)
        run("team", "add", "web", "bob", "--data", data)
        run("role", "add", "site", "--team", "web", "--role", "owner", "--data", data)
        (bob,) = json.loads(run("account", "list", "--data", data, "--json").stdout)["accounts"]
        assert bob["roles"] == [{"namespace": "acme", "role": "publisher"}, {"namespace": "site", "role": "owner"}]
        assert json.loads(run("team", "list", "--data", data, "--json").stdout)["teams"] == [
            {"team": "web", "members": ["bob"]}
        ]
        run("role", "remove", "acme", "--account", "bob", "--data", data)
        run("team", "delete", "web", "--data", data)
        assert json.loads(run("role", "list", "--data", data, "--json").stdout)["roles"] == []
        assert run("role", "add", "acme", "--role", "owner", "--data", data, check=False).returncode == 2
        run("account", "disable", "bob", "--data", data)
        assert json.loads(run("account", "list", "--data", data, "--json").stdout)["accounts"][0]["disabled"]

    def test_every_change_is_an_event_and_a_changed_event_is_found_by_both_verifications(self, data: str) -> None:
        run("account", "create", "carol", "--data", data)
        run("token", "create", *("ci", "--namespace", "acme", "--scope", "read", "--scope", "stage", "--data", data))
        assert "  namespaces=acme  scopes=read,stage\n" in run("audit-events", "list", "--data", data).stdout
        events = json.loads(run("audit-events", "list", "--data", data, "--json").stdout)["events"]
        assert [event["position"] for event in events] == list(range(len(events)))
        assert "account.create" in {event["action"] for event in events}
        assert json.loads(run("audit-events", "verify", "--data", data, "--json").stdout)["ok"]
        with sqlite3.connect(Path(data) / "registry.db") as connection:
            connection.execute("UPDATE audit_events SET subject = 'x' WHERE position = 0")
        connection.close()
        for command in (("audit-events", "verify"), ("verify",)):
            done = run(*command, "--data", data, "--json", check=False)
            assert done.returncode == 1
            assert any("audit event 0" in problem for problem in json.loads(done.stdout)["problems"])


def test_a_backup_brings_accounts_roles_tokens_and_events_back(tmp_path: Path) -> None:
    data, copy, fresh = (str(tmp_path / name) for name in ("data", "copy", "fresh"))
    init(Path(data))
    run("account", "create", "alice", "--namespace", "acme", "--role", "owner", "--data", data)
    run("team", "create", "web", "--data", data)
    run("team", "add", "web", "alice", "--data", data)
    run("role", "add", "site", "--team", "web", "--role", "reader", "--data", data)
    run("token", "create", "ci", "--account", "alice", "--scope", "read", "--data", data)
    run("backup", copy, "--data", data)
    run("restore", "--from", copy, "--data", fresh)
    for words in (("account", "list"), ("team", "list"), ("role", "list"), ("token", "list"), ("audit-events", "list")):
        assert run(*words, "--data", data, "--json").stdout == run(*words, "--data", fresh, "--json").stdout, words
    run("role", "add", "other", "--account", "alice", "--role", "reader", "--data", fresh)
    assert json.loads(run("audit-events", "verify", "--data", fresh, "--json").stdout)["ok"]
