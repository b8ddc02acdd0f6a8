"""Installs the agent programs, for ``make test-clients``: ``python -m tests.clients.installing [--seconds N]``.

What cannot be installed, or not in that time, is left out, and its tests say so. Scripts of the packages do not run.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time

from tests.clients.program import FOLDER, NPM_PROGRAMS, WHY_NOT, AgentProgram, run_bounded

_NPM = ("install", "--ignore-scripts", "--no-save", "--no-audit", "--no-fund", "--prefer-offline", "--loglevel=error")
"""``install`` and not ``ci``: the lock may lack another system's packages. What it has, it has with hashes, which npm checks."""


def install(program: AgentProgram, seconds: float) -> str | None:
    """Install one program. Gives why it is not there."""
    if program.is_installed():
        return None
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        return "there is no npm here"
    if seconds <= 0:
        return "the time to install was over"
    try:
        done = run_bounded([npm, *_NPM], FOLDER / program.name, os.environ, seconds)
    except subprocess.TimeoutExpired:
        return f"npm was not done in {seconds:.0f} s"
    if program.is_installed():
        return None
    lines = [line for line in done.stderr.splitlines() if "error" in line]
    return (lines or [f"npm ended with {done.code}, and the program is not there"])[0]


def main() -> None:
    words = sys.argv[1:]
    end = time.monotonic() + (float(words[1]) if words[:1] == ["--seconds"] else 600.0)
    for program in NPM_PROGRAMS.values():
        why = install(program, end - time.monotonic())
        if why is None:
            print(f"{program.package} {program.version}")
            continue
        program.modules.mkdir(exist_ok=True)
        (program.modules / WHY_NOT).write_text(f"{why}\n", "utf-8")
        print(f"skipped: {program.why_not()}")


if __name__ == "__main__":
    main()
