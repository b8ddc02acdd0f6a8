"""A run that is shared out to processes tells of each test what a run in one process tells (``tests/scenes/sharing_out.py``)."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

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


def test_every_outcome_is_told_once(tmp_path: Path) -> None:
    said = shared_out(tmp_path, "-n", "2")
    assert "3 failed, 6 passed, 3 skipped, 3 xfailed, 6 errors in" in said
    for line in ('raise ValueError("set-up")', 'raise ValueError("tear-down")', "def test_fails(): assert False"):
        assert said.count(f" {line}\n") == 3


def test_set_up_and_tear_down_are_told_to_whom_asks_for_them(tmp_path: Path) -> None:
    said = shared_out(tmp_path, "-n", "1", "--durations=0", "-vvv")
    assert [len(re.findall(rf"(?m)^[0-9.]+s {phase} ", said)) for phase in ("setup", "call", "teardown")] == [
        18,
        15,
        18,
    ]
