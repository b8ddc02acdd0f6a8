"""How long the program takes to start, as ratios to the minimum for any Python program: ``python -c pass`` and importing click.

The commands take turns in every round, so that a busy machine slows all of them equally::

    python -m benchmarks.startup [repetitions]
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RYE = "from rye.cli.start import main; main()"
BASELINES = ("python -c pass", 'python -c "import click"')


def commands(folder: Path) -> dict[str, list[str]]:
    """The commands to measure, by display name. ``folder`` gets one item of each kind for validation."""
    python = sys.executable
    (folder / "rye.toml").write_text('[project]\nname = "startup"\n')
    for kind in ("directive", "knowledge"):
        subprocess.run(
            [python, "-c", RYE, "new", kind, "some/thing", "-q"], cwd=folder, check=True, capture_output=True
        )
    rye = [python, "-c", RYE]
    return {
        BASELINES[0]: [python, "-c", "pass"],
        BASELINES[1]: [python, "-c", "import click"],
        "rye --version": [*rye, "--version"],
        "rye --help": [*rye, "--help"],
        "rye validate KNOWLEDGE": [*rye, "validate", ".ai/knowledge/some/thing.md"],
        "rye validate DIRECTIVE": [*rye, "validate", ".ai/directives/some/thing.md"],
        "rye show DIRECTIVE": [*rye, "show", ".ai/directives/some/thing.md"],
    }


def measure(repetitions: int) -> dict[str, list[float]]:
    """The times of every run in seconds, by command."""
    with tempfile.TemporaryDirectory() as base:
        folder = Path(base)
        measured = commands(folder)
        times: dict[str, list[float]] = {name: [] for name in measured}
        for _ in range(repetitions):
            for name, words in measured.items():
                start = time.perf_counter()
                subprocess.run(words, cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                times[name].append(time.perf_counter() - start)
    return times


def main() -> None:
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    times = measure(repetitions)
    bare, click = (statistics.median(times[name]) for name in BASELINES)
    print(f"{repetitions} runs each\n")
    print(f"{'command':<26}{'minimum':>10}{'median':>10}{'× pass':>10}{'× click':>10}")
    for name, seconds in times.items():
        least, middle = min(seconds), statistics.median(seconds)
        print(f"{name:<26}{least * 1000:>7.1f} ms{middle * 1000:>7.1f} ms{middle / bare:>10.2f}{middle / click:>10.2f}")


if __name__ == "__main__":
    main()
