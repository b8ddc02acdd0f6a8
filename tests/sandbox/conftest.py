"""Fixtures for the sandbox tests."""

from __future__ import annotations

import pytest

from rye.errors import RyeError
from rye.runtime.sandbox.tool_run import Backend
from rye.runtime.sandboxed_tools import backend
from tests.sandbox.calling import LINUX, demanded


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
