"""The log's one writer: batches, crashes at every step, heartbeats; always checked with the functions that clients use."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NoReturn

import pytest

from registry_server.accounts import registry_keys
from registry_server.migrations import opening
from registry_server.sequencer.acceptance import Candidate
from registry_server.sequencer.admission import Admitted
from registry_server.sequencer.ledger import Ledger
from registry_server.sequencer.sequencer import Receipt, Sequencer
from registry_server.settings import Settings
from registry_server.storage import database
from registry_server.storage.durable import Durable
from registry_server.storage.objects import Folder
from registry_server.upkeep import audit
from registry_server.upkeep.founding import found
from rye.errors import RyeError
from rye.items.identity import Identity
from rye.registry.client import RegistryClient
from rye.registry.protocol import notes, tiles
from rye.registry.protocol.statements import Advisory, Checkpoint, Deprecation, Keyset, Revocation
from rye.registry.protocol.wire import decode_head
from rye.registry.store.cache import Cache
from rye.registry.store.state import StateStore
from rye.registry.trust.keysets import namespace_keys
from tests.scenes.publisher import Publisher
from tests.scenes.registry_process import ORIGIN

pytestmark = pytest.mark.processes

STEPS = ("begun", "appended", "committed", "written", "checkpoint", "shown")
BLOB = b"x"
BLOB_SHA256 = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"


class Crash(BaseException):
    """Simulates the end of the process: nothing in the code under test catches it."""


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    data = tmp_path_factory.mktemp("registry") / "template"
    return data, found(data, ORIGIN, {}, None, 365).sha256()


@pytest.fixture
def data(template: tuple[Path, str], tmp_path: Path) -> Path:
    shutil.copytree(template[0], tmp_path / "data")
    Folder(tmp_path / "data" / "uploads").put(BLOB_SHA256, BLOB)
    return tmp_path / "data"


@contextmanager
def opened(
    data: Path,
    fault: Callable[[str], None] = lambda _step: None,
    clock: Callable[[], datetime] | None = None,
    **changes: int,
) -> Iterator[Sequencer]:
    settings = Settings(data=data, **changes)  # type: ignore[arg-type]
    engine = opening.connect(settings.database_url)
    try:
        yield Sequencer(
            engine,
            Folder(settings.public),
            Folder(settings.uploads),
            registry_keys.in_folder(settings.keys, "log"),
            settings,
            fault=fault,
            clock=clock or (lambda: datetime.now(UTC)),
        )
    finally:
        engine.dispose()


@contextmanager
def held_up(data: Path, first: list[Candidate]) -> Iterator[tuple[Sequencer, Future[Receipt], Callable[[], None]]]:
    """A sequencer that has started on ``first`` and waits for a signal; requests submitted before that form one batch."""
    begun, gate = threading.Event(), threading.Event()

    def wait(step: str) -> None:
        if step == "begun":
            begun.set()
            gate.wait(10)

    with opened(data, wait) as sequencer:
        sequencer.start()
        submitted = sequencer.submit(first)
        assert begun.wait(10)
        yield sequencer, submitted, gate.set


def problems(sequencer: Sequencer) -> list[str]:
    with database.reader(sequencer.engine) as connection:
        return audit.verify(Ledger(connection), sequencer.public)


def follow(data: Path, fingerprint: str, memory: Path, names: list[str]) -> tuple[int, list[int]]:
    """Read the static folder as a client with remembered state; return its trusted size and each name's number of releases."""
    store, cache = StateStore(memory / "state"), Cache(memory / "cache")
    with RegistryClient.open((data / "public").as_uri(), accept_root=fingerprint, store=store, cache=cache) as client:
        identities = [Identity("directive", f"acme/{name}") for name in names]
        releases = client.releases(identities)
        for records in releases.values():
            client.prove(records)
        assert client.state.checkpoint is not None
        return client.state.checkpoint.size, [len(releases[identity]) for identity in identities]


def release(acme: Publisher, name: str, version: str = "1.0.0") -> Candidate:
    return acme.candidate(name, version, BLOB_SHA256)


@pytest.mark.parametrize("step", STEPS)
def test_after_a_crash_at_any_step_the_log_goes_on_and_no_client_sees_a_fork(
    data: Path, template: tuple[Path, str], tmp_path: Path, step: str
) -> None:
    acme = Publisher("acme")

    def crash(done: str) -> None:
        if done == step:
            raise Crash

    with opened(data) as sequencer:
        assert isinstance(sequencer.append([[acme.claim_candidate()], [release(acme, "a/before")]])[1], Receipt)
    before, _ = follow(data, template[1], tmp_path, ["a/before"])
    first, second = release(acme, "a/first"), release(acme, "a/second")
    with opened(data, crash) as sequencer, pytest.raises(Crash):
        sequencer.append([[first]])
    follow(data, template[1], tmp_path, ["a/before"])  # whatever is shown now extends what was shown before
    with opened(data) as sequencer:
        sequencer.recover()
        survived = STEPS.index(step) >= STEPS.index("committed")
        (answer,) = sequencer.append([[second, first]])  # a different tree from the one that was lost
        assert isinstance(answer, Receipt)
        assert [result.duplicate for result in answer.results] == [False, survived]
        assert problems(sequencer) == []
    size, counts = follow(data, template[1], tmp_path, ["a/before", "a/first", "a/second"])
    assert counts == [1, 1, 1]
    assert size > before


def test_a_process_that_is_killed_while_it_writes_loses_nothing_that_was_answered(
    data: Path, template: tuple[Path, str], tmp_path: Path
) -> None:
    acme = Publisher("acme")
    with opened(data) as sequencer:
        sequencer.append([[acme.claim_candidate()]])
    for step in STEPS:
        answered = f"a/answered_{step}"
        child = os.fork()
        if child == 0:
            _write_until_killed(data, step, release(acme, answered), release(acme, f"a/lost_{step}"))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
        with opened(data) as sequencer:
            sequencer.recover()
            assert problems(sequencer) == []
        _, counts = follow(data, template[1], tmp_path, [answered])
        assert counts == [1]


@pytest.mark.parametrize("count", [0, 1, 3, 5])
def test_files_that_a_crash_left_unwritten_are_written_before_anything_else(
    data: Path, template: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    acme = Publisher("acme")
    with opened(data) as sequencer:
        sequencer.append([[acme.claim_candidate()]])
    whole = Durable.write

    def write_some(self: Durable, files: Sequence[tuple[str, bytes]], *_more: object) -> None:
        whole(self, files[:count])
        raise Crash

    with opened(data) as sequencer:
        monkeypatch.setattr(Durable, "write", write_some)
        with pytest.raises(Crash):
            sequencer.append([[release(acme, "a/one")], [release(acme, "a/two")]])
        monkeypatch.setattr(Durable, "write", whole)
    follow(data, template[1], tmp_path, [])
    with opened(data) as sequencer:
        answer = sequencer.append([[release(acme, "a/three")]])[0]  # without `recover`: another process may come first
        assert isinstance(answer, Receipt)
        assert problems(sequencer) == []
    assert follow(data, template[1], tmp_path, ["a/one", "a/two", "a/three"])[1] == [1, 1, 1]


def test_a_process_that_stops_after_its_commit_is_overtaken_and_harms_nothing_when_it_goes_on(
    data: Path, template: tuple[Path, str], tmp_path: Path
) -> None:
    acme = Publisher("acme")
    with opened(data) as other:
        other.append([[acme.claim_candidate()]])
        overtaken: list[object] = []

        def stop(step: str) -> None:
            if step == "committed":
                overtaken.extend(other.append([[release(acme, "a/second")]]))
                assert problems(other) == []

        with opened(data, stop) as stopped:
            (first,) = stopped.append([[release(acme, "a/first")]])
            assert isinstance(first, Receipt)
            (second,) = overtaken
            assert isinstance(second, Receipt)
            assert second.size > first.size
            assert problems(stopped) == []
    size, counts = follow(data, template[1], tmp_path, ["a/first", "a/second"])
    assert (size, counts) == (second.size, [1, 1])


def test_nothing_of_a_batch_is_in_the_store_before_it_is_committed(data: Path) -> None:
    acme = Publisher("acme")
    before = {path for path, _, _ in Folder(data / "public").listing()}
    seen = []

    def look(step: str) -> None:
        if step in ("begun", "appended", "committed"):
            seen.append({path for path, _, _ in Folder(data / "public").listing()})

    with opened(data, look) as sequencer:
        sequencer.append([[acme.claim_candidate()], [release(acme, "a/one")]])
    assert seen == [before] * 3


def test_an_upload_that_is_about_to_expire_is_asked_for_again(data: Path) -> None:
    acme = Publisher("acme")
    old = time.time() - 24 * 3600 + 60
    os.utime(data / "uploads" / BLOB_SHA256, (old, old))
    with opened(data) as sequencer:
        sequencer.append([[acme.claim_candidate()]])
        with pytest.raises(RyeError) as refused:
            sequencer.append([[release(acme, "a/one")]])
        assert refused.value.code == "blob-missing"


def _write_until_killed(data: Path, step: str, first: Candidate, second: Candidate) -> NoReturn:
    """In a separate process: append one, then die at a step of the other."""
    armed: list[str] = []

    def die(done: str) -> None:
        if done in armed:
            os._exit(9)

    with opened(data, die) as sequencer:
        sequencer.append([[first]])
        armed.append(step)
        sequencer.append([[second]])
    os._exit(0)


def test_a_refused_request_in_a_batch_fails_alone_and_leaves_nothing(data: Path) -> None:
    acme, thief = Publisher("acme"), Publisher("acme")
    with opened(data) as sequencer:
        outcomes = sequencer.append(
            [
                [acme.claim_candidate()],
                [release(acme, "a/one"), release(thief, "a/two")],
                [thief.claim_candidate()],
                [release(acme, "a/three")],
            ]
        )
        codes = [outcome.code if isinstance(outcome, RyeError) else "" for outcome in outcomes]
        assert codes == ["", "statement-signer", "namespace-taken", ""]
        assert isinstance(outcomes[3], Receipt)
        assert outcomes[3].results[0].position == 3  # root, snapshot, claim: refused statements take no positions
        assert outcomes[3].size == 5
        assert problems(sequencer) == []
        assert sequencer.append([[release(acme, "a/one")]])[0] == Receipt((Admitted(5, False),), 7)


def test_requests_that_wait_share_one_head(data: Path) -> None:
    acme = Publisher("acme")
    with held_up(data, [acme.claim_candidate()]) as (sequencer, claimed, go):
        waiting = [sequencer.submit([release(acme, f"a/item_{number}")]) for number in range(20)]
        go()
        assert claimed.result(20).size == 4
        sizes = {future.result(20).size for future in waiting}
        sequencer.stop()
        assert sizes == {25}
        assert sequencer.batches == 2


def test_a_request_whose_bytes_are_gone_does_not_take_the_others_with_it(data: Path) -> None:
    acme = Publisher("acme")
    with held_up(data, [acme.claim_candidate()]) as (sequencer, claimed, go):
        good = sequencer.submit([release(acme, "a/good")])
        gone = sequencer.submit([acme.candidate("a/gone", "1.0.0", "f" * 64)])
        given_up = sequencer.submit([release(acme, "a/given_up")])
        assert given_up.cancel()
        go()
        assert claimed.result(20).size == 4
        assert good.result(20).size == 6
        assert _code(gone.exception(20)) == "blob-missing"
        assert sequencer.submit([release(acme, "a/later")]).result(20).size == 8
        sequencer.stop()
        assert problems(sequencer) == []


def test_two_processes_worth_of_sequencers_take_turns(data: Path, template: tuple[Path, str], tmp_path: Path) -> None:
    acme = Publisher("acme")
    with opened(data) as one, opened(data) as two:
        one.append([[acme.claim_candidate()]])
        failures: list[object] = []

        def work(sequencer: Sequencer, label: str) -> None:
            for number in range(12):
                outcome = sequencer.append([[release(acme, f"a/{label}_{number}")]])[0]
                if not isinstance(outcome, Receipt):
                    failures.append(outcome)

        threads = [threading.Thread(target=work, args=pair) for pair in ((one, "one"), (two, "two"))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        assert problems(one) == []
    _, counts = follow(data, template[1], tmp_path, [f"a/{label}_{n}" for label in ("one", "two") for n in range(12)])
    assert counts == [1] * 24


@pytest.mark.thorough
def test_every_head_is_consistent_with_every_one_before(data: Path, template: tuple[Path, str], tmp_path: Path) -> None:
    acme = Publisher("acme")
    with opened(data) as sequencer:
        sequencer.append([[acme.claim_candidate()]])
        for count in (1, 3, 120, 1, 150, 260):
            sequencer.append([[release(acme, f"a/c{count}_{n}")] for n in range(count)])
            follow(data, template[1], tmp_path, [f"a/c{count}_0"])  # raises on any inconsistency
        assert problems(sequencer) == []
        head = decode_head((data / "public" / "head").read_bytes())
        size = Checkpoint.parse(notes.parse(head.checkpoint).text).size
        for tile in tiles.all_tiles(size):
            assert (data / "public" / tile.path).stat().st_size == tile.bytes


def test_the_heartbeat_signs_a_fresh_snapshot_only_when_the_last_is_old(data: Path) -> None:
    start = datetime.now(UTC)
    moment = [start]
    with opened(data, clock=lambda: moment[0], heartbeat_seconds=3600) as sequencer:
        assert not sequencer.heartbeat()
        moment[0] = start + timedelta(hours=2)
        assert sequencer.heartbeat()
        assert not sequencer.heartbeat()
        assert problems(sequencer) == []


def test_time_does_not_run_backwards_in_the_log(data: Path, template: tuple[Path, str], tmp_path: Path) -> None:
    acme = Publisher("acme")
    with opened(data, clock=lambda: datetime.now(UTC) - timedelta(minutes=5)) as sequencer:
        follow(data, template[1], tmp_path, ["a/b"])
        sequencer.append([[acme.claim_candidate()]])
    follow(data, template[1], tmp_path, ["a/b"])  # a snapshot older than the last would be refused


def test_static_files_that_are_lost_come_back_from_the_database(data: Path) -> None:
    acme = Publisher("acme")
    with opened(data) as sequencer:
        sequencer.append([[acme.claim_candidate()], [release(acme, "a/b")]])
        blobs = data / "public" / "blobs"
        shutil.move(blobs, data / "blobs")
        shutil.rmtree(data / "public")
        sequencer.recover()
        shutil.move(data / "blobs", blobs)
        assert problems(sequencer) == []


def test_an_audit_finds_what_was_changed_behind_the_servers_back(data: Path) -> None:
    acme = Publisher("acme")
    with opened(data) as sequencer:
        sequencer.append([[acme.claim_candidate()], [release(acme, "a/b")]])
        public = data / "public"
        victims = [next((public / "index").iterdir()), next(public.glob("blobs/sha256/*/*")), public / "head"]
        for victim in victims:
            kept = victim.read_bytes()
            victim.write_bytes(kept + b" ")
            assert len(problems(sequencer)) == 1
            victim.unlink()
            assert "missing" in problems(sequencer)[0]
            victim.write_bytes(kept)
        assert problems(sequencer) == []


class TestKeysets:
    """Recovery, objection and revocation as admission sees them (docs/reference/statements.md, rye.keyset/v1)."""

    def _recovery(self, data: Path, acme: Publisher, fresh: Publisher, when: datetime, hours: int = 72) -> Candidate:
        (owner,) = registry_keys.in_folder(data / "keys", "root")
        with opened(data) as sequencer, database.reader(sequencer.engine) as connection:
            first = Ledger(connection).chain("acme").links[0]
        keyset = Keyset(
            ORIGIN, "acme", 2, first.sha256, when, 1, (fresh.key.public.raw,), recovery=when + timedelta(hours=hours)
        )
        assert namespace_keys(keyset)
        return Candidate(notes.sign(keyset.text(), [fresh.signer, owner.signer]), keyset)

    def test_a_lost_key_is_recovered_after_its_time_in_public(self, data: Path) -> None:
        acme, fresh = Publisher("acme"), Publisher("acme", keyset=2)
        start = datetime.now(UTC).replace(microsecond=0)
        moment = [start]
        with opened(data, clock=lambda: moment[0]) as sequencer:
            sequencer.append([[acme.claim_candidate()]])
            recovery = self._recovery(data, acme, fresh, start)
            assert isinstance(sequencer.append([[recovery]])[0], Receipt)
            assert _code(sequencer.append([[release(fresh, "a/early")]])[0]) in ("statement-keyset", "statement-signer")
            assert isinstance(sequencer.append([[release(acme, "a/still")]])[0], Receipt)
            old = release(acme, "a/dated_back")
            moment[0] = start + timedelta(hours=73)
            # The old key is no longer valid, whatever the dates of its statements, and can no longer object.
            assert _code(sequencer.append([[old]])[0]) == "statement-keyset"
            first = sequencer_first(sequencer)
            thief = Publisher("acme")
            objection = Keyset(ORIGIN, "acme", 2, first, start, 1, (thief.key.public.raw,))
            note = notes.sign(objection.text(), [acme.signer, thief.signer])
            assert _code(sequencer.append([[Candidate(note, objection)]])[0]) == "recovery-in-effect"
            assert problems(sequencer) == []

    def test_whoever_still_has_the_key_can_object_in_time(self, data: Path) -> None:
        acme, thief = Publisher("acme"), Publisher("acme", keyset=2)
        with opened(data) as sequencer:
            sequencer.append([[acme.claim_candidate()]])
            now = datetime.now(UTC).replace(microsecond=0)
            assert isinstance(sequencer.append([[self._recovery(data, acme, thief, now)]])[0], Receipt)
            objection = Keyset(ORIGIN, "acme", 2, sequencer_first(sequencer), now, 1, (acme.key.public.raw,))
            note = notes.sign(objection.text(), [acme.signer])
            assert isinstance(sequencer.append([[Candidate(note, objection)]])[0], Receipt)
            acme.keyset = 2
            assert isinstance(sequencer.append([[release(acme, "a/mine")]])[0], Receipt)

    def test_a_recovery_cannot_be_dated_back_to_skip_its_time_in_public(self, data: Path) -> None:
        acme, thief = Publisher("acme"), Publisher("acme", keyset=2)
        with opened(data) as sequencer:
            sequencer.append([[acme.claim_candidate()]])
            long_ago = datetime.now(UTC).replace(microsecond=0) - timedelta(days=4)
            assert _code(sequencer.append([[self._recovery(data, acme, thief, long_ago)]])[0]) == "recovery-too-soon"


def test_advisories_and_deprecations_are_signed_by_those_who_may(data: Path) -> None:
    acme, stranger = Publisher("acme"), Publisher("acme")
    (owner,) = registry_keys.in_folder(data / "keys", "root")
    identity = Identity("directive", "acme/a/one")
    now = datetime.now(UTC).replace(microsecond=0)
    own = Advisory(ORIGIN, identity, "RYE-1", "<2.0.0", "high", 1, now, "Do not use")
    registrys = Advisory(ORIGIN, identity, "RYE-2", "<2.0.0", "high", None, now, "Do not use")
    deprecation = Deprecation(ORIGIN, identity, True, None, 1, now, "Old")
    elsewhere = Deprecation(ORIGIN, Identity("directive", "acme/a/none"), True, None, 1, now, "Old")
    with opened(data) as sequencer:
        sequencer.append([[acme.claim_candidate()], [release(acme, "a/one")]])
        for statement, signer, code in (
            (own, stranger.signer, "statement-signer"),
            (registrys, acme.signer, "advisory-signer"),
            (deprecation, stranger.signer, "statement-signer"),
            (elsewhere, acme.signer, "item-unknown"),
            (own, acme.signer, ""),
            (registrys, owner.signer, ""),
            (deprecation, acme.signer, ""),
        ):
            (outcome,) = sequencer.append([[Candidate(notes.sign(statement.text(), [signer]), statement)]])
            assert (outcome.code if isinstance(outcome, RyeError) else "") == code
        assert problems(sequencer) == []


def test_a_revoked_key_signs_nothing_more(data: Path) -> None:
    acme, other = Publisher("acme"), Publisher("acme", keyset=2)
    with opened(data) as sequencer:
        sequencer.append([[acme.claim_candidate()], [release(acme, "a/before")]])
        both = (acme.signer, other.signer)
        now = datetime.now(UTC).replace(microsecond=0)
        revoked = (Revocation(acme.key.public.raw, 5),)
        keyset = Keyset(ORIGIN, "acme", 2, sequencer_first(sequencer), now, 1, (other.key.public.raw,), revoked)
        assert isinstance(sequencer.append([[Candidate(notes.sign(keyset.text(), both), keyset)]])[0], Receipt)
        acme.keyset = 2
        assert _code(sequencer.append([[release(acme, "a/after")]])[0]) == "statement-signer"
        again = Keyset(ORIGIN, "acme", 3, keyset.sha256(), now, 1, (other.key.public.raw,))
        assert _code(sequencer.append([[Candidate(notes.sign(again.text(), [other.signer]), again)]])[0]) == (
            "keyset-revocations"
        )


def sequencer_first(sequencer: Sequencer) -> str:
    with database.reader(sequencer.engine) as connection:
        return Ledger(connection).chain("acme").links[0].sha256


def _code(outcome: object) -> str:
    assert isinstance(outcome, RyeError)
    return outcome.code
