"""Checks whether the files to publish are committed: a release from an uncommitted file cannot be traced."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from rye.errors import RyeError

_SECONDS = 20
_AT_ONCE = 200
"""Paths in one call, so that no command line is too long."""


def uncommitted(paths: Sequence[Path], folder: Path) -> list[str]:
    """Those of ``paths`` that git has not committed as they are, ignored ones included; none outside a git checkout.

    ``folder``: where the checkout is looked for. Raises RyeError ``git-failed`` when git cannot say.
    """
    if _git(folder, "rev-parse", "--is-inside-work-tree") is None:
        return []
    found = []
    absolute = [str(path.absolute()) for path in paths]
    for start in range(0, len(absolute), _AT_ONCE):
        part = absolute[start : start + _AT_ONCE]
        listed = _git(
            folder,
            "status",
            "--porcelain=v1",
            "-z",
            "--untracked-files=all",
            "--ignored=matching",
            "--no-renames",
            "--",
            *part,
        )
        if listed is None:
            raise _failed("`git status` failed")
        found += [entry[3:] for entry in listed.split("\0") if entry]
    return found


def _git(folder: Path, *arguments: str) -> str | None:
    """What git prints; None when it fails, or is not there. Nothing that a checkout's configuration names is run."""
    command = ["git", "--literal-pathspecs", "-c", "core.fsmonitor=false", "-C", str(folder.absolute()), *arguments]
    try:
        run = subprocess.run(command, capture_output=True, timeout=_SECONDS, check=False, stdin=subprocess.DEVNULL)
    except FileNotFoundError:
        return None
    except subprocess.TimeoutExpired:
        raise _failed(f"git did not answer in {_SECONDS} seconds") from None
    if run.returncode == 0:
        return run.stdout.decode("utf-8", "replace")
    if arguments[0] == "rev-parse" and b"not a git repository" not in run.stderr:
        raise _failed(f"git cannot read the checkout: {run.stderr.decode('utf-8', 'replace').strip()[:300]}")
    return None


def _failed(reason: str) -> RyeError:
    return RyeError(
        "git-failed",
        f"Cannot tell whether the files are committed: {reason}.",
        "Fix the checkout, or add --allow-uncommitted.",
    )
