"""Groups of the identity provider are teams: through sign-in, and through a list of who is still there."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import httpx
import pytest
import sqlalchemy as sa

from registry_server.accounts import audit_events, directory_list, groups, members, roles, tokens
from registry_server.accounts.administration import By
from registry_server.accounts.groups import TeamMoves
from registry_server.accounts.members import AccountMember
from registry_server.accounts.times import after, now_text
from registry_server.migrations import opening
from registry_server.storage import database, schema
from rye.errors import RyeError
from tests.scenes.effort import rest_thorough
from tests.scenes.local_registry import LocalRegistry
from tests.scenes.registry_process import init, run

ISSUER = "https://id.example.org"
EARLIER, NOW, LATER = "2026-01-02T03:04:04Z", "2026-01-02T03:04:05Z", "2026-01-02T03:04:06Z"
DAYS = 86_400


@pytest.fixture
def db() -> Iterator[sa.Connection]:
    engine = sa.create_engine("sqlite://")
    schema.metadata.create_all(engine)
    with engine.connect() as connection:
        roles.create_team(connection, "web", NOW)
        roles.create_team(connection, "ops", NOW)
        yield connection
    engine.dispose()


def person(db: sa.Connection, name: str, issuer: str = ISSUER, now: str = EARLIER) -> AccountMember:
    return members.of_issuer(db, issuer, name, name, now)


def code_of(call: Any, *given: Any) -> str:
    with pytest.raises(RyeError) as raised:
        call(*given)
    return raised.value.code


class TestMembership:
    def test_it_follows_the_groups_and_leaves_alone_who_was_added_by_hand(self, db: sa.Connection) -> None:
        alice, bob = person(db, "alice"), person(db, "bob")
        groups.map_group(db, ISSUER, "frontend", "web", NOW)
        groups.map_group(db, ISSUER, "platform", "web", NOW)
        groups.map_group(db, ISSUER, "platform", "ops", NOW)
        roles.join(db, "ops", alice.id)
        assert groups.move(db, alice, ["platform", "unmapped"], NOW) == TeamMoves(("web",))
        assert groups.move(db, alice, ["platform", "frontend"], NOW) == TeamMoves()
        assert roles.of_accounts(db, [alice.id])[alice.id].teams == ("ops", "web")
        assert (roles.teams_of(db, bob.id), roles.team_listing(db)) == ([], {"ops": ["alice"], "web": ["alice"]})
        assert groups.move(db, alice, ["frontend"], NOW) == TeamMoves()
        assert groups.move(db, alice, [], NOW) == TeamMoves(left=("web",))
        assert roles.teams_of(db, alice.id) == ["ops"]

    def test_leaving_by_hand_does_not_end_what_a_group_gives(self, db: sa.Connection) -> None:
        alice = person(db, "alice")
        groups.map_group(db, ISSUER, "platform", "ops", NOW)
        roles.join(db, "ops", alice.id)
        groups.move(db, alice, ["platform"], NOW)
        assert (roles.leave(db, "ops", alice.id), roles.leave(db, "ops", alice.id)) == (True, False)
        assert (roles.teams_of(db, alice.id), groups.behind(db, "ops", alice.id)) == (["ops"], ["platform"])

    def test_a_group_that_is_taken_out_of_a_team_takes_everyone_along_whom_it_brought(self, db: sa.Connection) -> None:
        alice, bob, other = person(db, "alice"), person(db, "bob"), person(db, "x", "https://other.example")
        mapped = groups.map_group(db, ISSUER, "platform", "ops", NOW)
        groups.map_group(db, "https://other.example", "platform", "ops", NOW)
        for each in (alice, bob, other):
            groups.move(db, each, ["platform"], NOW)
        roles.join(db, "ops", bob.id)
        assert sorted(groups.unmap(db, mapped)) == sorted([alice.id, bob.id])
        assert roles.members_of(db, "ops") == ["bob", "x"]
        assert code_of(groups.named, db, ISSUER, "platform", "ops") == "no-such-entry"

    def test_a_deleted_team_takes_its_groups_along(self, db: sa.Connection) -> None:
        alice = person(db, "alice")
        groups.map_group(db, ISSUER, "platform", "ops", NOW)
        groups.move(db, alice, ["platform"], NOW)
        roles.delete_team(db, "ops")
        roles.create_team(db, "ops", NOW)
        assert (groups.listing(db), groups.move(db, alice, ["platform"], LATER)) == ([], TeamMoves())

    def test_what_was_written_earlier_changes_nothing(self, db: sa.Connection) -> None:
        """The group is removed; the sign-in that began before ends later, at another server."""
        alice = person(db, "alice")
        groups.map_group(db, ISSUER, "platform", "ops", NOW)
        assert groups.move(db, alice, ["platform"], EARLIER) == TeamMoves(("ops",))
        assert groups.move(db, alice, [], NOW) == TeamMoves(left=("ops",))
        assert groups.move(db, alice, ["platform"], EARLIER) is None
        assert roles.teams_of(db, alice.id) == []
        assert groups.move(db, alice, ["platform"], NOW) == TeamMoves(("ops",))


class TestAttacks:
    @pytest.mark.parametrize(
        "claim",
        [
            "platform",
            '["platform"]',
            {"platform": True},
            ["platform", 1],
            ["platform", None],
            [["platform"]],
            None,
            True,
        ],
        ids=repr,
    )
    def test_only_a_list_of_texts_is_a_claim(self, claim: Any) -> None:
        assert groups.in_claims({"groups": claim}, "groups") == frozenset()
        assert groups.in_claims({"roles": ["platform"]}, "groups") == frozenset()
        assert groups.in_claims({"groups": ["platform"]}, "groups") == {"platform"}  # the control

    @pytest.mark.parametrize(
        "alike",
        ["Platform", "platform ", " platform", "platf\u043erm", "platform\u200b", "plat\u00adform", "platform\0", "p"],
        ids=ascii,
    )
    def test_a_group_that_only_looks_like_another_gives_nothing(self, db: sa.Connection, alike: str) -> None:
        alice = person(db, "alice")
        groups.map_group(db, ISSUER, "platform", "ops", NOW)
        assert groups.move(db, alice, [alike], NOW) == TeamMoves()
        assert groups.move(db, alice, [alike, "platform"], NOW) == TeamMoves(("ops",))  # the control

    @pytest.mark.parametrize("group", ["", " a", "a ", "a\nb", "a\0", "x\u200b", "e\u0301", "x" * 401], ids=ascii)
    def test_a_group_whose_name_cannot_be_seen_is_in_no_team(self, db: sa.Connection, group: str) -> None:
        assert code_of(groups.map_group, db, ISSUER, group, "ops", NOW) == "invalid-value"
        for good in ("/a/b c", "CN=Platform,OU=x", "é", "x" * 400):
            groups.map_group(db, ISSUER, good, "ops", NOW)

    def test_a_group_of_another_issuer_gives_nothing(self, db: sa.Connection) -> None:
        groups.map_group(db, ISSUER, "platform", "ops", NOW)
        evil, local = person(db, "e", "https://evil.example"), members.create(db, "local", NOW)
        assert groups.move(db, evil, ["platform"], NOW) == groups.move(db, local, ["platform"], NOW) == TeamMoves()
        assert groups.move(db, person(db, "alice"), ["platform"], NOW) == TeamMoves(("ops",))

    def test_ten_thousand_groups_cost_a_few_statements(self, db: sa.Connection) -> None:
        alice = person(db, "alice")
        for group in ("g7", "g9999"):
            groups.map_group(db, ISSUER, group, "ops", NOW)
        ran: list[str] = []
        sa.event.listen(db, "before_cursor_execute", lambda *given: ran.append(given[2]))
        assert groups.move(db, alice, [f"g{number}" for number in range(10_000)], NOW) == TeamMoves(("ops",))
        assert len(ran) < 8

    def test_a_group_that_is_taken_away_during_a_sign_in_leaves_nobody_behind(self, empty: str) -> None:
        """PostgreSQL: whoever holds the mapping ends first, and the removal sees whom it brought."""
        engine = opening.connect(empty)
        with database.change(engine) as connection:
            roles.create_team(connection, "ops", NOW)
            mapped = groups.map_group(connection, ISSUER, "platform", "ops", NOW)
            alice = person(connection, "alice")
        moved = threading.Event()

        def sign_in() -> None:
            with database.change(engine) as connection:
                groups.move(connection, alice, ["platform"], NOW)
                moved.set()
                connection.execute(sa.text("SELECT pg_sleep(0.5)"))

        def take() -> list[str]:
            moved.wait(10)
            with database.change(engine) as connection:
                return groups.unmap(connection, mapped)

        with ThreadPoolExecutor(2) as threads:
            entered, taken = threads.submit(sign_in), threads.submit(take)
            entered.result(20)
            assert taken.result(20) == [alice.id]
        with database.reader(engine) as connection:
            assert roles.teams_of(connection, alice.id) == []
        engine.dispose()


def written(time: str, *listed: tuple[str, list[str]], issuer: str = ISSUER, **changes: Any) -> bytes:
    rows = [{"subject": subject, "groups": own} for subject, own in listed]
    return json.dumps(
        {"format": "rye.accounts/v1", "issuer": issuer, "time": time, "accounts": rows, **changes}
    ).encode()


class TestList:
    def sync(self, db: sa.Connection, data: bytes, now: str = LATER, most: int | None = 100) -> None:
        planned = directory_list.plan(db, data, now)
        directory_list.check_share(planned, most)
        directory_list.carry_out(db, planned, By(now))

    def test_who_is_not_listed_is_disabled_and_the_others_move(self, db: sa.Connection) -> None:
        alice, bob, carol = (person(db, name) for name in ("alice", "bob", "carol"))
        other, local = person(db, "other", "https://other.example"), members.create(db, "local", EARLIER)
        groups.map_group(db, ISSUER, "platform", "ops", NOW)
        for each in (alice, bob):
            groups.move(db, each, ["platform"], EARLIER)
        of_bob = tokens.create(db, "ci", [], EARLIER, account=bob.id)
        session = members.open_session(db, bob.id, EARLIER)
        self.sync(db, written(NOW, ("alice", []), ("carol", ["platform"]), ("never-signed-in", ["platform"])))
        assert (roles.teams_of(db, alice.id), roles.teams_of(db, bob.id), roles.teams_of(db, carol.id)) == (
            [], [], ["ops"],
        )  # fmt: skip
        states = {each.name: each.disabled is not None for each in members.listing(db)}
        assert states == {"alice": False, "bob": True, "carol": False, other.name: False, local.name: False}
        assert tokens.check(db, of_bob, LATER) is None
        assert members.session_member(db, session, LATER) is None
        done = [(event.action, event.detail.get("left")) for event in audit_events.listing(db)]
        assert ("account.groups", ["ops"]) in done
        assert [action for action, _ in done].count("account.disable") == 1
        assert done[-1][0] == "account.sync"

    def test_a_list_of_an_older_day_brings_nobody_back(self, db: sa.Connection) -> None:
        alice = person(db, "alice", now="2026-01-01T00:00:00Z")
        groups.map_group(db, ISSUER, "platform", "ops", NOW)
        old, new = written(EARLIER, ("alice", ["platform"])), written(NOW, ("alice", []))
        self.sync(db, old)
        assert roles.teams_of(db, alice.id) == ["ops"]  # the control
        self.sync(db, new)
        assert code_of(self.sync, db, old) == "account-list-old"
        self.sync(db, new)  # the same one again is no harm
        assert roles.teams_of(db, alice.id) == []
        assert code_of(self.sync, db, new, after(NOW, DAYS + 1)) == "account-list-old"
        assert code_of(self.sync, db, written(after(LATER, 700)), LATER) == "account-list-old"

    def test_who_signed_in_after_the_list_was_written_is_left_alone(self, db: sa.Connection) -> None:
        early, late = person(db, "early", now="2026-01-01T00:00:00Z"), person(db, "late", now=LATER)
        back = person(db, "back", now="2026-01-01T00:00:00Z")
        groups.map_group(db, ISSUER, "platform", "ops", NOW)
        groups.move(db, back, [], LATER)
        self.sync(db, written(NOW, ("back", ["platform"])))
        assert [each.name for each in members.listing(db) if each.disabled] == ["early"]
        assert roles.teams_of(db, back.id) == []
        assert (early.disabled, late.disabled) == (None, None)

    def test_an_empty_list_and_half_a_list_are_refused_as_a_whole(self, db: sa.Connection) -> None:
        everyone = [person(db, f"p{number}").name for number in range(40)]
        groups.map_group(db, ISSUER, "platform", "ops", NOW)
        self.sync(db, written(NOW, *((name, ["platform"]) for name in everyone)), most=None)
        half = [(name, ["platform"]) for name in everyone[:20]]
        nobody: list[str] = []
        for listed in ([], half, [(name, nobody) for name in everyone]):
            assert code_of(self.sync, db, written(NOW, *listed), LATER, None) == "account-list-short"
        assert not any(each.disabled for each in members.listing(db))
        few = [(name, ["platform"]) for name in everyone[:36]]
        self.sync(db, written(NOW, *few), most=None)
        assert sum(each.disabled is not None for each in members.listing(db)) == 4
        assert code_of(self.sync, db, written(NOW, *half), LATER, 15) == "account-list-short"
        self.sync(db, written(NOW, *half), most=16)

    def test_who_is_disabled_and_listed_stays_disabled(self, db: sa.Connection) -> None:
        alice = person(db, "alice")
        members.disable(db, alice.id, EARLIER)
        planned = directory_list.plan(db, written(NOW, ("alice", [])), LATER)
        directory_list.carry_out(db, planned, By(LATER))
        assert [each.name for each in planned.still_disabled] == ["alice"]
        assert members.get(db, alice.id).disabled is not None

    @pytest.mark.parametrize(
        "data",
        [
            b"",
            b"[]",
            written("yesterday"),
            written(NOW, ("alice", []), ("alice", [])),
            written(NOW, extra=1),
            written(NOW, format="rye.accounts/v2"),
            written(NOW, accounts=[{"subject": "alice"}]),
            written(NOW, accounts=[{"subject": "alice", "groups": "platform"}]),
            written(NOW, accounts=[{"subject": "alice", "groups": [], "admin": True}]),
            written(NOW)[:-1],
            b'{"issuer": "x", ' + written(NOW)[1:],
            written(NOW) + b" " * directory_list.LIST_BYTES,
        ],
        ids=range(12),
    )
    def test_anything_else_is_no_list(self, data: bytes) -> None:
        assert code_of(directory_list.read, data) == "account-list-malformed"
        assert directory_list.read(written(NOW)).accounts == []  # the control

    def test_a_list_of_an_issuer_that_nobody_is_from_is_refused(self, db: sa.Connection) -> None:
        person(db, "alice")
        assert code_of(self.sync, db, written(NOW, issuer="https://other.example")) == "no-such-entry"

    def test_a_list_of_the_operators_own_accounts_names_them_by_their_id(self, db: sa.Connection) -> None:
        alice, bob = members.create(db, "alice", EARLIER), person(db, "bob")
        groups.map_group(db, "", "platform", "ops", NOW)
        self.sync(db, written(NOW, (alice.id, ["platform"]), issuer=""))
        assert (roles.teams_of(db, alice.id), members.get(db, bob.id).disabled) == (["ops"], None)


@pytest.mark.processes
class TestSignIn:
    @pytest.fixture(scope="class")
    @staticmethod
    def issuer() -> Iterator[str]:
        mock = pytest.importorskip("oidc_provider_mock")
        with mock.run_server_in_thread() as server:
            yield f"http://localhost:{server.server_port}"

    @pytest.fixture(scope="class")
    @staticmethod
    def club(issuer: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalRegistry]:
        data = tmp_path_factory.mktemp("groups") / "data"
        init(data)
        (data / "oidc.secret").touch(0o600)
        (data / "oidc.secret").write_text("sesame\n")
        settings = f'oidc_issuer = "{issuer}"\noidc_client_id = "rye"\noidc_client_secret_file = "oidc.secret"\n'
        with LocalRegistry(data, settings, make=False) as made:
            run("team", "create", "ops", "--data", str(data))
            run("role", "add", "acme", "--team", "ops", "--role", "publisher", "--data", str(data))
            run("team", "map", "platform", "ops", "--data", str(data))
            yield made

    def sign_in(self, club: LocalRegistry, issuer: str, name: str, claims: dict[str, Any]) -> dict[str, str]:
        """Sign in at the issuer with these claims; return the session's headers."""
        assert httpx.put(f"{issuer}/users/{quote(name)}", json=claims).status_code < 300
        club.client.cookies.clear()
        begun = club.get("/-/account/login")
        back = httpx.post(begun.headers["location"], data={"sub": name}, follow_redirects=False)
        parts = urlsplit(back.headers["location"])
        assert parse_qs(parts.query)["code"]
        club.client.cookies.clear()
        cookie = begun.headers["set-cookie"].partition(";")[0]
        ended = club.get(f"{parts.path}?{parts.query}", headers={"Cookie": cookie})
        assert ended.status_code == 303, ended.text
        club.client.cookies.clear()
        session = next(each for each in ended.headers.get_list("set-cookie") if each.startswith("rye_session="))
        return {"Cookie": session.partition(";")[0]}

    def test_the_rights_come_and_go_with_the_group_for_tokens_and_sessions_alike(
        self, club: LocalRegistry, issuer: str
    ) -> None:
        first = self.sign_in(club, issuer, "gina", {"groups": ["platform", "all"]})
        with database.change(club.service.engine) as connection:
            gina = members.named(connection, "gina")
            token = tokens.create(connection, "ci", [], now_text(), account=gina.id)
        before = club.service.account(token)
        assert before is not None
        assert before.roles == (("acme", "publisher"),)
        assert "acme" in club.get("/-/account", headers=first).text
        self.sign_in(club, issuer, "gina", {"groups": ["all"]})
        later = club.service.account(token)
        assert later is not None
        assert later.roles == ()
        assert "acme" not in club.get("/-/account", headers=first).text
        with database.reader(club.service.engine) as connection:
            changes = [each for each in audit_events.listing(connection) if each.action == "account.groups"]
        assert [(each.actor, each.detail) for each in changes] == [
            (f"account:{gina.id}", {"joined": ["ops"], "left": []}),
            (f"account:{gina.id}", {"joined": [], "left": ["ops"]}),
        ]

    @pytest.mark.parametrize(
        "claims", rest_thorough(1, [{}, {"groups": ["Platform"]}, {"groups": "platform"}, {"roles": ["platform"]}])
    )
    def test_a_sign_in_without_a_list_that_has_the_group_takes_the_rights_away(
        self, club: LocalRegistry, issuer: str, claims: dict[str, Any]
    ) -> None:
        self.sign_in(club, issuer, "hans", {"groups": ["platform"]})
        self.sign_in(club, issuer, "hans", claims)
        with database.reader(club.service.engine) as connection:
            assert roles.teams_of(connection, members.named(connection, "hans").id) == []

    @pytest.mark.thorough
    def test_a_team_that_is_removed_between_two_servers_is_removed_on_both(
        self, club: LocalRegistry, issuer: str
    ) -> None:
        """The other server has its own process state, and the same database."""
        with LocalRegistry(club.data, make=False) as other:
            session = self.sign_in(club, issuer, "ivy", {"groups": ["platform"]})
            assert "acme" in other.get("/-/account", headers=session).text
            self.sign_in(other, issuer, "ivy", {"groups": []})
            assert "acme" not in club.get("/-/account", headers=session).text

    def test_the_commands_say_what_they_did(self, club: LocalRegistry, issuer: str, tmp_path: Path) -> None:
        words = ("--data", str(club.data))
        session = self.sign_in(club, issuer, "jo", {"groups": ["platform"]})
        removed = run("team", "remove", "ops", "jo", *words)
        assert "still in ops, because of the group platform" in removed.stdout
        with database.reader(club.service.engine) as connection:
            everyone = members.listing(connection)
        listed = [(each.subject, ["platform"]) for each in everyone if each.name != "jo"]
        path = tmp_path / "list.json"
        path.write_bytes(written(after(now_text(), 1), *listed, issuer=issuer))
        shown = run("account", "sync", "--from", str(path), "--dry-run", *words).stdout
        assert "would disable  jo" in shown
        assert "teams  jo  -ops" in shown
        assert "jo" in club.get("/-/account", headers=session).text
        done = json.loads(run("account", "sync", "--from", str(path), "--most", "9", "--json", *words).stdout)
        assert (done["disabled"], done["left"], done["done"]) == (["jo"], {"jo": ["ops"]}, True)
        assert "Sign in" in club.get("/-/account", headers=session).text
        groups_shown = run("team", "groups", *words).stdout
        assert groups_shown == f"ops  {issuer}  platform\n"
        gone = json.loads(run("team", "unmap", "platform", "ops", "--json", *words).stdout)
        assert len(gone["accounts"]) == len(listed)
        run("team", "map", "platform", "ops", *words)
