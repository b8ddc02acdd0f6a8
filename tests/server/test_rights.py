"""What a token, an account and a team may do, value by value (design/server.md 4): each right has exactly one way to it.

The tests ask the modules themselves, in a database in memory; ``test_accounts.py`` asks the server.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
import sqlalchemy as sa

from registry_server.accounts import device_logins, members, roles, tokens
from registry_server.accounts.roles import Given, Held
from registry_server.accounts.scopes import DEFAULT_SCOPES, SCOPES, parse_scopes, scope_of
from registry_server.accounts.times import after, read_span
from registry_server.accounts.token_room import check_room
from registry_server.accounts.tokens import Account
from registry_server.storage import schema
from rye.errors import RyeError
from rye.items.identity import Identity
from rye.registry.protocol.lines import read_time
from rye.registry.protocol.statements import FileEntry, Keyset, Release, Yank
from tests.scenes.person import refusal

EARLIER, NOW, LATER = "2026-01-02T03:04:04Z", "2026-01-02T03:04:05Z", "2026-01-02T03:04:06Z"


@pytest.fixture(scope="module")
def engine() -> Iterator[sa.Engine]:
    engine = sa.create_engine("sqlite://")
    schema.metadata.create_all(engine)
    yield engine
    engine.dispose()


@pytest.fixture
def db(engine: sa.Engine) -> Iterator[sa.Connection]:
    with engine.connect() as connection:
        yield connection
        connection.rollback()


def refused(code: str, act: Any, *given: Any, **named: Any) -> RyeError:
    """``code``: the code, and after a space what the error is about if several things share it."""
    with pytest.raises(RyeError) as raised:
        act(*given, **named)
    assert refusal({"code": raised.value.code, **raised.value.details}) == code
    return raised.value


def checked(db: sa.Connection, token: str, now: str = NOW) -> Account:
    found = tokens.check(db, token, now)
    assert found is not None
    return found


# A token's own rights


@pytest.mark.parametrize(
    ("role", "writes", "reads"), [("owner", True, True), ("publisher", True, True), ("reader", False, True)]
)
def test_an_accounts_token_may_what_its_role_may_within_its_own_list(role: str, writes: bool, reads: bool) -> None:
    for bound, inside in (((), True), (("acme",), True), (("other",), False)):
        token = Account(token="t", name="ci", namespaces=bound, account="a", roles=(("acme", role), ("zeta", "reader")))
        assert token.may_write("acme") is (writes and inside)
        assert token.may_read("acme") is (reads and inside)
        assert token.writable == (("acme",) if writes and inside else ())
        assert token.readable == (("acme", "zeta") if not bound else ("acme",) if inside else ())
        assert (token.may_write("other"), token.may_read("other")) == (False, False)


def test_the_operators_token_may_everything_within_its_list() -> None:
    free, bound = Account(token="t", name="ci", namespaces=()), Account(token="t", name="ci", namespaces=("acme",))
    assert (free.may_write("x"), free.may_read("x"), free.writable, free.readable) == (True, True, None, None)
    assert (bound.may_write("acme"), bound.may_read("acme")) == (True, True)
    assert (bound.may_write("x"), bound.may_read("x")) == (False, False)
    assert (bound.writable, bound.readable) == (("acme",), ("acme",))
    assert (free.is_bound_to("x"), bound.is_bound_to("x"), bound.is_bound_to("acme")) == (True, False, True)


def test_an_account_without_roles_may_nothing() -> None:
    token = Account(token="t", name="ci", namespaces=(), account="a")
    assert (token.may_write("acme"), token.may_read("acme"), token.writable, token.readable) == (False, False, (), ())


def test_a_token_has_the_scopes_that_it_names() -> None:
    token = Account(token="t", name="ci", namespaces=(), scopes=("read", "stage"))
    assert [scope for scope in SCOPES if token.has(scope)] == ["read", "stage"]
    assert [scope for scope in SCOPES if Account(token="t", name="ci", namespaces=()).has(scope)] == list(
        DEFAULT_SCOPES
    )
    assert set(SCOPES) - set(DEFAULT_SCOPES) == {"admin"}


def test_more_tokens_are_not_more_shares() -> None:
    assert Account(token="t", name="ci", namespaces=(), account="a").owner == "account a"
    assert Account(token="t", name="ci", namespaces=()).owner == "t"


@pytest.mark.parametrize(
    ("revoked", "expires", "state"),
    [
        (None, None, "active"),
        (None, LATER, "active"),
        (None, NOW, "expired"),
        (None, EARLIER, "expired"),
        (EARLIER, None, "revoked"),
        (EARLIER, LATER, "revoked"),
        (EARLIER, EARLIER, "revoked"),
    ],
)
def test_a_token_is_good_until_it_ends_or_is_revoked(
    db: sa.Connection, revoked: str | None, expires: str | None, state: str
) -> None:
    account = Account(token="t", name="ci", namespaces=(), revoked=revoked, expires=expires)
    assert tokens.state_of(account, NOW) == state
    assert account.is_good(NOW) is (state == "active")
    seconds = {None: None, LATER: 2.0, NOW: 1.0, EARLIER: 0.0}[expires]
    token = tokens.create(db, "ci", (), EARLIER, seconds=seconds)
    identifier = tokens.token_id(token) or ""
    if revoked is not None:
        tokens.revoke(db, identifier, revoked)
    assert tokens.is_active(db, identifier, NOW) is (state == "active")
    assert (tokens.check(db, token, NOW) is not None) is (state == "active")


def test_the_clock_of_the_server_counts_where_no_time_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "now_text", lambda: NOW)
    assert [tokens.is_over(time) for time in (None, EARLIER, NOW, LATER)] == [False, True, True, False]
    assert tokens.is_over(NOW, EARLIER) is False


# Tokens in the database


def test_a_token_is_stored_as_it_was_asked_for_and_without_its_secret(db: sa.Connection) -> None:
    alice = members.create(db, "alice", NOW).id
    roles.give(db, "acme", "owner", account=alice)
    token = tokens.create(db, "ci", ["b", "a", "b"], NOW, scopes=("read", "yank"), seconds=60, account=alice)
    assert checked(db, token) == Account(
        token=token[4:20],
        name="ci",
        namespaces=("a", "b"),
        created=NOW,
        revoked=None,
        scopes=("read", "yank"),
        expires="2026-01-02T03:05:05Z",
        last_used=None,
        account=alice,
        account_name="alice",
        roles=(("acme", "owner"),),
    )
    assert (len(token), token[:4], token[20], tokens.token_id(token)) == (64, "rye_", "_", token[4:20])
    assert tokens.digest(token) == hashlib.sha256(token.encode()).hexdigest()
    row = db.execute(sa.select(schema.tokens)).one()
    assert row.sha256 == tokens.digest(token)
    assert token[21:] not in str(tuple(row))
    assert checked(db, token).as_json() == {
        "token": token[4:20], "name": "ci", "namespaces": ["a", "b"], "scopes": ["read", "yank"], "account": alice,
        "created": NOW, "expires": "2026-01-02T03:05:05Z", "last_used": None, "revoked": None,
    }  # fmt: skip
    plain = checked(db, tokens.create(db, "op", (), NOW))
    assert (plain.scopes, plain.account, plain.roles, plain.expires) == (DEFAULT_SCOPES, None, (), None)
    assert [tokens.token_id(text) for text in (token + "x", token + "\n", "x" + token, "")] == [None] * 4
    assert read_span(tokens.LIFETIME) == 90 * 86_400
    assert Account(token="t", name="ci", namespaces=()).created == ""


def test_two_tokens_have_nothing_in_common(db: sa.Connection) -> None:
    one, two = (tokens.create(db, "ci", [name], NOW) for name in ("a", "b"))
    assert one[4:20] != two[4:20]
    assert one[21:] != two[21:]
    assert (checked(db, one).namespaces, checked(db, two).namespaces) == (("a",), ("b",))
    mixed = two[:21] + one[21:]
    assert tokens.check(db, mixed, NOW) is None


@pytest.mark.parametrize("name", ["", "a\nb", "x" * 101])
def test_a_name_that_cannot_be_shown_is_refused(db: sa.Connection, name: str) -> None:
    refused("invalid-value token name", tokens.create, db, name, (), NOW)


def test_a_token_needs_a_scope_and_namespaces_that_can_be(db: sa.Connection) -> None:
    assert (
        "Not A Namespace"
        in refused("invalid-value namespace", tokens.create, db, "ci", ["a", "Not A Namespace"], NOW).message
    )
    refused("invalid-value scope", tokens.create, db, "ci", (), NOW, scopes=())
    assert tokens.count(db) == 0
    assert checked(db, tokens.create(db, "x" * 100, (), NOW)).name == "x" * 100


@pytest.mark.parametrize(
    "wrong",
    [
        "",
        "rye_",
        "rye_{id}_" + "A" * 43,
        "{token}x",
        "x{token}",
        "{token}\n",
        "RYE_{id}_{secret}",
        "rye_{id}_{secret}=",
        "{id}",
    ],
)
def test_a_token_that_is_not_the_whole_right_one_is_unknown(db: sa.Connection, wrong: str) -> None:
    token = tokens.create(db, "ci", (), NOW)
    assert tokens.check(db, wrong.format(token=token, id=token[4:20], secret=token[21:]), NOW) is None


def test_a_digest_of_nothing_matches_nothing() -> None:
    """An unknown token is compared with it, so that the answer takes as long; the empty text must not match."""
    token = "rye_" + "0" * 16 + "_" + "A" * 43
    assert tokens.matches(token, None) is False
    assert tokens.matches(token, tokens.digest(token)) is True
    assert tokens.matches(token, tokens.digest(token + "x")) is False


def test_a_disabled_accounts_tokens_are_unknown_and_other_accounts_are_not_asked(db: sa.Connection) -> None:
    alice, bob = (members.create(db, name, NOW).id for name in ("alice", "bob"))
    of_alice, of_bob = (tokens.create(db, "ci", (), NOW, account=account) for account in (alice, bob))
    operators = tokens.create(db, "op", (), NOW)
    members.disable(db, alice, NOW)
    assert tokens.check(db, of_alice, NOW) is None
    assert tokens.check(db, of_alice, NOW, hold=True) is None
    for token in (of_bob, operators):
        assert tokens.check(db, token, NOW, hold=True) == tokens.check(db, token, NOW) is not None


def test_a_token_that_was_not_revoked_with_its_disabled_account_is_unknown(db: sa.Connection) -> None:
    """As when one is made while the account is being disabled: the account is asked each time."""
    alice = members.create(db, "alice", NOW).id
    token = tokens.create(db, "ci", (), NOW, account=alice)
    assert tokens.check(db, token, NOW) is not None
    db.execute(sa.text("UPDATE accounts SET disabled = :now"), {"now": NOW})
    assert tokens.is_active(db, token[4:20], NOW) is True
    assert tokens.check(db, token, NOW) is None


def as_postgresql_reads(engine: sa.Engine, act: Callable[[], object]) -> str:
    """The statements of an action, in the words of the database that locks rows."""
    seen: list[str] = []

    def note(_connection: object, statement: Any, *_: object) -> None:
        seen.append(str(statement.compile(dialect=dialect, compile_kwargs={"literal_binds": True})))

    dialect = sa.create_mock_engine("postgresql+psycopg://", note).dialect
    sa.event.listen(engine, "before_execute", note)
    try:
        act()
    finally:
        sa.event.remove(engine, "before_execute", note)
    return "\n".join(seen)


def test_a_token_is_held_only_where_it_is_asked_for(engine: sa.Engine, db: sa.Connection) -> None:
    token = tokens.create(db, "ci", (), NOW)
    held = as_postgresql_reads(engine, lambda: tokens.check(db, token, NOW, hold=True))
    assert f"WHERE tokens.id = '{token[4:20]}' FOR UPDATE" in " ".join(held.split())
    assert "FOR UPDATE" not in as_postgresql_reads(engine, lambda: tokens.check(db, token, NOW))
    assert "OFFSET 0" in as_postgresql_reads(engine, lambda: tokens.listing(db))


def test_an_account_has_room_for_a_number_of_good_tokens(db: sa.Connection) -> None:
    alice, bob = (members.create(db, name, NOW).id for name in ("alice", "bob"))
    tokens.create(db, "bobs", (), NOW, account=bob)
    tokens.create(db, "operators", (), NOW)
    check_room(db, alice, 1, NOW)
    tokens.create(db, "over", (), EARLIER, seconds=1, account=alice)
    revoked = tokens.create(db, "gone", (), NOW, account=alice)
    tokens.revoke(db, revoked, NOW)
    check_room(db, alice, 1, NOW)
    refused("too-many tokens", check_room, db, alice, 1, EARLIER)
    tokens.create(db, "ends", (), NOW, seconds=60, account=alice)
    tokens.create(db, "never", (), NOW, account=alice)
    assert "2 tokens" in refused("too-many tokens", check_room, db, alice, 2, NOW).message
    refused("too-many tokens", check_room, db, alice, 1, NOW)
    check_room(db, alice, 3, NOW)
    refused("too-many tokens", check_room, db, bob, 0, NOW)


def test_a_confirmed_program_has_a_token_s_place_until_it_comes_too_late(db: sa.Connection) -> None:
    alice, bob = (members.create(db, name, NOW).id for name in ("alice", "bob"))
    begun = [device_logins.begin(db, "rye", NOW) for _ in range(3)]
    assert device_logins.decide(db, begun[0].user_code, alice, True, NOW)
    assert device_logins.decide(db, begun[1].user_code, alice, False, NOW)
    check_room(db, bob, 1, NOW)
    check_room(db, alice, 2, NOW)
    refused("too-many tokens", check_room, db, alice, 1, NOW)
    check_room(db, alice, 1, after(NOW, device_logins.EXPIRES_SECONDS))
    assert device_logins.poll(db, begun[0].device_code, NOW)[0] == "token"
    check_room(db, alice, 2, NOW)
    refused("too-many tokens", check_room, db, alice, 1, NOW)


def test_who_counts_or_checks_waits_for_others(engine: sa.Engine, db: sa.Connection) -> None:
    alice, bob = (members.create(db, name, NOW).id for name in ("alice", "bob"))
    counted = as_postgresql_reads(engine, lambda: check_room(db, alice, 1, NOW))
    assert f"WHERE accounts.id = '{alice}' FOR NO KEY UPDATE" in " ".join(counted.split())
    for account in (bob, alice):
        roles.give(db, "acme", "owner", account=account)
    held = as_postgresql_reads(engine, lambda: roles.hold(db, "acme"))
    words = "WHERE namespace_roles.namespace = 'acme' ORDER BY namespace_roles.number FOR UPDATE"
    assert words in " ".join(held.split())


def test_tokens_are_counted_and_listed_by_account_and_page(db: sa.Connection) -> None:
    alice = members.create(db, "alice", NOW).id
    made = [
        tokens.create(db, name, (), time, account=account)
        for name, time, account in (("c", LATER, alice), ("a", EARLIER, alice), ("b", NOW, None))
    ]
    tokens.revoke(db, made[0], LATER)
    assert (tokens.count(db), tokens.count(db, alice), tokens.count(db, "x")) == (3, 2, 0)
    assert [one.name for one in tokens.listing(db)] == ["a", "b", "c"]
    assert [one.name for one in tokens.listing(db, alice)] == ["a", "c"]
    assert [one.name for one in tokens.listing(db, offset=1, most=1)] == ["b"]
    assert [one.name for one in tokens.listing(db, alice, 1)] == ["c"]


def test_a_name_in_place_of_an_id_lists_its_tokens_to_the_operator_and_to_nobody_else(db: sa.Connection) -> None:
    ids = sorted(tokens.create(db, "ci", (), NOW)[4:20] for _ in range(7))
    tokens.create(db, "other", (), NOW)
    alice = members.create(db, "alice", NOW).id
    tokens.revoke(db, ids[1], NOW)
    left = [one for one in ids if one != ids[1]]
    listed = f"Tokens of this name: {', '.join(left[:5])}."
    assert refused("no-such-entry token", tokens.revoke, db, "ci", NOW).hint == listed
    unknown = "`rye-registry token list` shows all tokens."
    assert refused("no-such-entry token", tokens.revoke, db, "cj", NOW).hint == unknown
    assert refused("no-such-entry token", tokens.revoke, db, "ci", NOW, alice).hint == unknown


def test_a_token_is_revoked_once_by_its_id_or_itself_and_only_by_its_account(db: sa.Connection) -> None:
    alice, bob = (members.create(db, name, NOW).id for name in ("alice", "bob"))
    token = tokens.create(db, "ci", (), NOW, account=alice)
    other = tokens.create(db, "other", (), NOW, account=alice)
    assert token[4:20] in refused("no-such-entry token", tokens.revoke, db, token, NOW, bob).message
    refused("no-such-entry token", tokens.revoke, db, "0" * 16, NOW)
    assert tokens.check(db, token, NOW) is not None
    assert tokens.revoke(db, token, NOW, alice).revoked == NOW
    assert tokens.revoke(db, token[4:20], LATER).revoked == NOW
    assert tokens.check(db, token, NOW) is None
    assert tokens.is_active(db, "0" * 16, NOW) is False
    assert checked(db, other).revoked is None


def test_whether_a_token_is_revoked_is_asked_by_its_id_or_itself(db: sa.Connection) -> None:
    token, other = (tokens.create(db, name, (), NOW, seconds=1) for name in ("one", "two"))
    tokens.revoke(db, token, NOW)
    for each in (token, token[4:20]):
        assert tokens.is_revoked(db, each) is True
    for each in (other, other[4:20], "0" * 16, "", token + "x"):
        assert tokens.is_revoked(db, each) is False


def test_the_last_use_is_of_one_token(db: sa.Connection) -> None:
    one, two = (tokens.create(db, name, (), NOW) for name in ("one", "two"))
    tokens.note_use(db, one[4:20], LATER)
    assert (checked(db, one).last_used, checked(db, two).last_used) == (LATER, None)


# Scopes


def test_scopes_are_words_in_one_order(db: sa.Connection) -> None:
    assert parse_scopes(["claim,read", "read stage"]) == ("read", "stage", "claim")
    assert parse_scopes([]) == parse_scopes([" ,"]) == ()
    assert parse_scopes(reversed(DEFAULT_SCOPES)) == DEFAULT_SCOPES == ("read", "publish", "stage", "yank", "claim")
    error = refused("invalid-value scope", parse_scopes, ["read", "x" * 90])
    assert error.message == f"'{'x' * 80}' is not a scope."
    assert error.hint == "Scopes: read, publish, stage, yank, claim, admin."
    for word in ("Read", "read;admin", "*", "readadmin"):
        refused("invalid-value scope", parse_scopes, [word])


def test_each_statement_needs_its_own_scope() -> None:
    identity = Identity("tool", "acme/a/b")
    now = read_time(NOW)
    release = Release("registry.example", identity, "1.0.0", 1, now, "Work", FileEntry(".py", 1, "ab" * 32))
    assert scope_of(release) == "publish"
    assert scope_of(Keyset("registry.example", "acme", 1, None, now, 1, ())) == "claim"
    assert scope_of(Yank("registry.example", identity, "1.0.0", True, 1, now, "")) == "yank"


# Roles


def test_the_strongest_role_in_each_namespace_counts() -> None:
    rows = [
        ("b", "reader"),
        ("a", "publisher"),
        ("b", "owner"),
        ("a", "reader"),
        ("b", "publisher"),
        ("a", "publisher"),
    ]
    assert roles.strongest(rows) == roles.strongest(rows[::-1]) == (("a", "publisher"), ("b", "owner"))
    assert roles.strongest([]) == ()
    assert {"owner", "publisher"} == roles.WRITERS
    assert roles.ROLES == ("owner", "publisher", "reader")


@pytest.fixture
def people(db: sa.Connection) -> dict[str, str]:
    """Alice is in the teams ``ops`` and ``web``, Bob in ``web``, Eve in none."""
    ids = {name: members.create(db, name, NOW).id for name in ("alice", "bob", "eve")}
    for team in ("web", "ops"):
        roles.create_team(db, team, NOW)
        roles.join(db, team, ids["alice"])
    roles.join(db, "web", ids["bob"])
    return ids


def test_an_account_has_its_own_roles_and_its_teams_and_no_others(db: sa.Connection, people: dict[str, str]) -> None:
    roles.give(db, "acme", "reader", account=people["alice"])
    roles.give(db, "acme", "owner", team="ops")
    roles.give(db, "acme", "publisher", team="web")
    roles.give(db, "zeta", "reader", account=people["bob"])
    held = {
        "alice": Held((("acme", "owner"),), ("ops", "web")),
        "bob": Held((("acme", "publisher"), ("zeta", "reader")), ("web",)),
        "eve": Held((), ()),
    }
    assert roles.of_accounts(db, list(people.values())) == {people[name]: held[name] for name in held}
    assert roles.of_accounts(db, [people["bob"]]) == {people["bob"]: held["bob"]}
    for name, account in people.items():
        assert roles.of_account(db, account) == held[name].roles
        assert roles.teams_of(db, account) == list(held[name].teams)
        plain = db.exec_driver_sql(roles.OF_ACCOUNT, (account, account))
        assert roles.strongest((row[0], row[1]) for row in plain) == held[name].roles


def test_a_role_is_asked_for_and_taken_from_exactly_whom_it_was_given(
    db: sa.Connection, people: dict[str, str]
) -> None:
    alice = people["alice"]
    roles.give(db, "acme", "reader", account=alice)
    roles.give(db, "acme", "owner", team="ops")
    roles.give(db, "zeta", "publisher", account=alice)
    assert roles.role_of(db, "acme", account=alice) == "reader"
    assert roles.role_of(db, "acme", team="ops") == "owner"
    assert roles.role_of(db, "acme", account=people["bob"]) is None
    assert roles.role_of(db, "zeta", team="ops") is None
    assert roles.take(db, "acme", account=people["bob"]) is False
    assert roles.take(db, "acme", team="web") is False
    assert roles.take(db, "acme", account=alice) is True
    assert roles.take(db, "acme", account=alice) is False
    assert roles.role_of(db, "acme", team="ops") == "owner"
    assert roles.role_of(db, "zeta", account=alice) == "publisher"
    assert roles.take(db, "acme", team="ops") is True
    assert roles.listing(db) == [Given("zeta", "publisher", "alice", None)]


def test_a_role_that_is_given_replaces_the_one_before_and_no_one_elses(
    db: sa.Connection, people: dict[str, str]
) -> None:
    roles.give(db, "acme", "owner", account=people["alice"])
    roles.give(db, "acme", "owner", account=people["bob"])
    roles.give(db, "acme", "owner", team="web")
    roles.give(db, "acme", "reader", account=people["alice"])
    roles.give(db, "aaaa", "reader", team="web")
    assert roles.listing(db) == [
        Given("aaaa", "reader", None, "web"),
        Given("acme", "owner", "bob", None),
        Given("acme", "owner", None, "web"),
        Given("acme", "reader", "alice", None),
    ]
    assert [one.role for one in roles.listing(db, "aaaa")] == ["reader"]
    roles.give(db, "acme", "publisher", team="web")
    assert roles.role_of(db, "acme", team="web") == "publisher"
    assert roles.role_of(db, "acme", account=people["bob"]) == "owner"


def test_giving_says_whether_it_changed_anything_and_leaves_what_is_there_in_its_place(
    db: sa.Connection, people: dict[str, str]
) -> None:
    assert roles.give(db, "acme", "reader", account=people["alice"]) is True
    assert roles.give(db, "acme", "owner", account=people["bob"]) is True
    assert roles.give(db, "acme", "reader", account=people["alice"]) is False
    assert [one.account for one in roles.listing(db)] == ["alice", "bob"]
    assert roles.give(db, "acme", "publisher", account=people["alice"]) is True
    assert [(one.account, one.role) for one in roles.listing(db)] == [("bob", "owner"), ("alice", "publisher")]


def test_of_many_owners_two_are_enough_to_know_that_none_is_the_last(db: sa.Connection, people: dict[str, str]) -> None:
    for number, name in enumerate(("alice", "bob", "eve")):
        roles.give(db, "acme", "owner", account=people[name])
        assert len(roles.owning(db, "acme")) == min(number + 1, 2)


def test_a_team_that_is_deleted_takes_its_groups_along_and_no_other_teams(db: sa.Connection) -> None:
    for team in ("one", "two"):
        roles.create_team(db, team, NOW)
        row = {"id": team, "issuer": "", "group_name": "staff", "team": team, "created": NOW}
        db.execute(schema.team_groups.insert().values(row))
    roles.delete_team(db, "one")
    assert list(db.scalars(sa.select(schema.team_groups.c.team))) == ["two"]


def test_a_token_has_the_current_roles_of_its_account_and_its_teams_and_no_others(
    engine: sa.Engine, db: sa.Connection, people: dict[str, str]
) -> None:
    roles.give(db, "acme", "owner", team="ops")
    roles.give(db, "zeta", "reader", account=people["bob"])
    expected = {"alice": (("acme", "owner"),), "bob": (("zeta", "reader"),), "eve": ()}
    for name, account in people.items():
        token = tokens.create(db, name, ["b", "a"] if name == "bob" else (), NOW, account=account)
        found = checked(db, token)
        assert (found.name, found.roles) == (name, expected[name])
        assert found.namespaces == (("a", "b") if name == "bob" else ())
        assert tokens.look_up(engine, token) == found
        assert tokens.look_up(engine, token[:-1] + ("A" if token[-1] != "A" else "B")) is None
        assert tokens.listing(db, account) == [replace(found, account_name=None)]
    operators = tokens.create(db, "op", (), NOW)
    assert checked(db, operators).roles == ()
    assert tokens.look_up(engine, operators[:-1]) is None
    assert [(one.name, one.roles) for one in tokens.listing(db) if one.account is None] == [("op", ())]


def test_a_namespace_and_a_role_that_cannot_be_are_refused_and_nothing_is_taken(
    db: sa.Connection, people: dict[str, str]
) -> None:
    roles.give(db, "acme", "owner", account=people["alice"])
    assert (
        "'Acme'" in refused("invalid-value namespace", roles.give, db, "Acme", "owner", account=people["alice"]).message
    )
    error = refused("invalid-value role", roles.give, db, "acme", "admin", account=people["alice"])
    assert error.hint == "Roles: owner, publisher, reader."
    assert roles.role_of(db, "acme", account=people["alice"]) == "owner"
    long = refused("invalid-value role", roles.give, db, "acme", "x" * 90, account=people["alice"])
    assert long.message == f"'{'x' * 80}' is not a role."
    long = refused("invalid-value namespace", roles.give, db, "X" * 90, "owner", account=people["alice"])
    assert long.message == f"'{'X' * 80}' is not a namespace."


def test_a_namespace_has_an_owner_as_long_as_a_person_who_can_sign_in_is_one(
    db: sa.Connection, people: dict[str, str]
) -> None:
    assert roles.has_owner(db, "acme") is False
    roles.give(db, "acme", "publisher", account=people["eve"])
    roles.give(db, "zeta", "owner", account=people["eve"])
    roles.create_team(db, "empty", NOW)
    roles.give(db, "acme", "owner", team="empty")
    assert roles.has_owner(db, "acme") is False
    roles.give(db, "acme", "owner", account=people["eve"])
    assert roles.has_owner(db, "acme") is True
    members.disable(db, people["eve"], NOW)
    assert roles.has_owner(db, "acme") is False
    roles.give(db, "acme", "publisher", team="web")
    assert roles.has_owner(db, "acme") is False
    roles.give(db, "acme", "owner", team="web")
    assert roles.has_owner(db, "acme") is True
    members.disable(db, people["alice"], NOW)
    assert roles.has_owner(db, "acme") is True
    members.disable(db, people["bob"], NOW)
    assert roles.has_owner(db, "acme") is False


# Teams


def test_a_team_is_joined_once_and_left_once(db: sa.Connection, people: dict[str, str]) -> None:
    eve = people["eve"]
    assert (roles.join(db, "web", eve), roles.join(db, "web", eve)) == (True, False)
    assert roles.join(db, "ops", eve) is True
    assert roles.team_listing(db) == {"ops": ["alice", "eve"], "web": ["alice", "bob", "eve"]}
    assert roles.members_of(db, "web") == ["alice", "bob", "eve"]
    assert (roles.leave(db, "web", eve), roles.leave(db, "web", eve)) == (True, False)
    assert roles.team_listing(db) == {"ops": ["alice", "eve"], "web": ["alice", "bob"]}
    assert roles.members_of(db, "none") == []


def test_a_team_that_is_deleted_takes_its_roles_and_memberships_along(
    db: sa.Connection, people: dict[str, str]
) -> None:
    """A later team of the same name must not inherit them."""
    roles.give(db, "acme", "owner", team="web")
    roles.give(db, "acme", "reader", team="ops")
    roles.delete_team(db, "web")
    assert roles.team_listing(db) == {"ops": ["alice"]}
    roles.create_team(db, "web", NOW)
    assert roles.members_of(db, "web") == []
    assert roles.listing(db) == [Given("acme", "reader", None, "ops")]
    assert roles.members_of(db, "ops") == ["alice"]


def test_a_team_that_is_not_there_is_named(db: sa.Connection, people: dict[str, str]) -> None:
    for act, given in ((roles.delete_team, ()), (roles.join, (people["eve"],)), (roles.leave, (people["alice"],))):
        error = refused("no-such-entry team", act, db, "none", *given)
        assert error.hint == "Create it: rye-registry team create none"
    assert (
        refused("no-such-entry team", roles.require_team, db, "No Team").hint
        == "`rye-registry team list` shows all teams."
    )
    assert refused("no-such-entry team", roles.require_team, db, "x" * 90).message == f"There is no team '{'x' * 80}'."
    roles.require_team(db, "web")


def test_a_team_has_a_name_of_its_own_that_can_be_one(db: sa.Connection) -> None:
    roles.create_team(db, "web", NOW)
    refused("already-exists team", roles.create_team, db, "web", NOW)
    assert (
        refused("invalid-value team", roles.create_team, db, "W" * 90, NOW).message
        == f"'{'W' * 80}' is not a valid team name."
    )
    assert list(roles.team_listing(db)) == ["web"]
