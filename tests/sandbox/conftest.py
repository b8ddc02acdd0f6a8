"""Fixtures for the sandbox tests."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from rye.errors import RyeError
from rye.runtime.sandbox.tool_run import Backend
from rye.runtime.sandboxed_tools import backend
from tests.sandbox.calling import LINUX, Player, answered, demand_user, demanded, start_as


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
_PLAYS = ("play", "run", "start")
"""Fixtures that are there for each sandbox."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """``make test`` plays each sandbox as one user, and each user in one sandbox; the other pairs are thorough."""
    for item in items:
        given = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
        played = [LINUX.index(str(given[name])) for name in _PLAYS if name in given and "user" in given]
        if any(number != _USERS.index(str(given["user"])) for number in played):
            item.add_marker(pytest.mark.thorough)


@pytest.fixture(params=_USERS)
def user(request: pytest.FixtureRequest) -> str:
    """Who calls the tools."""
    return str(request.param)


Begin = Callable[[str], "subprocess.Popen[str]"]
"""Starts a program for a user."""


@pytest.fixture(scope="session")
def begin() -> Iterator[Begin]:
    """Start a program of this user or nobody that plays calls (``playing.py``); it is killed at the end."""
    started: list[subprocess.Popen[str]] = []

    def begun(user: str) -> subprocess.Popen[str]:
        demand_user(user)
        started.append(start_as(user, "-m", "tests.sandbox.playing"))
        return started[-1]

    yield begun
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture(scope="session")
def player_of(begin: Begin) -> Begin:
    """One such program for each user and the whole run: starting Python takes longer than a call."""
    return cache(begin)


@pytest.fixture(params=LINUX)
def play(request: pytest.FixtureRequest, user: str, project: Path, player_of: Begin) -> Player:
    """Calls tools in the ``project`` of a module, in each sandbox and as each user."""
    demanded(request.param)
    process = player_of(user)
    return lambda calls: answered(process, request.param, project, calls)
