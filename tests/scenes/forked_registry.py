"""A registry's process without the second that its start takes: forked from a process that has already imported its
modules and built its routes.

Each process of the test run keeps one such process, the nursery, which starts when the first registry is served and
ends with it. A forked registry is otherwise a separate process: it has its own id, environment, folder and log, can be
stopped, killed and waited for, and runs ``rye-registry serve`` from its first argument on. Tests of the program's start
use :func:`tests.scenes.registry_process.spawn`. If a test changes environment variables that Python itself reads, the program
is started normally.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import IO, Any, NoReturn

from registry_server import embedded

_MOST_BYTES = 1 << 20
_NEEDED = (
    "registry_server.cli.program",
    "registry_server.cli.serve",
    "registry_server.api.serving",
    "registry_server.migrations.opening",
    "alembic.command",
    "sqlalchemy.dialects.sqlite.pysqlite",
    "obstore.store",
    "litestar.plugins.attrs",
    "litestar.plugins.pydantic",
    "anyio._backends._asyncio",
    "encodings.idna",
)
"""The modules that a registry imports before it answers. They must not start a thread: a fork would not have it."""


_start = embedded.launch


def _for_python() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name.startswith("PYTHON")}


_FOR_PYTHON = _for_python()


class ForkedProcess(subprocess.Popen[bytes]):
    """A process that the nursery forked, with the interface of a started one."""

    _child_created = False  # leaves nothing to do for Popen's finalizer

    def __init__(self, words: Sequence[str], status: int, pid: int) -> None:
        self.args = list(words)
        self.pid = pid
        self.returncode: int | None = None
        self.stdin = self.stdout = self.stderr = None
        self._status = status

    def poll(self) -> int | None:
        return self._look(0)

    def wait(self, timeout: float | None = None) -> int:
        code = self._look(None if timeout is None else max(timeout, 0))
        if code is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0)
        return code

    def send_signal(self, sig: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, sig)

    def _look(self, seconds: float | None) -> int | None:
        """The exit code, if the process ends within this time."""
        if self.returncode is None and select.select([self._status], [], [], seconds)[0]:
            self.returncode = int(os.read(self._status, 32) or -signal.SIGKILL)
            os.close(self._status)
        return self.returncode


def launch(words: Sequence[str], log: IO[bytes]) -> subprocess.Popen[bytes]:
    """Replaces :func:`registry_server.embedded.launch`."""
    return fork(words, log, log) if can_fork() else _start(words, log)


def can_fork() -> bool:
    """Whether a forked process would be like a started one: the variables that Python reads are unchanged."""
    return _for_python() == _FOR_PYTHON


def fork(words: Sequence[str], out: IO[bytes], err: IO[bytes]) -> ForkedProcess:
    """Run ``python -m registry_server.cli …`` in a process that the nursery forks, without input."""
    sys.audit("subprocess.Popen", words[0], list(words), None, None)
    told, telling = os.pipe()
    request = {"words": list(words), "environment": dict(os.environ), "folder": os.getcwd()}
    nursery = _nursery()
    socket.send_fds(nursery, [json.dumps(request).encode()], [out.fileno(), err.fileno(), telling])
    os.close(telling)
    return ForkedProcess(words, told, int(nursery.recv(32)))


@cache
def _nursery() -> socket.socket:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _MOST_BYTES)
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.scenes.forked_registry", str(theirs.fileno())], pass_fds=[theirs.fileno()]
    )
    theirs.close()

    def end() -> None:
        ours.close()
        process.wait(10)

    atexit.register(end)
    return ours


# In the nursery.


def _serve(requests: socket.socket) -> None:
    """Fork for each request, and report each child that ends. When the test process ends, so do the children."""
    waiting = select.poll()
    waiting.register(requests, select.POLLIN)
    children: dict[int, tuple[int, int]] = {}
    while True:
        for ready, _ in waiting.poll():
            if ready != requests.fileno():
                pid, telling = children.pop(ready)
                waiting.unregister(ready)
                os.close(ready)
                os.write(telling, b"%d" % os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
                os.close(telling)
                continue
            data, files, _, _ = socket.recv_fds(requests, _MOST_BYTES, 3)
            if not data:
                for pid, _ in children.values():
                    os.kill(pid, signal.SIGKILL)
                return
            out, err, telling = files
            pid = os.fork()
            if not pid:
                requests.close()
                os.close(telling)
                _become(json.loads(data), out, err)
            os.close(out)
            os.close(err)
            watched = os.pidfd_open(pid)
            children[watched] = (pid, telling)
            waiting.register(watched, select.POLLIN)
            requests.send(b"%d" % pid)


def _become(request: dict[str, Any], out: int, err: int) -> NoReturn:
    """Become ``python -m registry_server.cli …`` with the arguments of the request."""
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(out, 1)
    os.dup2(err, 2)
    os.close(out)
    os.close(err)
    sys.stdout.reconfigure(write_through=True)  # type: ignore[union-attr]
    sys.stderr.reconfigure(write_through=True)  # type: ignore[union-attr]
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    words = request["words"]
    sys.argv = ["rye-registry", *words[words.index("registry_server.cli") + 1 :]]
    code = 1
    try:
        import_module("registry_server.cli").main()
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for name in _NEEDED:
        with contextlib.suppress(ImportError):  # the framework imports what is installed
            import_module(name)
    import_module("registry_server.api.application").framework()  # the routes: slow to build, and the same for all
    gc.freeze()
    _serve(socket.socket(fileno=int(sys.argv[1])))
