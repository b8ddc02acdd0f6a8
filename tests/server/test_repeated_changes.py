"""What an operator asks for twice is done once: the same answer, and no second audit event."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from registry_server.accounts import administration, audit_events, members, tokens
from registry_server.accounts.administration import By
from registry_server.migrations import opening
from registry_server.storage import database
from registry_server.storage.schema import metadata
from tests.scenes.local_registry import LocalRegistry
from tests.scenes.registry_process import init, run

BY = By("2026-01-02T03:04:05Z")


@pytest.fixture(params=["sqlite", "postgresql"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[sa.Engine]:
    if request.param == "sqlite":
        made = database.engine_of(f"sqlite:///{tmp_path / 'registry.db'}")
        with database.change(made) as connection:
            metadata.create_all(connection)
    else:
        made = opening.connect(request.getfixturevalue("empty"))
    yield made
    made.dispose()


def actions(engine: sa.Engine) -> list[str]:
    with database.reader(engine) as connection:
        assert audit_events.problems(connection) == []
        return [event.action for event in audit_events.listing(connection, 0, 100)]


def test_a_change_that_changes_nothing_is_no_event(engine: sa.Engine) -> None:
    with database.change(engine) as connection:
        alice = administration.invite(connection, "alice", None, "", BY).member.id
        administration.create_team(connection, "web", BY)
        team = administration.holder(connection, None, "web")
        person = administration.holder(connection, alice, None)
        _, token = administration.create_token(connection, "ci", ["read"], [], None, None, BY)
    asked = []
    for _ in range(2):
        with database.change(engine) as connection:
            asked.append(
                [
                    administration.join_team(connection, "web", alice, BY)[1],
                    administration.give_role(connection, "acme", "reader", team, BY),
                    administration.give_role(connection, "acme", "reader", person, BY),
                    administration.revoke_token(connection, token.token, BY)[1],
                    administration.disable_account(connection, "alice", BY)[1],
                ]
            )
    for _ in range(2):
        with database.change(engine) as connection:
            asked.append(
                [
                    administration.take_role(connection, "acme", person, BY),
                    administration.leave_team(connection, "web", alice, BY)[1],
                ]
            )
    assert asked == [[True] * 5, [False] * 5, [True] * 2, [False] * 2]
    assert actions(engine) == [
        "account.create", "team.create", "token.create",
        "team.add", "role.add", "role.add", "token.revoke", "account.disable",
        "role.remove", "team.remove",
    ]  # fmt: skip


def test_an_enabled_account_has_its_roles_again_and_no_token_or_session(engine: sa.Engine) -> None:
    with database.change(engine) as connection:
        alice = administration.invite(connection, "alice", "acme", "owner", BY).member
        assert not administration.enable_account(connection, "alice", BY)[1]
        token, _ = administration.create_token(connection, "ci", ["publish"], [], None, "alice", BY)
        session = members.open_session(connection, alice.id, BY.now)
        administration.disable_account(connection, "alice", BY)
        late = tokens.create(connection, "of a request that was slow", [], BY.now, account=alice.id)
        link = members.make_link(connection, alice.id, BY.now)
        enabled, changed = administration.enable_account(connection, "alice", BY)
        assert changed
        assert enabled.disabled is None
        assert [tokens.check(connection, each, BY.now) for each in (token, late)] == [None, None]
        assert members.session_member(connection, session, BY.now) is None
        assert members.link_account(connection, link, BY.now) is None
        fresh, _ = administration.create_token(connection, "ci", ["publish"], [], None, "alice", BY)
        found = tokens.check(connection, fresh, BY.now)
        assert found is not None
        assert found.may_write("acme")
    assert actions(engine) == [
        "account.create", "token.create", "account.disable", "account.enable", "token.create",
    ]  # fmt: skip


def test_another_role_is_a_change_and_so_is_the_same_one_elsewhere(engine: sa.Engine) -> None:
    with database.change(engine) as connection:
        administration.create_team(connection, "web", BY)
        team = administration.holder(connection, None, "web")
        given = [("acme", "reader"), ("acme", "owner"), ("site", "owner"), ("acme", "reader")]
        assert [administration.give_role(connection, namespace, role, team, BY) for namespace, role in given] == [
            True
        ] * 4
    assert actions(engine).count("role.add") == 4


def test_revoking_again_still_revokes_what_descends_from_the_token(engine: sa.Engine) -> None:
    with database.change(engine) as connection:
        _, first = administration.create_token(connection, "one", ["admin"], [], None, None, BY)
        assert administration.revoke_token(connection, first.token, BY)[1]
        late = By(BY.now, f"token:{first.token}")
        administration.create_token(connection, "two", ["read"], [], None, None, late)
        assert administration.revoke_token(connection, first.token, BY)[1]
        assert not administration.revoke_token(connection, first.token, BY)[1]
    assert actions(engine).count("token.revoke") == 2


def test_the_commands_say_that_nothing_changed(tmp_path: Path) -> None:
    data = str(tmp_path / "data")
    init(tmp_path / "data")
    run("account", "create", "alice", "--data", data)
    run("team", "create", "web", "--data", data)
    for words, said in (
        (("team", "add", "web", "alice"), "alice was already in web; nothing changed.\n"),
        (("role", "add", "acme", "--team", "web", "--role", "owner"), "team web was already owner of acme; nothing changed.\n"),
        (("team", "remove", "web", "alice"), "alice was not in web; nothing changed.\n"),
        (("account", "disable", "alice"), "alice was already disabled; nothing changed.\n"),
        (("account", "enable", "alice"), "alice is not disabled; nothing changed.\n"),
    ):  # fmt: skip
        assert run(*words, "--data", data).stdout != said
        assert run(*words, "--data", data).stdout == said
        assert '"changed": false' in run(*words, "--data", data, "--json").stdout


def test_a_repeated_call_answers_the_same(tmp_path: Path) -> None:
    local = LocalRegistry(tmp_path / "data")
    try:
        operator = local.token(scopes=["admin", "read"])
        local.member("alice")
        path = "/api/v1/admin/roles/acme/accounts/alice"
        answers = [local.ask("PUT", path, operator, json={"role": "reader"}) for _ in range(2)]
        assert [answer.status_code for answer in answers] == [200, 200]
        assert answers[0].content == answers[1].content
        assert actions(local.service.engine).count("role.add") == 1
    finally:
        local.close()
