"""Runs the tests that reach a mutant, in forked processes, and reports whether one of them fails.

One process per module imports the program and collects the tests once. A first child runs them all, traced, and reports which
lines of the module each test ran and how long it took. For each mutant, a child replaces the code of the changed function, runs
the tests that ran the changed line, the quickest first, and stops at the first failure. Code that runs at import (constants,
tables, defaults, struct options, functions that build tables) is changed by an import hook in a process that has not imported
any of the program yet. No file is written outside a temporary folder. Tests that start another program test the unchanged one,
so they do not count.

A test that needs more than five times its usual time plus two seconds counts as a failure (an endless loop). Times are
processor times, so a busy machine does not kill mutants.
"""

from __future__ import annotations

import ast
import contextlib
import gc
import importlib.abc
import importlib.util
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import threading
import time
import types
from collections.abc import Callable, Iterator, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import pytest
from _pytest.runner import runtestprotocol
from msgspec import Struct

from tests.mutation.operators import Mutant, apply, mutants

KILLED, SURVIVED, NOT_SWAPPED = 0, 10, 11
"""Exit codes of a mutant's process. Any other ending, or a signal, means killed."""
MEMORY = 6 << 30
TRACED_CALLS = 3000
"""How many calls of a function in one test are traced line by line."""


class Test(Struct, frozen=True):
    """One test of the first run: its processor time in ``seconds``, and the ``lines`` of the module that it ran."""

    __test__ = False

    name: str
    seconds: float
    lines: frozenset[int]


class Module(Struct, frozen=True):
    """A module under mutation: its path in the repository and the test files or folders that cover it."""

    path: str
    tests: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


class Verdict(Struct, frozen=True):
    """The result for a mutant. ``tests``: how many could reach it."""

    mutant: Mutant
    killed: bool
    tests: int


class BrokenTestsError(Exception):
    """The tests fail without any mutant, or cannot be collected."""


Choose = Callable[[ast.Module, Sequence[Mutant]], Sequence[Mutant]]
"""Which of a tree's mutants are examined."""


def examine(root: Path, module: Module, choose: Choose | None = None) -> Iterator[Verdict]:
    """Yield the verdict on each mutant of a module as it arrives. ``choose`` None: on all. Raises BrokenTestsError."""
    text = (root / module.path).read_text("utf-8")
    tree = ast.parse(text)
    every = mutants(tree, text)
    if choose is not None:
        every = list(choose(tree, every))
    numbered = {mutant.number: mutant for mutant in every}
    with tempfile.TemporaryDirectory(prefix="rye-mutation-") as folder:
        place = Path(folder)
        rows = _warm(root, module, tree, every, place)
        first = next(rows)
        if "failed" in first:
            raise BrokenTestsError(f"{module.path}: these tests fail without a mutant.\n{first['failed']}")
        tests = [Test(row["name"], row["seconds"], frozenset(row["lines"])) for row in first["tests"]]
        at_import = frozenset(first["at_import"])
        states = {}
        for row in rows:
            mutant = numbered[row["number"]]
            states[mutant.number] = row["state"]
            if row["state"] != NOT_SWAPPED:
                yield Verdict(mutant, killed=row["state"] == KILLED, tests=len(_reaching(mutant, tests)))
        jobs = [
            (mutant, _reaching(mutant, tests, at_import))
            for mutant in every
            if states.get(mutant.number, NOT_SWAPPED) == NOT_SWAPPED
        ]
        for mutant, state in _cold(root, module, tree, jobs, place):
            yield Verdict(mutant, killed=state == KILLED, tests=len(_reaching(mutant, tests, at_import)))


def _reaching(mutant: Mutant, tests: Sequence[Test], at_import: frozenset[int] = frozenset()) -> list[Test]:
    """The tests that ran the mutant's lines; all tests for code that runs at import. Those that ran the line after it come first,
    because that is what a condition decides about; then the quickest.

    ``at_import``: lines of functions that ran while the module was imported. Any test may use their results.
    """
    lines = set(range(mutant.line, mutant.end + 1))
    always = not mutant.inside or not lines.isdisjoint(at_import)
    found = [test for test in tests if always or not lines.isdisjoint(test.lines)]
    return sorted(found, key=lambda test: (mutant.end + 1 not in test.lines, test.seconds))


# The process with everything imported


def _warm(
    root: Path, module: Module, tree: ast.Module, every: Sequence[Mutant], folder: Path
) -> Iterator[dict[str, Any]]:
    """Yield a row with the ``tests`` of the first run (or what ``failed`` in it), then one for each mutant within a function:
    how its process ended."""
    output = folder / "output"
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        quietly(output)
        plugin = _Warm(root / module.path, module.name, tree, every, folder, writing)
        code = 99
        with contextlib.suppress(BaseException):
            code = int(pytest.main([*_OPTIONS, f"--basetemp={folder / 'tests'}", *module.tests], [plugin]))
        os._exit(code)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as stream:
        yield from map(json.loads, stream)
    _, status = os.waitpid(child, 0)
    if os.waitstatus_to_exitcode(status) != 0:
        raise BrokenTestsError(f"{module.path}: its tests do not pass as they are.\n{output.read_text()[-3000:]}")


_OPTIONS = [
    "-o",
    "addopts=",
    "-q",
    "--no-header",
    "-p",
    "no:cacheprovider",
    "-p",
    "no:xdist",
    "--hypothesis-profile=mutation",
]


class _Warm:
    """The pytest plugin that, instead of running the tests, runs them once traced and then for each mutant."""

    def __init__(
        self, path: Path, name: str, tree: ast.Module, every: Sequence[Mutant], folder: Path, writing: int
    ) -> None:
        self._path, self._name, self._tree, self._every = str(path), name, tree, every
        self._folder, self._writing = folder, writing
        self._at_import: set[int] = set()

    @pytest.hookimpl(wrapper=True)
    def pytest_load_initial_conftests(self) -> Iterator[None]:
        """What the first ``conftest.py`` imports is imported here."""
        with _traced(self._path, self._at_import):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_collection(self) -> Iterator[None]:
        with _traced(self._path, self._at_import):
            return (yield)

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if session.testsfailed or not session.items:
            raise session.Failed("no tests")
        _warm_hypothesis()
        gc.collect()
        gc.freeze()  # so that the children's collector leaves these pages shared
        tests = self._first_run(session)
        by_name = {item.nodeid: item for item in session.items}
        functions = functions_of(sys.modules[self._name], self._path)
        killers: dict[str, list[str]] = {}  # the test that killed one mutant of a function often kills the next
        self._tell(
            tests=[{"name": t.name, "seconds": t.seconds, "lines": sorted(t.lines)} for t in tests],
            at_import=sorted(self._at_import),
        )
        for mutant in self._every:
            if not mutant.inside:
                continue
            reached = _reaching(mutant, tests)
            imported = not self._at_import.isdisjoint(range(mutant.line, mutant.end + 1))
            if not reached:
                self._tell(number=mutant.number, state=NOT_SWAPPED if imported else SURVIVED)
                continue
            killers.setdefault(mutant.function, [])
            reached.sort(key=lambda test: test.name not in killers[mutant.function])
            items = [by_name[test.name] for test in reached]
            limits = {test.name: _allowed(test) for test in reached}

            def run(
                mutant: Mutant = mutant, items: list[pytest.Item] = items, limits: dict[str, float] = limits
            ) -> int:
                if not swap(functions, self._tree, mutant, self._path):
                    return NOT_SWAPPED
                killer = _first_failure(items, limits)
                if killer is not None:
                    (self._folder / "killer").write_text(killer, "utf-8")
                return SURVIVED if killer is None else KILLED

            (self._folder / "killer").unlink(missing_ok=True)
            state = _in_child(run, self._folder, session, sum(limits.values()))
            if (self._folder / "killer").exists():
                killers[mutant.function].append((self._folder / "killer").read_text("utf-8"))
            if state == SURVIVED and imported:
                state = NOT_SWAPPED  # a cached value may come from the unchanged function
            self._tell(number=mutant.number, state=state)
        return True

    def _tell(self, **row: object) -> None:
        data = json.dumps(row).encode() + b"\n"
        while data:
            data = data[os.write(self._writing, data) :]

    def _first_run(self, session: pytest.Session) -> list[Test]:
        rows = self._folder / "first"

        def run() -> int:
            found = []
            failed = []
            for index, item in enumerate(session.items):
                following = session.items[index + 1] if index + 1 < len(session.items) else None
                lines: set[int] = set()
                started = time.process_time()
                with _traced(self._path, lines):
                    reports = runtestprotocol(item, log=False, nextitem=following)
                if any(report.failed for report in reports):  # perhaps only too slow because of tracing
                    reports = runtestprotocol(item, log=False, nextitem=following)
                seconds = time.process_time() - started
                if any(report.failed for report in reports):
                    failed.append(item.nodeid + "\n" + "\n".join(r.longreprtext for r in reports if r.failed))
                elif lines:
                    found.append({"name": item.nodeid, "seconds": seconds, "lines": sorted(lines)})
            rows.write_text(json.dumps({"found": found, "failed": failed}))
            return SURVIVED

        _in_child(run, self._folder, session, 3600)
        if not rows.exists():
            raise session.Failed("the first run did not end")
        document = json.loads(rows.read_text("utf-8"))
        if document["failed"]:
            self._tell(failed="\n".join(document["failed"])[-3000:])
            raise session.Failed("some tests fail without a mutant")
        return [Test(row["name"], row["seconds"], frozenset(row["lines"])) for row in document["found"]]


def _allowed(test: Test) -> float:
    return 5 * test.seconds + 2


def _first_failure(items: Sequence[pytest.Item], limits: dict[str, float]) -> str | None:
    for index, item in enumerate(items):
        signal.setitimer(signal.ITIMER_PROF, limits[item.nodeid])  # the signal ends the process by default
        following = items[index + 1] if index + 1 < len(items) else None
        if any(report.failed for report in runtestprotocol(item, log=False, nextitem=following)):
            return item.nodeid
    return None


def _in_child(run: Callable[[], int], folder: Path, session: pytest.Session, seconds: float) -> int:
    """What a forked process returned. It counts as killed when it died or took ten times its usual wall-clock time."""
    temporary = folder / "tests-of-mutant"
    temporary.mkdir()
    child = os.fork()
    if child == 0:
        code = KILLED
        try:
            os.setpgid(0, 0)
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            factory: Any = session.config._tmp_path_factory  # type: ignore[attr-defined]
            factory._basetemp = temporary
            code = run()
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr)
        finally:
            os._exit(code)
    try:
        return waited(child, 10 * seconds + 60)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def waited(child: int, seconds: float) -> int:
    """How a process ended. One that takes too long is killed, along with the processes that it started."""
    limit = time.monotonic() + seconds
    pause = 0.002
    while True:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            code = os.waitstatus_to_exitcode(status)
            break
        if time.monotonic() > limit:
            code = KILLED
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            break
        time.sleep(pause)
        pause = min(pause * 1.5, 0.05)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # servers that its tests started
    return code if code in (SURVIVED, NOT_SWAPPED) else KILLED


@contextlib.contextmanager
def _traced(path: str, lines: set[int]) -> Iterator[None]:
    """Collects the lines of one file that run while it is active, in every thread."""
    calls: dict[types.CodeType, int] = {}

    def local(frame: types.FrameType, event: str, _argument: object) -> Any:
        if event == "line":
            lines.add(frame.f_lineno)
        return local

    def trace(frame: types.FrameType, _event: str, _argument: object) -> Any:
        code = frame.f_code
        if code.co_filename != path:
            return None
        calls[code] = calls.get(code, 0) + 1
        return local if calls[code] <= TRACED_CALLS else None

    threading.settrace(trace)
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(None)
        threading.settrace(None)


def functions_of(module: types.ModuleType, path: str) -> dict[tuple[str, int], types.FunctionType]:
    """The functions and methods that a module defines, by qualified name and first line."""
    found: dict[tuple[str, int], types.FunctionType] = {}
    seen: set[int] = set()

    def look(value: Any) -> None:
        if id(value) in seen:
            return
        seen.add(id(value))
        if isinstance(value, types.FunctionType) and value.__code__.co_filename == path:
            found.setdefault((value.__code__.co_qualname, value.__code__.co_firstlineno), value)
        if isinstance(value, type) and value.__module__ == module.__name__:
            for member in list(vars(value).values()):
                look(member)
        for name in ("__func__", "__wrapped__", "fget", "fset", "func"):
            if hasattr(type(value), name) or name in getattr(value, "__dict__", ()):  # some objects have any attribute
                look(getattr(value, name, None))

    for value in list(vars(module).values()):
        look(value)
    return found


def swap(functions: dict[tuple[str, int], types.FunctionType], tree: ast.Module, mutant: Mutant, path: str) -> bool:
    """Give the changed function its new code. False when the function was not found or its closure changed."""
    apply(mutant.edit)
    changed = {
        (code.co_qualname, code.co_firstlineno): code for code in _codes(compile(tree, path, "exec", dont_inherit=True))
    }
    swapped = False
    for key, function in functions.items():
        if key in changed and f"{mutant.function}.".startswith(f"{key[0]}."):
            try:
                function.__code__ = changed[key]
            except ValueError:
                return False
            swapped = True
    return swapped


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


# The processes that import the changed module


def _cold(
    root: Path, module: Module, tree: ast.Module, jobs: Sequence[tuple[Mutant, Sequence[Test]]], folder: Path
) -> Iterator[tuple[Mutant, int]]:
    """How each mutant's process ended; each starts pytest and imports everything with the change in place. Before the first one,
    the same without a change, which must pass. Raises BrokenTestsError.
    """
    hook = Hook(module.name, root / module.path, tree)
    for number, (mutant, tests) in enumerate(jobs):
        if number == 0 and (hook.is_too_late or _played_cold(module, hook, None, tests, folder) != SURVIVED):
            said = (
                (folder / "output").read_text()[-3000:] if (folder / "output").exists() else "It is imported already."
            )
            raise BrokenTestsError(f"{module.path}: pytest did not start.\n{said}")
        yield mutant, _played_cold(module, hook, mutant, tests, folder)


def _played_cold(module: Module, hook: Hook, mutant: Mutant | None, tests: Sequence[Test], folder: Path) -> int:
    """How a process ended that imports the module with this change, or with none, and runs these tests in their order."""
    limits = {test.name: _allowed(test) + 5 for test in tests}
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        quietly(folder / "output")
        if mutant is not None:
            apply(mutant.edit)
        sys.meta_path.insert(0, hook)
        with contextlib.suppress(BaseException):
            files = sorted({test.name.split("::")[0] for test in tests})
            pytest.main([*_OPTIONS, f"--basetemp={folder / 'tests-of-mutant'}", *files], [_Cold(limits)])
        os._exit(KILLED)
    return waited(child, 10 * sum(limits.values()) + 60)


class _Cold:
    """The pytest plugin that runs the named tests in their order, and ends the process."""

    def __init__(self, limits: dict[str, float]) -> None:
        self._limits = limits

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        code = KILLED
        try:
            by_name = {item.nodeid: item for item in session.items}
            if session.testsfailed == 0 and all(name in by_name for name in self._limits):
                killer = _first_failure([by_name[name] for name in self._limits], self._limits)
                code = SURVIVED if killer is None else KILLED
        finally:
            os._exit(code)


class Hook(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports one module from a changed syntax tree."""

    def __init__(self, name: str, path: Path, tree: ast.Module) -> None:
        self._name, self._path, self._tree = name, path, tree

    @property
    def is_too_late(self) -> bool:
        """Whether the unchanged module has already been imported."""
        return self._name in sys.modules

    def find_spec(self, fullname: str, path: object, target: object = None) -> ModuleSpec | None:
        if fullname != self._name:
            return None
        folders = [str(self._path.parent)] if self._path.name == "__init__.py" else None
        return importlib.util.spec_from_file_location(
            fullname, self._path, loader=self, submodule_search_locations=folders
        )

    def create_module(self, spec: ModuleSpec) -> types.ModuleType | None:
        return None

    def exec_module(self, module: types.ModuleType) -> None:
        exec(compile(self._tree, str(self._path), "exec", dont_inherit=True), vars(module))  # noqa: S102  our own source


def quietly(output: Path) -> None:
    """Everything that a child prints goes to a file."""
    descriptor = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)


def _warm_hypothesis() -> None:
    """Its first run in a process scans every module for constants, which would cost each mutant seconds."""
    import hypothesis
    from hypothesis import strategies

    @hypothesis.settings(max_examples=1)
    @hypothesis.given(strategies.text(), strategies.integers())
    def nothing(_text: str, _number: int) -> None:
        pass

    nothing()


_HEAVY = (
    "cryptography.hazmat.primitives.asymmetric.ed25519",
    "nacl.bindings",
    "httpx",
    "ruamel.yaml",
    "tomlkit",
    "click",
)


def prepare(folder: Path) -> None:
    """Import what every process needs and none of the program; make tests repeatable and quick to fail."""
    os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = str(folder)
    sys.pycache_prefix = str(folder / "bytecode")
    import hypothesis

    for name in _HEAVY:
        importlib.import_module(name)
    hypothesis.settings.register_profile(
        "mutation", derandomize=True, database=None, deadline=None, report_multiple_bugs=False,
        phases=(hypothesis.Phase.explicit, hypothesis.Phase.generate),
        suppress_health_check=list(hypothesis.HealthCheck),
    )  # fmt: skip
    hypothesis.settings.load_profile("mutation")
    _warm_hypothesis()
