"""A registry never believes its own clock alone (registry_server/sequencer/clock.py): attacks and faults of time, each
with a control that publishes.
"""

from __future__ import annotations

import itertools
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from registry_server.accounts import members, registry_keys, stages
from registry_server.accounts.registry_keys import PrivateKey
from registry_server.accounts.times import after, now_text
from registry_server.embedded import start_embedded, stop_embedded
from registry_server.migrations import opening
from registry_server.sequencer import clock as clock_module
from registry_server.sequencer.clock import Clock, steady_seconds
from registry_server.sequencer.ledger import Ledger
from registry_server.sequencer.sequencer import Receipt, Sequencer
from registry_server.settings import Settings, load
from registry_server.storage import database, schema
from registry_server.storage.store_factory import public_objects, upload_objects
from registry_server.upkeep.founding import found
from rye.errors import RyeError
from rye.registry.protocol import notes, wire
from rye.registry.protocol.lines import write_time
from rye.registry.protocol.statements import ClockStep, Snapshot, root_key_name
from rye.registry.trust.head_times import CLOCK
from tests.scenes.effort import rest_thorough
from tests.scenes.local_registry import LocalRegistry
from tests.scenes.person import Person
from tests.scenes.publisher import Publisher, error_code
from tests.scenes.registry_process import ORIGIN, init, run
from tests.server.fake_bucket import FakeBucket, serving
from tests.server.test_stages import stage

pytestmark = pytest.mark.processes

SHIFTS = [timedelta(hours=2), timedelta(days=400), timedelta(hours=-1)]
NONE = timedelta(0)
_NAMES = (f"space{one}{two}" for one, two in itertools.product("bcdefghjk", repeat=2))


@dataclass
class Machine:
    """A machine whose wall clock a test sets; nobody can set its steady clock."""

    shift: timedelta = NONE
    waited: float = 0.0

    def wall(self) -> datetime:
        return datetime.now(UTC) + self.shift + timedelta(seconds=self.waited)

    def steady(self) -> float:
        return time.monotonic() + self.waited


@dataclass
class Serving:
    """A sequencer on a machine."""

    sequencer: Sequencer
    machine: Machine

    def publish(self) -> int:
        """Claim a namespace; return the log's size afterwards. Raises what refused it."""
        (outcome,) = self.sequencer.append([[Publisher(next(_NAMES)).claim_candidate()]])
        if not isinstance(outcome, Receipt):
            raise outcome
        return outcome.size

    def refused(self) -> str:
        """Publish, which must fail and change nothing; return the code."""
        before = self.shown()
        with pytest.raises(RyeError) as caught:
            self.publish()
        assert self.shown() == before
        return caught.value.code

    def shown(self) -> bytes | None:
        return self.sequencer.public.get("head")

    def head_time(self) -> datetime:
        head = wire.decode_head(self.shown() or b"")
        return Snapshot.parse(notes.parse(head.snapshot).text).time

    def right(self) -> bool:
        """Whether the shown head is dated now."""
        return abs((self.head_time() - datetime.now(UTC)).total_seconds()) < 60


@contextmanager
def serving_on(machine: Machine, data: Path, *, witnessed: bool = True, **changes: object) -> Iterator[Serving]:
    """``witnessed``: False for a clock that nothing is compared with, as every registry's was once."""
    settings = load(data, changes, {})
    engine = opening.open_database(settings)
    log_keys = registry_keys.in_folder(settings.keys, "log")
    stores = public_objects(settings), upload_objects(settings)
    steady = machine.steady if witnessed else None
    try:
        yield Serving(Sequencer(engine, *stores, log_keys, settings, clock=machine.wall, steady=steady), machine)
    finally:
        engine.dispose()


@pytest.fixture
def data(tmp_path: Path) -> Path:
    init(tmp_path / "data")
    return tmp_path / "data"


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def in_the_future(data: Path, shift: timedelta = timedelta(hours=2)) -> None:
    """Let a server of former days sign one head with a clock that is ahead."""
    with serving_on(Machine(shift), data, witnessed=False) as former:
        former.publish()


class TestRunning:
    """Rule 1: the wall clock against the steady clock, between batches."""

    @pytest.mark.parametrize("shift", SHIFTS)
    def test_a_clock_that_jumps_signs_nothing_and_goes_on_when_it_is_right_again(
        self, data: Path, shift: timedelta
    ) -> None:
        with serving_on(Machine(), data) as server:
            server.publish()
            server.machine.shift = shift
            assert server.refused() == "clock-jumped"
            with pytest.raises(RyeError, match="clock"):
                server.sequencer.heartbeat()
            assert server.sequencer.trouble is not None
            server.machine.shift = NONE
            server.publish()
            assert server.right()
            assert server.sequencer.trouble is None

    def test_a_heartbeat_signs_nothing_either(self, data: Path) -> None:
        with serving_on(Machine(), data, heartbeat_seconds=0) as server:
            assert server.sequencer.heartbeat()
            before = server.shown()
            server.machine.shift = timedelta(days=400)
            with pytest.raises(RyeError) as caught:
                server.sequencer.heartbeat()
            assert (caught.value.code, server.shown()) == ("clock-jumped", before)
            server.machine.shift = NONE
            assert server.sequencer.heartbeat()
            assert server.right()

    def test_a_jump_during_a_batch_does_not_date_it(self, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        with serving_on(Machine(), data) as server:
            server.publish()
            steps = iter(["begun"])

            def jump(step: str) -> None:
                if step == next(steps, None):
                    server.machine.shift = timedelta(days=400)

            monkeypatch.setattr(server.sequencer, "_fault", jump)
            server.publish()
            assert server.right()
            assert server.refused() == "clock-jumped"

    def test_a_jump_between_the_check_and_the_batch_signs_nothing(
        self, data: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with serving_on(Machine(), data) as server:
            server.publish()
            look = server.sequencer._publication.check

            def jump(*given: object, **named: object) -> object:
                server.machine.shift = timedelta(hours=2)
                return look(*given, **named)  # type: ignore[arg-type]

            monkeypatch.setattr(server.sequencer._publication, "check", jump)
            assert server.refused() == "clock-jumped"

    def test_a_suspended_machine_and_small_corrections_are_no_jump(self, data: Path) -> None:
        with serving_on(Machine(), data) as server:
            server.publish()
            for _ in range(4):
                server.machine.waited += 3600
                server.machine.shift += timedelta(minutes=5)
                server.publish()


class TestStarting:
    """Rule 3: nothing witnesses the time of a registry on one machine when it starts."""

    def test_a_start_that_looks_like_a_long_rest_needs_the_operators_word(self, data: Path) -> None:
        later = Machine(timedelta(days=2))
        with serving_on(later, data) as server, pytest.raises(RyeError) as caught:
            server.sequencer.recover()
        assert caught.value.code == "clock-jumped"
        assert "serve --accept-clock" in (caught.value.hint or "")
        with serving_on(later, data) as server:
            server.sequencer.recover(accept_clock=True)
            assert server.head_time() > datetime.now(UTC) + timedelta(days=1)  # it really was off for two days
        with serving_on(later, data) as server:
            server.sequencer.recover()  # from then on it needs nobody
            server.publish()

    def test_a_start_within_36_hours_needs_nobody(self, data: Path) -> None:
        with serving_on(Machine(timedelta(hours=35)), data) as server:
            server.sequencer.recover()
            server.publish()

    def test_a_start_with_a_newest_head_in_the_future_is_refused(self, data: Path) -> None:
        with serving_on(Machine(timedelta(hours=-1)), data) as server:
            with pytest.raises(RyeError) as caught:
                server.sequencer.recover()
            assert caught.value.code == "clock-jumped"
            assert server.refused() == "clock-jumped"
        with serving_on(Machine(), data) as server:
            server.sequencer.recover()
            server.publish()

    def test_the_command_says_it_and_an_accepted_clock_that_is_ahead_still_signs_nothing_after_the_root(
        self, data: Path
    ) -> None:
        with serving_on(Machine(timedelta(days=400)), data) as server:
            server.sequencer.recover(accept_clock=True)
            assert server.refused() == "root-expired"
        in_the_future(data)
        done = run("serve", "--data", str(data), "--port", "0", "--json", check=False)
        assert (done.returncode, json.loads(done.stdout)["error"]["code"]) == (1, "clock-jumped")
        renewing = run("root", "renew", "--data", str(data), "--json", check=False)
        assert json.loads(renewing.stdout)["error"]["code"] == "clock-jumped"

    def test_the_root_can_be_renewed_after_a_rest_by_someone_who_vouches_for_the_clock(self, tmp_path: Path) -> None:
        data = tmp_path / "old"
        found(data, ORIGIN, {}, None, 365)
        rest = Machine(timedelta(days=3))
        with serving_on(rest, data) as server:
            assert server.refused() == "clock-jumped"
            server.sequencer.clock.accepted = True
            server.publish()


def test_a_step_of_the_wall_clock_is_measured_by_a_clock_that_nobody_sets() -> None:
    assert steady_seconds() <= steady_seconds()
    assert clock_module.REST_SECONDS == 36 * 3600


class TestAnswers:
    """What callers see: 503, never the publisher's fault, and a server that comes back by itself."""

    @pytest.fixture
    def local(self, tmp_path: Path) -> Iterator[tuple[LocalRegistry, Machine]]:
        with LocalRegistry(tmp_path / "data", "heartbeat_check_seconds = 0.1\n") as local:
            machine = Machine()
            local.service.sequencer.clock = Clock(local.service.settings, machine.wall, machine.steady)
            yield local, machine

    def test_a_clock_that_is_ahead_expires_nothing(self, local: tuple[LocalRegistry, Machine]) -> None:
        """A server with such a clock ended all stages at its start, and deleted uploads that another one was about to publish."""
        registry, machine = local
        ahead = timedelta(days=60)
        token, acme = registry.token(), registry.owner("acme")
        assert registry.publish(acme, "work/one", token).status_code == 200
        identifier, draft = stage(registry, acme, "a/waiting", token)
        upload = b"about to be published"
        assert registry.blob(upload, token).status_code == 201
        for folder in ("uploads", "staged"):  # the clock that is ahead finds them old
            for path in filter(Path.is_file, (registry.data / folder).rglob("*")):
                os.utime(path, times=(time.time() - ahead.total_seconds(),) * 2)
        service, name = registry.service, sha256(upload).hexdigest()
        for shift, waited, is_there in ((ahead, NONE, True), (NONE, ahead, False)):
            machine.shift, machine.waited = shift, waited.total_seconds()
            service._sweep(always=True)
            service.staging.sweep()
            with database.reader(service.engine) as connection:
                assert (stages.get(connection, identifier).state == stages.STAGED) == is_there
            assert (service.uploads.get(name) is not None) == is_there
            assert (service.staged.get(draft.file.sha256) is not None) == is_there

    @pytest.mark.parametrize("shift", SHIFTS)
    def test_a_wrong_clock_is_503_everywhere_and_never_the_publishers_fault(
        self, local: tuple[LocalRegistry, Machine], shift: timedelta
    ) -> None:
        registry, machine = local
        acme, token = registry.owner("acme"), registry.token()
        machine.shift = shift
        refused = registry.publish(acme, "work/one", token)
        assert (refused.status_code, error_code(refused)) == (503, "clock-jumped")
        assert int(refused.headers["retry-after"]) > 0
        asked = registry.get("/readyz")
        assert (asked.status_code, error_code(asked)) == (503, "clock-jumped")
        drift = next(line for line in registry.get("/metrics").text.splitlines() if line.startswith("rye_clock_drift"))
        assert 'witness="steady"' in drift
        assert abs(float(drift.split()[-1]) - shift.total_seconds()) < 5
        machine.shift = NONE
        assert registry.publish(acme, "work/one", token).status_code == 200
        wait_until(lambda: registry.get("/readyz").status_code == 200)  # an answer is reused for a moment

    @pytest.mark.parametrize("witness", ["steady", "database", "store"])
    def test_a_clock_that_is_set_back_prolongs_no_token_and_no_session(
        self, local: tuple[LocalRegistry, Machine], witness: str
    ) -> None:
        """Reading needs no batch, so nothing refused it: an expired token read on."""
        registry, machine = local
        clock, token = registry.service.sequencer.clock, registry.token(seconds=3600)
        member = registry.member("ada")
        with database.change(registry.service.engine) as connection:
            session = members.open_session(connection, member, write_time(clock.now()))
        clock.check(None)
        assert registry.get("/api/v1/whoami", token).status_code == 200
        assert registry.service.session_account(session) is not None
        after = timedelta(seconds=members.SESSION_SECONDS)
        if witness == "steady":
            machine.waited, machine.shift = after.total_seconds(), -after
        else:  # wrong from the start: only others can tell
            clock = registry.service.sequencer.clock = Clock(
                registry.service.settings, machine.wall, machine.steady, lambda: (datetime.now(UTC) + after).timestamp()
            )
            if witness == "store":
                clock.ask_store()
            else:
                with pytest.raises(RyeError, match="database's clock"):
                    clock.refuse((datetime.now(UTC) + after).timestamp())
        assert clock.now() < datetime.now(UTC) + timedelta(minutes=1)
        for account in (registry.service.account(token), registry.service.session_account(session)):
            assert account is None
        refused = registry.get("/api/v1/whoami", token)
        assert (refused.status_code, error_code(refused)) == (503, "clock-jumped")  # it is not the token's fault

    def test_a_clock_that_is_set_back_prolongs_no_stage(self, local: tuple[LocalRegistry, Machine]) -> None:
        """Its files could be read and it could be rejected for as long as the machine's clock said so."""
        registry, machine = local
        acme, token = registry.owner("acme"), registry.token(seconds=None)
        identifier, draft = stage(registry, acme, "a/waiting", token)
        registry.service.sequencer.clock.check(None)
        file = f"/api/v1/stages/{identifier}/files/{draft.file.sha256}"
        assert registry.get(file, token).status_code == 200
        days = timedelta(days=registry.service.settings.stage_days)
        machine.waited, machine.shift = days.total_seconds(), -days
        assert registry.get(file, token).status_code == 404
        assert registry.get("/api/v1/stages", token).json()["stages"] == []
        assert registry.get(f"/api/v1/stages/{identifier}", token).json()["stage"]["state"] == "expired"
        rejected = registry.post(f"/api/v1/stages/{identifier}/rejection", token, json={"reason": "late"})
        assert error_code(rejected) == "stage-decided"
        assert "expired" in rejected.text

    def test_a_clock_that_is_ahead_begins_nothing_later(self, local: tuple[LocalRegistry, Machine]) -> None:
        """What was signed in, or staged, while the clock was a year ahead lasted a year longer once it was right again."""
        registry, machine = local
        service = registry.service
        acme, token = registry.owner("acme"), registry.token()
        data = acme.file("a/waiting")
        assert registry.blob(data, token).status_code == 201
        service.sequencer.clock.check(None)
        with database.change(service.engine) as connection:
            link = members.make_link(connection, members.create(connection, "ada", now_text()).id, now_text())
        machine.shift = timedelta(minutes=9)  # the link has not ended yet
        assert registry.post(f"/-/account/link/{link}").status_code == 303
        account = service.account(token)
        assert account is not None
        service.staging.add(account, [acme.release("a/waiting", data).text()], "192.0.2.1")
        soon = write_time(datetime.now(UTC) + timedelta(minutes=1))
        with database.reader(service.engine) as connection:
            stage_seconds = service.settings.stage_days * 86_400
            for table, seconds in ((schema.sessions, members.SESSION_SECONDS), (schema.stages, stage_seconds)):
                ends = connection.scalar(sa.select(table.c.expires))
                assert ends is not None
                assert ends <= after(soon, seconds)

    def test_what_would_be_over_already_is_refused_by_the_clock_s_name(
        self, local: tuple[LocalRegistry, Machine]
    ) -> None:
        """Such as after a machine was paused: its steady clock did not see that time, and never agrees again."""
        registry, machine = local
        service = registry.service
        service.sequencer.clock.check(None)
        with database.change(service.engine) as connection:
            far = write_time(datetime.now(UTC) + timedelta(days=60))
            link = members.make_link(connection, members.create(connection, "ada", now_text()).id, far)
        machine.shift = timedelta(days=60)
        for path in (f"/-/account/link/{link}", "/api/v1/device/authorize"):
            answer = registry.post(path, headers={"Accept": "application/json"})
            assert (answer.status_code, "clock" in answer.text) == (503, True), answer.text
        machine.shift = NONE
        assert registry.post(f"/-/account/link/{link}").status_code == 303
        assert registry.post("/api/v1/device/authorize").status_code == 200

    def test_a_publishers_own_clock_is_still_the_publishers(self, local: tuple[LocalRegistry, Machine]) -> None:
        registry, _ = local
        acme, token = registry.owner("acme"), registry.token()
        data = acme.file("work/one")
        registry.blob(data, token)
        late = acme.release("work/one", data, time=datetime.now(UTC).replace(microsecond=0) + timedelta(hours=1))
        assert error_code(registry.statements(token, acme.note(late))) == "time-ahead"

    def test_a_head_in_the_future_is_not_ready_and_not_verified(self, tmp_path: Path) -> None:
        with LocalRegistry(tmp_path / "data") as registry:
            acme, token = registry.owner("acme"), registry.token()
            in_the_future(registry.data)
            asked = registry.get("/readyz")
            assert (asked.status_code, error_code(asked)) == (503, "clock-ahead")
            refused = registry.publish(acme, "work/one", token)
            assert (refused.status_code, error_code(refused)) == (503, "clock-ahead")
            verified = run("verify", "--data", str(registry.data), "--json", check=False)
            assert verified.returncode == 1
            assert "(clock-ahead)" in json.loads(verified.stdout)["problems"][0]
            run("clock", "back", "--reason", "The clock was wrong.", "--data", str(registry.data))
            assert registry.publish(acme, "work/one", token).status_code == 200
            wait_until(lambda: registry.get("/readyz").status_code == 200)
            assert registry.get("/clock").text.count("rye.clock/v1") == 1
        assert run("verify", "--data", str(registry.data)).returncode == 0


class TestSeveralServers:
    """Rule 2: PostgreSQL's clock, which is read in the message that opens the batch."""

    @pytest.mark.parametrize("shift", rest_thorough(2, [timedelta(minutes=11), *SHIFTS]))
    def test_the_one_whose_clock_is_off_takes_itself_out_and_the_other_goes_on(
        self, empty: str, tmp_path: Path, shift: timedelta
    ) -> None:
        data = tmp_path / "data"
        run("init", "--origin", ORIGIN, "--data", str(data), "--database", empty)
        with serving_on(Machine(), data) as right, serving_on(Machine(shift), data) as wrong:
            right.sequencer.recover()
            right.publish()
            leads = epoch(right.sequencer.engine)
            wrong.sequencer.recover()  # it serves readers, and signs nothing
            assert wrong.sequencer.trouble is not None
            assert wrong.refused() == "clock-jumped"
            assert wrong.sequencer.clock.drifts["database"] == pytest.approx(shift.total_seconds(), abs=30)
            assert epoch(right.sequencer.engine) == leads
            right.publish()
            assert right.right()
            wrong.machine.shift = NONE
            wrong.sequencer.heartbeat()
            assert wrong.sequencer.trouble is None
            wrong.publish()


def epoch(engine: sa.Engine) -> int:
    with database.reader(engine) as connection:
        found: int = connection.execute(sa.text("SELECT epoch FROM leader")).scalar_one()
    return found


class TestBucket:
    """Rule 2: the bucket's clock."""

    @pytest.fixture
    def bucket(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[tuple[FakeBucket, Path]]:
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            monkeypatch.setenv(name, "testing")
        monkeypatch.setenv("AWS_REGION", "us-east-1")
        fake = FakeBucket()
        with serving(fake) as address:
            found(tmp_path / "data", ORIGIN, {"objects": "s3://rye/r", "s3_endpoint": address}, None, 365)
            yield fake, tmp_path / "data"

    @pytest.mark.parametrize("shift", SHIFTS)
    def test_a_clock_that_the_bucket_contradicts_signs_nothing(
        self, bucket: tuple[FakeBucket, Path], shift: timedelta
    ) -> None:
        with serving_on(Machine(shift), bucket[1]) as server:
            server.sequencer.recover()
            assert server.refused() == "clock-jumped"
            server.machine.shift = NONE
            server.sequencer.heartbeat()
            server.publish()
            assert server.right()

    @pytest.mark.parametrize("shift", SHIFTS)
    def test_a_bucket_that_lies_about_the_time_stops_signing_but_cannot_date_it(
        self, bucket: tuple[FakeBucket, Path], shift: timedelta
    ) -> None:
        fake, data = bucket
        fake.ahead = shift
        with serving_on(Machine(), data) as server:
            server.sequencer.recover()
            assert server.refused() == "clock-jumped"
            assert "store" in str(server.sequencer.trouble)
            fake.ahead = NONE
            server.sequencer.clock.ask_store()
            server.publish()
            assert server.right()

    def test_a_bucket_that_lies_in_the_same_way_as_the_clock_is_contradicted_by_the_steady_clock(
        self, bucket: tuple[FakeBucket, Path]
    ) -> None:
        fake, data = bucket
        with serving_on(Machine(), data) as server:
            server.sequencer.recover()
            server.publish()
            server.machine.shift = fake.ahead = timedelta(hours=2)
            server.sequencer.clock.ask_store()
            assert server.refused() == "clock-jumped"

    def test_a_batch_asks_the_bucket_for_nothing_more(self, bucket: tuple[FakeBucket, Path]) -> None:
        fake, data = bucket
        counts = []
        for witnessed in (False, True):
            with serving_on(Machine(), data, witnessed=witnessed) as server:
                server.sequencer.recover()
                server.publish()
                fake.requests.clear()
                server.publish()
                counts.append(sorted((one.method, one.key.split("/")[2]) for one in fake.requests))
        assert counts[0] == counts[1]


class TestWayBack:
    """``rye-registry clock back``: one step, at one place, by enough owners."""

    def back(self, data: Path, *arguments: str) -> dict[str, Any]:
        done = run("clock", "back", "--data", str(data), "--json", *arguments, check=False)
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def code(self, data: Path, *arguments: str) -> str:
        return str(self.back(data, *arguments)["error"]["code"])

    @pytest.mark.parametrize("shift", SHIFTS[:1])
    def test_a_log_in_the_future_comes_back_once(self, data: Path, shift: timedelta) -> None:
        in_the_future(data, shift)
        assert self.back(data, "--reason", "NTP was late.")["reason"] == "NTP was late."
        with serving_on(Machine(), data) as server:
            server.sequencer.recover()
            assert server.right()
            server.publish()
        assert self.code(data, "--reason", "Again.") == "clock-step"
        assert run("verify", "--data", str(data)).returncode == 0

    def test_a_signed_step_is_for_one_place_and_cannot_be_replayed(self, data: Path, tmp_path: Path) -> None:
        in_the_future(data)
        draft = tmp_path / "step"
        self.back(data, "--reason", "NTP was late.", "--draft", str(draft))
        assert self.code(data, "--publish", str(draft)) == "not-signed"
        (owner,) = (path for path in (data / "keys").iterdir() if path.name.startswith("root"))
        run("root", "sign", str(draft), "--key", str(owner))
        self.back(data, "--publish", str(draft))
        assert self.code(data, "--publish", str(draft)) == "clock-step"
        in_the_future(data, timedelta(hours=3))
        assert self.code(data, "--publish", str(draft)) == "clock-step"

    def test_strangers_and_too_few_owners_cannot_sign_it(self, data: Path, tmp_path: Path) -> None:
        second = PrivateKey.generate(root_key_name(ORIGIN))
        registry_keys.write(tmp_path / "second", second)
        added = notes.encode_base64(second.verifier.key)
        root = tmp_path / "root"
        run("root", "draft", "-o", str(root), "--add-owner", added, "--threshold", "2", "--data", str(data))
        (first,) = (path for path in (data / "keys").iterdir() if path.name.startswith("root"))
        for key in (first, tmp_path / "second"):
            run("root", "sign", str(root), "--key", str(key))
        run("root", "publish", str(root), "--data", str(data))
        in_the_future(data)
        assert self.code(data, "--reason", "One owner only.") == "clock-signer"
        registry_keys.write(tmp_path / "stranger", PrivateKey.generate(root_key_name(ORIGIN)))
        forged = ("--key", str(tmp_path / "stranger"), "--key", str(first))
        assert self.code(data, "--reason", "Forged.", *forged) == "clock-signer"
        both = ("--key", str(first), "--key", str(tmp_path / "second"))
        assert self.back(data, "--reason", "Both owners.", *both)["position"]

    def test_nobody_can_send_a_step_as_a_statement(self, data: Path) -> None:
        with LocalRegistry(data, make=False) as registry:
            step = ClockStep(ORIGIN, 2, datetime(2027, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC), "x")
            answer = registry.statements(registry.token(), Publisher("acme").note(step))
            assert error_code(answer) == "statement-not-accepted"

    def test_rebuild_restore_and_export_keep_the_step(self, data: Path, tmp_path: Path) -> None:
        in_the_future(data)
        self.back(data, "--reason", "NTP was late.")
        steps = (data / "public" / CLOCK).read_bytes()
        (data / "public" / CLOCK).unlink()
        assert run("verify", "--data", str(data), check=False).returncode == 1
        run("rebuild", "--data", str(data))
        assert (data / "public" / CLOCK).read_bytes() == steps
        run("export", str(tmp_path / "copy"), "--data", str(data))
        run("restore", "--from", str(tmp_path / "copy"), "--data", str(tmp_path / "again"))
        assert (tmp_path / "again" / "public" / CLOCK).read_bytes() == steps
        assert run("verify", "--data", str(tmp_path / "again")).returncode == 0

    def test_a_server_that_stopped_before_it_showed_the_step_shows_it_later(
        self, data: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        in_the_future(data)

        def crash(_self: Sequencer, _sealed: object) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            patched.setattr(Sequencer, "_finish", crash)
            crashed = run("clock", "back", "--reason", "NTP was late.", "--data", str(data), check=False)
        assert crashed.returncode == 130
        with serving_on(Machine(), data) as server:
            server.sequencer.recover()
            assert server.right()
            assert server.sequencer.public.get(CLOCK) is not None

    def test_entries_of_the_log_say_it_in_words(self, data: Path) -> None:
        in_the_future(data)
        position = int(str(self.back(data, "--reason", "NTP was late.")["position"]))
        with LocalRegistry(data, make=False) as registry:
            page = registry.get(f"/-/log/{position}")
            assert "set the log&#39;s time back" in page.text or "set the log's time back" in page.text
            with database.reader(registry.service.engine) as connection:
                assert len(Ledger(connection).steps_back()) == 1


def test_settings_hold_the_one_number(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path, clock_skew_seconds=60)
    machine = Machine()
    clock = Clock(settings, machine.wall, machine.steady)
    clock.check(None)
    machine.shift = timedelta(seconds=59)
    clock.check(None)
    machine.shift = timedelta(seconds=62)
    with pytest.raises(RyeError):
        clock.check(None)


def test_what_ends_does_so_by_the_latest_clock_and_begins_by_the_earliest(tmp_path: Path) -> None:
    machine = Machine()
    clock = Clock(Settings(data=tmp_path), machine.wall, machine.steady)
    clock.check(None)
    for hours in (-3, 0, 3):
        machine.shift = timedelta(hours=hours)
        told = [(time - datetime.now(UTC)).total_seconds() for time in (clock.earliest(), clock.now(), clock.latest())]
        assert told == pytest.approx([min(hours, 0) * 3600, hours * 3600, max(hours, 0) * 3600], abs=60)
    alone = Clock(Settings(data=tmp_path), machine.wall)
    assert (alone.latest() - alone.earliest()).total_seconds() < 60


def test_a_request_may_look_while_the_store_tells_its_time(tmp_path: Path) -> None:
    class Looked(datetime):
        """A time during whose comparison with the first witness another one is told, as on another thread."""

        def timestamp(self) -> float:
            clock.ask_store()
            return super().timestamp()

    machine = Machine()
    clock = Clock(
        Settings(data=tmp_path), lambda: Looked.fromtimestamp(time.time(), UTC), machine.steady, lambda: time.time()
    )
    now = time.time()
    clock.refuse(now)
    assert clock.believed().told.keys() == {"database", "store"}
    assert abs(clock.latest().timestamp() - now) < 60


def test_a_persons_own_registry_after_a_rest_names_the_command_that_they_type(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tmp_path / "own"
    with monkeypatch.context() as patched:
        rested = partial(Sequencer, clock=Machine(timedelta(days=-3)).wall)
        patched.setattr("registry_server.upkeep.founding.Sequencer", rested)
        found(data, ORIGIN, {}, None, 365)
    refused = Person(tmp_path / "person").run("registry", "serve", "--data", str(data), "--port", "0", "--json")
    assert refused.error["code"] == "registry-not-started"
    assert refused.error["hint"] == "If this machine's clock is right, say so once: rye registry serve --accept-clock"
    stop_embedded(start_embedded(data, arguments=["--accept-clock"])[0])
    stop_embedded(start_embedded(data)[0])
