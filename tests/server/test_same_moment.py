"""Two requests of people at the same moment, on PostgreSQL, where nobody waits for the writer's lock: each must see what the
other did."""

from __future__ import annotations

import asyncio
import dataclasses
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
import sqlalchemy as sa
from msgspec.structs import replace

from registry_server.accounts import blob_owners, members, roles, stages, tokens, webhooks
from registry_server.accounts.rate_limits import RateLimit
from registry_server.accounts.times import now_text
from registry_server.api.sessions import changing
from registry_server.api.staging import Staging
from registry_server.storage import database
from registry_server.storage.schema import accounts
from registry_server.upkeep.founding import found
from rye.errors import RyeError
from rye.registry.protocol import notes
from rye.registry.protocol.notes import Signer, VerifierKey
from rye.registry.protocol.statements import Keyset, Release, namespace_key_name
from rye.signing.keys import PrivateKey
from tests.scenes.local_registry import LocalRegistry
from tests.scenes.publisher import Publisher, now
from tests.scenes.registry_process import ORIGIN
from tests.server.test_account_pages import proof
from tests.server.test_stages import stage

pytestmark = pytest.mark.processes
ROUNDS = 12
MOST = 3


@pytest.fixture
def local(empty: str, tmp_path: Path) -> Iterator[LocalRegistry]:
    found(tmp_path / "data", ORIGIN, {"database": empty}, None, 365)
    with LocalRegistry(tmp_path / "data", f"account_tokens = {MOST}\n", make=False) as made:
        made.service.sign_in_rate = made.service.form_rate = made.service.poll_rate = RateLimit(100_000)
        yield made


class SignedIn:
    """A member's browser."""

    def __init__(self, local: LocalRegistry, name: str) -> None:
        self.id = local.member(name)
        with database.change(local.service.engine) as connection:
            self.headers = {"Cookie": f"rye_session={members.open_session(connection, self.id, now_text())}"}
        self.proof = proof(local, self.headers)


def at_once(local: LocalRegistry, path: str, forms: Sequence[tuple[SignedIn, dict[str, str]]]) -> list[int]:
    """Send forms at the same moment; return the statuses."""

    async def send() -> list[httpx.Response]:
        posts = (
            local.client.post(path, headers=sender.headers, data={"proof": sender.proof, **form})
            for sender, form in forms
        )
        return list(await asyncio.gather(*posts))

    return sorted(answer.status_code for answer in local.loop.run_until_complete(send()))


def test_two_owners_who_remove_each_other_leave_one(local: LocalRegistry) -> None:
    """The last owner of a namespace can be neither removed nor demoted."""
    ann, ben = SignedIn(local, "ann"), SignedIn(local, "ben")
    lower = {"role": "reader", "former": "owner"}
    for number in range(ROUNDS):
        with database.change(local.service.engine) as connection:
            for one in (ann, ben):
                roles.give(connection, "acme", "owner", account=one.id)
        if number % 2:
            at_once(local, "/-/account/namespaces/acme/take", [(ann, {"account": ben.id}), (ben, {"account": ann.id})])
        else:
            own = [(one, {"account": one.id, **lower}) for one in (ann, ben)]
            at_once(local, "/-/account/namespaces/acme/give", own)
        with database.reader(local.service.engine) as connection:
            assert len(roles.owning(connection, "acme")) == 1, number


def test_a_form_that_is_sent_twice_gives_a_role_once(local: LocalRegistry) -> None:
    ann = SignedIn(local, "ann")
    for number in range(ROUNDS):
        with database.change(local.service.engine) as connection:
            roles.give(connection, "acme", "owner", account=ann.id)
            other = members.create(connection, f"other-{number}", now_text()).id
        twice = [(ann, {"account": other, "role": "reader"})] * 3
        assert at_once(local, "/-/account/namespaces/acme/give", twice) == [303] * 3


def test_requests_at_once_make_no_more_tokens_than_an_account_may_have(local: LocalRegistry) -> None:
    ann = SignedIn(local, "ann")
    forms = [(ann, {"name": "x", "scope": "read"})] * (MOST + 5)
    assert at_once(local, "/-/account/tokens", forms) == [200] * MOST + [409] * 5
    with database.reader(local.service.engine) as connection:
        assert len(tokens.listing(connection, ann.id)) == MOST


def test_a_person_who_signs_in_twice_for_the_first_time_has_one_account(local: LocalRegistry) -> None:
    """Two tabs: the second got 503, because the first had just made the account."""
    for number in range(ROUNDS):
        assert len(set(_sign_in(local, *[(f"subject-{number}", f"ann-{number}")] * 3))) == 1


def test_people_of_one_name_who_sign_in_at_once_get_names_of_their_own(local: LocalRegistry) -> None:
    for number in range(ROUNDS):
        people = [(f"{number}-{which}", f"ben-{number}") for which in "abc"]
        assert len(set(_sign_in(local, *people))) == len(people)
    with database.reader(local.service.engine) as connection:
        assert {one.name for one in members.listing(connection)} >= {"ben-0", "ben-0-2", "ben-0-3"}


def _sign_in(local: LocalRegistry, *people: tuple[str, str]) -> list[str]:
    """Sign in people of an issuer, by subject and name, at the same moment. Return their accounts."""
    together = threading.Barrier(len(people), timeout=20)

    def enter(person: tuple[str, str]) -> str:
        waits = [together]

        def work(connection: sa.Connection) -> str:
            connection.execute(sa.select(1))  # the transaction has begun
            if waits:
                waits.pop().wait()
            return members.of_issuer(connection, "https://issuer.example", *person, now_text()).id

        return asyncio.run(changing(local.service, work))

    with ThreadPoolExecutor(len(people)) as threads:
        return list(threads.map(enter, people))


def test_two_maintainers_who_sign_at_once_both_count(local: LocalRegistry, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each saw a stage without signatures, and the second one's replaced the first one's."""
    first, second = Publisher("pair"), PrivateKey.generate()
    signer = Signer(VerifierKey(namespace_key_name(ORIGIN, "pair"), second.public.raw), second.sign)
    keys = (first.key.public.raw, second.public.raw)
    keyset = Keyset(ORIGIN, "pair", 1, None, now(), 1, keys, release_threshold=2)
    token = local.token()
    assert local.statements(token, first.note(keyset)).status_code == 200
    identifier, draft = stage(local, first, "a/both", token)
    moment = now()
    text = replace(draft, time=moment).text()
    account = local.service.account(token)
    assert account is not None
    together = threading.Barrier(2)
    in_force = Staging._in_force

    def meeting(self: Staging, *words: Any) -> Any:
        with suppress(threading.BrokenBarrierError):  # with the mend, only one of them gets here at a time
            together.wait(1)
        return in_force(self, *words)

    monkeypatch.setattr(Staging, "_in_force", meeting)
    signed = [first.note(replace(draft, time=moment)), notes.sign(text, [signer]).encode()]
    with ThreadPoolExecutor(2) as threads:
        results = list(threads.map(lambda note: local.service.staging.sign(account, identifier, note, ""), signed))
    assert sorted(note is not None for _, note in results) == [False, True]


def test_drafts_that_come_at_once_do_not_share_the_last_room(
    local: LocalRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    acme = local.owner("acme")
    token = local.token("acme")
    account = local.service.account(token)
    assert account is not None
    drafts = []
    for name in ("a/one", "a/two", "a/three"):
        data = acme.file(name, text=name)
        assert local.blob(data, token).status_code in (200, 201)
        drafts.append(acme.release(name, data, description=name))
    size = sum(stages.files_of(drafts[0]).values())
    monkeypatch.setattr(
        local.service.staging,
        "_settings",
        dataclasses.replace(local.service.settings, account_stages_bytes=size * 3 // 2),
    )
    together = threading.Barrier(len(drafts))
    keep = Staging._keep

    def meeting(self: Staging, *words: Any) -> Any:
        together.wait(20)  # all have found room
        return keep(self, *words)

    monkeypatch.setattr(Staging, "_keep", meeting)

    def add(draft: Release) -> str:
        try:
            return local.service.staging.add(account, [draft.text()], "")[0].state
        except RyeError as error:
            return error.code

    with ThreadPoolExecutor(len(drafts)) as threads:
        assert sorted(threads.map(add, drafts)) == ["staged", "stages-full", "stages-full"]


@pytest.mark.parametrize("is_first", [True, False])
def test_readers_who_look_for_a_file_s_namespaces_at_once_all_get_an_answer(
    local: LocalRegistry, monkeypatch: pytest.MonkeyPatch, is_first: bool
) -> None:
    """On a registry that limits reading by namespace, one of them got 503: both had read the same new entries."""
    engine, unknown = local.service.engine, "ab" * 32
    local.owner("acme")
    if not is_first:
        assert blob_owners.owners(engine, unknown) == frozenset()
        local.owner("beta")
    readers = 3
    together, met = threading.Barrier(readers, timeout=20), threading.local()
    cursor = blob_owners._cursor

    def meeting(connection: sa.Connection) -> int:
        found = cursor(connection)
        met.looks = getattr(met, "looks", 0) + 1
        if met.looks == 3:  # in the transaction that moves it
            together.wait()
        return found

    monkeypatch.setattr(blob_owners, "_cursor", meeting)
    with ThreadPoolExecutor(readers) as threads:
        found = list(threads.map(lambda _: blob_owners.owners(engine, unknown), range(readers)))
    assert found == [frozenset()] * readers


def test_servers_that_look_at_once_announce_each_entry_once(
    local: LocalRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One read the cursor, the other announced what followed, and the first announced it again, with other IDs."""
    engine = local.service.engine
    with database.change(engine) as connection:
        webhooks.add(connection, "https://93.184.216.34/hook", "", ["release"], now_text())
    acme = local.owner("acme")
    assert local.publish(acme, "a/one", local.token()).status_code == 200
    has_read, other_is_done = threading.Event(), threading.Event()
    cursor = webhooks._cursor

    def slow(connection: sa.Connection) -> int | None:
        found = cursor(connection)
        if not has_read.is_set():
            has_read.set()
            other_is_done.wait(1)  # with the mend, the other one waits for this one
        return found

    def collect() -> int:
        with database.change(engine) as connection:
            return webhooks.collect(connection, ORIGIN, now_text())

    monkeypatch.setattr(webhooks, "_cursor", slow)
    with ThreadPoolExecutor(1) as threads:
        first = threads.submit(collect)
        assert has_read.wait(20)
        collect()
        other_is_done.set()
        first.result(20)
    with database.reader(engine) as connection:
        assert len(webhooks.history(connection, 10)) == 1


def test_changes_that_wait_for_each_other_are_both_made(local: LocalRegistry) -> None:
    """Readers of lists who describe the same new items in another order: one of them got 503."""
    engine = local.service.engine
    ids = [local.member(name) for name in ("ann", "ben")]
    together = threading.Barrier(2)

    def change(order: Sequence[str], time: str) -> None:
        waits = [together]

        def work(connection: sa.Connection) -> None:
            for each in order:
                connection.execute(accounts.update().where(accounts.c.id == each).values(groups_time=time))
                if waits:
                    waits.pop().wait(20)

        database.changing(engine, work)

    with ThreadPoolExecutor(2) as threads:
        for made in [threads.submit(change, ids, "one"), threads.submit(change, ids[::-1], "two")]:
            made.result(30)


def test_what_a_person_sends_while_their_account_is_disabled_is_refused(local: LocalRegistry) -> None:
    """The form was checked before the account was disabled, and changed the role after it."""
    fired, friend = SignedIn(local, "fired"), local.member("friend")
    with database.change(local.service.engine) as connection:
        roles.give(connection, "acme", "owner", account=fired.id)
    form = {"proof": fired.proof, "account": friend, "role": "owner"}
    with ThreadPoolExecutor(1) as other:
        with database.change(local.service.engine) as disabling:
            members.disable(disabling, fired.id, now_text())
            path = "/-/account/namespaces/acme/give"
            answer = other.submit(local.post, path, headers=fired.headers, data=form)
            assert _waits(local)
        assert answer.result(30).status_code == 401
    with database.reader(local.service.engine) as connection:
        assert roles.of_account(connection, friend) == ()


def _waits(local: LocalRegistry) -> bool:
    """Whether a transaction waits for another one, within a moment."""
    waiting = sa.text("SELECT count(*) FROM pg_locks WHERE NOT granted")
    for _ in range(200):
        with database.reader(local.service.engine) as connection:
            if connection.scalar(waiting):
                return True
        time.sleep(0.02)
    return False
