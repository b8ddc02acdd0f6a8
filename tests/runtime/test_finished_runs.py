"""Which run counts as the newest, and which runs are listed, when someone has committed forged logs (design: agents 3.1, Log)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from rye.limits import RuntimeLimits
from rye.runtime.event_log import Event, EventLog
from rye.runtime.ulid import is_ulid, new_ulid, time_of
from tests.scenes.person import Person


@pytest.fixture
def rye(tmp_path: Path) -> Person:
    made = Person(tmp_path)
    made.ok("init", "--namespace", "acme")
    return made


def made_run(rye: Person, started: datetime, *, committed: bool = False) -> str:
    """A run in the project's folder. ``committed``: with the file modes of a version control checkout."""
    name = new_ulid(started)
    log = EventLog(rye.path(f".ai/runs/{name}"), "directive:acme/work/ship@1.0.0")
    log.append(started, Event(event="call", tool="rye_search"))
    log.close(started)
    if committed:
        for path in log.folder.iterdir():
            path.chmod(0o644)
    return name


def listed(rye: Person) -> list[str]:
    return [row["run"] for row in rye.ok("runs", "list", "--json").json["runs"]]


@pytest.mark.parametrize(("ahead", "committed"), [(365, True), (365, False), (0, True)])
def test_a_log_that_somebody_committed_does_not_take_the_place_of_the_newest_run(
    rye: Person, ahead: int, committed: bool
) -> None:
    now = datetime.now(UTC)
    older, newest = (made_run(rye, now - timedelta(hours=hours)) for hours in (2, 1))
    planted = made_run(rye, now + timedelta(days=ahead), committed=committed)
    assert listed(rye) == [newest, older, planted]
    assert rye.ok("runs", "show", "last", "--json").json["run"] == newest
    assert rye.ok("runs", "show", planted, "--json").json["run"] == planted


@pytest.mark.parametrize("earlier", [False, True])
def test_a_log_that_somebody_committed_is_told_where_all_files_of_a_checkout_are_private(
    rye: Person, earlier: bool
) -> None:
    """As under the umask 077. ``earlier``: rye.toml was checked out before, under another one."""
    now = datetime.now(UTC)
    real, planted = made_run(rye, now - timedelta(hours=2)), made_run(rye, now - timedelta(hours=1))
    rye.path(f".ai/runs/{planted}").chmod(0o700)
    rye.path("rye.toml").chmod(0o644 if earlier else 0o600)
    assert listed(rye) == [real, planted]
    assert rye.ok("runs", "show", "last", "--json").json["run"] == real
    if not earlier:
        report = rye.ok("usage", "--json").json
        assert [row["runs"] for row in report["items"]] == [1]
        assert report["notes"] == ["Logs in .ai/runs that you did not write on this machine do not count: 1."]


def test_many_of_them_do_not_hide_the_real_ones(rye: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rye.runtime.finished_runs.RUNTIME", RuntimeLimits(runs_listed=2))
    now = datetime.now(UTC)
    real = made_run(rye, now - timedelta(days=1))
    for _ in range(3):
        made_run(rye, now, committed=True)
    assert listed(rye)[0] == real


def test_where_there_are_no_others_they_are_shown(rye: Person) -> None:
    planted = made_run(rye, datetime.now(UTC), committed=True)
    assert rye.ok("runs", "show", "last", "--json").json["run"] == planted


def test_a_name_tells_when_its_run_began() -> None:
    now = datetime(2026, 11, 22, 12, 0, 0, 123000, UTC)
    assert time_of(new_ulid(now)) == now
    last = "7" + 25 * "Z"
    assert is_ulid(last)
    assert time_of(last).year == 9999


@pytest.mark.parametrize("call", ["x", "1.5"])
def test_a_call_that_is_no_number_is_said_in_plain_words(rye: Person, call: str) -> None:
    found = rye.run("approve", "last", call, "--json")
    assert (found.code, found.error["code"]) == (2, "usage")
    assert found.error["message"] == f"Invalid value for 'CALL': '{call}' is not a whole number."
