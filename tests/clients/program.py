"""One agent program as npm installs it, and how a test runs it: without a login, in an empty home folder, with a time limit."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

FOLDER = Path(__file__).parent / "programs"
"""A folder for each program, with its package.json and lock; git ignores npm's ``node_modules`` in it."""
WHY_NOT = ".why-not"
"""A file in ``node_modules`` with the reason why the program is not installed."""
SECONDS = 90.0
_NOWHERE = "http://127.0.0.1:9"
"""Used as every proxy, so that all network requests of a program fail immediately."""


class AgentProgram(Struct, frozen=True):
    """One program. ``start``: its path below ``node_modules``; node runs it if it is a script."""

    name: str
    package: str
    start: str

    @property
    def modules(self) -> Path:
        return FOLDER / self.name / "node_modules"

    @property
    def version(self) -> str:
        """The version that package.json pins."""
        wanted = json.loads((FOLDER / self.name / "package.json").read_text("utf-8"))["dependencies"]
        return str(wanted[self.package])

    def is_installed(self) -> bool:
        """Whether npm installed exactly the pinned version."""
        try:
            found = json.loads((self.modules / self.package / "package.json").read_text("utf-8"))
        except (OSError, ValueError):
            return False
        return bool(found["version"] == self.version) and self._start() is not None and shutil.which("node") is not None

    def why_not(self) -> str:
        """Why it is not there, for people."""
        try:
            why = (self.modules / WHY_NOT).read_text("utf-8").strip()
        except OSError:
            why = "run `make test-clients`, which installs it"
        return f"{self.package} {self.version} is not installed: {why}"

    def command(self) -> list[str]:
        """What starts it."""
        start = self._start()
        assert start is not None
        node = shutil.which("node")
        return [str(node), str(start)] if start.suffix in (".js", ".cjs", ".mjs") else [str(start)]

    def _start(self) -> Path | None:
        return next((path for path in sorted(self.modules.glob(self.start)) if path.is_file()), None)


class PipProgram(Struct, frozen=True):
    """One program that is a Python package, in its own environment."""

    name: str
    package: str

    @property
    def environment(self) -> Path:
        return FOLDER / self.name / ".venv"

    @property
    def version(self) -> str:
        """The version that requirements.in pins."""
        pinned = (FOLDER / self.name / "requirements.in").read_text("utf-8")
        return pinned.strip().removeprefix(f"{self.package}==")

    def is_installed(self) -> bool:
        """Whether pip installed exactly the pinned version."""
        known = f"lib/*/site-packages/{self.package.replace('-', '_')}-{self.version}.dist-info"
        return any(self.environment.glob(known)) and Path(self.command()[0]).is_file()

    def why_not(self) -> str:
        """Why it is not there, for people."""
        try:
            why = (self.environment / WHY_NOT).read_text("utf-8").strip()
        except OSError:
            why = "run `make test-clients`, which installs it"
        return f"{self.package} {self.version} is not installed: {why}"

    def command(self) -> list[str]:
        """What starts it."""
        return [str(self.environment / "bin" / self.name)]


PROGRAMS = {
    program.name: program
    for program in (
        AgentProgram("claude", "@anthropic-ai/claude-code", "@anthropic-ai/claude-code/cli-wrapper.cjs"),
        AgentProgram("codex", "@openai/codex", "@openai/codex/bin/codex.js"),
        AgentProgram("copilot", "@github/copilot", "@github/copilot/npm-loader.js"),
        AgentProgram("gemini", "@google/gemini-cli", "@google/gemini-cli/bundle/gemini.js"),
        AgentProgram("opencode", "opencode-ai", "opencode-*/bin/opencode"),
    )
}
"""Programs that Rye deploys to."""
READERS = {"skills": AgentProgram("skills", "skills", "skills/bin/cli.mjs")}
"""Other programs, which read a registry without Rye."""
NPM_PROGRAMS = {**PROGRAMS, **READERS}
PIP_PROGRAMS = {"apm": PipProgram("apm", "apm-cli")}
ALL_PROGRAMS: dict[str, AgentProgram | PipProgram] = {**NPM_PROGRAMS, **PIP_PROGRAMS}


class Done(Struct, frozen=True):
    """The result of one run."""

    code: int
    stdout: str
    stderr: str

    @property
    def json(self) -> Any:
        return json.loads(self.stdout)


class Seat(Struct, frozen=True):
    """A user of a program: a home folder, and a folder to work in."""

    program: AgentProgram | PipProgram
    home: Path
    folder: Path
    environment: Mapping[str, str]
    """Additional variables for this program, for example to make it trust the folder."""
    tools: Path
    """A folder with a ``rye`` that serves tools; it comes first in PATH."""

    def run(self, *words: str, ok: bool = True, linger: float = 0.0) -> Done:
        """Run it. Its child processes end with it, or ``linger`` seconds later. ``ok``: it must exit with 0."""
        node = Path(str(shutil.which("node"))).parent
        environment = {
            "HOME": str(self.home),
            "PATH": os.pathsep.join([str(self.tools), str(node), "/usr/bin", "/bin"]),
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "HTTP_PROXY": _NOWHERE,
            "HTTPS_PROXY": _NOWHERE,
            "NO_PROXY": "127.0.0.1",
            **self.environment,
        }
        done = run_bounded([*self.program.command(), *words], self.folder, environment, SECONDS, linger)
        assert not ok or done.code == 0, (words, done)
        return done


def run_bounded(
    command: Sequence[str], folder: Path, environment: Mapping[str, str], seconds: float, linger: float = 0.0
) -> Done:
    """Run a program in its own process group, which ends with it or when the time is up. ``linger``: its child processes may take
    this many seconds more."""
    running = subprocess.Popen(
        command,
        cwd=folder,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        out, err = running.communicate(timeout=seconds)
        with contextlib.suppress(ProcessLookupError):
            end = time.monotonic() + linger
            while time.monotonic() < end:
                os.killpg(running.pid, 0)
                time.sleep(0.05)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGKILL)
        running.wait(10)
    return Done(running.returncode, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"))
