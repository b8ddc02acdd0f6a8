"""A run that is shared out to processes tells of each test what a run in one process tells (``tests/scenes/sharing_out.py``)."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest

from tests.scenes.compiled_once import compile_share

pytestmark = pytest.mark.processes
ROOT = Path(__file__).resolve().parents[2]
TESTS = """
import pytest

@pytest.fixture
def broken():
    raise ValueError("set-up")

@pytest.fixture
def breaking():
    yield
    raise ValueError("tear-down")

def test_passes(): pass
def test_fails(): assert False
def test_is_not_set_up(broken): pass
def test_is_not_torn_down(breaking): pass
def test_is_skipped(): pytest.skip("why")
@pytest.mark.xfail
def test_may_fail(): assert False
"""


def shared_out(folder: Path, *options: str) -> str:
    """What a run of three such files prints."""
    (folder / "pytest.ini").write_text("[pytest]\n")
    for number in range(3):
        (folder / f"test_{number}.py").write_text(TESTS)
    plugins = ["--disable-plugin-autoload", "-p", "xdist", "-p", "tests.scenes.sharing_out", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *plugins, "--dist", "loadfile", *options, folder],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 1, done
    return done.stdout


@pytest.mark.thorough
def test_every_outcome_is_told_once(tmp_path: Path) -> None:
    said = shared_out(tmp_path, "-n", "2")
    assert "3 failed, 6 passed, 3 skipped, 3 xfailed, 6 errors in" in said
    for line in ('raise ValueError("set-up")', 'raise ValueError("tear-down")', "def test_fails(): assert False"):
        assert said.count(f" {line}\n") == 3


@pytest.mark.thorough
def test_set_up_and_tear_down_are_told_to_whom_asks_for_them(tmp_path: Path) -> None:
    said = shared_out(tmp_path, "-n", "1", "--durations=0", "-vvv")
    assert [len(re.findall(rf"(?m)^[0-9.]+s {phase} ", said)) for phase in ("setup", "call", "teardown")] == [
        18,
        15,
        18,
    ]


class Worker:
    """The configuration of one of two processes that run all tests."""

    args_source = pytest.Config.ArgsSource.TESTPATHS

    def __init__(self, of_this_one: pytest.Config, number: int) -> None:
        self._of_this_one = of_this_one
        self.workerinput = {"workerid": f"gw{number}", "workercount": 2}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._of_this_one, name)


def test_each_process_compiles_a_share_and_together_they_compile_all(
    tmp_path: Path, pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    files = {"rye/a.py", "rye/inside/b.py", "registry_server/c.py", "tests/d.py", "tests/test_e.py"}
    for file in files:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text("assert 1 + 1 == 2\n")
    compiled = []
    for number in (0, 1):
        compile_share(cast("pytest.Config", Worker(pytestconfig, number)), tmp_path)
        compiled.append({path.name.split(".")[0] for path in tmp_path.rglob("*.pyc")})
    assert len(compiled[0]) == 3
    assert compiled[1] == {"a", "b", "c", "d", "test_e"}
    assert "-pytest-" in next(path.name for path in tmp_path.rglob("test_e.*.pyc"))
