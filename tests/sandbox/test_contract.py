"""What a tool receives and returns (docs/how-to/tools.md), in Python, JavaScript and shell, in every sandbox on this machine
(design/agents.md 3.2)."""

from __future__ import annotations

import json
import os
import pwd
import threading
from pathlib import Path

import pytest
from msgspec.structs import replace

from rye.errors import RyeError, UsageError
from rye.runtime import sandboxed_tools
from rye.runtime.sandbox import probing, starting
from rye.runtime.sandbox.interpreters import node_version, shell_variables
from rye.runtime.sandbox.probing import why_not
from rye.runtime.sandbox.tool_run import Backend, Outcome, ToolRun
from rye.runtime.sandboxed_tools import value_of
from tests.sandbox.calling import LINUX, call, demanded

pytestmark = pytest.mark.processes
ITEM = "tool:acme/test/tool@1.0.0"


def test_a_python_tool_returns_what_execute_returns(sandbox: Backend, tmp_path: Path) -> None:
    (tmp_path / "shown.txt").write_text("read", "utf-8")
    code = """
import os, sys
def execute(params):
    print("to the log")
    os.system("echo a child, too")
    return {
        "params": params,
        "env": dict(os.environ),
        "cwd": os.getcwd(),
        "read": open(params["path"]).read(),
        "path": sys.path,
        "open": [fd for fd in range(256) if open_(fd)],
    }
def open_(fd):
    try:
        return os.fstat(fd)
    except OSError:
        return None
"""
    outcome = call(sandbox, tmp_path, code, parameters={"path": str(tmp_path / "shown.txt"), "ü": ["é", None]})
    value = value_of(outcome, ITEM)
    assert isinstance(value, dict)
    assert value["params"] == {"path": str(tmp_path / "shown.txt"), "ü": ["é", None]}
    assert value["read"] == "read"
    work = value["cwd"]
    assert value["env"] == {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "HOME": work,
        "TMPDIR": work,
    }
    assert not any(str(tmp_path) in entry for entry in value["path"])
    assert value["open"] == [0, 1, 2, 3]
    assert b"to the log" in outcome.stderr
    assert b"a child, too" in outcome.stderr
    assert not Path(work).exists()


def test_a_javascript_tool_returns_what_execute_resolves_to(sandbox: Backend, tmp_path: Path) -> None:
    code = """
export const __version__ = "1.0.0";
export async function execute(params) { console.log("to the log"); return { twice: params.n * 2, é: "ü" }; }
"""
    outcome = call(sandbox, tmp_path, code, ".js", {"n": 21})
    assert value_of(outcome, ITEM) == {"twice": 42, "é": "ü"}
    assert outcome.stderr == b"to the log\n"


def test_a_typescript_tool_runs_or_says_which_node_it_needs(sandbox: Backend, tmp_path: Path) -> None:
    code = "export function execute(params: { n: number }): number { return params.n as number; }"
    if node_version(Path("/usr/bin/node")) >= (22, 6):
        assert value_of(call(sandbox, tmp_path, code, ".ts", {"n": 1}), ITEM) == 1
        return
    with pytest.raises(RyeError, match="Node") as caught:
        call(sandbox, tmp_path, code, ".ts", {"n": 1})
    assert caught.value.code == "not-runnable"


def test_a_shell_tool_reads_json_or_variables_and_writes_json(sandbox: Backend, tmp_path: Path) -> None:
    code = """
read -r call
printf 'to the log\\n' >&2
printf '{"call": %s, "name": "%s", "n": %s, "yes": %s, "list": "%s"}' \
  "$call" "$RYE_PARAM_NAME" "$RYE_PARAM_MAX_N" "$RYE_PARAM_YES" "${RYE_PARAM_LIST-unset}"
"""
    parameters = {"name": "a b", "max-n": 3, "yes": True, "list": [1]}
    outcome = call(sandbox, tmp_path, code, ".sh", parameters)
    value = value_of(outcome, ITEM)
    assert isinstance(value, dict)
    assert value["call"]["parameters"] == parameters
    assert value["call"]["item"] == ITEM
    assert set(value["call"]) == {"parameters", "item", "work"}
    assert (value["name"], value["n"], value["yes"], value["list"]) == ("a b", 3, True, "unset")
    assert outcome.stderr == b"to the log\n"


def test_a_failing_tool_says_why(sandbox: Backend, tmp_path: Path) -> None:
    outcome = call(sandbox, tmp_path, "def execute(params):\n    raise ValueError('no such thing')")
    assert (outcome.ended, outcome.exit, outcome.output) == ("exited", 1, b"")
    with pytest.raises(RyeError, match="exit status 1") as caught:
        value_of(outcome, ITEM)
    assert caught.value.code == "tool-failed"
    assert "ValueError: no such thing" in str(caught.value.hint)


@pytest.mark.parametrize("written", ["", "1 2", "NaN", '{"a": 1, "a": 2}', "[" * 100 + "]" * 100])
def test_a_result_is_exactly_one_strict_json_value(written: str) -> None:
    outcome = Outcome(exit=0, output=written.encode(), truncated=False, stderr=b"", seconds=0.1, ended="exited")
    with pytest.raises(RyeError) as caught:
        value_of(outcome, ITEM)
    assert caught.value.code == "tool-failed"


def test_a_cancelled_tool_is_gone(sandbox: Backend, tmp_path: Path) -> None:
    cancel = threading.Event()
    threading.Timer(0.3, cancel.set).start()
    outcome = call(sandbox, tmp_path, "import time\ndef execute(params):\n    time.sleep(60)", cancel=cancel)
    assert outcome.ended == "cancelled"
    assert outcome.seconds < 10


def test_two_tools_run_at_once_and_see_nothing_of_each_other(sandbox: Backend, tmp_path: Path) -> None:
    code = """
import os, time
def execute(params):
    open(params["name"], "w").write(params["name"])
    time.sleep(0.2)
    return [os.listdir(), os.getcwd()]
"""
    found: dict[str, object] = {}

    def one(name: str) -> None:
        found[name] = value_of(call(sandbox, tmp_path, code, parameters={"name": name}), ITEM)

    threads = [threading.Thread(target=one, args=(name,)) for name in ("a", "b")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [json.loads(json.dumps(found[name]))[0] for name in ("a", "b")] == [["a"], ["b"]]


def test_variables_of_a_shell_tool_are_unambiguous() -> None:
    assert shell_variables({"a-b": 1.5, "c": None, "d": "x" * 40_000, "e": False}) == (
        ("RYE_PARAM_A_B", "1.5"),
        ("RYE_PARAM_E", "false"),
    )
    for bad in ({"a-b": 1, "a_b": 2}, {"a": "x\x00y"}):
        with pytest.raises(RyeError) as caught:
            shell_variables(bad)
        assert caught.value.code == "invalid-parameters"


def test_parameters_are_one_json_object(sandbox: Backend, tmp_path: Path) -> None:
    with pytest.raises(RyeError) as caught:
        call(sandbox, tmp_path, "", ".py", [1])  # type: ignore[arg-type]
    assert caught.value.code == "invalid-parameters"


def test_an_interpreter_of_the_project_is_not_used(sandbox: Backend, tmp_path: Path) -> None:
    planted = tmp_path / "bin"
    planted.mkdir()
    (planted / "bash").write_text("#!/bin/sh\necho '\"planted\"'\n", "utf-8")
    (planted / "bash").chmod(0o755)
    environ = {"PATH": f"{planted}{os.pathsep}{os.environ['PATH']}"}
    assert value_of(call(sandbox, tmp_path, "echo 1", ".sh", environ=environ), ITEM) == 1


def test_the_waiting_launcher_is_replaced_when_somebody_kills_it(tmp_path: Path) -> None:
    sandbox = demanded("landlock")
    for _ in range(2):
        assert value_of(call(sandbox, tmp_path, "echo 1", ".sh"), ITEM) == 1
        [waiting] = starting._one
        waiting.process.kill()
        waiting.process.wait()
    assert value_of(call(sandbox, tmp_path, "echo 1", ".sh"), ITEM) == 1


def test_a_fork_of_rye_has_a_waiting_launcher_of_its_own(tmp_path: Path) -> None:
    sandbox = demanded("landlock")
    call(sandbox, tmp_path, "echo 1", ".sh")
    pid = os.fork()
    if pid == 0:
        try:
            right = value_of(call(sandbox, tmp_path, "echo 1", ".sh"), ITEM) == 1
        except BaseException:
            right = False
        starting._forget()
        os._exit(0 if right else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert value_of(call(sandbox, tmp_path, "echo 1", ".sh"), ITEM) == 1


# -- choosing ----------------------------------------------------------------------------------------------------------


def test_an_unknown_sandbox_is_a_mistake() -> None:
    with pytest.raises(UsageError, match="RYE_SANDBOX"):
        sandboxed_tools.backend({"RYE_SANDBOX": "none"})


def test_without_a_working_sandbox_no_tool_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandboxed_tools, "_probed", dict.fromkeys(sandboxed_tools.NAMES, "it lets everything through"))
    with pytest.raises(RyeError, match="bubblewrap: it lets everything through") as caught:
        sandboxed_tools.backend({})
    assert caught.value.code == "sandbox-unavailable"


def test_a_sandbox_that_lets_something_through_is_not_used(
    sandbox: Backend, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The probe is not a formality: when one protection is missing, it reports which."""
    from rye.runtime.sandbox import seccomp

    monkeypatch.setattr(seccomp, "_sockets", lambda network: {})
    assert "sends datagrams" in str(why_not(sandbox)) or "reaches local sockets" in str(why_not(sandbox))


class Disturbed:
    """A sandbox whose test program gets other results than it should, the first ``times`` times."""

    def __init__(self, sandbox: Backend, wrong: dict[str, bool], times: int) -> None:
        self.name = sandbox.name
        self.runs = 0
        self._sandbox, self._wrong, self._times = sandbox, wrong, times

    def run(self, tool: ToolRun, cancel: threading.Event) -> Outcome:
        outcome = self._sandbox.run(tool, cancel)
        self.runs += 1
        if self.runs > self._times:
            return outcome
        return replace(outcome, output=json.dumps(json.loads(outcome.output) | self._wrong).encode())


def test_a_count_that_others_moved_is_taken_again(sandbox: Backend) -> None:
    disturbed = Disturbed(sandbox, {"starts processes": False}, times=2)
    assert why_not(disturbed) is None
    assert disturbed.runs >= 3  # others of this user may really have moved it once more


def test_a_sandbox_that_never_limits_processes_is_not_used(sandbox: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probing, "_PAUSES", (0.0, 0.0))
    disturbed = Disturbed(sandbox, {"starts processes": False}, times=99)
    assert str(why_not(disturbed)).endswith("wrong result for: starts processes")
    assert disturbed.runs == 3


@pytest.mark.parametrize("counted", [True, False])
def test_a_protection_that_was_missing_once_is_not_tried_again(sandbox: Backend, counted: bool) -> None:
    disturbed = Disturbed(sandbox, {"writes outside": True, "starts processes": counted}, times=1)
    assert "writes outside" in str(why_not(disturbed))
    assert disturbed.runs == 1


@pytest.mark.parametrize("name", LINUX)
def test_a_demanded_sandbox_is_the_only_one_tried(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    others = {other: None for other in sandboxed_tools.NAMES if other != name}
    monkeypatch.setattr(sandboxed_tools, "_probed", {**others, name: "it lets everything through"})
    with pytest.raises(RyeError, match=f"The sandbox {name}, which RYE_SANDBOX requires") as caught:
        sandboxed_tools.backend({"RYE_SANDBOX": name})
    assert caught.value.code == "sandbox-unavailable"


def test_a_user_without_an_account_can_run_tools(
    sandbox: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a container that was started with a number for a user."""

    def unknown(user: int) -> object:
        raise KeyError(user)

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    outcome = call(sandbox, tmp_path, "def execute(params):\n    return {'ran': True}\n")
    assert value_of(outcome, "tool:acme/x/y@1.0.0") == {"ran": True}
