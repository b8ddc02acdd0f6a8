"""Checks whether the files to publish are committed: a release from an uncommitted file cannot be traced."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from rye.errors import RyeError

_SECONDS = 20
_AT_ONCE = 200
"""The number of paths per call of git, so that the command line does not become too long."""


def uncommitted(paths: Sequence[Path], folder: Path) -> list[str]:
    """Return the ``paths`` with uncommitted changes, including untracked and ignored files; none outside a git checkout.

    ``folder``: a folder in the checkout. Raises RyeError ``git-failed``.
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
    """Return git's output; None if it fails or is not installed. Runs no program from the checkout's configuration."""
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
