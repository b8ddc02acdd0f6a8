"""What a call of a tool costs before and after it: the survey of a project of 20,000 files, the sweep, and the journal.

The measure is a walk through the same tree that only lists it (``os.scandir`` by descriptor), and ``find -printf``. The bound of
the survey is 60 ms. Each is the median of rounds that take turns. Run: ``python benchmarks/survey.py [files] [rounds]``.
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

from rye.items.needs import parse_needs
from rye.runtime.sandbox import journal
from rye.runtime.sandbox.exposure import FOLDER, survey
from rye.runtime.sandbox.granted import Opened, opened
from rye.runtime.sandbox.profile import profile_for
from rye.runtime.sandbox.sweeping import sweep

BOUND_MS = 60.0
IN_A_FOLDER = 10


def project(root: Path, files: int) -> Path:
    """A project with many small folders, a repository and a secret."""
    for number in range(files):
        folder = root / f"part{number // 500}" / f"module{number // IN_A_FOLDER}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"file_{number}.py").touch()
    for name in (".git/config", ".git/HEAD", ".env"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).touch()
    return root


def bare(descriptor: int) -> None:
    """Walk through a folder and look at nothing."""
    with os.scandir(descriptor) as rows:
        for row in rows:
            if row.is_dir(follow_symlinks=False):
                below = os.open(row.name, FOLDER, dir_fd=descriptor)
                try:
                    bare(below)
                finally:
                    os.close(below)


def find(root: Path) -> None:
    subprocess.run(["find", str(root), "-printf", "%D %i %y %m %n %f\n"], stdout=subprocess.DEVNULL, check=True)


def measured(held: Opened, folder: Path, rounds: int) -> dict[str, float]:
    """Milliseconds by what was done."""
    root, descriptor = held.project.path, held.project.descriptor
    before = survey(root, descriptor, changing=True, is_project=True)

    def written() -> None:
        with journal.written(folder, held, [before], None) as entry:
            entry.is_swept = True

    work: dict[str, Callable[[], object]] = {
        "a bare walk": lambda: bare(descriptor),
        "find -printf": lambda: find(root),
        "survey of the project": lambda: survey(root, descriptor, is_project=True),
        "survey of a grant of all of it": lambda: survey(root, descriptor, changing=True, is_project=True),
        "sweep of all of it": lambda: sweep(held.writes, [before], None, root),
        "journal of all of it": written,
    }
    times: dict[str, list[float]] = {name: [] for name in work}
    for _ in range(rounds):
        for name, do in work.items():
            started = time.perf_counter()
            do()
            times[name].append((time.perf_counter() - started) * 1000)
    return {name: statistics.median(each) for name, each in times.items()}


def main() -> None:
    files = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 9
    with tempfile.TemporaryDirectory(prefix="rye-benchmark-") as base:
        root = project(Path(os.path.realpath(base), "project"), files)
        profile = profile_for(root, Path(base), {}, parse_needs({"write": ["./"]}), deny=())
        with opened(profile, Event()) as held:
            found = measured(held, Path(base, "calls"), rounds)
    walk, listing = found["a bare walk"], found["find -printf"]
    print(f"{files:,} files{'ms':>25}{'bare walks':>12}{'finds':>8}  (medians of {rounds})")
    for name, each in found.items():
        bound = f"  bound {BOUND_MS:.0f} ms" if name == "survey of the project" else ""
        print(f"{name:<32}{each:>7.1f}{each / walk:>12.1f}{each / listing:>8.1f}{bound}")


if __name__ == "__main__":
    main()
