"""Fixtures for the sandbox tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from rye.errors import RyeError
from rye.runtime.sandbox.tool_run import Backend
from rye.runtime.sandboxed_tools import backend
from tests.sandbox.calling import LINUX, NOBODY, PROGRAM, Calls, Player, demanded


@pytest.fixture(scope="session", params=LINUX)
def sandbox(request: pytest.FixtureRequest) -> Backend:
    """Each sandbox that works on this machine."""
    return demanded(request.param)


@pytest.fixture(scope="session")
def any_sandbox() -> Backend:
    """The sandbox that tools get on this machine, for tests whose results do not depend on the sandbox."""
    try:
        return backend({})
    except RyeError as error:
        message = error.message
    pytest.skip(message)


_USERS = ["nobody", "this user"]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """``make test`` plays each sandbox as one user, and each user in one sandbox; the other pairs are thorough."""
    for item in items:
        given = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
        if "play" in given and "user" in given and LINUX.index(str(given["play"])) != _USERS.index(str(given["user"])):
            item.add_marker(pytest.mark.thorough)


@pytest.fixture(params=_USERS)
def user(request: pytest.FixtureRequest) -> str:
    """Who calls the tools."""
    return str(request.param)


@pytest.fixture(params=LINUX)
def play(request: pytest.FixtureRequest, user: str, project: Path) -> Player:
    """Calls tools in the ``project`` of a module, in each sandbox and as each user."""
    demanded(request.param)
    ours = user == "this user"
    python = sys.executable if ours else "/usr/bin/python3"
    where = [str(Path(__file__).parents[2]), str(Path(msgspec.__file__).parents[1])]
    environment = {"PYTHONPATH": os.pathsep.join(where), "PYTHONDONTWRITEBYTECODE": "1", "HOME": "/nonexistent"}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        done: subprocess.CompletedProcess[str] = subprocess.run(
            [python, *arguments],
            env=environment,
            cwd="/",
            capture_output=True,
            text=True,
            check=False,
            **({} if ours else {"user": NOBODY, "group": NOBODY, "extra_groups": []}),  # type: ignore[call-overload]
        )
        return done

    if not ours:
        if os.geteuid() != 0:
            pytest.skip("only root can become nobody")
        version = run("-c", "import sys, rye.limits; print(sys.version_info[:2])").stdout.strip()
        if version != str(sys.version_info[:2]):
            pytest.skip(f"nobody has no Python here that can import rye: {version}")

    def calls(each: Calls) -> list[list[str]]:
        done = run("-c", PROGRAM, request.param, str(project), json.dumps(each))
        assert done.returncode == 0, done.stderr
        answers: list[list[str]] = json.loads(done.stdout)
        return answers

    return calls
