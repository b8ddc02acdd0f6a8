"""What of a project a tool may read, and what of a granted folder it may change.

Hidden, wherever they lie, in any case: ``.env*``, ``*.pem``, ``*.key``, ``id_*``, ``.ssh``, the ``config`` files inside ``.git``
(they hold tokens), ``.ai/runs``, and Rye's own folders. What a hidden symbolic link leads to is hidden, too. What is too much
to look through (``SANDBOX.project_entries``) is hidden as well.

Linux has two ways to hide: a mount over each hidden path, and Landlock, which knows only what is allowed. So a survey has both
lists.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePath

from msgspec import Struct, field

from rye.items.needs import NEVER_WRITTEN
from rye.limits import SANDBOX

_DEPTH = 64
_GIT_SETTINGS = ("config", "config.worktree")


class Survey(Struct, frozen=True):
    """What one walk through a folder found. Absolute paths; none is a symbolic link."""

    allowed: tuple[Path, ...]
    """Folders (with everything below) and files that hold nothing refused."""
    listed: tuple[Path, ...]
    """Folders that hold something refused: their names may be listed, their other entries are in ``allowed``."""
    hidden: tuple[Path, ...]
    """What may not be read."""
    protected: tuple[Path, ...]
    """What may be read and not changed, because of its name; only where the walk was about changing."""


def is_hidden(path: PurePath) -> bool:
    """Whether a path's own name, and the folders around it, make it a secret."""
    above = [part.casefold() for part in path.parts[:-1]]
    return _is_secret(path.name.casefold(), ".git" in above, above[-1] if above else "")


def _is_secret(name: str, in_git: bool, parent: str) -> bool:
    """All of it in lower case; ``in_git``: somewhere below a folder ``.git``."""
    if name.startswith((".env", "id_")) or name.endswith((".pem", ".key")) or name == ".ssh":
        return True
    return (in_git and name in _GIT_SETTINGS) or (name == "runs" and parent == ".ai")


def is_protected(path: PurePath) -> bool:
    """Whether no tool may write something of this name."""
    return path.name.casefold() in NEVER_WRITTEN


def survey(
    root: Path, deny: Iterable[Path] = (), *, changing: bool = False, entries: int = SANDBOX.project_entries
) -> Survey:
    """Walk through a folder; with ``changing`` names of :data:`NEVER_WRITTEN` are refused like secrets."""
    denied = frozenset(map(str, deny))
    found = _walk(root, denied, changing, entries)
    led_to = frozenset(found.led_to) - denied
    if led_to:
        found = _walk(root, denied | led_to, changing, entries)
    return Survey(*(tuple(map(Path, each)) for each in (found.allowed, found.listed, found.hidden, found.protected)))


class _Found(Struct):
    """Paths as text: a large project has many."""

    denied: frozenset[str]
    changing: bool
    left: int
    allowed: list[str] = field(default_factory=list)
    listed: list[str] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)
    protected: list[str] = field(default_factory=list)
    led_to: list[str] = field(default_factory=list)


def _walk(root: Path, denied: frozenset[str], changing: bool, entries: int) -> _Found:
    found = _Found(denied, changing, entries)
    in_git = ".git" in map(str.casefold, root.parts)
    if str(root) in denied or is_hidden(root):
        found.hidden.append(str(root))
    elif not root.is_dir() or _folder(str(root), root.name.casefold(), in_git, found, _DEPTH):
        found.allowed.append(str(root))
    return found


def _folder(folder: str, called: str, in_git: bool, found: _Found, depth: int) -> bool:
    """Whether nothing in the folder is refused. Where something is, ``found`` has everything else of it."""
    try:
        with os.scandir(folder) as rows:
            entries = list(rows)
    except OSError:
        return True  # it cannot be read, so neither can the tool
    found.left -= len(entries)
    if found.left < 0 or depth == 0:
        found.hidden.append(folder)
        return False
    clean: list[str] = []
    refused = False
    for entry in entries:
        name, path, link = entry.name.casefold(), entry.path, entry.is_symlink()
        if _is_secret(name, in_git, called) or path in found.denied:
            refused = True
            if link:
                found.led_to.append(os.path.realpath(path))
            else:
                found.hidden.append(path)
        elif found.changing and name in NEVER_WRITTEN:
            refused = True
            if not link:
                found.protected.append(path)
        elif link:
            continue
        elif not entry.is_dir(follow_symlinks=False) or (name == "objects" and called == ".git"):
            clean.append(path)  # Git's objects are many thousand, and none has a name of somebody's choice
        elif _folder(path, name, in_git or name == ".git", found, depth - 1):
            clean.append(path)
        else:
            refused = True
    if refused:
        found.listed.append(folder)
        found.allowed += clean
    return not refused


def sweep(roots: Sequence[Path], before: Iterable[Path], user: int | None) -> tuple[str, ...]:
    """Move aside what a tool created below granted folders though no tool may: names of :data:`NEVER_WRITTEN`; what they were.

    No sandbox of Linux can refuse a name. Called when no process of the tool is left; ``before`` existed already, and ``user`` is
    whom the tool's files belong to, None where that is everybody's user here. Then somebody else may have created one of them in
    the meantime, so nothing is deleted: under another name it steers nobody.
    """
    known = set(before)
    refused: list[str] = []
    for root in roots:
        if not root.is_dir() or root.is_symlink():
            continue
        for folder, names, files in os.walk(root):
            for name in [*names, *files]:
                path = Path(folder, name)
                if not is_protected(path) or path in known or user not in (None, path.lstat().st_uid):
                    continue
                aside = f"refused-by-rye-{secrets.token_hex(4)}"
                path.rename(path.with_name(aside))
                refused.append(str(path))
                if name in names:
                    names[names.index(name)] = aside  # there may be more in it
            names[:] = [name for name in names if not is_protected(PurePath(name))]
    return tuple(refused)
