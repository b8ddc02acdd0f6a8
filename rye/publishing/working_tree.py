"""Checks whether the files to publish are committed: a release from an uncommitted file cannot be traced.

Git takes any folder for a repository that has a ``HEAD`` and an ``objects`` folder, and obeys the ``config`` next to them: its
filters are commands. Such a folder can be committed like any other, whereas ``.git`` cannot. So only a checkout with ``.git``
is asked.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from rye.errors import RyeError
from rye.sources import git_program

_SECONDS = 20
_OBJECT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_AT_ONCE = 200
"""The number of paths per call of git, so that the command line does not become too long."""


def uncommitted(paths: Sequence[Path], folder: Path) -> list[str]:
    """Return the ``paths`` with uncommitted changes, including untracked and ignored files; none outside a git checkout.

    ``folder``: a folder in the checkout. Raises RyeError ``git-failed``.
    """
    _refuse_committed_repositories(folder)
    if _git(folder, "rev-parse", "--is-inside-work-tree") is None:
        return []
    changed = []
    settings = _without_filters(folder)
    absolute = [str(path.absolute()) for path in paths]
    for start in range(0, len(absolute), _AT_ONCE):
        part = absolute[start : start + _AT_ONCE]
        listed = _git(
            folder,
            *(
                "status",
                "--porcelain=v1",
                "-z",
                "--untracked-files=all",
                "--ignored=matching",
                "--no-renames",
                "--ignore-submodules=all",
                "--",
                *part,
            ),
            settings=settings,
        )
        if listed is None:
            raise _failed("`git status` failed")
        changed += [entry[3:] for entry in listed.split("\0") if entry]
    return changed


class Checkout(Struct, frozen=True):
    """The checkout around a folder."""

    top: Path
    commit: str
    address: str | None
    """Of the remote ``origin``, as git's configuration has it."""


def checkout_of(folder: Path) -> Checkout | None:
    """Return the checkout around a folder; None if there is none, or it has no commit. Raises RyeError ``git-failed``."""
    _refuse_committed_repositories(folder)
    top = _git(folder, "rev-parse", "--show-toplevel")
    commit = _git(folder, "log", "-1", "--format=%H") if top is not None else None
    if top is None or commit is None:
        return None
    address = _git(folder, "config", "--get", "remote.origin.url")
    return Checkout(Path(top.rstrip("\n")).resolve(), commit.strip(), address.strip() if address else None)


def tree_at(folder: Path, commit: str, path: str) -> dict[str, tuple[str, bool]] | None:
    """Return the files of a commit below ``path`` (empty: all) by their path from there: git's name of the content, and whether
    it is executable. Links and submodules are left out. None: the checkout lacks the commit, or the commit the folder.

    Raises RyeError ``git-failed``.
    """
    if _OBJECT.fullmatch(commit) is None:
        return None
    listed = _git(folder, "ls-tree", "-r", "-z", "--full-tree", f"{commit}:{path}")
    if not listed:
        return None
    rows = (entry.partition("\t") for entry in listed.split("\0") if entry)
    files = ((head.split(), name) for head, _, name in rows)
    return {name: (head[2], head[0] == "100755") for head, name in files if head[0] in ("100644", "100755")}


def blob_at(folder: Path, commit: str, path: str) -> bytes | None:
    """Return the content of a text file of a commit; None if the checkout does not have it. Raises RyeError ``git-failed``."""
    if _OBJECT.fullmatch(commit) is None:
        return None
    text = _git(folder, "cat-file", "blob", f"{commit}:{path}")
    return text.encode() if text is not None else None


def _refuse_committed_repositories(folder: Path) -> None:
    """Refuse a folder that git would take for a repository before it reaches the checkout's ``.git``. Git since 2.38 refuses it
    by ``safe.bareRepository``. Raises RyeError ``git-failed``."""
    here = folder.resolve()
    for each in (here, *here.parents):
        if os.path.lexists(each / ".git"):
            return
        if os.path.lexists(each / "HEAD") and any(os.path.lexists(each / name) for name in ("objects", "commondir")):
            raise RyeError(
                "git-failed",
                f"Cannot tell whether the files are committed: {str(each)!r} looks like a bare git repository, whose "
                "configuration git would obey.",
                "Remove HEAD there if no one needs it. Find out who committed it: it may be an attack.",
            )


def _git(folder: Path, *arguments: str, settings: Sequence[str] = ()) -> str | None:
    """Return git's output; None if it fails or is not installed. Nothing that the checkout names runs
    (:func:`rye.sources.git_program.in_checkout`); ``settings`` turn its filters off (:func:`_without_filters`)."""
    command = git_program.in_checkout(folder, arguments, settings)
    env = git_program.checkout_environment()
    try:
        run = subprocess.run(
            command, env=env, capture_output=True, timeout=_SECONDS, check=False, stdin=subprocess.DEVNULL
        )
    except FileNotFoundError:
        return None
    except subprocess.TimeoutExpired:
        raise _failed(f"git did not answer in {_SECONDS} seconds") from None
    if run.returncode == 0:
        return run.stdout.decode("utf-8", "replace")
    if arguments[0] == "rev-parse" and b"not a git repository" not in run.stderr:
        raise _failed(f"git cannot read the checkout: {run.stderr.decode('utf-8', 'replace').strip()[:300]}")
    return None


_FILTERS = r"^filter\..*\.(clean|smudge|process|required)$"
_OF_THE_USER = ("system", "global")


def _without_filters(folder: Path) -> list[str]:
    """The settings without which git would run the filters that a checkout's own configuration names: they are commands, and a
    folder that was unpacked from an archive brings its configuration. The user's own filters (git-lfs) run.

    Raises RyeError ``git-failed``.
    """
    listed = _git(folder, "config", "--null", "--show-scope", "--name-only", "--get-regexp", _FILTERS) or ""
    words = listed.split("\0")[:-1]
    settings: list[str] = []
    for scope, key in zip(words[::2], words[1::2], strict=True):
        if scope in _OF_THE_USER:
            continue
        if "=" in key or "\n" in key:
            raise _failed(f"its configuration names a filter that cannot be turned off: {key[:100]!r}")
        settings += ["-c", f"{key}={'false' if key.endswith('.required') else ''}"]
    return settings


def _failed(reason: str) -> RyeError:
    return RyeError(
        "git-failed",
        f"Cannot tell whether the files are committed: {reason}.",
        "Fix the checkout, or add --allow-uncommitted.",
    )
