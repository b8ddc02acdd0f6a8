"""Fixtures and limits of the whole test run.

Tests that start a process carry the marker ``processes``, slow ones without a process ``slow``; ``make test-fast`` runs
the others. With ``RYE_TEST_FAST`` set, an unmarked test that starts a process fails, so that the marker cannot be
forgotten, and properties run with few examples.

Every hint of an error raised in this process is checked: if it contains a command that the command line does not know,
the test fails (``tests/house/hints.py``; ``tests/house/test_hints.py`` reads the sources).

Files are shared out to the processes of a run by ``tests/scenes/sharing_out.py``, which first compile what they will all import
(``tests/scenes/compiled_once.py``). Programs that tests start are forked
(``tests/scenes/nursery.py``), and the empty databases of their registries are copies of one that the migrations made
(``tests/scenes/migrated_database.py``). Their engines share the SQL that was composed (``tests/scenes/composed_statements.py``).

Temporary files are in memory where there is enough of it (``tests/scenes/memory_disk.py``).

A test must not make a project of a folder that holds others' folders, such as the temporary folder or the home folder:
every test and program below it would find that project.

Properties use the same examples in every run, so that a run fails because of a change and not by chance; ``make fuzz``
draws new ones. They have no deadline, and generating examples may be slow: on a busy machine they would fail for the
time that other programs took.

Objects that exist after collection stay until the end, so the garbage collector does not scan them again. It runs
rarely: with Python's own thresholds it would take a tenth of all tests' time.
"""

from __future__ import annotations

import gc
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import sqlalchemy as sa
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

import registry_server.embedded
from registry_server.migrations import opening
from rye.errors import RyeError
from tests.scenes import composed_statements, memory_disk, migrated_database, nursery
from tests.scenes.effort import FUZZ

pytest_plugins = ("tests.scenes.fixtures", "tests.scenes.sharing_out")
_STARTS = frozenset({"subprocess.Popen", "os.posix_spawn", "os.fork", "os.forkpty", "os.system", "os.exec"})


def _refuse(event: str, _arguments: tuple[Any, ...]) -> None:
    if event in _STARTS and os.environ.get("PYTEST_CURRENT_TEST"):
        raise AssertionError(f"{event} in make test-fast: mark the test with pytest.mark.processes")


_COLLECTIONS = (10_000, 20, 10)
"""Thresholds of the garbage collector."""
FAST = bool(os.environ.get("RYE_TEST_FAST"))
_FAST_EXAMPLES = 15
_SHARED_EXAMPLES = 50
"""The most examples of a property in a run that is shared out to processes, as of all tests. Alone, it has its own number, and
``make fuzz`` and ``make mutate`` try all of them.
"""
_LEFT_OUT = re.compile(
    r"^pytestmark = \[?(pytest\.mark\.\w+, )*pytest\.mark\.(processes|slow|clients|browser|outside)\b(?!\()",
    re.MULTILINE,
)
if FAST:
    sys.addaudithook(_refuse)


def _open_at_least(descriptor: int) -> None:
    """Instead of ``os.fsync``: fails where it would, and does not wait for the disk. No test cuts the power."""
    os.fstat(descriptor)


hypothesis.settings.register_profile(
    "rye", deadline=None, derandomize=not FUZZ, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("rye")
if not FUZZ:  # it would also draw constants of whichever of our modules this process has loaded so far
    providers._get_local_constants = Constants
os.fsync = _open_at_least  # type: ignore[assignment]
registry_server.embedded.launch = nursery.launch
opening._upgrade = migrated_database.upgrade
sa.Engine._compiled_cache = composed_statements.of_all_engines  # type: ignore[assignment]
_hints: set[str] = set()
"""Hints with a command that no earlier test met."""
_read: set[str] = set()
_make_error = RyeError.__init__


def _make_and_note(self: RyeError, code: str, message: str, hint: str | None = None, **more: Any) -> None:
    _make_error(self, code, message, hint, **more)
    if hint is not None and "rye" in hint and hint not in _read:
        _hints.add(hint)


RyeError.__init__ = _make_and_note  # type: ignore[method-assign]


memory_disk.use()
_temporary = Path(tempfile.gettempdir()).resolve()
_wide = {Path.home(), Path(__file__).resolve().parents[2], _temporary, *_temporary.parents}
_projects_of_all = [
    each for folder in _wide for each in (f"{folder}/.ai", f"{folder}/rye.toml") if not os.path.lexists(each)
]
"""What no test may create."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    most = _FAST_EXAMPLES if FAST else _SHARED_EXAMPLES
    if not FAST and (FUZZ or not hasattr(config, "workerinput")):
        return
    for function in {item.function for item in items if isinstance(item, pytest.Function)}:
        found = getattr(function, "_hypothesis_internal_use_settings", None)
        if found is not None and found.max_examples > most:
            function._hypothesis_internal_use_settings = hypothesis.settings(found, max_examples=most)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()
        gc.set_threshold(*_COLLECTIONS)


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Under ``make test-fast``, do not even import a file whose tests are all deselected."""
    if FAST and collection_path.suffix == ".py" and _LEFT_OUT.search(collection_path.read_text("utf-8")):
        return True
    return None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown() -> Iterator[None]:
    """Hints can be followed, and no project is left around others. Not fixtures: most tests take less time than one that each
    of them would have."""
    yield
    if _hints:
        _check_hints()
    left = [path for path in _projects_of_all if os.path.lexists(path)]
    for path in left:  # only this test is to blame
        _projects_of_all.remove(path)
    assert not left, f"made a project of {os.path.dirname(left[0])}"


def _check_hints() -> None:
    from tests.house.hints import commands_in, problem  # the whole command line, which few tests need

    met = set(_hints)
    _read.update(met)
    _hints.clear()
    wrong = {command: why for hint in met for command in commands_in(hint) if (why := problem(command)) is not None}
    assert not wrong, wrong
