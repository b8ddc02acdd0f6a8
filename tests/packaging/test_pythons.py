"""``make test-pythons``: which versions it finds, and what it says about them."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from tests.pythons import ROOT, SUPPORTED, Outcome, candidates, interpreter, report


def program(path: Path, said: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{said}\n")
    path.chmod(0o755)
    return path


@pytest.mark.processes
def test_a_shim_that_runs_nothing_is_passed_over(tmp_path: Path) -> None:
    """pyenv puts a program of each version on the PATH, also where that version is not chosen."""
    environment = {"PATH": str(tmp_path / "shims"), "HOME": str(tmp_path)}
    shim = program(tmp_path / "shims/python3.12", "exit 127")
    old = program(tmp_path / ".pyenv/versions/3.12.9/bin/python3.12", "echo 3.12.9")
    new = program(tmp_path / ".pyenv/versions/3.12.10/bin/python3.12", "echo 3.12.10")
    program(tmp_path / ".pyenv/versions/3.13.0/bin/python3.13", "echo 3.11.0")
    assert candidates("3.12", environment) == [shim, new, old]
    found = interpreter("3.12", environment)
    assert found is not None
    assert (found.version, found.program) == ("3.12.10", new)
    assert interpreter("3.13", environment) is None, "it is another version than its name says"
    assert interpreter("3.14", environment) is None


@pytest.mark.parametrize(
    ("outcomes", "code"),
    [
        ([("3.11.7", "passed"), ("3.14", "not here")], 0),
        ([("3.11.7", "passed"), ("3.12.1", "failed")], 1),
        ([("3.13.0", "not set up")], 1),
        ([("3.14", "not here")], 1),
    ],
)
def test_a_version_that_is_not_here_is_said_and_no_failure(outcomes: list[tuple[str, Outcome]], code: int) -> None:
    said, status = report(outcomes)
    assert status == code
    assert said.splitlines() == [f"Python {version}: {outcome}" for version, outcome in outcomes]


def test_the_classifiers_name_supported_versions_only() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    named = [
        found[1]
        for each in project["classifiers"]
        if (found := re.fullmatch(r".*Python :: (3\.\d+)", each)) is not None
    ]
    assert named == [minor for minor in SUPPORTED if minor in named]
    assert project["requires-python"] == f">={SUPPORTED[0]}"
