"""Runs the program as a person or another program would: in a separate project folder, home and rye folders.

``Program.run`` runs in this process (fast), ``Program.spawn`` starts the real program; neither has a terminal.
``Program.terminal`` runs the real program on a terminal.
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
import time
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from rye.cli.main import run
from rye.cli.options import Session, environment_flag

_START = "from rye.cli.start import main; main()"
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


class Program:
    """A user with a home folder and a project folder (``folder``) below ``base``."""

    def __init__(self, base: Path):
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

    def path(self, relative: str) -> Path:
        return self.folder / relative

    def write(self, relative: str, text: str | bytes) -> Path:
        """Write a file of the project, and create its folders."""
        path = self.folder / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    def new(self, kind: str, identifier: str) -> Path:
        """Create a conforming item with ``rye new``. The folder becomes a project if it is none."""
        if not self.path("rye.toml").exists():
            self.path(".ai").mkdir(exist_ok=True)
        made = self.ok("new", kind, identifier, "--json")
        return self.folder / str(made.json["path"])

    def run(self, *arguments: str, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> Result:
        """Run in this process."""
        out, err, before = _Stream(), _Stream(), Path.cwd()
        given = io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8")
        with (
            mock.patch.dict(os.environ, {**self.environment, **(env or {})}, clear=True),
            mock.patch.object(sys, "stdin", given),
            redirect_stdout(out),
            redirect_stderr(err),
        ):
            os.chdir(self.folder)
            try:
                session = Session(json="--json" in arguments or environment_flag("RYE_JSON"))
                code = run(list(arguments), session)
            finally:
                os.chdir(before)
        return Result(code, out.text, err.text)

    def ok(self, *arguments: str, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> Result:
        """Run in this process; the run must succeed."""
        result = self.run(*arguments, stdin=stdin, env=env)
        assert result.code == 0, f"{arguments} gave {result}"
        return result

    def spawn(
        self,
        *arguments: str,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        timeout: float = 60,
        memory: int | None = None,
    ) -> Result:
        """Start the real program; ``memory``: the bytes of address space that it may use."""

        def limit() -> None:
            if memory is not None:
                resource.setrlimit(resource.RLIMIT_AS, (memory, memory))

        done = subprocess.run(
            [sys.executable, "-c", _START, *arguments],
            input=stdin,
            capture_output=True,
            cwd=self.folder,
            env={**self.environment, **(env or {})},
            timeout=timeout,
            preexec_fn=limit if memory is not None else None,  # with one, all of this process's memory is mapped again
            check=False,
        )
        return Result(done.returncode, done.stdout.decode(), done.stderr.decode())

    def terminal(self, *arguments: str, answer: bytes = b"", env: Mapping[str, str] | None = None) -> str:
        """Start the real program on a terminal of 200 columns and return what it shows; ``answer`` is typed when it waits."""
        ours, theirs = pty.openpty()
        running = subprocess.Popen(
            [sys.executable, "-c", _START, *arguments],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=self.folder,
            env={**self.environment, "TERM": "xterm", "COLUMNS": "200", **(env or {})},
        )
        os.close(theirs)
        shown = b""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            if not select.select([ours], [], [], 0.3)[0]:
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
