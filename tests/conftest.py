"""``make test-fast`` runs what needs neither a second process nor patience; this holds it to the first half of that.

Tests that start a process carry the marker ``processes``, slow ones without a process ``slow``. With ``RYE_TEST_FAST`` set, an
unmarked test that starts a process fails, so that the marker cannot be forgotten.
"""

from __future__ import annotations

import os
import sys
from typing import Any

_STARTS = frozenset({"subprocess.Popen", "os.posix_spawn", "os.fork", "os.forkpty", "os.system", "os.exec"})


def _refuse(event: str, _arguments: tuple[Any, ...]) -> None:
    if event in _STARTS and os.environ.get("PYTEST_CURRENT_TEST"):
        raise AssertionError(f"{event} in make test-fast: mark the test with pytest.mark.processes")


if os.environ.get("RYE_TEST_FAST"):
    sys.addaudithook(_refuse)
