"""Rye is killed while a tool runs: what the tool left is swept at the next start, as an ordinary user and as this one
(docs/how-to/tools.md)."""

from __future__ import annotations

import fcntl
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any

import msgspec
import pytest

from tests.sandbox.calling import LINUX, NOBODY, answer, answered, ask, demanded
from tests.sandbox.conftest import Begin
from tests.sandbox.playing import Answer
from tests.scenes.effort import rest_thorough

pytestmark = pytest.mark.processes
Start = Callable[[str, str], "subprocess.Popen[str]"]
Call = Callable[[str, str], Answer]


@pytest.fixture
def base(user: str) -> Iterator[Path]:
    base = Path(os.path.realpath(mkdtemp(prefix="rye-test-")))
    owner = NOBODY if user == "nobody" and os.geteuid() == 0 else os.geteuid()
    for name in ("project/keep/.vscode/x", "project/build/sub/x", "project/dist/x", "project/.env", "data/x"):
        (base / name).parent.mkdir(parents=True, exist_ok=True)
        (base / name).write_text("ours", "utf-8")
    for folder, names, files in os.walk(base):
        for each in (folder, *(os.path.join(folder, name) for name in [*names, *files])):
            os.chown(each, owner, owner)
    yield base
    rmtree(base)


@pytest.fixture(params=LINUX)
def start(request: pytest.FixtureRequest, user: str, base: Path, begin: Begin) -> Start:
    """Starts Rye, and in it a call that this test kills or waits for."""
    demanded(request.param)

    def started(grant: str, commands: str) -> subprocess.Popen[str]:
        process = begin(user)
        ask(process, request.param, base / "project", [(grant, "", commands)], base / "data")
        assert process.stdin is not None
        process.stdin.close()  # it ends after this call
        process.stdin = None
        return process

    return started


@pytest.fixture
def call(request: pytest.FixtureRequest, start: Start, user: str, base: Path, player_of: Begin) -> Call:
    """Another call of the same user, in the same sandbox."""
    sandbox = request.node.callspec.params["start"]
    process = player_of(user)
    return lambda grant, commands: answered(process, sandbox, base / "project", [(grant, "", commands)], base / "data")[
        0
    ]


def killed_when(process: subprocess.Popen[str], path: Path) -> None:
    """Wait until the tool made a file, then kill Rye."""
    appears(path, process)
    process.kill()
    process.wait()


def appears(path: Path, process: subprocess.Popen[str]) -> None:
    """Wait for a file. A busy machine may need long to start a tool."""
    until = time.monotonic() + 60
    while not path.exists() and time.monotonic() < until and process.poll() is None:
        time.sleep(0.01)
    assert path.exists()


def until_over(base: Path) -> None:
    """Wait until no process of a killed call is left: each holds the lock of its journal."""
    [journal] = journals(base)
    until = time.monotonic() + 60
    with journal.open("rb") as stream:
        while time.monotonic() < until:
            with suppress(BlockingIOError):
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            time.sleep(0.01)
    pytest.fail("the killed call does not end")


def journals(base: Path) -> list[Path]:
    return list((base / "data/calls").glob("*"))


LEAVE = "mkdir build/.claude; echo evil > build/.claude/settings.json; chmod 0700 build/sub; touch build/done; "


def test_what_a_killed_call_left_is_swept_at_the_next_start(start: Start, call: Call, base: Path) -> None:
    """The tool goes on writing until it is gone; the next call waits for that. Another call's grant does not matter."""
    again = "for n in $(seq 4000); do mkdir build/.claude 2>/dev/null; echo x > build/.cursor; done; sleep 60"
    killed_when(start("build/ keep/", LEAVE + again), base / "project/build/done")
    said = call("dist/", "true")
    if not said.recovered:  # its tool was still ending, and this call's grant is another one
        said = call("build/", "true")
    assert said.code == "ok"
    assert "build/.claude" in said.recovered[0]
    assert journals(base) == []
    left = {path.name for path in (base / "project/build").iterdir() if not path.name.startswith("refused-by-rye")}
    assert left == {"sub", "done"}
    assert (base / "project/keep/.vscode/x").read_text("utf-8") == "ours"
    assert (base / "project/build/sub").stat().st_mode & 0o777 == 0o755


def test_a_journal_of_a_running_call_is_left_alone(start: Start, call: Call, base: Path) -> None:
    running = start("build/", "touch build/done; until [ -e dist/go ]; do sleep 0.05; done; echo kept > build/new")
    appears(base / "project/build/done", running)
    [journal] = journals(base)
    assert call("dist/", "touch dist/go") == ("ok", "", [])
    assert journal.exists() or running.wait(30) == 0
    assert answer(running) == [("ok", "", [])]
    assert (base / "project/build/new").read_text("utf-8") == "kept\n"
    assert journals(base) == []


def test_a_granted_folder_that_was_moved_meanwhile_is_swept_where_it_is(start: Start, call: Call, base: Path) -> None:
    killed_when(start("build/ keep/", LEAVE + "sleep 60"), base / "project/build/done")
    (base / "project/build").rename(base / "project/dist/old")
    (base / "project/build").mkdir(mode=0o777)
    (base / "project/build/.mcp.json").write_text("the user's", "utf-8")
    os.chown(base / "project/build", base.stat().st_uid, base.stat().st_gid)
    said = call("build/", "true")
    assert "dist/old/.claude" in said.recovered[0]
    assert (base / "project/build/.mcp.json").exists()
    assert not (base / "project/dist/old/.claude").exists()


@pytest.mark.thorough
def test_a_granted_folder_that_is_gone_is_named(start: Start, call: Call, base: Path) -> None:
    killed_when(start("build/ keep/", LEAVE + "sleep 60"), base / "project/build/done")
    until_over(base)
    (base / "project/build").rename(base / "elsewhere")
    said = call("dist/", "true")
    assert "no longer in the project" in said.recovered[0]
    assert journals(base) == []


@pytest.mark.parametrize("damage", rest_thorough(1, ["cut", "changed", "others"]))
def test_a_damaged_journal_stops_every_tool(start: Start, call: Call, base: Path, damage: str) -> None:
    killed_when(start("build/ keep/", LEAVE + "sleep 60"), base / "project/build/done")
    until_over(base)
    [journal] = journals(base)
    data = journal.read_bytes()
    if damage == "others":
        journal.chmod(0o666)
    else:
        journal.write_bytes(data[:-3] if damage == "cut" else data[:-1] + b"\xff")
    said = call("dist/", "true")
    assert said.code == "journal-damaged"
    assert str(journal) in said.words
    journal.unlink()
    assert call("dist/", "true").code == "ok"


@pytest.mark.thorough
def test_numbers_of_devices_may_change_with_a_restart(start: Start, call: Call, base: Path) -> None:
    """Power loss: the same project has another device number afterwards."""
    from rye.runtime.sandbox import journal as written

    killed_when(start("build/ keep/", LEAVE + "sleep 60"), base / "project/build/done")
    until_over(base)
    [journal] = journals(base)
    record = written._read(journal) if journal.stat().st_uid == os.geteuid() else None
    if record is None:
        pytest.skip("its owner is another user")
    there = record.inode[0]

    def other(value: Any) -> Any:
        if isinstance(value, tuple | list):
            if len(value) == 2 and value[0] == there and isinstance(value[1], int):
                return (there + 7, value[1])
            return [other(each) for each in value]
        return value

    moved = other(msgspec.msgpack.decode(msgspec.msgpack.encode(record)))
    journal.write_bytes(written._encoded(msgspec.convert(moved, type(record))))
    said = call("dist/", "true")
    assert "build/.claude" in said.recovered[0]
    assert ".vscode" not in said.recovered[0]
    assert (base / "project/build/sub").stat().st_mode & 0o777 == 0o755


def test_no_process_of_a_killed_call_is_left(start: Start, call: Call, base: Path) -> None:
    """The tool is killed once it wrote its first line: one that was killed before has nothing to compare."""
    killed_when(start("build/", "while :; do date +%N > build/alive; done"), base / "project/build/alive")
    assert call("build/", "true").code == "ok"
    before = (base / "project/build/alive").read_text("utf-8")
    time.sleep(0.2)
    assert (base / "project/build/alive").read_text("utf-8") == before


def test_a_journal_that_was_never_finished_is_deleted_before_the_next_call(
    start: Start, call: Call, base: Path
) -> None:
    """Rye was killed while it wrote the journal. One that somebody still writes is left alone."""
    folder = base / "data/calls"
    folder.mkdir(mode=0o700)
    left, written = folder / ".1-2-left.call", folder / ".1-2-written.call"
    for path in (left, written):
        path.touch(mode=0o600)
    for path in (folder, left, written):
        os.chown(path, base.stat().st_uid, base.stat().st_gid)
    with written.open("rb") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        assert call("build/", "true").code == "ok"
    assert journals(base) == [written]
