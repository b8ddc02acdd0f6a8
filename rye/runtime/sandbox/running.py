"""Starts a tool in its sandbox, writes its input, reads its output, and ends it: the part that all sandboxes share.

The tool's bytes become files in a private folder of this call, which is deleted afterwards. The launcher
(:mod:`rye.runtime.sandbox.launcher`) runs in a separate process and follows a plan:

* ``argv env cwd work_bytes work_entries``: the tool, its whole environment, its work folder and the folder's limits;
* ``memory processor rlimits``: limits for all its processes together, and for each;
* ``user capabilities``: the user that it becomes (:mod:`rye.runtime.sandbox.users`);
* ``landlock seccomp``: rights and filter, if the sandbox uses them;
* ``mounted covered``: paths with the device and inode that they must have inside, and must not have;
* ``namespace``: whether the launcher is the first process of a namespace, so that its end kills the others;
* ``control status result calls``: descriptors, -1 for none (:mod:`rye.runtime.sandbox.starting` fills them in).
"""

from __future__ import annotations

import contextlib
import marshal
import os
import platform
import selectors
import shutil
import signal
import socket
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from threading import Event
from typing import Any, Protocol

from msgspec import Struct
from msgspec.structs import replace

from rye.limits import SANDBOX
from rye.runtime.sandbox import exposure, users
from rye.runtime.sandbox.connections import Supervisor
from rye.runtime.sandbox.granted import Granted, Opened, changed, opened
from rye.runtime.sandbox.interpreters import FOLDER, Program, program_for
from rye.runtime.sandbox.profile import Profile
from rye.runtime.sandbox.starting import STANDARD, Ender, start_behind, start_waiting
from rye.runtime.sandbox.sweeping import sweep
from rye.runtime.sandbox.tool_run import Ended, Outcome, SandboxUnavailable, ToolRun

try:
    import pwd
except ImportError:  # Windows has no sandbox either
    pwd = None  # type: ignore[assignment]

WORK_ENTRIES = 20_000
"""The maximum number of files and folders in a work folder."""
_GRACE_SECONDS = 5.0
"""How long the launcher may take to kill everything before it is abandoned."""
_CHUNK = 1 << 16
_POLL_SECONDS = 0.05


class Scene(Struct, frozen=True, kw_only=True):
    """Everything a sandbox needs to know about one call."""

    profile: Profile
    program: Program
    folder: Path
    """The folder of the private copy."""
    opened: Opened
    """The project and what the call may change, opened once: what a sandbox mounts must still be that."""
    readable: exposure.Survey
    """The survey of the project."""
    writable: tuple[exposure.Survey, ...]
    """The surveys of the granted folders and files."""
    denied: tuple[Path, ...]
    """Rye's own folders, which are never readable."""
    user: users.User | None
    """The user that the tool runs as; None: this user."""

    def must_be_mounted(self) -> Iterator[Granted | exposure.Located]:
        """What must still be what was looked at when the tool starts: everything mounted by its path."""
        yield self.opened.project
        yield from self.opened.writes
        yield from (located for survey in self.writable for located in survey.protected)

    def must_be_covered(self) -> Iterator[exposure.Located]:
        """What must not be reachable by its path when the tool starts."""
        yield from self.readable.hidden
        yield from (located for survey in self.writable for located in survey.hidden)


Rule = tuple[str, int, exposure.Inode | None, bool]
"""A path, the rights below it, and the file or folder that it must still be; and whether the call fails if it is another one now,
instead of leaving the rule out."""


class Walls(Struct, frozen=True):
    """How one kind of sandbox confines a call."""

    prefix: Callable[[int], tuple[str, ...]] | None = None
    """The command that starts the launcher, given the descriptor from which it reads ``arguments``."""
    arguments: bytes = b""
    namespace: bool = False
    landlock: tuple[bytes, list[Rule], int] | None = None
    seccomp: bytes = b""
    processes: int = SANDBOX.processes


class Builder(Protocol):
    """Returns the walls for a scene. Raises SandboxUnavailable."""

    def __call__(self, scene: Scene, /) -> Walls:
        """Return the walls for ``scene``."""
        ...


def run(tool: ToolRun, cancel: Event, environ: Mapping[str, str], build: Builder) -> Outcome:
    """Run a tool in the sandbox that ``build`` sets up. Raises the errors of :class:`rye.runtime.sandbox.tool_run.Backend`."""
    profile = tool.profile
    program = program_for(tool, environ)
    denied = tuple(dict.fromkeys(Path(os.path.realpath(path)) for path in profile.deny))
    with private_copy(program) as folder, opened(profile, cancel) as held:
        try:
            covered = exposure.covered_inodes(_with_keys(denied, profile.caches)) | _folders(denied)
        except OSError as error:
            raise SandboxUnavailable(
                f"Rye's own folders cannot be listed, so they cannot be hidden: {error}."
            ) from None
        readable = exposure.survey(profile.project, held.project.descriptor, covered, is_project=True)
        named = frozenset(each.inode for each in held.writes if not each.is_folder)
        writable = tuple(
            exposure.survey(
                each.path,
                each.descriptor,
                covered,
                named=named,
                followed=readable.followed,
                changing=True,
                is_project=each.path == profile.project,
            )
            for each in held.writes
        )
        user = users.other_user(bool(profile.write))
        scene = Scene(
            profile=profile,
            program=program,
            folder=folder,
            opened=held,
            readable=readable,
            writable=writable,
            denied=denied,
            user=user,
        )
        walls = build(scene)
        if user is not None:
            users.give([profile.work], user)
        try:
            outcome = _Call(scene, walls, cancel).outcome()
        finally:
            swept = sweep(held.writes, writable, user, profile.project)
    return replace(outcome, refused=tuple(swept.refused), unlisted=tuple(swept.unlisted))


def _with_keys(denied: Iterable[Path], caches: Iterable[Path]) -> Iterator[Path]:
    """Rye's own folders but the caches, and the user's SSH keys."""
    large = {Path(os.path.realpath(path)) for path in caches}
    yield from (path for path in denied if path not in large)
    if pwd is not None:
        yield Path(os.path.realpath(Path(pwd.getpwuid(os.geteuid()).pw_dir, ".ssh")))


def _folders(denied: Iterable[Path]) -> frozenset[exposure.Inode]:
    """Rye's own folders themselves, the caches too."""
    return frozenset(inode for inode in map(exposure.inode_at, denied) if inode is not None)


@contextlib.contextmanager
def fresh_work() -> Iterator[Path]:
    """Create an empty folder for one call, and delete it afterwards."""
    work = Path(os.path.realpath(tempfile.mkdtemp(prefix="rye-work-")))
    try:
        yield work
    finally:
        shutil.rmtree(work, ignore_errors=True)


@contextlib.contextmanager
def private_copy(program: Program) -> Iterator[Path]:
    """Create a folder with the program's files that only this user can enter, and delete it afterwards."""
    folder = Path(os.path.realpath(tempfile.mkdtemp(prefix="rye-tool-")))
    try:
        for name, content in program.files:
            (folder / name).write_bytes(content)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class _Pipe(Struct):
    """One stream that is read; at most ``limit`` bytes are kept."""

    limit: int
    kept: bytearray
    total: int = 0

    def take(self, data: bytes) -> None:
        self.total += len(data)
        self.kept += data[: max(0, self.limit - len(self.kept))]


class _Call:
    """One call from start to end."""

    def __init__(self, scene: Scene, walls: Walls, cancel: Event):
        self.scene, self.walls, self.cancel = scene, walls, cancel
        self.profile = scene.profile
        self.output = _Pipe(SANDBOX.output_bytes, bytearray())
        self.stderr = _Pipe(SANDBOX.stderr_bytes, bytearray())
        self.status = _Pipe(1 << 16, bytearray())
        self.ended: Ended | None = None
        self.stopped = 0.0
        self.control = -1
        self.supervisor: Supervisor | None = None

    def outcome(self) -> Outcome:
        started = time.monotonic()
        with contextlib.ExitStack() as stack:
            end, streams = self._start(stack)
            self._attend(streams, started)
            end()
        return self._result(time.monotonic() - started)

    # -- starting

    def _start(self, stack: contextlib.ExitStack) -> tuple[Ender, dict[str, int]]:
        """Create the pipes and start the launcher. ``stack`` closes our ends."""
        theirs: dict[str, int] = {}
        streams: dict[str, int] = {}
        names = [*STANDARD, "status", "control", *(["result"] if self.scene.program.separate_result else [])]
        with contextlib.ExitStack() as other_ends:
            for name in names:
                reading, writing = os.pipe()
                ours, theirs[name] = (writing, reading) if name in ("stdin", "control") else (reading, writing)
                other_ends.callback(os.close, theirs[name])
                if name == "control":
                    self.control = ours
                    stack.callback(self._let_go)
                else:
                    streams[name] = ours
            stack.callback(_close_all, streams)
            if self.profile.network:
                here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
                theirs["calls"] = there.fileno()
                other_ends.callback(there.close)
                self.supervisor = Supervisor(here, self.profile.network)
                stack.callback(self.supervisor.stop)
                self.supervisor.start()
            if self.walls.prefix is not None:
                end = start_behind(self.walls.prefix, self.walls.arguments, self._plan(), theirs)
            else:
                end = start_waiting(self._plan(), theirs)
        return end, streams

    def _plan(self) -> dict[str, Any]:
        profile, program, walls = self.profile, self.scene.program, self.walls
        env = dict(profile.env) | dict(program.env)
        if profile.network:
            env |= Supervisor.environment()
        user = self.scene.user
        return {
            "argv": [word.replace(FOLDER, str(self.scene.folder)) for word in program.argv],
            "env": env,
            "cwd": str(profile.work),
            "work_bytes": SANDBOX.work_bytes,
            "work_entries": WORK_ENTRIES,
            "memory": profile.memory,
            "processor": profile.cpu_seconds,
            "rlimits": [
                ("RLIMIT_CORE", 0),
                ("RLIMIT_FSIZE", profile.file_bytes),
                ("RLIMIT_NOFILE", SANDBOX.open_files),
                ("RLIMIT_CPU", profile.cpu_seconds),
                ("RLIMIT_DATA", profile.memory),
                ("RLIMIT_NPROC", walls.processes),
                ("RLIMIT_MEMLOCK", 0),
                ("RLIMIT_MSGQUEUE", 0),
                ("RLIMIT_SIGPENDING", 256),
            ],
            "user": user.number if user else None,
            "capabilities": user.capabilities if user else 0,
            "landlock": walls.landlock,
            "mounted": [(str(each.path), each.inode) for each in self.scene.must_be_mounted()]
            if walls.namespace
            else [],
            "covered": [(str(each.path), each.inode) for each in self.scene.must_be_covered()]
            if walls.namespace
            else [],
            "seccomp": walls.seccomp,
            "namespace": walls.namespace,
            "result": -1,
            "calls": -1,
        }

    # -- attending

    def _attend(self, streams: dict[str, int], started: float) -> None:
        """Write input and read output until everything is closed."""
        deadline = started + self.profile.seconds
        stdin = memoryview(self.scene.program.stdin)
        result = "result" if "result" in streams else "stdout"
        sinks = {"status": self.status, result: self.output, "stderr": self.stderr}
        with selectors.DefaultSelector() as selector:
            for name, descriptor in streams.items():
                os.set_blocking(descriptor, False)
                event = selectors.EVENT_WRITE if name == "stdin" else selectors.EVENT_READ
                selector.register(descriptor, event, name)
            while len(selector.get_map()) > 0:
                for key, _ in selector.select(_POLL_SECONDS):
                    name, descriptor = key.data, key.fd
                    if name == "stdin":
                        stdin = _fed(descriptor, stdin)
                        if not stdin:
                            selector.unregister(descriptor)
                            os.close(streams.pop("stdin"))
                        continue
                    data = _read(descriptor)
                    if data:
                        sinks.get(name, self.stderr).take(data)
                    elif data is not None:
                        selector.unregister(descriptor)
                now = time.monotonic()
                self._judge(now, deadline)
                if self.ended is not None and "stdin" in streams:
                    selector.unregister(streams["stdin"])
                    os.close(streams.pop("stdin"))
                if self.ended is not None and now > self.stopped + _GRACE_SECONDS:
                    break

    def _judge(self, now: float, deadline: float) -> None:
        """End the call if it was cancelled or exceeded its time or output."""
        if self.ended is not None:
            return
        if self.cancel.is_set():
            self.ended = "cancelled"
        elif now > deadline:
            self.ended = "timeout"
        elif self.output.total > SANDBOX.output_bytes or self.stderr.total > SANDBOX.stderr_flood_bytes:
            self.ended = "output"
        if self.ended is not None:
            self.stopped = now
            self._let_go()

    def _let_go(self) -> None:
        """Close the control pipe, so that the launcher kills every process of the tool and exits."""
        if self.control >= 0:
            os.close(self.control)
            self.control = -1

    # -- the result

    def _result(self, seconds: float) -> Outcome:
        report = _report(bytes(self.status.kept))
        if report.get("failed") == "objects":
            raise changed(report["why"])
        if "failed" in report:
            raise SandboxUnavailable(f"The sandbox cannot be set up ({report['failed']}): {report['why']}.")
        if "status" not in report and self.ended is None:
            for each in self.scene.must_be_mounted():  # bubblewrap cannot mount what was taken away
                if exposure.inode_at(each.path) != each.inode:
                    raise changed(each.path)
            said = bytes(self.stderr.kept[:400]).decode("utf-8", "replace").strip()
            raise SandboxUnavailable(f"The sandbox did not start{f': {said}' if said else '.'}")
        status = report.get("status")
        code = os.WEXITSTATUS(status) if status is not None and os.WIFEXITED(status) else None
        ended: Ended = self.ended or "exited"
        reason = report.get("reason")
        if self.ended is None and reason is not None:
            ended = "killed"
        elif self.ended is None and status is not None and os.WIFSIGNALED(status):
            ended = "killed"
            number = os.WTERMSIG(status)
            reason = _SIGNALS.get(number) or f"signal {number}"
            if number == signal.SIGKILL and report.get("processor", 0) >= self.profile.cpu_seconds:
                reason = "processor time"
        truncated = self.output.total > SANDBOX.output_bytes
        output, stderr = bytes(self.output.kept), bytes(self.stderr.kept)
        hosts = tuple(self.supervisor.refused) if self.supervisor is not None else ()
        code = code if ended == "exited" else None
        return Outcome(
            exit=code,
            output=output,
            truncated=truncated,
            stderr=stderr,
            seconds=seconds,
            ended=ended,
            reason=reason,
            refused_hosts=hosts,
        )


_SIGNALS: dict[int, str] = {
    signal.SIGXCPU: "processor time",
    signal.SIGXFSZ: "file size",
    signal.SIGSYS: "a forbidden system call",
}


def _report(data: bytes) -> dict[str, Any]:
    """Merge the reports on the status pipe; later values replace earlier ones."""
    report: dict[str, Any] = {}
    while len(data) > 4:
        end = 4 + int.from_bytes(data[:4], "little")
        report |= marshal.loads(data[4:end])
        data = data[end:]
    return report


def _close_all(streams: dict[str, int]) -> None:
    while streams:
        os.close(streams.popitem()[1])


def _fed(descriptor: int, data: memoryview) -> memoryview:
    """Write what fits and return the rest; nothing if the tool closed its input."""
    try:
        return data[os.write(descriptor, data[:_CHUNK]) :]
    except BlockingIOError:
        return data
    except OSError:
        return memoryview(b"")


def _read(descriptor: int) -> bytes | None:
    """Read some bytes; empty at the end, None if there are none yet."""
    try:
        return os.read(descriptor, _CHUNK)
    except BlockingIOError:
        return None


@cache
def exact_counts() -> bool:
    """Whether the kernel counts processes per user namespace (Linux 5.14)."""
    numbers = platform.release().split(".")
    try:
        return (int(numbers[0]), int(numbers[1])) >= (5, 14)
    except (IndexError, ValueError):
        return False
