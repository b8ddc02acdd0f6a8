"""Time to add a git repository with 150 skills, compared with doing it by hand: ``git clone`` and a copy.

Both start from an empty folder and an empty home, and fetch from a server on this machine in turns, so that a busy machine slows
both alike. Bound: two seconds after the fetch. The fetch is measured with git's own ``clone --depth 1 --bare``, because that is
the part that rye cannot make faster. Also measured: ``rye ci`` in a clone of the project with a warm cache, where every object is
hashed again, ``rye install`` with nothing to do, and what commands that look at every item take, beside a project of a quarter of
the skills: at most four times as long::

    python -m benchmarks.git_source [skills] [repetitions]
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.sources.git_server import serving

RYE = [sys.executable, "-c", "from rye.cli.start import main; main()"]
BOUND_SECONDS = 2.0
TIMES = 4
EACH = {"audit": ["audit"], "search": ["search", "documents", "--local"], "usage": ["usage"]}
"""Commands that look at every installed item."""
SKILL = """---
name: {name}
description: Reads documents of sort {name}. Use it for them.
---

# {name}

{text}
"""
TEXT = "Read the whole document before you answer. Quote what you rely on, with its page.\n\n" * 40


def project(base: Path) -> tuple[Path, dict[str, str]]:
    """An empty project, and the environment of a user with an empty home."""
    folder, home = base / "project", base / "home"
    folder.mkdir(parents=True)
    home.mkdir()
    (folder / "rye.toml").write_text('[project]\nname = "shop"\n')
    names = {"config": "CONFIG", "data": "DATA", "cache": "CACHE"}
    own = {f"RYE_{name}_DIR": str(home / place) for place, name in names.items()}
    return folder, {"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONPATH": str(Path.cwd()), **own}


def timed(words: list[str], folder: Path, env: dict[str, str]) -> float:
    start = time.perf_counter()
    subprocess.run(words, cwd=folder, env=env, check=True, capture_output=True)
    return time.perf_counter() - start


def main(skills: int = 150, repetitions: int = 5) -> int:
    """Print the medians; return 1 if a bound is exceeded."""
    times: dict[str, list[float]] = {}

    def note(name: str, seconds: float) -> None:
        times.setdefault(name, []).append(seconds)

    with tempfile.TemporaryDirectory() as root, serving(Path(root) / "served") as server:
        names = [f"skill-{number}" for number in range(skills)]
        files: dict[str, str | bytes | tuple[str, str]] = {
            f"skills/{name}/SKILL.md": SKILL.format(name=name, text=TEXT) for name in names
        }
        files |= {f"skills/{name}/docs/guide.md": TEXT for name in names}
        server.repository("kit").commit(files)
        few = names[: max(skills // TIMES, 1)]
        server.repository("few").commit({path: text for path, text in files.items() if path.split("/")[1] in few})
        for number in range(repetitions):
            base = Path(root) / str(number)
            folder, env = project(base)
            note(
                "git clone --depth 1 --bare",
                timed(["git", "clone", "-q", "--bare", "--depth", "1", server.url("kit"), "bare"], base, env),
            )
            clone = ["sh", "-c", f"git clone -q --depth 1 {server.url('kit')} work && cp -r work/skills skills"]
            note("git clone, copy", timed(clone, base, env))
            note("rye add --all", timed([*RYE, "add", f"git+{server.url('kit')}", "--all", "-y", "-q"], folder, env))
            note("rye install, nothing to do", timed([*RYE, "install", "-q"], folder, env))
            quarter, less = project(base / "quarter")
            timed([*RYE, "add", f"git+{server.url('few')}", "--all", "-y", "-q"], quarter, less)
            for name, words in EACH.items():
                note(f"rye {name}, {len(few)} skills", timed([*RYE, *words], quarter, less))
                note(f"rye {name}, {skills} skills", timed([*RYE, *words], folder, env))
            again, other = project(base / "again")
            for name in ("rye.toml", "rye.lock"):
                shutil.copy(folder / name, again)
            shutil.copytree(base / "home" / "cache", base / "again" / "home" / "cache")
            note("rye ci in a clone, warm cache", timed([*RYE, "--offline", "ci", "--trust-lock", "-q"], again, other))
    medians = {name: statistics.median(found) for name, found in times.items()}
    for name, seconds in medians.items():
        print(f"{name:32} {seconds:7.2f} s")
    grown = {name: medians[f"rye {name}, {skills} skills"] / medians[f"rye {name}, {len(few)} skills"] for name in EACH}
    listed = ", ".join(f"{name} {ratio:.1f}" for name, ratio in grown.items())
    print(f"{skills} skills take so many times as long as {len(few)}: {listed} (bound {TIMES})")
    after = medians["rye add --all"] - medians["git clone --depth 1 --bare"]
    ratio = medians["rye add --all"] / medians["git clone, copy"]
    print(
        f"rye add of {skills} skills after the fetch: {after:.2f} s (bound {BOUND_SECONDS:.1f} s), "
        f"{ratio:.1f} times clone and copy"
    )
    return 0 if after <= BOUND_SECONDS and max(grown.values()) <= TIMES else 1


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:3])))
