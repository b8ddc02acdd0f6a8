"""Faults while publishers publish: how many publishes were acknowledged, lost, and refused, and whether the log forked.

    python benchmarks/faults.py [--publishers 8] [--seconds 6] [--only SERIES …]

Each series has a registry of its own, served by the real program, publishers who never stop, and an observer who reads
``/head`` and ``/checkpoint`` all the time. When the fault is over, publishing must go on. Then the log is verified: *lost* counts
acknowledged releases that are not in the log at their position, *forks* counts sizes of the log for which anyone saw a root that
is not the log's. Series that this machine cannot play (no PostgreSQL, no right to mount) are skipped with a message. Ends with
status 1 if anything was lost, forked, damaged or did not go on. It takes at most five minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from fault_tools import shifted
from fault_tools.crowd import Crowd
from publish_tools.registry import Registry
from publish_tools.stores import bucket, postgresql_server, settings_of

from registry_server.embedded import START_SECONDS, launch
from registry_server.migrations import opening
from registry_server.sequencer.ledger import Ledger
from registry_server.settings import load
from registry_server.storage import database
from registry_server.storage.store_factory import public_objects
from registry_server.upkeep import audit
from rye.registry.protocol.merkle import CompactRange

GOING_ON_SECONDS = 40.0
LIMIT_SECONDS = 290.0
NAMES = 16


class Missing(Exception):
    """Why this machine cannot play a series."""


class Stage:
    """What a series plays with."""

    def __init__(self, registry: Registry, crowd: Crowd, seconds: float) -> None:
        self.registry = registry
        self.crowd = crowd
        self.seconds = seconds
        self.killed = 0
        """Processes of the server that were killed."""

    @property
    def server(self) -> subprocess.Popen[bytes]:
        return self.registry._process

    def repeatedly(self, fault: Callable[[], None], every: float = 1.5) -> None:
        """Play a fault again and again, each time with publishes before it."""
        until = time.monotonic() + self.seconds
        while time.monotonic() < until:
            self.crowd.wait_for(20, every * 4)
            fault()

    def kill_server(self) -> None:
        self.server.kill()
        self.server.wait()
        self.registry.restart()

    def kill_child(self, module: str) -> None:
        """Kill the server's process that runs a module, as soon as there is one."""
        until = time.monotonic() + GOING_ON_SECONDS / 2
        while not (found := children(self.server.pid, module)) and time.monotonic() < until:
            time.sleep(0.05)
        if found:
            os.kill(found[0], signal.SIGKILL)
            self.killed += 1

    def stop_child(self, module: str) -> None:
        """Stop one for a moment, then let it go on."""
        for process in children(self.server.pid, module):
            os.kill(process, signal.SIGSTOP)
            time.sleep(1.0)
            os.kill(process, signal.SIGCONT)


def children(process: int, module: str) -> list[int]:
    """The processes below a process whose command line contains a word."""
    found = []
    for task in Path(f"/proc/{process}/task").glob("*/children"):
        for child in task.read_text().split():
            try:
                words = Path(f"/proc/{child}/cmdline").read_text()
            except OSError:
                continue
            if module in words:
                found.append(int(child))
    return found


# -- series --------------------------------------------------------------------------------------------------------------


def _kill_server(stage: Stage) -> None:
    stage.repeatedly(stage.kill_server)


def _kill_writer(stage: Stage) -> None:
    stage.repeatedly(lambda: stage.kill_child("api.writer"))


def _kill_examiner(stage: Stage) -> None:
    stage.repeatedly(lambda: stage.kill_child("api.worker"))


def _stop_writer(stage: Stage) -> None:
    stage.repeatedly(lambda: stage.stop_child("api.writer"))


def _fill_disk(stage: Stage) -> None:
    filler = stage.registry.data.parent / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 4096)
        except OSError:
            pass
    time.sleep(stage.seconds / 2)
    filler.unlink()


def _crash_postgresql(stage: Stage) -> None:
    server = POSTGRESQL[-1]
    for _ in range(2):
        stage.crowd.wait_for(20, 5)
        main = server.get_pid()
        assert main is not None
        family = [main, *(int(child) for child in Path(f"/proc/{main}/task/{main}/children").read_text().split())]
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for process in family:
                os.kill(process, number)
        until = time.monotonic() + GOING_ON_SECONDS
        while Path(f"/proc/{main}").exists():  # until somebody has waited for it, another would not start
            if time.monotonic() > until:
                raise Missing("nobody waits for PostgreSQL's process after its end")
            time.sleep(0.1)
        server.ensure_postgres_running()


def _silence_bucket(stage: Stage) -> None:
    for process in children(os.getpid(), "fake_bucket"):
        os.kill(process, signal.SIGSTOP)
        time.sleep(stage.seconds / 2)
        os.kill(process, signal.SIGCONT)


def _jump(stage: Stage) -> None:
    shift = Path(os.environ["RYE_FAULTS_SHIFT"])
    for seconds in (7200, -7200, 400 * 86400):
        stage.crowd.wait_for(10, 5)
        shift.write_text(str(seconds))
        time.sleep(stage.seconds / 4)
        shift.write_text("0")


# -- where they are played -----------------------------------------------------------------------------------------------

POSTGRESQL: list[Any] = []
"""The PostgreSQL servers that were started."""


@contextmanager
def _plain(_folder: Path) -> Iterator[Mapping[str, str]]:
    yield {}


@contextmanager
def _small_disk(folder: Path) -> Iterator[Mapping[str, str]]:
    folder.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=48m", "none", str(folder)], capture_output=True, check=False
    )
    if done.returncode:
        raise Missing("this user may not mount a small disk")
    try:
        yield {}
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=False)


@contextmanager
def _with_postgresql(_folder: Path) -> Iterator[Mapping[str, str]]:
    with ExitStack() as stack:
        try:
            server = postgresql_server(stack)
        except ImportError as error:
            raise Missing("the wheel of PostgreSQL is not installed") from error
        POSTGRESQL.append(server)
        yield settings_of(server)


@contextmanager
def _with_bucket(_folder: Path) -> Iterator[Mapping[str, str]]:
    with ExitStack() as stack, mock.patch.dict(os.environ, RYE_REGISTRY_STORE_WAIT_SECONDS="1.0"):
        yield bucket(stack, 0.005)


class ShiftedRegistry(Registry):
    """Its server takes the time from a file."""

    def start(self) -> tuple[subprocess.Popen[bytes], str]:
        ready = self.data.parent / "ready.json"
        words = [
            sys.executable,
            shifted.__file__,
            "serve",
            "--data",
            str(self.data),
            "--port",
            "0",
            "--ready-file",
            str(ready),
        ]
        with (self.data / "server.log").open("ab") as log:
            process = launch(words, log)
        until = time.monotonic() + START_SECONDS
        while not ready.exists() and time.monotonic() < until:
            time.sleep(0.02)
        return process, json.loads(ready.read_text())["url"]


SERIES: dict[str, tuple[str, Callable[..., object], type[Registry], Callable[[Stage], None]]] = {
    "server": ("kill -9 of the server", _plain, Registry, _kill_server),
    "writer": ("kill -9 of the process that appends", _plain, Registry, _kill_writer),
    "stopped": ("SIGSTOP of it, a second each", _plain, Registry, _stop_writer),
    "examiner": ("kill -9 of one that examines", _plain, Registry, _kill_examiner),
    "disk": ("disk full", _small_disk, Registry, _fill_disk),
    "postgresql": ("crash of PostgreSQL", _with_postgresql, Registry, _crash_postgresql),
    "bucket": ("silent bucket", _with_bucket, Registry, _silence_bucket),
    "clock": ("clock +2 h, -2 h, +400 d", _plain, ShiftedRegistry, _jump),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--publishers", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=6.0)
    parser.add_argument("--only", nargs="*", choices=list(SERIES), default=list(SERIES))
    options = parser.parse_args()
    began = time.monotonic()
    print(f"{'fault':<36} {'acknowledged':>12} {'lost':>5} {'forks':>5}  {'goes on':<8} refused")
    is_well = True
    for name in options.only:
        if time.monotonic() - began > LIMIT_SECONDS - 40:
            print(f"{SERIES[name][0]:<36} skipped: five minutes are over")
            continue
        try:
            is_well = _play(name, options.publishers, options.seconds) and is_well
        except Missing as missing:
            print(f"{SERIES[name][0]:<36} skipped: {missing}", flush=True)
    raise SystemExit(0 if is_well else 1)


def _play(name: str, publishers: int, seconds: float) -> bool:
    words, where, kind, fault = SERIES[name]
    with tempfile.TemporaryDirectory(prefix="rye-faults-") as folder, ExitStack() as stack:
        os.environ["RYE_FAULTS_SHIFT"] = str(Path(folder, "shift"))
        Path(folder, "shift").write_text("0")
        place = Path(folder, "registry")
        values: Mapping[str, str] = stack.enter_context(where(place))  # type: ignore[arg-type]
        place.mkdir(exist_ok=True)
        registry = kind(words, place / "data", stack, NAMES, values)
        crowd = Crowd(registry, "f", publishers)
        with crowd.working():
            crowd.wait_for(30, GOING_ON_SECONDS)
            stage = Stage(registry, crowd, seconds)
            fault(stage)
            goes_on = crowd.wait_for(30, GOING_ON_SECONDS)
        ended = registry._process.poll()  # by itself: who kills the server starts it again
        registry.restart()  # nothing may be only in memory
        lost, forks, problems = _judge(registry, crowd)
    if ended is not None:
        problems.append(f"the server ended with {ended}")
    if fault in (_kill_writer, _kill_examiner) and not stage.killed:
        problems.append("there was no process to kill")
    refused = ", ".join(f"{count} {code}" for code, count in crowd.refused.most_common(4)) or "none"
    print(
        f"{words:<36} {len(crowd.acknowledged):>12} {lost:>5} {forks:>5}  {'yes' if goes_on else 'NO':<8} {refused}"
        f"{f'  WRONG: {problems[0]}' if problems else ''}",
        flush=True,
    )
    return goes_on and not (lost or forks or problems)


def _judge(registry: Registry, crowd: Crowd) -> tuple[int, int, list[str]]:
    """How many acknowledged releases are lost, at how many sizes another root was seen, and what is damaged."""
    settings = load(registry.data, {}, {})
    engine = opening.open_database(settings)
    with database.reader(engine) as connection:
        ledger = Ledger(connection)
        leaves = ledger.leaves(0, ledger.size)
        problems = audit.verify(ledger, public_objects(settings))
        tree, roots = CompactRange(), {0: CompactRange().root()}
        for size, hashed in enumerate(ledger.leaf_hashes(ledger.size), 1):
            tree, _ = tree.append(hashed)
            roots[size] = tree.root()
    engine.dispose()
    lost = sum(1 for note, at in crowd.acknowledged.items() if at >= len(leaves) or leaves[at] != note)
    forks = sum(1 for size, seen in crowd.roots.items() if seen != {roots.get(size)})
    return lost, forks, problems


if __name__ == "__main__":
    main()
