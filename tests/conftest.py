"""``make test-fast`` runs what needs neither a second process nor patience; this holds it to the first half of that.

Tests that start a process carry the marker ``processes``, slow ones without a process ``slow``. With ``RYE_TEST_FAST`` set, an
unmarked test that starts a process fails, so that the marker cannot be forgotten.

Every hint that an error of this process carries is read: a command in it that the command line does not know fails the test that
met it (``tests/hints.py``; ``tests/test_hints.py`` reads the sources).

Registries that tests serve are forked, not started (``tests/forked_registry.py``).

No example of a property has a deadline: on a busy machine it would fail for the time that other programs took.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

import hypothesis
import pytest

import registry_server.embedded
from rye.errors import RyeError
from tests import forked_registry

_STARTS = frozenset({"subprocess.Popen", "os.posix_spawn", "os.fork", "os.forkpty", "os.system", "os.exec"})


def _refuse(event: str, _arguments: tuple[Any, ...]) -> None:
    if event in _STARTS and os.environ.get("PYTEST_CURRENT_TEST"):
        raise AssertionError(f"{event} in make test-fast: mark the test with pytest.mark.processes")


if os.environ.get("RYE_TEST_FAST"):
    sys.addaudithook(_refuse)


hypothesis.settings.register_profile("rye", deadline=None)
hypothesis.settings.load_profile("rye")
registry_server.embedded.launch = forked_registry.launch
_hints: set[str] = set()
"""Hints with a command that no test has met before."""
_read: set[str] = set()
_make_error = RyeError.__init__


def _make_and_note(self: RyeError, code: str, message: str, hint: str | None = None, **more: Any) -> None:
    _make_error(self, code, message, hint, **more)
    if hint is not None and "rye" in hint and hint not in _read:
        _hints.add(hint)


RyeError.__init__ = _make_and_note  # type: ignore[method-assign]


@pytest.fixture(autouse=True)
def _hints_can_be_followed() -> Iterator[None]:
    yield
    if not _hints:
        return
    from tests.hints import commands_in, problem  # the whole command line, which few tests need

    met = set(_hints)
    _read.update(met)
    _hints.clear()
    wrong = {command: why for hint in met for command in commands_in(hint) if (why := problem(command)) is not None}
    assert not wrong, wrong
