"""One package manager with one project in its own folder: put into a situation, run, timed, checked."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

SITUATIONS = {
    "cold": "nothing cached, nothing installed, no lock: resolve, fetch over loopback HTTP, verify, write",
    "warm": "the lock and the cache are there, the installed files are not",
    "frozen": "as warm, by the command that must not resolve: rye ci, npm ci, uv sync --frozen",
    "no-op": "everything has been installed for some seconds and the tool has found that out once: it has to find out again",
}
LIMIT_SECONDS = 300
SETTLE_SECONDS = 3
"""How old files must be before a tool that compares modification times trusts them."""
SETTINGS = ("NPM_", "UV_", "RYE_", "XDG_", "VIRTUAL_ENV")
"""Prefixes of the user's variables that would affect the results."""


class Tool:
    """Subclasses define how to call the tool, what it leaves behind and how to count its installed packages.

    A tool's servers are registered with an ExitStack when they start, so they stop however the run ends.
    """

    name = ""

    def __init__(self, base: Path, size: int) -> None:
        self.size = size
        self.base = base / f"{self.name}-{size}"
        self.project = self.base / "project"
        self.project.mkdir(parents=True)

    def commands(self) -> Mapping[str, Sequence[str]]:
        """Situation → command."""
        raise AttributeError(self.name)

    def installed(self) -> Sequence[Path]:
        """The paths to remove so that nothing is installed."""
        raise AttributeError(self.name)

    def remembered(self) -> Sequence[Path]:
        """The lock and the cache."""
        raise AttributeError(self.name)

    def count(self) -> int:
        """Installed packages."""
        raise AttributeError(self.name)

    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.upper().startswith(SETTINGS)}
        home = str(self.base / "home")
        return {**kept, "HOME": home, "CI": "1", "NO_COLOR": "1", "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}

    def seconds(self, situation: str) -> float:
        """Wall-clock time of the whole program in this situation. Earlier writes are flushed to disk before it starts."""
        if situation == "cold":
            self._remove([*self.installed(), *self.remembered()])
        elif situation != "no-op":
            self._remove(self.installed())
        else:
            time.sleep(SETTLE_SECONDS)
            self.run(*self.commands()[situation])
        os.sync()
        seconds = self.run(*self.commands()[situation])
        if (count := self.count()) != self.size:
            raise SystemExit(f"{self.name} {situation}: {count} of {self.size} packages are installed")
        return seconds

    def run(self, *command: str) -> float:
        """Run the command and return the seconds it took. It must succeed in time."""
        started = time.perf_counter()
        try:
            done = subprocess.run(
                command,
                cwd=self.project,
                env=self.environment(),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
                timeout=LIMIT_SECONDS,
            )
        except subprocess.TimeoutExpired as error:
            raise SystemExit(f"{' '.join(command)} took longer than {LIMIT_SECONDS} s") from error
        seconds = time.perf_counter() - started
        if done.returncode:
            raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        return seconds

    def _remove(self, paths: Sequence[Path]) -> None:
        """Move files away instead of deleting them: after deleting thousands, a file system is slow to create new ones."""
        for path in paths:
            if path.exists():
                trash = self.base / "trash" / str(time.monotonic_ns())
                trash.mkdir(parents=True)
                path.rename(trash / path.name)


def answer_of(*command: str, seconds: float = 60) -> str | None:
    """A program's output on one line, or None if it is missing, broken or too slow."""
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=seconds
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    lines = done.stdout.strip().splitlines()
    return lines[-1] if done.returncode == 0 and lines else None


def on_path(name: str) -> Iterator[str]:
    """Every program of this name on PATH; the first one may be a broken shim."""
    for folder in os.get_exec_path():
        program = Path(folder, name)
        if program.is_file() and os.access(program, os.X_OK):
            yield str(program)
