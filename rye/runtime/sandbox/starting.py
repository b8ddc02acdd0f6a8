"""Starts the launcher: in a new process through another program (bubblewrap), or as a fork of a waiting launcher.

Starting an interpreter costs more than the whole sandbox. If no other program has to start the launcher, the first call starts
one launcher that waits: it has none of Rye's memory and no descriptor except its socket, forks for every call, and ends with
Rye.
"""

from __future__ import annotations

import atexit
import contextlib
import marshal
import os
import signal
import socket
import subprocess
import tempfile
import threading
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from rye.runtime.sandbox.interpreters import own_python
from rye.runtime.sandbox.tool_run import SandboxUnavailable

STANDARD = ("stdin", "stdout", "stderr")
_START = "import marshal,sys;f=open(int(sys.argv[1]),'rb');exec(marshal.load(f));launch(marshal.load(f))"
_WAIT = "import marshal,sys;f=open(int(sys.argv[1]),'rb');exec(marshal.load(f));f.close();wait(int(sys.argv[2]))"
_ENVIRONMENT = {"LC_ALL": "C.UTF-8"}
_SECONDS = 5.0

Ender = Callable[[], None]
"""Waits for the started process to exit, and kills it if that takes too long."""


@cache
def launcher_code() -> bytes:
    """Return the launcher, compiled for the interpreter that runs Rye."""
    path = Path(__file__).with_name("launcher.py")
    return marshal.dumps(compile(path.read_text("utf-8"), "rye-launcher", "exec", dont_inherit=True, optimize=2))


def start_behind(
    prefix: Callable[[int], tuple[str, ...]], arguments: bytes, plan: Mapping[str, Any], descriptors: Mapping[str, int]
) -> Ender:
    """Start the launcher through another program. ``descriptors``: the other ends of our pipes, by their names in the plan;
    the caller closes them. Raises SandboxUnavailable."""
    passed = {name: number for name, number in descriptors.items() if name not in STANDARD}
    files = {"plan": file_with(launcher_code() + marshal.dumps({**plan, **passed})), "words": file_with(arguments)}
    argv = [*prefix(files["words"]), str(own_python()[0]), "-I", "-S", "-c", _START, str(files["plan"])]
    try:
        process = subprocess.Popen(
            argv,
            stdin=descriptors["stdin"],
            stdout=descriptors["stdout"],
            stderr=descriptors["stderr"],
            cwd="/",
            env=_ENVIRONMENT,
            pass_fds=(*passed.values(), *files.values()),
            start_new_session=True,
        )
    except OSError as error:
        raise SandboxUnavailable(f"The sandbox cannot be started: {error}.") from None
    finally:
        for descriptor in files.values():
            os.close(descriptor)

    def end() -> None:
        try:
            process.wait(_SECONDS)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    return end


def start_waiting(plan: Mapping[str, Any], descriptors: Mapping[str, int]) -> Ender:
    """Start a call in the waiting launcher, as :func:`start_behind` does. Its pipes close when the call is over."""
    file = file_with(marshal.dumps({**plan, "names": list(descriptors)}))
    try:
        for attempt in (1, 2):
            try:
                _waiting().send([file, *descriptors.values()])
                break
            except OSError as error:  # it was killed
                _forget()
                if attempt == 2:
                    raise SandboxUnavailable(f"The sandbox cannot be started: {error}.") from None
    finally:
        os.close(file)
    return lambda: None


class _Waiting:
    """The waiting launcher, which forks for every call."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        self.lock = threading.Lock()
        self.channel, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        code = file_with(launcher_code())
        argv = [str(own_python()[0]), "-I", "-S", "-c", _WAIT, str(code), str(there.fileno())]
        try:
            self.process = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env=_ENVIRONMENT,
                pass_fds=(code, there.fileno()),
                start_new_session=True,
            )
        except OSError:
            self.channel.close()
            raise
        finally:
            os.close(code)
            there.close()

    def send(self, descriptors: list[int]) -> None:
        with self.lock:
            socket.send_fds(self.channel, [b"x"], descriptors)

    def end(self) -> None:
        """Close the socket, which ends the launcher. A fork of this process leaves waiting for it to its parent."""
        self.channel.close()
        if self.owner == os.getpid():
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(_SECONDS)
        else:
            self.process.returncode = 0


_lock = threading.Lock()
_one: list[_Waiting] = []


def _waiting() -> _Waiting:
    with _lock:
        if _one and _one[0].owner != os.getpid():
            _one.pop().end()
        if not _one:
            _one.append(_Waiting())
        return _one[0]


def _forget() -> None:
    with _lock:
        if _one:
            _one.pop().end()


atexit.register(_forget)


def file_with(data: bytes) -> int:
    """Return a descriptor of an unnamed file with this content, positioned at the start."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("rye", os.MFD_CLOEXEC)
    else:
        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
