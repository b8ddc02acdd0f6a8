"""Programs without the second that their start takes: forked from a process that has already imported their modules,
compiled their patterns and built the registry's routes.

Each process of the test run keeps such a process for each program, its nurseries, which start with the first use of the program
and end with the test process. The nurseries of one program in a run are forked from one process in turn, so that everything is
imported once. Those of ``rye`` do not have the modules of ``rye-registry``: what a process has in memory is what forking it
costs. A forked program is otherwise a separate process: it has its own id, environment, folder and streams, can be stopped,
killed and waited for, and runs ``rye`` or ``rye-registry`` from its first argument on. Tests of a program's start start it:
:func:`tests.scenes.registry_process.spawn`, ``Person.start``. If a test changes environment variables that Python itself
reads, the program is started normally, unless many programs have the same and :func:`also_for` keeps a nursery for them.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import inspect
import json
import os
import pkgutil
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from functools import _lru_cache_wrapper, cache
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from struct import unpack
from typing import IO, Any, NoReturn

import rye
from registry_server import embedded
from rye.text.lazy import lazy_pattern

_MOST_BYTES = 1 << 20
RYE = "from rye.cli.start import main; main()"
"""The program ``rye``, for ``python -c``."""
_REGISTRY = "registry_server.cli"
_RYE_NEEDS = (
    "encodings.idna",
    "encodings.unicode_escape",
    "encodings.utf_8_sig",
    "filelock",
    "httpcore",
    "nacl.public",
    "nacl.signing",
    "ruamel.yaml",
    "sqlite3",
)
"""The modules that ``rye`` imports when it runs, besides its own."""
_REGISTRY_NEEDS = (
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
    *_RYE_NEEDS,
)
"""The modules that a registry imports before it answers. They must not start a thread: a fork would not have it."""
_RARE = ("rye.mcp.", "rye.lsp.", "rye.cli.demo.")
"""Rooms of ``rye`` that few programs need."""
_SHARED = ("rye.items.", "rye.registry.", "rye.signing.", "rye.storage.", "rye.text.")
"""Those that a registry needs as well."""
_SERVERS = {"mcp serve": "rye.mcp.serving", "lsp --stdio": "rye.lsp.server"}
"""Commands that need one of them, and take longest to start: what a nursery of their own imports as well."""


_TRIES = 50
"""How often a process tries to be given a nursery, each a tenth of a second after the one before."""
_start = embedded.launch


_HARMLESS = frozenset({"PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED"})


def _for_python(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that Python reads when it starts, or when it imports its own modules."""
    return {
        name: value
        for name, value in environment.items()
        if name.startswith(("PYTHON", "LANG", "LC_", "TZ")) and name not in _HARMLESS
    }


_FOR_PYTHON = _for_python(os.environ)
_forked_for = [_FOR_PYTHON]
"""Of the environments for which there may be a nursery, the variables that Python reads."""


@contextlib.contextmanager
def also_for(environment: Mapping[str, str]) -> Iterator[None]:
    """Fork programs with this environment as well, in the block: for a module that starts many."""
    given = _for_python(environment)
    _forked_for.append(given)
    try:
        yield
    finally:
        _forked_for.remove(given)


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

    def communicate(self, input: bytes | None = None, timeout: float | None = None) -> tuple[bytes, bytes]:
        """Close its input, and take what it still says until it ends. ``input``, ``timeout``: not used."""
        if self.stdin is not None:
            with contextlib.suppress(OSError):
                self.stdin.close()
        said = [
            stream.read() if stream is not None and not stream.closed else b"" for stream in (self.stdout, self.stderr)
        ]
        self.wait()
        return said[0], said[1]

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
    return fork_registry(words, log, log) if can_fork(os.environ) else _start(words, log)


def can_fork(environment: Mapping[str, str]) -> bool:
    """Whether a process forked with this environment would be like a started one."""
    return _for_python(environment) in _forked_for


def fork_registry(words: Sequence[str], out: IO[bytes], err: IO[bytes]) -> ForkedProcess:
    """Run ``python -m registry_server.cli …`` in a process that the nursery forks, without input."""
    with open(os.devnull, "rb") as nothing:
        return _fork(words, (nothing, out, err), os.environ, os.getcwd())


def fork_rye(
    arguments: Sequence[str], streams: Sequence[int | IO[bytes]], environment: Mapping[str, str], folder: Path
) -> ForkedProcess:
    """Run ``rye`` in a process that the nursery forks. ``streams``: its input, output and errors."""
    return _fork([sys.executable, "-c", RYE, *arguments], streams, environment, str(folder))


def fork_piped(arguments: Sequence[str], environment: Mapping[str, str], folder: Path) -> ForkedProcess:
    """The same with a pipe for each of its streams."""
    (given, to), (from_out, out), (from_err, err) = (os.pipe() for _ in range(3))
    process = fork_rye(arguments, (given, out, err), environment, folder)
    for descriptor in (given, out, err):
        os.close(descriptor)
    process.stdin, process.stdout, process.stderr = (
        os.fdopen(to, "wb"),
        os.fdopen(from_out, "rb"),
        os.fdopen(from_err, "rb"),
    )
    return process


_asking = threading.Lock()


def _fork(
    words: Sequence[str], streams: Sequence[int | IO[bytes]], environment: Mapping[str, str], folder: str
) -> ForkedProcess:
    sys.audit("subprocess.Popen", words[0], list(words), None, None)
    told, telling = os.pipe()
    request = {"words": list(words), "environment": dict(environment), "folder": folder}
    descriptors = [each if isinstance(each, int) else each.fileno() for each in streams]
    with _asking:
        needs = next((each for command, each in _SERVERS.items() if command in " ".join(words)), "")
        program = "rye" if RYE in words else "registry_server"
        nursery = _nursery(program, frozenset(_for_python(environment).items()), needs)
        socket.send_fds(nursery, [json.dumps(request).encode()], [*descriptors, telling])
        pid = int(nursery.recv(32))
    os.close(telling)
    return ForkedProcess(words, told, pid)


@cache
def _nursery(program: str, given: frozenset[tuple[str, str]], needs: str) -> socket.socket:
    """The nursery of the programs for which Python reads these variables, and which need this module."""
    tries = (_forked_nursery(_start_first(program, given), needs) for _ in range(_TRIES))
    ours = next((each for each in tries if each is not None), None)
    if ours is None:
        raise RuntimeError("The process that forks the nurseries does not start.")
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _MOST_BYTES)

    def end() -> None:
        ours.shutdown(socket.SHUT_WR)
        ours.settimeout(10)
        with contextlib.suppress(OSError):
            ours.recv(1)  # until its programs have ended, and it too
        ours.close()

    atexit.register(end)
    return ours


_RUN = os.environ.get("PYTEST_XDIST_TESTRUNUID") or uuid.uuid4().hex
"""What all processes of this test run have in common."""


def _start_first(program: str, given: frozenset[tuple[str, str]]) -> str:
    """Start the process that forks the nurseries of a program in this run, unless another process of the run did; return the
    name of its socket. It ends with the last nursery."""
    name = f"\0rye-nursery-{_RUN}-{program}-{sha256(repr(sorted(given)).encode()).hexdigest()[:16]}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening:
        try:
            listening.bind(name)
        except OSError:  # another process was first
            return name
        listening.listen(64)
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.scenes.nursery", program, str(listening.fileno())],
            pass_fds=[listening.fileno()],
            env={key: value for key, value in os.environ.items() if key not in _FOR_PYTHON} | dict(given),
        )

    def end() -> None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(10)

    atexit.register(end)
    return name


def _forked_nursery(name: str, needs: str) -> socket.socket | None:
    """Have a nursery forked that imports this module as well. None if the first process does not listen yet, or just ended."""
    ours = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with contextlib.suppress(ConnectionError, FileNotFoundError):
        ours.connect(name)
        ours.send((needs or "rye").encode())
        if ours.recv(1):
            return ours
    ours.close()
    time.sleep(0.1)
    return None


# In the process that forks the nurseries.


def _serve_all(listening: socket.socket) -> None:
    """Fork a nursery for each process that connects, until the last one has ended."""
    waiting = select.poll()
    waiting.register(listening, select.POLLIN)
    nurseries: dict[int, int] = {}
    starting = True
    while starting or nurseries:
        ready = [each for each, _ in waiting.poll(60_000)]
        starting = False  # who started this process connects within the minute, or is gone
        if listening.fileno() in ready:
            ready.remove(listening.fileno())
            requests, _ = listening.accept()
            pid = os.fork()
            if not pid:
                listening.close()
                _become_nursery(requests)
            requests.close()
            watched = os.pidfd_open(pid)
            nurseries[watched] = pid
            waiting.register(watched, select.POLLIN)
        for watched in ready:
            waiting.unregister(watched)
            os.close(watched)
            os.waitpid(nurseries.pop(watched), 0)


def _become_nursery(requests: socket.socket) -> NoReturn:
    """Import what else is needed, and serve; other users, who could connect too, get nothing."""
    try:
        _, user, _ = unpack("3i", requests.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        if user == os.getuid():
            with contextlib.suppress(ImportError):
                import_module(requests.recv(256).decode())
            gc.freeze()
            requests.send(b"+")
            _serve(requests)
    finally:
        os._exit(0)


# In a nursery.


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
            data, files, _, _ = socket.recv_fds(requests, _MOST_BYTES, 4)
            if not data:
                for pid, _ in children.values():
                    os.kill(pid, signal.SIGKILL)
                return
            *streams, telling = files
            pid = os.fork()
            if not pid:
                requests.close()
                os.close(telling)
                _become(json.loads(data), streams)
            for each in streams:
                os.close(each)
            watched = os.pidfd_open(pid)
            children[watched] = (pid, telling)
            waiting.register(watched, select.POLLIN)
            requests.send(b"%d" % pid)


def _become(request: dict[str, Any], streams: Sequence[int]) -> NoReturn:
    """Become ``rye`` or ``rye-registry`` with the arguments of the request."""
    for number, descriptor in enumerate(streams):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    words = request["words"]
    if RYE in words:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        _open_streams(sys.stdout.encoding, sys.stdout.errors)
        sys.argv = ["-c", *words[words.index(RYE) + 1 :]]
        module = "rye.cli.start"
    else:
        sys.stdout.reconfigure(write_through=True)  # type: ignore[union-attr]
        sys.stderr.reconfigure(write_through=True)  # type: ignore[union-attr]
        sys.argv = ["rye-registry", *words[words.index(_REGISTRY) + 1 :]]
        module = _REGISTRY
    code = 1
    try:
        import_module(module).main()
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        if isinstance(ended.code, str):
            sys.stderr.write(f"{ended.code}\n")
    except BaseException:  # as Python itself does
        sys.excepthook(*sys.exc_info())
    finally:
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        os._exit(code)


def _open_streams(encoding: str, errors: str | None) -> None:
    """Open the standard streams as Python does: what they are decides how they buffer."""
    sys.stdin = os.fdopen(0, encoding=encoding, errors=errors, closefd=False)
    sys.stdout = os.fdopen(1, "w", encoding=encoding, errors=errors, closefd=False)
    sys.stderr = os.fdopen(2, "w", 1, encoding=encoding, errors="backslashreplace", closefd=False)


def _import_all(program: str) -> None:
    """Import what programs need, and do what each of them would do again: compile patterns and templates, build routes and
    decoders."""
    for name in _RYE_NEEDS if program == "rye" else _REGISTRY_NEEDS:
        with contextlib.suppress(ImportError):  # the framework imports what is installed
            import_module(name)
    for found in pkgutil.walk_packages(rye.__path__, "rye."):
        wanted = not found.name.startswith(_RARE) if program == "rye" else found.name.startswith(_SHARED)
        if wanted and not found.name.endswith("__main__"):
            import_module(found.name)
    if program == "rye":
        _use_rye()
    else:
        templates = import_module("registry_server.pages.page_layout").environment()
        for name in templates.list_templates():
            templates.get_template(name)
    _compute_all()
    assert threading.active_count() == 1, "a fork would not have the other threads"


def _compute_all() -> None:
    """Compile each pattern that waits for its first use, and call each function that computes its one answer once."""
    uncompiled = type(lazy_pattern(""))
    for each in gc.get_objects():
        if type(each) is uncompiled:
            assert each.flags is not None  # compiles it
        elif (
            isinstance(each, _lru_cache_wrapper)
            and each.__module__.startswith(("rye.", "registry_server."))
            and not inspect.signature(each).parameters
        ):
            each()


def _use_rye() -> None:
    """Run commands as someone who is gone afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        someone = import_module("tests.scenes.person").Person(Path(folder), "acme")
        someone.ok("keys", "generate")
        someone.directive("work/one")
        for words in ("validate", "install", "list", "list --json", "search work", "render acme/work/one"):
            someone.ok(*words.split())


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _import_all(sys.argv[1])
    gc.freeze()
    _serve_all(socket.socket(fileno=int(sys.argv[2])))
