"""Checks whether a sandbox works on this machine, by running a program in it that tries what must fail and what must work.

A container may block an interface that the kernel has; a distribution may restrict namespaces; a version may lack a right.
The probe finds out instead of guessing. Its result is valid for this process only.
"""

from __future__ import annotations

import os
import socket
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from threading import Event

import msgspec

from rye.errors import RyeError
from rye.runtime.sandbox.profile import Profile, profile_for
from rye.runtime.sandbox.running import fresh_work
from rye.runtime.sandbox.tool_run import Backend, SandboxUnavailable, ToolRun

_PROCESSES = 8
_SECONDS = 20.0
_COUNTED = "starts processes"
"""The result that can be wrong by chance: the kernel counts all processes of an ordinary user together, so what another program
of theirs starts or ends after the limit was set moves it."""
_PAUSES = (0.1, 0.1, 0.2, 0.4)
"""Seconds before each further try, if nothing else was wrong."""
_PROBE = b"""
import os, socket

def tried(what):
    try:
        what()
    except OSError:
        return False
    return True

def reached(kind, family, address):
    with socket.socket(family, kind) as end:
        end.settimeout(2)
        end.connect(address)

def forks(most):
    reading, writing = os.pipe()
    started = []
    try:
        while len(started) < most:
            pid = os.fork()
            if pid == 0:
                os.close(writing)
                os.read(reading, 1)
                os._exit(0)
            started.append(pid)
    except OSError:
        pass
    os.close(writing)
    for pid in started:
        os.waitpid(pid, 0)
    return len(started)

def execute(p):
    return {
        "reads the project": tried(lambda: open(p["project"] + "/shown").read()),
        "reads .env": seen(p["project"] + "/.env"),
        "reads outside": seen(p["outside"]),
        "writes its folder": tried(lambda: open("own", "w").write("x")),
        "writes the project": tried(lambda: open(p["project"] + "/new", "w").write("x")),
        "writes outside": tried(lambda: open(p["outside"], "a").write("x")),
        "connects": tried(lambda: reached(socket.SOCK_STREAM, socket.AF_INET, ("127.0.0.1", p["port"]))),
        "sends datagrams": tried(lambda: reached(socket.SOCK_DGRAM, socket.AF_INET, ("127.0.0.1", p["port"]))),
        "reaches local sockets": tried(lambda: reached(socket.SOCK_STREAM, socket.AF_UNIX, p["socket"])),
        "starts processes": forks(p["most"]) in range(1, p["most"]),
    }

def seen(path):
    try:
        return "secret" in open(path).read()
    except OSError:
        return False
"""
_EXPECTED = {
    "reads the project": True,
    "reads .env": False,
    "reads outside": False,
    "writes its folder": True,
    "writes the project": False,
    "writes outside": False,
    "connects": False,
    "sends datagrams": False,
    "reaches local sockets": False,
    _COUNTED: True,
}


def why_not(backend: Backend) -> str | None:
    """Return what is wrong with a sandbox, in a few words; None if it refuses and allows what it should."""
    try:
        wrong = _wrong_results(backend)
        for pause in _PAUSES:
            if wrong != [_COUNTED]:
                break
            time.sleep(pause)
            wrong = _wrong_results(backend)
    except RyeError as error:
        return error.message
    return f"the test program got the wrong result for: {', '.join(wrong)}" if wrong else None


def _wrong_results(backend: Backend) -> list[str]:
    """Run the test program once, in folders of its own. Return what it was allowed or refused against expectation.

    Raises SandboxUnavailable if it failed, and what the backend raises.
    """
    with ExitStack() as stack:
        project = Path(os.path.realpath(stack.enter_context(tempfile.TemporaryDirectory(prefix="rye-probe-"))))
        outside = Path(os.path.realpath(stack.enter_context(tempfile.TemporaryDirectory(prefix="rye-probe-")))) / "file"
        for path in (project / "shown", project / ".env", outside):
            path.write_text("secret", encoding="ascii")
        server = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        local = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        local.bind(str(project / "socket"))
        local.listen()
        parameters = {
            "project": str(project),
            "outside": str(outside),
            "port": server.getsockname()[1],
            "socket": str(project / "socket"),
            "most": 4 * _PROCESSES,
        }
        profile = _small(profile_for(project, stack.enter_context(fresh_work()), {}, deny=(), seconds=_SECONDS))
        tool = ToolRun(_PROBE, ".py", msgspec.json.encode(parameters), "tool:rye/sandbox/probe", profile)
        outcome = backend.run(tool, Event())
    if outcome.ended != "exited" or outcome.exit != 0:
        said = outcome.stderr.decode("utf-8", "replace").strip().split("\n")
        raise SandboxUnavailable(f"the test program failed ({outcome.ended}){f': {said[-1]}' if said[-1] else ''}")
    found = msgspec.json.decode(outcome.output, type=dict[str, bool])
    return [what for what, expected in _EXPECTED.items() if found.get(what) is not expected]


def _small(profile: Profile) -> Profile:
    return msgspec.structs.replace(profile, processes=_PROCESSES)
