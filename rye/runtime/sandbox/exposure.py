"""Which parts of a project a tool may read, and which parts of a granted folder it may change.

Hidden anywhere, in upper or lower case: ``.env*``, ``*.pem``, ``*.key``, ``id_*``, ``.ssh``, the ``config`` files inside
``.git`` (they hold tokens), ``.ai/runs``, and Rye's own folders. The targets of hidden symbolic links are hidden as well, and
so is everything beyond the first ``SANDBOX.project_entries`` entries.

Linux has two ways to hide files: a mount over each hidden path, and Landlock, which only takes a list of allowed paths. So
a survey has both lists.
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
    """The result of one walk through a folder. Absolute paths; none is a symbolic link."""

    allowed: tuple[Path, ...]
    """Files, and folders in which nothing is refused, with everything below them."""
    listed: tuple[Path, ...]
    """Folders in which something is refused: they may be listed, and their other entries are in ``allowed``."""
    hidden: tuple[Path, ...]
    """What must not be read."""
    protected: tuple[Path, ...]
    """What may be read but not changed, because of its name; empty unless the walk was with ``changing``."""


def is_hidden(path: PurePath) -> bool:
    """Whether a path is a secret, by its name and those of its parent folders."""
    above = [part.casefold() for part in path.parts[:-1]]
    return _is_secret(path.name.casefold(), ".git" in above, above[-1] if above else "")


def _is_secret(name: str, in_git: bool, parent: str) -> bool:
    """Whether a name is a secret. All names in lower case; ``in_git``: somewhere below a folder ``.git``."""
    if name.startswith((".env", "id_")) or name.endswith((".pem", ".key")) or name == ".ssh":
        return True
    return (in_git and name in _GIT_SETTINGS) or (name == "runs" and parent == ".ai")


def is_protected(path: PurePath) -> bool:
    """Whether no tool may create or change a file of this name."""
    return path.name.casefold() in NEVER_WRITTEN


def survey(
    root: Path, deny: Iterable[Path] = (), *, changing: bool = False, entries: int = SANDBOX.project_entries
) -> Survey:
    """Walk through a folder. With ``changing``, the names in :data:`NEVER_WRITTEN` are protected as well."""
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
    """Whether nothing in the folder is refused. Otherwise add all its other entries to ``found``."""
    try:
        with os.scandir(folder) as rows:
            entries = list(rows)
    except OSError:
        return True  # unreadable here, so unreadable for the tool
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
            clean.append(path)  # Git has thousands of objects, and nobody can choose their names
        elif _folder(path, name, in_git or name == ".git", found, depth - 1):
            clean.append(path)
        else:
            refused = True
    if refused:
        found.listed.append(folder)
        found.allowed += clean
    return not refused


def sweep(roots: Sequence[Path], before: Iterable[Path], user: int | None) -> tuple[str, ...]:
    """Rename what a tool created below granted folders under names in :data:`NEVER_WRITTEN`, and return the original paths.

    No Linux sandbox can refuse a file name. Called when no process of the tool is left. ``before``: paths that existed
    already; ``user``: the owner of the tool's files, None if the tool ran as this user. Then another program may have
    created such a file in the meantime, so nothing is deleted: under another name it has no effect on agents.
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
                    names[names.index(name)] = aside  # search it as well
            names[:] = [name for name in names if not is_protected(PurePath(name))]
    return tuple(refused)
