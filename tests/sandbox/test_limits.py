"""What a tool can use up: memory, processor time, processes, files, time, output. Each has a control within the limit."""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from rye.errors import RyeError
from rye.limits import SANDBOX
from rye.runtime.sandbox import running as running_module
from rye.runtime.sandbox.tool_run import Backend, Outcome
from rye.runtime.sandboxed_tools import value_of
from tests.sandbox.calling import call
from tests.sandbox.test_escapes import running

pytestmark = pytest.mark.processes
TOOL = Path(__file__).with_name("hostile_tool.py").read_text("utf-8")
ITEM = "tool:acme/test/hostile@1.0.0"
MIB = 1 << 20


def attempt(sandbox: Backend, project: Path, *attempts: tuple[str, list[Any]], **limits: Any) -> Outcome:
    listed = [[str(number), verb, arguments] for number, (verb, arguments) in enumerate(attempts)]
    return call(sandbox, project, TOOL, parameters={"attempts": listed}, **limits)


def code_of(outcome: Outcome) -> str:
    with pytest.raises(RyeError) as caught:
        value_of(outcome, ITEM)
    return caught.value.code


def test_memory_files_and_processes_end_where_the_profile_says(sandbox: Backend, tmp_path: Path) -> None:
    outcome = attempt(
        sandbox,
        tmp_path,
        ("take", [300 * MIB]),
        ("take", [50 * MIB]),
        ("sparse", ["large", 3 * MIB]),
        ("sparse", ["small", MIB]),
        ("forks", [40]),
        memory=200 * MIB,
        file_bytes=2 * MIB,
        processes=10,
    )
    value = value_of(outcome, ITEM)
    assert isinstance(value, dict)
    assert value["0"] == "MemoryError: "
    assert (value["1"], value["2"], value["3"]) == (True, "EFBIG", True)
    assert 5 <= value["4"] <= 10


@pytest.mark.parametrize(
    ("verb", "arguments"), [("take_together", [6, 40 * MIB]), ("take_shared", [150 * MIB])], ids=["together", "shared"]
)
def test_memory_counts_for_all_processes_together(
    sandbox: Backend, tmp_path: Path, verb: str, arguments: list[int]
) -> None:
    outcome = attempt(sandbox, tmp_path, (verb, arguments), memory=100 * MIB)
    assert (outcome.ended, outcome.reason) == ("killed", "memory")
    assert code_of(outcome) == "tool-failed"


@pytest.mark.thorough
def test_processor_time_of_all_processes_ends(any_sandbox: Backend, tmp_path: Path) -> None:
    outcome = attempt(any_sandbox, tmp_path, ("burn_in_children", []), cpu_seconds=1)
    assert (outcome.ended, outcome.reason) == ("killed", "processor time")


@pytest.mark.skipif(not os.access("/dev/shm", os.W_OK | os.X_OK), reason="this machine has no shared memory in files")
def test_a_project_may_be_in_shared_memory(sandbox: Backend) -> None:
    """The sandbox has a /dev of its own, and the project in it."""
    with tempfile.TemporaryDirectory(prefix="rye-project-", dir="/dev/shm") as folder:
        Path(folder, "shown.txt").write_text("shown")
        outcome = attempt(sandbox, Path(folder), ("list", [folder]))
    assert value_of(outcome, ITEM) == {"0": ["shown.txt"]}


def test_time_ends_and_takes_every_process_along(sandbox: Backend, tmp_path: Path) -> None:
    mark = f"rye-sleeper-{tmp_path.name}"
    outcome = attempt(sandbox, tmp_path, ("survive", [mark]), ("sleep", [60]), seconds=0.8)
    assert outcome.ended == "timeout"
    assert outcome.seconds < 20
    assert code_of(outcome) == "tool-timeout"
    assert running(mark) == []


def test_output_and_messages_end(sandbox: Backend, tmp_path: Path) -> None:
    outcome = attempt(sandbox, tmp_path, ("flood", [3]))
    assert (outcome.ended, outcome.truncated, len(outcome.output)) == ("output", True, SANDBOX.output_bytes)
    assert code_of(outcome) == "output-too-large"
    outcome = attempt(sandbox, tmp_path, ("flood", [2]))
    assert (outcome.ended, outcome.truncated, len(outcome.stderr)) == ("output", False, SANDBOX.stderr_bytes)
    assert code_of(outcome) == "output-too-large"


def test_a_result_of_exactly_the_limit_is_whole(sandbox: Backend, tmp_path: Path) -> None:
    code = f"def execute(params):\n    return 'x' * ({SANDBOX.output_bytes} - 2)"
    assert len(str(value_of(call(sandbox, tmp_path, code), ITEM))) == SANDBOX.output_bytes - 2


def test_a_work_folder_of_too_many_files_ends_the_tool(
    sandbox: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running_module, "WORK_ENTRIES", 100)
    outcome = attempt(sandbox, tmp_path, ("many_files", [200]))
    assert (outcome.ended, outcome.reason) == ("killed", "files in the work folder")


def test_a_tool_that_is_swapped_while_it_runs_stays_what_was_verified(sandbox: Backend, tmp_path: Path) -> None:
    """The path is not read again, a replaced secret stays hidden, and a mount that vanished does not expose a new one."""
    tool = tmp_path / ".ai" / "tools" / "tool.py"
    tool.parent.mkdir(parents=True)
    code = """
import os, time
def execute(params):
    open("ready", "w").close()
    end = time.monotonic() + 5
    while not os.path.exists(params["path"] + "/go") and time.monotonic() < end:
        time.sleep(0.01)
    try:
        return ["verified", open(params["path"] + "/.env").read()]
    except OSError:
        return ["verified", ""]
"""
    tool.write_text(code, "utf-8")
    secret = tmp_path / ".env"
    secret.write_text("the secret", "utf-8")
    found: list[object] = []

    def run() -> None:
        outcome = call(sandbox, tmp_path, tool.read_bytes(), parameters={"path": str(tmp_path)})
        found.append(value_of(outcome, ITEM))

    thread = threading.Thread(target=run)
    thread.start()
    time.sleep(0.3)
    tool.write_text("def execute(params):\n    return 'swapped'", "utf-8")
    (tmp_path / "fresh").write_text("the new secret", "utf-8")
    os.replace(tmp_path / "fresh", secret)
    (tmp_path / "go").touch()
    thread.join()
    assert found == [["verified", ""]]


def test_the_end_of_rye_is_the_end_of_the_tool(sandbox: Backend, tmp_path: Path) -> None:
    """Rye is killed and cannot clean up; the watcher notices that the pipe is closed."""
    mark = f"rye-orphan-{tmp_path.name}"
    code = f"""
import os, sys
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
from pathlib import Path
from rye.runtime import sandboxed_tools
from tests.sandbox.calling import call, demanded
sandboxed_tools._probed[{sandbox.name!r}] = None
tool = Path({str(Path(__file__).with_name("hostile_tool.py"))!r}).read_text("utf-8")
attempts = [["a", "survive", [{mark!r}]], ["b", "sleep", [60]]]
call(demanded({sandbox.name!r}), Path({str(tmp_path)!r}), tool, parameters={{"attempts": attempts}})
"""
    pid = os.posix_spawn(sys.executable, [sys.executable, "-c", code], os.environ)
    end = time.monotonic() + 30
    while not running(mark) and time.monotonic() < end:
        time.sleep(0.02)
    assert running(mark) != []
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    while running(mark) and time.monotonic() < end:
        time.sleep(0.02)
    assert running(mark) == []
