"""What of a project a tool may read, and what of a granted folder it may change.

Hidden, wherever they lie, in any case: ``.env*``, ``*.pem``, ``*.key``, ``id_*``, ``.ssh``, the ``config`` files inside ``.git``
(they hold tokens), ``.ai/runs``, and Rye's own folders. What a hidden symbolic link leads to is hidden, too. What is too much
to look through (``SANDBOX.project_entries``) is hidden as well.

Linux has two ways to hide: a mount over each hidden path, and Landlock, which knows only what is allowed. So a survey has both
lists.
"""

from __future__ import annotations

import os
import shutil
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
    name = path.name.casefold()
    if name.startswith((".env", "id_")) or name.endswith((".pem", ".key")) or name == ".ssh":
        return True
    above = [part.casefold() for part in path.parts[:-1]]
    if name in _GIT_SETTINGS and ".git" in above:
        return True
    return name == "runs" and above[-1:] == [".ai"]


def is_protected(path: PurePath) -> bool:
    """Whether no tool may write something of this name."""
    return path.name.casefold() in NEVER_WRITTEN


def survey(
    root: Path, deny: Iterable[Path] = (), *, changing: bool = False, entries: int = SANDBOX.project_entries
) -> Survey:
    """Walk through a folder; with ``changing`` names of :data:`NEVER_WRITTEN` are refused like secrets."""
    denied = frozenset(deny)
    found = _walk(root, denied, changing, entries)
    led_to = frozenset(found.led_to) - denied
    if led_to:
        found = _walk(root, denied | led_to, changing, entries)
    return Survey(tuple(found.allowed), tuple(found.listed), tuple(found.hidden), tuple(found.protected))


class _Found(Struct):
    left: int
    allowed: list[Path] = field(default_factory=list)
    listed: list[Path] = field(default_factory=list)
    hidden: list[Path] = field(default_factory=list)
    protected: list[Path] = field(default_factory=list)
    led_to: list[Path] = field(default_factory=list)


def _walk(root: Path, denied: frozenset[Path], changing: bool, entries: int) -> _Found:
    found = _Found(entries)
    if root in denied or is_hidden(root):
        found.hidden.append(root)
    elif not root.is_dir() or _folder(root, denied, changing, found, _DEPTH):
        found.allowed.append(root)
    return found


def _folder(folder: Path, denied: frozenset[Path], changing: bool, found: _Found, depth: int) -> bool:
    """Whether nothing in the folder is refused. Where something is, ``found`` has everything else of it."""
    clean: list[Path] = []
    refused = False
    try:
        with os.scandir(folder) as rows:
            listed = [(row.name, row.is_symlink(), row.is_dir(follow_symlinks=False)) for row in rows]
    except OSError:
        return True  # it cannot be read, so neither can the tool
    found.left -= len(listed)
    if found.left < 0 or depth == 0:
        found.hidden.append(folder)
        return False
    for name, link, directory in sorted(listed):
        path = folder / name
        if path in denied or is_hidden(path):
            refused = True
            if link:
                found.led_to.append(Path(os.path.realpath(path)))
            else:
                found.hidden.append(path)
        elif changing and is_protected(path):
            refused = True
            if not link:
                found.protected.append(path)
        elif link:
            continue
        elif not directory or _is_object_store(path) or _folder(path, denied, changing, found, depth - 1):
            clean.append(path)
        else:
            refused = True
    if refused:
        if folder not in found.hidden:
            found.listed.append(folder)
        found.allowed += clean
    return not refused


def _is_object_store(path: Path) -> bool:
    """Git's objects: many thousand files, none of which has a name of somebody's choice."""
    return path.name == "objects" and path.parent.name == ".git"


def sweep(roots: Sequence[Path], before: Iterable[Path]) -> tuple[str, ...]:
    """Delete what a tool created below granted folders though no tool may: names of :data:`NEVER_WRITTEN`.

    No sandbox of Linux can refuse a name. Called when no process of the tool is left; ``before`` existed already.
    """
    known = set(before)
    removed: list[str] = []
    for root in roots:
        if not root.is_dir() or root.is_symlink():
            continue
        for folder, names, files in os.walk(root):
            for name in [*names, *files]:
                path = Path(folder, name)
                if is_protected(path) and path not in known:
                    if path.is_dir() and not path.is_symlink():
                        shutil.rmtree(path)
                    else:
                        path.unlink()
                    removed.append(str(path))
            names[:] = [name for name in names if not is_protected(PurePath(name))]
    return tuple(removed)
