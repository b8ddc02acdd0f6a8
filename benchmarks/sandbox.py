"""The overhead of a sandbox per call, compared with the same program without one: at most 60 ms (bubblewrap) or 15 ms (Landlock).

A tool that does nothing, in shell and in Python, in a project with some secrets and in one of 5,000 files; sandboxed and bare
calls take turns, so that a busy machine slows both. Run: ``python benchmarks/sandbox.py [rounds]``.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from threading import Event

from rye.errors import RyeError
from rye.runtime.sandbox.interpreters import own_python
from rye.runtime.sandbox.profile import profile_for
from rye.runtime.sandbox.running import fresh_work
from rye.runtime.sandbox.tool_run import Backend, Suffix, ToolRun
from rye.runtime.sandboxed_tools import backend

BOUNDS_MS = {"bubblewrap": 60.0, "landlock": 15.0}
FILES = 5_000
TOOLS: tuple[tuple[str, Suffix, bytes], ...] = (
    ("true", ".sh", b"true\n"),
    ("return None", ".py", b"def execute(params):\n    return None\n"),
)


def milliseconds(work: Callable[..., object], *arguments: object) -> float:
    started = time.perf_counter()
    work(*arguments)
    return (time.perf_counter() - started) * 1000


def sandboxed(sandbox: Backend, project: Path, suffix: Suffix, code: bytes) -> None:
    with fresh_work() as work:
        profile = profile_for(project, work, {}, deny=())
        outcome = sandbox.run(ToolRun(code, suffix, b"{}", "tool:rye/bench/nothing", profile), Event())
    assert (outcome.ended, outcome.exit) == ("exited", 0), outcome


def bare(path: Path) -> None:
    words = ["/usr/bin/env", "bash", "--noprofile", "--norc"] if path.suffix == ".sh" else [str(own_python()[0]), "-I"]
    subprocess.run([*words, str(path)], stdin=subprocess.DEVNULL, capture_output=True, check=True)


def projects(base: Path) -> dict[str, Path]:
    """A small project with secrets and one with many files, by name."""
    small, large = base / "small", base / "large"
    for root in (small, large):
        (root / ".git").mkdir(parents=True)
        for name in (".env", ".git/config", "rye.toml", "README.md"):
            (root / name).write_text("x\n", "utf-8")
    for number in range(FILES):
        folder = large / f"src{number // 100}"
        folder.mkdir(exist_ok=True)
        (folder / f"{number}.txt").touch()
    return {"a small project": small, f"{FILES:,} files": large}


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    with tempfile.TemporaryDirectory(prefix="rye-benchmark-") as base:
        found = projects(Path(os.path.realpath(base)))
        print(
            f"{'sandbox':<12}{'tool':<14}{'project':<18}{'bare':>8}{'inside':>9}{'more':>8}  (medians of {rounds}, ms)"
        )
        for name, bound in BOUNDS_MS.items():
            try:
                sandbox = backend({"RYE_SANDBOX": name})
            except RyeError as error:
                print(f"{name:<12}skipped: {error.message}")
                continue
            for label, suffix, code in TOOLS:
                script = Path(base, f"bare{suffix}")
                script.write_bytes(code)
                for where, project in found.items():
                    sandboxed(sandbox, project, suffix, code)
                    without, inside = [], []
                    for _ in range(rounds):
                        without.append(milliseconds(bare, script))
                        inside.append(milliseconds(sandboxed, sandbox, project, suffix, code))
                    one, other = statistics.median(without), statistics.median(inside)
                    said = f"  bound {bound:.0f}" if (label, where) == ("true", "a small project") else ""
                    print(f"{name:<12}{label:<14}{where:<18}{one:>8.1f}{other:>9.1f}{other - one:>8.1f}{said}")


if __name__ == "__main__":
    main()
