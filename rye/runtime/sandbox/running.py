"""Starts a tool in its sandbox, writes its input, reads its output, and ends it: the part that all sandboxes share.

The tool's bytes become files in a private folder of this call, which is deleted afterwards. The launcher
(:mod:`rye.runtime.sandbox.launcher`) runs in a separate process and follows a plan:

* ``argv env cwd work_bytes work_entries``: the tool, its whole environment, its work folder and the folder's limits;
* ``memory processor rlimits``: limits for all its processes together, and for each;
* ``user capabilities``: the user that it becomes (:mod:`rye.runtime.sandbox.users`);
* ``landlock seccomp``: rights and filter, if the sandbox uses them;
* ``mounted covered listed``: paths with the device and inode that they must have inside, and must not have, and the folders in
  which nothing of ``covered`` may have got another name;
* ``namespace``: whether the launcher is the first process of a namespace, so that its end kills the others;
* ``control status result calls held``: descriptors, -1 for none; ``held`` is only kept open until every process of the tool is
  gone (:mod:`rye.runtime.sandbox.journal`) (:mod:`rye.runtime.sandbox.starting` fills them in).
"""

from __future__ import annotations

import contextlib
import marshal
import os
import platform
import select
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

from rye.errors import RyeError
from rye.items import autorun
from rye.limits import SANDBOX
from rye.runtime.sandbox import exposure, journal, users
from rye.runtime.sandbox.connections import Supervisor
from rye.runtime.sandbox.granted import Granted, Opened, changed, in_use, never_granted, opened
from rye.runtime.sandbox.interpreters import FOLDER, Program, program_for
from rye.runtime.sandbox.profile import Profile
from rye.runtime.sandbox.starting import STANDARD, Ender, start_behind, start_waiting
from rye.runtime.sandbox.sweeping import sweep
from rye.runtime.sandbox.tool_run import Ended, Outcome, SandboxUnavailable, ToolRun
from rye.storage.places import system_home

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
        yield from (located for survey in self.writable for located in survey.listed)
        for located in (located for survey in self.writable for located in survey.protected):
            parts = self.without_secrets(located)
            yield from (part for part in parts if part in self.readable.allowed) if parts else (located,)

    def without_secrets(self, protected: exposure.Located) -> list[exposure.Located]:
        """The readable parts of a protected folder, in the order of their depth, if something in it is hidden; otherwise none.

        Such a folder is not mounted as a whole: when another program replaces a file, the mount over it goes, and in a granted
        folder nothing else would hide the new one (``git config`` and ``.git/config``).
        """
        if not any(located.path.is_relative_to(protected.path) for located in self.readable.hidden):
            return []
        parts = (*self.readable.listed, *self.readable.allowed)
        below = [located for located in parts if located.path.is_relative_to(protected.path)]
        return sorted(below, key=lambda located: len(located.path.parts))

    def kept_in_place(self) -> list[exposure.Located]:
        """The folders that must not be renamed, because something below them is protected, in the order of their depth. What
        only builds obey does not count: a tree of packages has thousands of such folders."""
        kept: dict[Path, exposure.Located] = {}
        for granted, survey in zip(self.opened.writes, self.writable, strict=True):
            listed = {located.path: located for located in survey.listed}
            for located in survey.protected:
                row = autorun.obeyed(located.path.name)
                if row is None or not row.for_builds:
                    above = (each for each in located.path.parents if each in listed and each != granted.path)
                    kept |= {each: listed[each] for each in above}
        return sorted(kept.values(), key=lambda located: len(located.path.parts))

    def must_be_covered(self) -> Iterator[exposure.Located]:
        """What must not be reachable by its path when the tool starts."""
        yield from self.readable.hidden
        yield from (located for survey in self.writable for located in survey.hidden)

    def around_hidden(self) -> Iterator[Path]:
        """The folders that hold what is hidden, at any depth: another program may rename it before it is covered."""
        surveys = (self.readable, *self.writable)
        yield from dict.fromkeys(located.path for survey in surveys for located in survey.listed)


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
    _require_apart(profile)
    with private_copy(program) as folder, _opened_when_swept(profile, cancel) as (held, recovered):
        try:
            covered = exposure.covered_inodes(_with_keys(denied, profile.caches), held.project.inode) | _folders(denied)
        except OSError as error:
            raise SandboxUnavailable(
                f"Rye's own folders cannot be listed, so they cannot be hidden: {error}."
            ) from None
        readable = exposure.survey(profile.project, held.project.descriptor, covered, is_project=True)
        named = frozenset(each.inode for each in held.writes if not each.is_folder)
        _refuse_obeyed(held, readable.followed)
        writable = tuple(
            exposure.survey(
                each.path,
                each.descriptor,
                covered | readable.covered,
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
        with _live(cancel), _journal(scene) as entry:
            call = _Call(scene, walls, cancel, entry.descriptor)
            try:
                outcome = call.outcome()
            finally:
                swept = sweep(held.writes, writable, user, profile.project)
                entry.is_swept = call.is_over
    return replace(
        outcome,
        refused=tuple(swept.refused),
        unlisted=tuple(swept.unlisted),
        cleared=tuple(swept.cleared),
        recovered=recovered,
    )


def _refuse_obeyed(opened: Opened, followed: frozenset[exposure.Inode]) -> None:
    """Refuse to grant what programs obey under another name, or something in it. A file whose own name is in the table was
    asked about under that name."""
    for each in opened.writes:
        if each.path == opened.project.path or (not each.is_folder and autorun.obeyed(each.path.name) is not None):
            continue
        if not followed.isdisjoint((*each.above, each.inode)):
            raise never_granted(each.path, "programs obey it under another name, through a link")


def _require_apart(profile: Profile) -> None:
    """Refuse a folder for temporary files that the tool may change: other calls' programs and work lie in it."""
    for path in (profile.work, Path(os.path.realpath(tempfile.gettempdir()))):
        for granted in profile.write:
            if path.is_relative_to(granted):
                raise SandboxUnavailable(
                    f"The folder for temporary files, {path}, lies in {granted}, which the tool may change.",
                    "Set TMPDIR to a folder outside of the granted ones.",
                )


_ENDING = Event()
_running: set[object] = set()


def end_calls() -> None:
    """End the running calls of this process and wait until their tools are gone and what they left is swept, for at most
    ``SANDBOX.recovery_seconds``. Called when a server ends, also by a signal handler."""
    _ENDING.set()
    until = time.monotonic() + SANDBOX.recovery_seconds
    while _running and time.monotonic() < until:
        time.sleep(_POLL_SECONDS)
    _ENDING.clear()


@contextlib.contextmanager
def _live(cancel: Event) -> Iterator[None]:
    """Count a call for :func:`end_calls`, from before its journal is written until it is swept. Raises RyeError ``cancelled``."""
    mark = object()
    _running.add(mark)
    try:
        if _ENDING.is_set() or cancel.is_set():
            raise RyeError("cancelled", "The call was cancelled before its tool started.")
        yield
    finally:
        _running.discard(mark)


def _journal(scene: Scene) -> contextlib.AbstractContextManager[journal.Journal]:
    return journal.written(scene.profile.journals, scene.opened, scene.writable, scene.user)


@contextlib.contextmanager
def _opened_when_swept(profile: Profile, cancel: Event) -> Iterator[tuple[Opened, tuple[str, ...]]]:
    """Open what a call may change once earlier calls that were not swept are; and say what was swept.

    The tool of a call whose Rye was killed may still be ending: its journal is held until it is gone. Raises as
    :func:`rye.runtime.sandbox.granted.opened` and :func:`rye.runtime.sandbox.journal.recover` do.
    """
    said: tuple[str, ...] = ()
    deadline = time.monotonic() + profile.seconds
    while True:
        if profile.journals is not None:
            said += tuple(each.sentence() for each in journal.recover(profile.journals, [profile.project], cancel))
        with opened(profile, cancel) as held:
            if not journal.is_overlapped(profile.journals, held):
                yield held, said
                return
        if time.monotonic() > deadline:
            raise in_use(profile.project)
        if cancel.wait(_POLL_SECONDS):
            raise RyeError("cancelled", "The call was cancelled while it waited for another tool.")


def _with_keys(denied: Iterable[Path], caches: Iterable[Path]) -> Iterator[Path]:
    """Rye's own folders but the caches, and the user's SSH keys."""
    large = {Path(os.path.realpath(path)) for path in caches}
    yield from (path for path in denied if path not in large)
    if home := system_home():
        yield Path(os.path.realpath(Path(home, ".ssh")))


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

    def __init__(self, scene: Scene, walls: Walls, cancel: Event, held: int = -1):
        """``held``: a descriptor that the launcher keeps until no process of the tool is left."""
        self.held = held
        self.is_over = False
        """Whether no process of the tool is left."""
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
            try:
                self._attend(streams, started)
            finally:
                self._let_go()
                end()
                self.is_over = _at_end(streams["status"], _GRACE_SECONDS)
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
            if self.held >= 0:
                theirs["held"] = self.held
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
            "listed": [str(path) for path in self.scene.around_hidden()] if walls.namespace else [],
            "seccomp": walls.seccomp,
            "namespace": walls.namespace,
            "result": -1,
            "calls": -1,
            "held": -1,
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
        if self.cancel.is_set() or _ENDING.is_set():
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


def _at_end(descriptor: int, seconds: float) -> bool:
    """Whether everyone who could write to a pipe has closed it, within these seconds. What is written meanwhile is lost."""
    until = time.monotonic() + seconds
    while (data := _read(descriptor)) != b"":
        if data is None and not select.select([descriptor], [], [], max(0.0, until - time.monotonic()))[0]:
            return False
    return True


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
