"""Installs the agent programs, for ``make test-clients``: ``python -m tests.clients.installing [--seconds N]``.

Programs that cannot be installed in that time are skipped, and their tests say so. Package scripts do not run.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time

from tests.clients.program import ALL_PROGRAMS, FOLDER, WHY_NOT, AgentProgram, PipProgram, run_bounded

NPM = ("install", "--ignore-scripts", "--no-save", "--no-audit", "--no-fund", "--prefer-offline", "--loglevel=error")
"""``install`` and not ``ci``: the lock may lack another system's packages. Its entries have hashes, which npm checks."""


def install(program: AgentProgram, seconds: float) -> str | None:
    """Install one program. Return the reason if that fails."""
    if program.is_installed():
        return None
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        return "there is no npm here"
    if seconds <= 0:
        return "the time to install was over"
    try:
        done = run_bounded([npm, *NPM], FOLDER / program.name, os.environ, seconds)
    except subprocess.TimeoutExpired:
        return f"npm was not done in {seconds:.0f} s"
    if program.is_installed():
        return None
    lines = [line for line in done.stderr.splitlines() if "error" in line]
    return (lines or [f"npm ended with {done.code}, and the program is not there"])[0]


def install_python(program: PipProgram, seconds: float) -> str | None:
    """Install one Python program with its pinned hashes. Return the reason if that fails."""
    if program.is_installed():
        return None
    if seconds <= 0:
        return "the time to install was over"
    end = time.monotonic() + seconds
    pinned = str(FOLDER / program.name / "requirements.txt")
    python = str(program.environment / "bin/python")
    commands = (
        [sys.executable, "-m", "venv", "--clear", str(program.environment)],
        [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes", "-r", pinned],
    )
    for command in commands:
        try:
            done = run_bounded(command, FOLDER / program.name, os.environ, max(end - time.monotonic(), 1.0))
        except subprocess.TimeoutExpired:
            return f"pip was not done in {seconds:.0f} s"
        if done.code:
            lines = [line for line in done.stderr.splitlines() if "ERROR" in line]
            return (lines or [f"{command[2]} ended with {done.code}"])[0]
    return None if program.is_installed() else "pip did not install it"


def main() -> None:
    words = sys.argv[1:]
    end = time.monotonic() + (float(words[1]) if words[:1] == ["--seconds"] else 600.0)
    for program in ALL_PROGRAMS.values():
        seconds = end - time.monotonic()
        if isinstance(program, PipProgram):
            why, place = install_python(program, seconds), program.environment
        else:
            why, place = install(program, seconds), program.modules
        if why is None:
            print(f"{program.package} {program.version}")
            continue
        place.mkdir(exist_ok=True)
        (place / WHY_NOT).write_text(f"{why}\n", "utf-8")
        print(f"skipped: {program.why_not()}")


if __name__ == "__main__":
    main()
