"""Time to deploy 50 items to three programs, the first time and again with nothing to do, with the design's bounds.

The command runs as a user would start it, and the time of ``rye --version`` is subtracted, since every command pays it.
Processor time is printed next to wall-clock time: on a busy machine only the former is meaningful::

    python -m benchmarks.deploy [repetitions]
"""

from __future__ import annotations

import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.scenes.installed import install, project_with_targets
from tests.scenes.item_texts import agent, bound, knowledge, skill
from tests.scenes.person import Person

FIRST, AGAIN = 0.5, 0.15
"""Seconds, beyond start-up."""
_RYE = "from rye.cli.start import main; main()"


def shop(base: Path) -> Person:
    """A project with 50 items of the kinds that people deploy most."""
    made = project_with_targets(base, 'targets = ["claude", "codex", "gemini"]')
    for number in range(20):
        install(made, "skill", f"acme/skill-{number}", skill(f"skill-{number}"), attached={"a.md": b"x" * 4000})
        install(made, "agent", f"acme/agent-{number}", agent(f"agent-{number}"))
    for number in range(5):
        install(made, "knowledge", f"acme/notes/note-{number}", knowledge(f"note-{number}"))
        install(made, "directive", f"acme/work/ship-{number}", bound(f"work/ship-{number}"))
    return made


def seconds(made: Person, *words: str) -> tuple[float, float]:
    """Wall-clock and processor time of one run."""
    environment = {**os.environ, **made.environment}
    start, before = time.perf_counter(), _processor()
    subprocess.run(
        [sys.executable, "-c", _RYE, *words], cwd=made.folder, env=environment, check=True, capture_output=True
    )
    return time.perf_counter() - start, _processor() - before


def _processor() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    starts, firsts, agains = [], [], []
    with tempfile.TemporaryDirectory() as base:
        made = shop(Path(base))
        for _ in range(repetitions):
            starts.append(seconds(made, "--version"))
            firsts.append(seconds(made, "deploy"))
            agains.append(seconds(made, "deploy"))
            for name in (".claude", ".agents", ".codex", ".gemini", "CLAUDE.md", "AGENTS.md", "GEMINI.md"):
                place = made.folder / name
                shutil.rmtree(place) if place.is_dir() else place.unlink()
            (made.folder / ".ai/deploy.lock").unlink()
            shutil.rmtree(made.home / "data/unchanged", ignore_errors=True)
    print(f"50 items, 3 programs, {repetitions} runs; seconds beyond what rye takes to start (median)\n")
    print(f"{'':<16}{'clock':>8}{'processor':>11}{'bound':>8}{'processor × bound':>19}")
    for name, times, bound_ in (("first deploy", firsts, FIRST), ("nothing to do", agains, AGAIN)):
        clock, processor = (_median(times, which) - _median(starts, which) for which in (0, 1))
        print(f"{name:<16}{clock:>8.3f}{processor:>11.3f}{bound_:>8.2f}{processor / bound_:>19.2f}")


def _median(times: list[tuple[float, float]], which: int) -> float:
    return statistics.median(each[which] for each in times)


if __name__ == "__main__":
    main()
