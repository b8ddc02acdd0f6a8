"""Setting up git's merge driver for rye.lock (``rye lock --merge``): a line in the project's ``.gitattributes``, and settings of
the clone. Git takes no driver from a repository, so everyone sets it up in each clone; without it, git merges by lines.

What others wrote in either place stays: another driver of that name, and every line about rye.lock's merge.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Literal

from msgspec import Struct

from rye.errors import RyeError
from rye.limits import PROJECT
from rye.project.agent_programs import ATTRIBUTES
from rye.project.layout import LOCK, read_project_file
from rye.storage.atomic import replace_file

DRIVER = "rye lock --merge %O %A %B"
SET_UP = f'git config merge.rye.driver "{DRIVER}"'
"""What each clone needs."""
_LINE = f"{LOCK} merge=rye"
_ABOUT = re.compile(rf"^\s*/?{re.escape(LOCK)}\s(?:.*\s)?[-!]?merge(?:=\S*)?(?:\s|$)", re.MULTILINE)
_SECONDS = 20

Outcome = Literal["written", "kept", "foreign", "unreadable"]
"""``kept``: it was there. ``foreign``: somebody else's stays. ``unreadable``: a link, or no text."""


class MergeDriver(Struct, frozen=True):
    """What is set up."""

    attributes: Outcome
    clone: Outcome | None = None
    """The clone's setting; None: not asked for."""

    def as_json(self) -> dict[str, str | None]:
        """``merge_driver`` of ``rye init --json``."""
        return {"attributes": self.attributes, "clone": self.clone}


def write_attributes(root: Path) -> Outcome:
    """Add the line for rye.lock to the ``.gitattributes`` of the project at ``root``, unless a line says how to merge it."""
    path = root / ATTRIBUTES
    try:
        if path.is_symlink():
            return "unreadable"
        text = (read_project_file(path, PROJECT.manifest_bytes) or b"").decode("utf-8")
    except (RyeError, UnicodeDecodeError):
        return "unreadable"
    about = _ABOUT.search(text)
    if about is not None:
        return "kept" if about[0].split()[1:] == ["merge=rye"] else "foreign"
    end = "\r\n" if "\r\n" in text else "\n"
    start = text if not text or text.endswith("\n") else text + end
    replace_file(path, f"{start}{_LINE}{end}".encode())
    return "written"


def set_up_clone(root: Path) -> Outcome:
    """Set the driver in the configuration of the clone around ``root``, unless it has another. Raises RyeError ``git-failed``."""
    found = _git(root, "config", "--get", "merge.rye.driver")
    if found.returncode == 0:
        return "kept" if found.stdout.strip() == DRIVER else "foreign"
    for key, value in (("name", "rye.lock, by items"), ("driver", DRIVER)):
        done = _git(root, "config", "--local", f"merge.rye.{key}", value)
        if done.returncode != 0:
            why = done.stderr.strip()[:300]
            raise RyeError("git-failed", f"git did not take the merge driver: {why}", f"In a clone, run `{SET_UP}`.")
    return "written"


def _git(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            ["git", "-C", str(root), *words],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RyeError(
            "git-failed", f"git cannot be run: {error}.", "Install git, and run the command again."
        ) from None
