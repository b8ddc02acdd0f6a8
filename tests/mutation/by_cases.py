"""Plays the cases of ``conformance/`` against mutants of what a client verifies with, in forked processes.

A first process imports the modules with probes (:mod:`tests.mutation.telling_apart`) and plays every case once: which cases can
tell which mutant from the program. Then two workers, which imported everything once, fork for each mutant: the child changes the
function and plays those cases, those first that noticed the function's other mutants, until one fails. A mutant of code that runs
at import is imported by a process of its own. A case that needs more than five times its usual processor time plus two seconds
has failed.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import gc
import importlib
import json
import os
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from conformance.cases import every_case
from conformance.play import Case
from conformance.reports import read_expected
from conformance.running import play_one
from conformance.simulator.server import Server
from tests.mutation.operators import Mutant, apply, mutants
from tests.mutation.running import (
    KILLED,
    MEMORY,
    NOT_SWAPPED,
    SURVIVED,
    BrokenTestsError,
    Choose,
    Hook,
    Module,
    Verdict,
    functions_of,
    quietly,
    swap,
    waited,
)
from tests.mutation.telling_apart import Seen, instrument
from tests.scenes.memory_disk import memory_disk

WORKERS = 2
CLIENT = "conformance.clients.rye_client"


@dataclass(frozen=True)
class Job:
    """A mutant, and the numbers of the cases that may notice it: the likeliest first."""

    module: Module
    tree: ast.Module
    mutant: Mutant
    cases: tuple[int, ...]
    at_import: bool


@dataclass(frozen=True)
class _Scene:
    """What every process needs: the repository, a folder for scratch files, the cases, and the usual seconds of each."""

    root: Path
    folder: Path
    cases: Sequence[Case]
    seconds: Sequence[float] = ()


def examine_by_cases(
    root: Path, chosen: Sequence[tuple[Module, Choose]], words: Sequence[str] = ()
) -> Iterator[tuple[Module, list[Verdict]]]:
    """Yield each module with the verdicts on its mutants, when the last of them is judged. ``words``: only the cases whose id
    has one of these. Raises BrokenTestsError.
    """
    cases = [case for case in every_case() if not words or any(word in case.id for word in words)]
    with tempfile.TemporaryDirectory(prefix="rye-mutation-", dir=memory_disk()) as folder:
        scene, jobs = _prepared(_Scene(root, Path(folder), cases), chosen)
        states: dict[int, int] = {}
        open_jobs = {module.path: sum(job.module == module for job in jobs) for module, _ in chosen}
        for number, state in _workers(scene, jobs):
            states[number] = _cold(scene, jobs[number]) if state == NOT_SWAPPED else state
            module = jobs[number].module
            open_jobs[module.path] -= 1
            if open_jobs[module.path] == 0:
                judged = [(job, states[at]) for at, job in enumerate(jobs) if job.module == module]
                yield module, [Verdict(job.mutant, killed=s == KILLED, tests=len(job.cases)) for job, s in judged]
        if len(states) < len(jobs):
            raise BrokenTestsError(f"A worker ended early.\n{(scene.folder / 'output').read_text()[-3000:]}")


# The first process


def _prepared(scene: _Scene, chosen: Sequence[tuple[Module, Choose]]) -> tuple[_Scene, list[Job]]:
    found: list[tuple[Module, ast.Module, Mutant]] = []
    for module, choose in chosen:
        text = (scene.root / module.path).read_text("utf-8")
        tree = ast.parse(text)
        found += [(module, tree, mutant) for mutant in choose(tree, mutants(tree, text))]
    report = scene.folder / "first"
    child = os.fork()
    if child == 0:
        quietly(scene.folder / "output")
        _end(lambda: report.write_text(json.dumps(_first_run(scene, found))))
    os.waitpid(child, 0)
    if not report.exists():
        raise BrokenTestsError(f"The first run failed.\n{(scene.folder / 'output').read_text()[-3000:]}")
    first = json.loads(report.read_text("utf-8"))
    if first["failed"]:
        raise BrokenTestsError("These cases fail without a mutant.\n" + "\n".join(first["failed"]))
    seconds = first["seconds"]
    jobs = []
    for key, (module, tree, mutant) in enumerate(found):
        likely, possible = ({n for n in first[name].get(str(key), ()) if n >= 0} for name in ("differs", "runs"))
        order = sorted(likely | possible, key=lambda n: (n not in likely, seconds[n]))
        at_import = not mutant.inside or -1 in first["runs"].get(str(key), ())
        if at_import:
            order += [n for n in range(len(scene.cases)) if n not in set(order)]
        jobs.append(Job(module, tree, mutant, tuple(order), at_import))
    return replace(scene, seconds=seconds), jobs


def _first_run(scene: _Scene, found: Sequence[tuple[Module, ast.Module, Mutant]]) -> dict[str, Any]:
    """Play every case with probes in place."""
    seen = Seen()
    seen.install()
    numbered: dict[str, list[tuple[int, Mutant]]] = {}
    trees = {module.path: (module, tree) for module, tree, _ in found}
    for key, (module, _, mutant) in enumerate(found):
        numbered.setdefault(module.path, []).append((key, mutant))
    for path, (module, tree) in trees.items():
        instrument(tree, numbered[path])
        sys.meta_path.insert(0, Hook(module.name, scene.root / path, tree))
    for module, _ in trees.values():
        importlib.import_module(module.name)
    seconds, failed = [], []
    with Server() as server:
        handle = importlib.import_module(CLIENT).handle
        caches = [one for one in gc.get_objects() if isinstance(one, functools._lru_cache_wrapper)]
        for number, case in enumerate(scene.cases):
            seen.case = number
            for cache in caches:
                cache.cache_clear()  # a case that finds a value in a cache must not look as if it did not need it
            started = time.process_time()
            result = play_one(case, handle, server, scene.folder, f"first-{number}")
            seconds.append(time.process_time() - started)
            if (result.failure is not None) is not (case.id in _expected(scene.root)):
                failed.append(f"{case.id}: {result.failure}")
    return {
        "seconds": seconds,
        "failed": failed,
        "differs": {key: sorted(cases) for key, cases in seen.differs.items()},
        "runs": {key: sorted(cases) for key, cases in seen.runs.items()},
    }


def _expected(root: Path) -> frozenset[str]:
    return read_expected(root / "conformance" / "clients" / "rye_client.xfails")


# The workers


def _workers(scene: _Scene, jobs: Sequence[Job]) -> Iterator[tuple[int, int]]:
    """The number of each job and how its process ended, as they arrive."""
    reading, writing = os.pipe()
    children = []
    for number in range(WORKERS):
        child = os.fork()
        if child == 0:
            os.close(reading)
            quietly(scene.folder / "output")
            _end(lambda number=number: _work(scene, jobs, range(number, len(jobs), WORKERS), writing))
        children.append(child)
    os.close(writing)
    try:
        with os.fdopen(reading, encoding="ascii") as stream:
            for line in stream:
                at, state = line.split()
                yield int(at), int(state)
    finally:
        for child in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGTERM)
            os.waitpid(child, 0)


def _work(scene: _Scene, jobs: Sequence[Job], mine: Sequence[int], writing: int) -> None:
    importlib.import_module(CLIENT)
    functions = {job.module: functions_of(importlib.import_module(job.module.name), _file(scene, job)) for job in jobs}
    gc.collect()
    gc.freeze()  # so that the children's collector leaves these pages shared
    noticed: dict[tuple[str, str], list[int]] = {}
    killer = scene.folder / f"killer-{os.getpid()}"
    for number in mine:
        job = jobs[number]
        before = noticed.setdefault((job.module.path, job.mutant.function), [])
        cases = sorted(job.cases, key=lambda case, before=before: case not in before)  # type: ignore[misc]
        state = SURVIVED
        if job.at_import:
            state = NOT_SWAPPED
        elif cases:
            killer.unlink(missing_ok=True)
            child = os.fork()
            if child == 0:
                if not swap(functions[job.module], job.tree, job.mutant, _file(scene, job)):
                    os._exit(NOT_SWAPPED)
                _play(scene, cases, killer)
            state = waited(child, _patience(scene, cases))
            if killer.exists():
                before.append(int(killer.read_text()))
        os.write(writing, f"{number} {state}\n".encode())


def _cold(scene: _Scene, job: Job) -> int:
    """Judge a mutant in a process that imports everything with the change in place."""
    child = os.fork()
    if child == 0:
        quietly(scene.folder / "output")
        apply(job.mutant.edit)
        sys.meta_path.insert(0, Hook(job.module.name, scene.root / job.module.path, job.tree))
        _play(scene, job.cases, scene.folder / "killer")
    return waited(child, _patience(scene, job.cases))


def _file(scene: _Scene, job: Job) -> str:
    return str(scene.root / job.module.path)


def _patience(scene: _Scene, cases: Sequence[int]) -> float:
    """Wall-clock seconds after which a child is ended."""
    return 10 * sum(_allowed(scene, number) for number in cases) + 60


def _allowed(scene: _Scene, number: int) -> float:
    return 5 * scene.seconds[number] + 2


def _play(scene: _Scene, cases: Sequence[int], killer: Path) -> None:
    """Play cases until one notices, write down its number, and end this process."""
    code = KILLED
    try:
        os.setpgid(0, 0)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        signal.setitimer(signal.ITIMER_PROF, 10)
        handle = importlib.import_module(CLIENT).handle
        with Server() as server, tempfile.TemporaryDirectory(dir=scene.folder) as folder:
            code = SURVIVED
            for number in cases:
                signal.setitimer(signal.ITIMER_PROF, _allowed(scene, number))  # the signal ends the process by default
                killer.write_text(str(number))
                code = KILLED
                case = scene.cases[number]
                result = play_one(case, handle, server, Path(folder), f"c{number}")
                if (result.failure is not None) is not (case.id in _expected(scene.root)):
                    break
                code = SURVIVED
            signal.setitimer(signal.ITIMER_PROF, 0)
            if code == SURVIVED:
                killer.unlink(missing_ok=True)
    except BaseException as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
    finally:
        os._exit(code)


def _end(act: Any) -> None:
    """Do it in a forked process, and end that."""
    code = 1
    try:
        act()
        code = 0
    except BaseException as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
    finally:
        sys.stderr.flush()
        os._exit(code)
