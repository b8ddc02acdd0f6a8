from __future__ import annotations

import pytest

from rye.runtime.sandbox.tool_run import Backend
from tests.sandbox.calling import LINUX, demanded


@pytest.fixture(scope="session", params=LINUX)
def sandbox(request: pytest.FixtureRequest) -> Backend:
    """Each sandbox that works on this machine."""
    return demanded(request.param)
