"""Fixtures of the sandbox's tests."""

from __future__ import annotations

import pytest

from rye.errors import RyeError
from rye.runtime.sandbox.choosing import backend
from rye.runtime.sandbox.tool_run import Backend
from tests.sandbox.calling import LINUX, demanded


@pytest.fixture(scope="session", params=LINUX)
def sandbox(request: pytest.FixtureRequest) -> Backend:
    """Each sandbox that works on this machine."""
    return demanded(request.param)


@pytest.fixture(scope="session")
def any_sandbox() -> Backend:
    """The sandbox that tools of this machine get, for what does not differ from one to the other."""
    try:
        return backend({})
    except RyeError as error:
        message = error.message
    pytest.skip(message)
