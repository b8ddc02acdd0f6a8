"""Whether what is about to be published is what version control has: a release from an uncommitted file cannot be traced."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

_SECONDS = 20


def uncommitted(paths: Sequence[Path], root: Path) -> list[str]:
    """Those of ``paths`` that git has not committed as they are, relative to its top folder; none outside a git checkout."""
    try:
        run = subprocess.run(
            ["git", "-C", str(root), "status", "--porcelain=v1", "-z", "--untracked-files=all", "--", *map(str, paths)],
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except (FileNotFoundError, subprocess.TimeoutExpired):
        return []
    if run.returncode != 0:
        return []
    entries = run.stdout.decode("utf-8", "replace").split("\0")
    return [entry[3:] for entry in entries if entry]
