"""A person at a machine: a home folder, a project folder, and ``rye`` to type commands with.

``Person.run`` runs the program in this process (fast), ``Person.spawn`` in a process of its own; neither has a
terminal. ``Person.terminal`` runs the program on a terminal.
"""

from __future__ import annotations

import io
import json
import os
import pty
import resource
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Self
from unittest import mock

from rye.cli.main import run
from rye.cli.options import Session
from rye.project.layout import Project
from rye.storage.home import Home
from rye.workspace.context import LibraryContext
from rye.workspace.trusting.trusting_project import accept_project
from tests.scenes.directive_text import directive
from tests.scenes.nursery import RYE, can_fork, fork_rye

QUIET_SECONDS = 0.05
"""How long a program on a terminal has printed nothing when it is taken to wait for an answer."""
_KEPT = ("PATH", "LANG", "LC_ALL", "PYTHONPATH", "VIRTUAL_ENV", "COVERAGE_PROCESS_START")


@dataclass(frozen=True, slots=True)
class Result:
    """The result of one run."""

    code: int
    stdout: str
    stderr: str

    @property
    def json(self) -> Any:
        """The one document on stdout; fails if there is none, or more than one."""
        return json.loads(self.stdout)

    @property
    def error(self) -> Any:
        """The error of ``--json``."""
        return self.json["error"]

    @property
    def refusal(self) -> str:
        """The code of the error of ``--json``, and after a space what it is about if several things share the code."""
        return refusal(self.error)


def refusal(error: Mapping[str, Any]) -> str:
    """The code of an error document, and after a space its ``what`` if it has one."""
    return " ".join((error["code"], *([error["what"]] if "what" in error else [])))


class Person:
    """A user with a home folder and a project folder (``folder``) below ``base``. ``namespace``: of the project, which
    is none without one.
    """

    def __init__(self, base: Path, namespace: str | None = None):
        self.home = base / "home"
        self.folder = base / "project"
        self.home.mkdir(parents=True, exist_ok=True)
        self.folder.mkdir(exist_ok=True)
        self.environment = {name: os.environ[name] for name in _KEPT if name in os.environ} | {
            "HOME": str(self.home),
            "RYE_CONFIG_DIR": str(self.home / "config"),
            "RYE_DATA_DIR": str(self.home / "data"),
            "RYE_CACHE_DIR": str(self.home / "cache"),
            "RYE_USER_SPACE": str(self.home / "ai"),
            "RYE_SYSTEM_SPACE": str(self.home / "system"),
        }
        if namespace is not None:
            self.write("rye.toml", f'[project]\nname = "{namespace}"\nnamespace = "{namespace}"\n')

    def elsewhere(self, folder: Path, **environment: str) -> Self:
        """The same person in another folder, with these additions to the environment."""
        other = copy(self)
        other.folder, other.environment = folder, {**self.environment, **environment}
        return other

    @property
    def folders(self) -> Home:
        """The folders that this user's rye keeps things in."""
        return Home.from_environment(self.environment)

    @property
    def project(self) -> Project:
        return Project(self.folder)

    @property
    def library(self) -> LibraryContext:
        """For calls of use cases, as by a program that is started in the project."""
        return LibraryContext(cwd=self.folder, home=self.folders, environment=dict(self.environment))

    def path(self, relative: str) -> Path:
        return self.folder / relative

    def write(self, relative: str, text: str | bytes) -> Path:
        """Write a file of the project, and create its folders."""
        path = self.folder / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    def accepts(self) -> None:
        """Agree to everything that the project has, as with `rye trust project` on a terminal."""
        accept_project(self.library, self.project, lambda _: True)

    def customize(self, relative: str, text: str | bytes) -> Path:
        """Write a customization of the project by hand, and agree to it."""
        path = self.write(relative, text)
        self.accepts()
        return path

    def new(self, kind: str, identifier: str) -> Path:
        """Create a conforming item with ``rye new``. The folder becomes a project if it is none."""
        if not self.path("rye.toml").exists():
            self.path(".ai").mkdir(exist_ok=True)
        made = self.ok("new", kind, identifier, "--json")
        return self.folder / str(made.json["path"])

    def directive(self, local_id: str, version: str = "1.0.0", *, signed: bool = True, **parts: Any) -> str:
        """Write and sign a directive; return its path in the project."""
        path = f".ai/directives/{local_id}.md"
        self.write(path, directive(local_id, version, **parts))
        if signed:
            self.ok("sign", path)
        return path

    def approve_stage(self, stage: str) -> Any:
        """Sign a stage as it is now, like a job of a maintainer who looked at it; the answer of ``--json``."""
        draft = self.ok("stage", "show", stage, "--json").json["draft"]
        return self.ok("stage", "approve", stage, "--draft", draft, "--yes", "--json").json

    def sign(self, place: str, text: str) -> None:
        """Write and sign an item; ``place``: its path below ``.ai``."""
        self.write(f".ai/{place}", text)
        self.ok("sign", f".ai/{place}")

    def publish(self, *paths: str, version: str | None = None) -> Result:
        """Publish what is at these paths, without questions."""
        given = ["--version", version] if version else []
        return self.ok("publish", *paths, *given, "--allow-uncommitted", "--yes")

    def release(self, local_id: str, version: str = "1.0.0", **parts: Any) -> Any:
        """Write, sign and publish a directive; return the command's document."""
        return self.ok("publish", self.directive(local_id, version, **parts), "--json").json

    def fingerprint(self, name: str = "default") -> str:
        """The fingerprint of one of this person's keys."""
        keys = self.ok("keys", "list", "--json").json["keys"]
        return str(next(key["fingerprint"] for key in keys if name in (key["name"], "default")))

    def public_key(self) -> str:
        """The file of this person's default public key, to give to others."""
        keys = self.ok("keys", "list", "--json").json["keys"]
        return str(Path(keys[0]["path"]).with_suffix(".pub"))

    def run(self, *arguments: str, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> Result:
        """Run in this process."""
        out, err, before = _Stream(), _Stream(), Path.cwd()
        given = io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8")
        with (
            _variables({**self.environment, **(env or {})}),
            mock.patch.object(sys, "stdin", given),
            redirect_stdout(out),
            redirect_stderr(err),
        ):
            os.chdir(self.folder)
            try:
                session = Session(json="--json" in arguments)
                code = run(list(arguments), session)
            finally:
                os.chdir(before)
        return Result(code, out.text, err.text)

    def ok(self, *arguments: str, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> Result:
        """Run in this process; the run must succeed."""
        result = self.run(*arguments, stdin=stdin, env=env)
        assert result.code == 0, f"{arguments} gave {result}"
        return result

    def fails(self, *arguments: str, code: str, exit_code: int = 1, **options: Any) -> dict[str, Any]:
        """Run with ``--json``; it must fail with this code, a message and a single document. Return the error.

        ``code``: also ``CODE WHAT``, if several things share the code.
        """
        result = self.run(*arguments, "--json", **options)
        assert result.code == exit_code, result
        error: dict[str, Any] = result.error
        assert code in (error["code"], refusal(error)), error
        assert error["message"]
        assert "Traceback" not in result.stderr
        return error

    def spawn(
        self,
        *arguments: str,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        timeout: float = 60,
        memory: int | None = None,
        together: bool = False,
    ) -> Result:
        """Run the real program in a process of its own, with its input and output in files. ``memory``: the bytes of address
        space that it may use; it then starts as a new program. ``together``: errors are among the output."""
        with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            given.write(stdin)
            given.seek(0)
            process = self._start(arguments, (given, out, out if together else err), env or {}, memory)
            try:
                code = process.wait(timeout)
            finally:
                process.kill()
            out.seek(0)
            err.seek(0)
            return Result(code, out.read().decode(), err.read().decode())

    def begin(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Start the real program, which the test ends. What it says is lost."""
        with open(os.devnull, "r+b") as nothing:
            return self._start(arguments, (nothing,) * 3, {})

    def _start(
        self,
        arguments: Sequence[str],
        streams: Sequence[int | IO[bytes]],
        env: Mapping[str, str],
        memory: int | None = None,
    ) -> subprocess.Popen[bytes]:
        environment = {**self.environment, **env}
        if memory is None and can_fork(environment):
            return fork_rye(arguments, streams, environment, self.folder)

        def limit() -> None:
            if memory is not None:
                resource.setrlimit(resource.RLIMIT_AS, (memory, memory))

        given, out, err = streams
        return subprocess.Popen(
            [sys.executable, "-c", RYE, *arguments],
            stdin=given,
            stdout=out,
            stderr=err,
            cwd=self.folder,
            env=environment,
            preexec_fn=limit if memory is not None else None,  # with one, all of this process's memory is mapped again
        )

    def terminal(self, *arguments: str, answer: bytes = b"", env: Mapping[str, str] | None = None) -> str:
        """Run the real program on a terminal of 200 columns and return what it shows, without progress, which depends on the
        machine; ``answer`` is typed when it waits."""
        ours, theirs = pty.openpty()
        environment = {"TERM": "xterm", "COLUMNS": "200", "RYE_NO_PROGRESS": "1", **(env or {})}
        running = self._start(arguments, (theirs,) * 3, environment)
        os.close(theirs)
        shown = b""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            if not select.select([ours], [], [], QUIET_SECONDS)[0]:
                if running.poll() is not None:
                    break
                if answer and shown.rstrip().endswith((b"]:", b":")):
                    os.write(ours, answer)
                    answer = b""
                continue
            try:
                piece = os.read(ours, 65536)
            except OSError:  # Linux reports it when the other end is closed
                break
            if not piece:
                break
            shown += piece
        running.wait(60)
        os.close(ours)
        return shown.decode().replace("\r\n", "\n")


def at_once(*runs: tuple[Person, Sequence[str]]) -> list[Result]:
    """Run the real program several times at the same time."""
    with ThreadPoolExecutor(len(runs)) as pool:
        return list(pool.map(lambda run: run[0].spawn(*run[1]), runs))


@contextmanager
def _variables(wanted: Mapping[str, str]) -> Iterator[None]:
    """The process's variables are these, and afterwards what they were. Setting all anew would take as long as some commands."""
    before = dict(os.environ)
    _change_variables(before, wanted)
    try:
        yield
    finally:
        _change_variables(dict(os.environ), before)


def _change_variables(present: Mapping[str, str], wanted: Mapping[str, str]) -> None:
    for name in present.keys() - wanted.keys():
        del os.environ[name]
    for name, value in wanted.items():
        if present.get(name) != value:
            os.environ[name] = value


class _Stream(io.TextIOWrapper):
    """A stream in memory that encodes like a real one, so that text which cannot be encoded fails here as well."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8", newline="\n", write_through=True)

    @property
    def text(self) -> str:
        self.flush()
        buffer = self.buffer
        assert isinstance(buffer, io.BytesIO)
        return buffer.getvalue().decode("utf-8")
