"""``make test-pythons``: the fast tests on every Python that Rye supports and this machine has.

It looks for ``python3.11`` to ``python3.14`` on the PATH and below pyenv's ``versions``, makes an environment for each in
``build/pythons`` with the pinned packages, and says at the end which versions it had and which it had not. A version that is not
here is no failure. ``python -m tests.pythons 3.12`` runs that one alone; words after ``--`` go to pytest.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "build" / "pythons"
SUPPORTED = ("3.11", "3.12", "3.13", "3.14")
FAST = (
    "-n",
    "0",
    "-q",
    "-p",
    "no:logging",
    "-m",
    "not processes and not slow and not thorough and not clients and not browser",
)
"""How `make test-fast` calls pytest."""
_SECONDS = 60
Outcome = Literal["passed", "failed", "not set up", "not here"]


class Interpreter(Struct, frozen=True):
    """One Python: ``3.12``, its full version, and its program."""

    minor: str
    version: str
    program: Path


def candidates(minor: str, environment: Mapping[str, str]) -> list[Path]:
    """The programs that may be this Python: those on the PATH, then pyenv's, the newest first."""
    found = [Path(folder) / f"python{minor}" for folder in environment.get("PATH", "").split(os.pathsep) if folder]
    pyenv = Path(environment.get("PYENV_ROOT") or Path(environment.get("HOME", "/")) / ".pyenv") / "versions"
    kept = sorted(pyenv.glob(f"{minor}.*/bin/python{minor}"), key=_release, reverse=True)
    return [path for path in [*found, *kept] if os.access(path, os.X_OK)]


def _release(path: Path) -> list[int]:
    return [int(number) for number in re.findall(r"[0-9]+", path.parts[-3])]


def interpreter(minor: str, environment: Mapping[str, str]) -> Interpreter | None:
    """The first candidate that runs and is this version: pyenv's shims are there for versions that are not chosen, too."""
    ask = "import platform; print(platform.python_version())"
    for program in candidates(minor, environment):
        try:
            said = subprocess.run([program, "-I", "-c", ask], capture_output=True, text=True, timeout=_SECONDS)
        except (OSError, subprocess.TimeoutExpired):
            continue
        version = said.stdout.strip()
        if said.returncode == 0 and version.startswith(f"{minor}."):
            return Interpreter(minor, version, program)
    return None


def set_up(found: Interpreter) -> Path | None:
    """The Python of an environment with the pinned packages and this checkout; None if it cannot be made. Kept between runs."""
    place = FOLDER / found.minor
    python, stamp = place / "bin" / "python", place / ".ready"
    pins = [ROOT / "requirements" / "runtime.txt", ROOT / "requirements" / "dev.txt"]
    newest = max(path.stat().st_mtime for path in [*pins, ROOT / "pyproject.toml"])
    if stamp.is_file() and stamp.stat().st_mtime > newest and stamp.read_text("utf-8") == found.version:
        return python
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    steps = [
        [str(found.program), "-m", "venv", "--clear", str(place)],
        *([*pip, "--require-hashes", "-r", str(path)] for path in pins),
        [*pip, "--no-deps", "--no-build-isolation", "-e", "."],
    ]
    environment = {
        **os.environ,
        "PIP_REQUIRE_VIRTUALENV": "1",
    }  # two runs at once must not install beside the environment
    if any(subprocess.run(step, cwd=ROOT, env=environment).returncode for step in steps):
        return None
    stamp.write_text(found.version, "utf-8")
    return python


def run(minor: str, words: Sequence[str]) -> tuple[str, Outcome]:
    """Run the tests on one version. Return its full version and what came of it."""
    found = interpreter(minor, os.environ)
    if found is None:
        return minor, "not here"
    print(f"== Python {found.version} ({found.program})", flush=True)
    python = set_up(found)
    if python is None:
        return found.version, "not set up"
    environment = {**os.environ, "RYE_TEST_FAST": "1"}
    code = subprocess.run([str(python), "-m", "pytest", *FAST, *words], cwd=ROOT, env=environment).returncode
    return found.version, "failed" if code else "passed"


def report(outcomes: Iterable[tuple[str, Outcome]]) -> tuple[str, int]:
    """What to print at the end, and the exit status: 1 if a version failed, or if none was here."""
    rows = list(outcomes)
    lines = [f"Python {version}: {outcome}" for version, outcome in rows]
    bad = any(outcome in ("failed", "not set up") for _, outcome in rows) or all(
        outcome == "not here" for _, outcome in rows
    )
    return "\n".join(lines), int(bad)


def main(words: Sequence[str]) -> int:
    end = words.index("--") if "--" in words else len(words)
    wanted = words[:end] or SUPPORTED
    unknown = [minor for minor in wanted if minor not in SUPPORTED]
    if unknown:
        print(f"Rye does not support Python {unknown[0]}. Supported: {', '.join(SUPPORTED)}.", file=sys.stderr)
        return 2
    said, code = report([run(minor, words[end + 1 :]) for minor in wanted])
    print(said)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
