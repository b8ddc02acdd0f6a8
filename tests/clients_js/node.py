"""Node for the tests of the second client. Where it is missing or too old, they are skipped with the reason."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CLIENT = ROOT / "clients/js"
_OLDEST = 20
_SECONDS = 120


@cache
def _program() -> tuple[str, str]:
    """The path of Node, or why there is none."""
    path = shutil.which("node")
    if path is None:
        return "", "node is not on PATH: install Node 20 or newer (Debian, Ubuntu: apt-get install nodejs)"
    version = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=_SECONDS, check=False).stdout
    major = int(version.strip().lstrip("v").partition(".")[0] or 0)
    return (
        (path, "") if major >= _OLDEST else ("", f"node {version.strip()} is too old: the client needs Node {_OLDEST}")
    )


def node(*words: str | Path, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run Node. Skips the test where there is none."""
    path, missing = _program()
    if missing:
        pytest.skip(missing)
    given = [path, *map(str, words)]
    return subprocess.run(
        given, capture_output=True, text=True, timeout=_SECONDS, check=False, cwd=folder, stdin=subprocess.DEVNULL
    )


def command() -> list[str]:
    """The words that start Node. Skips the test where there is none."""
    path, missing = _program()
    if missing:
        pytest.skip(missing)
    return [path]
