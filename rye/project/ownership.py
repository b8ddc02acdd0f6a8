"""Whose project a folder is, and where a new one may be made.

Any user may create ``/tmp/.ai`` or ``/tmp/rye.toml``, and a search upwards from ``/tmp/x`` finds it. So a project counts only
if everything that makes it one belongs to this user or to root. Under ``sudo``, the user who called it counts as well. A link
and what it leads to must both pass. Another user's project is an error, not skipped: skipping it would silently use another
project or none. To use one deliberately, its folder must be listed in ``RYE_SAFE_PROJECTS``, which no project can set.

For the same reason ``.ai`` may be a link, but only to a folder in the project: a commit can hold one that leads to the items of
another project, which would then be listed, deployed, signed and rewritten as this one's. The home folder's own ``.ai`` is
the user's space and leads where they want.

Completion asks who owns a project at each press of a key, so this imports next to nothing.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from rye.errors import RyeError
from rye.text.lazy import lazy_module

if TYPE_CHECKING:
    import shlex
    from pathlib import Path
else:
    shlex = lazy_module("shlex")

if sys.platform != "win32":
    import pwd

MARKERS = ("rye.toml", "rye.lock", ".ai")
"""The files and folders that make a project."""
VARIABLE = "RYE_SAFE_PROJECTS"
"""Names the folders of other users' projects that may be used, joined by ``os.pathsep``."""
_ROOT = 0


def foreign_marker(root: str, look: Callable[..., os.stat_result] = os.stat) -> tuple[str, int] | None:
    """The first of the :data:`MARKERS` in ``root`` that belongs to another user, and that user's id. None if there is none or
    if :data:`VARIABLE` names ``root``. Missing ones are skipped. ``look``: ``os.stat``, or a test's own.
    """
    if not hasattr(os, "geteuid"):  # Windows: a file's owner is no number there
        return None
    ours = trusted_owners(os.geteuid(), os.environ)
    for name in MARKERS:
        owner = _foreign_owner(os.path.join(root, name), ours, look)
        if owner is not None and root not in safe_projects(os.environ):
            return name, owner
    return None


def outside_link(root: str) -> str | None:
    """Where ``.ai`` leads, if it is a link out of the project and :data:`VARIABLE` does not allow it; None otherwise."""
    place = os.path.join(root, ".ai")
    if not os.path.islink(place) or root == os.path.expanduser("~"):
        return None
    target = os.path.realpath(place)
    if _is_inside(target, os.path.realpath(root)) or root in safe_projects(os.environ):
        return None
    return target


def trusted_owners(user: int, environment: Mapping[str, str]) -> frozenset[int]:
    """The user ids whose files may make a project for ``user``."""
    caller = environment.get("SUDO_UID", "")
    called_by = {int(caller)} if user == _ROOT and caller.isascii() and caller.isdigit() else set()
    return frozenset({user, _ROOT} | called_by)


def safe_projects(environment: Mapping[str, str]) -> frozenset[str]:
    """The folders that :data:`VARIABLE` names. A slash at the end makes no difference. Relative and empty entries name nothing,
    since they would mean another folder everywhere."""
    entries = environment.get(VARIABLE, "").split(os.pathsep)
    return frozenset(entry.rstrip("/") or entry for entry in entries if os.path.isabs(entry))


def _foreign_owner(path: str, ours: frozenset[int], look: Callable[..., os.stat_result]) -> int | None:
    for follow in (False, True):
        try:
            owner = look(path, follow_symlinks=follow).st_uid
        except OSError:
            return None
        if owner not in ours:
            return owner
    return None


def refuse_foreign(root: Path, look: Callable[..., os.stat_result] = os.stat) -> None:
    """Raise RyeError ``foreign-project`` if one of the files or folders that make a project in ``root`` belongs to another user,
    and ``linked-outside`` if its ``.ai`` is a link out of it.

    ``look``: ``os.stat``, or a test's own.
    """
    found = foreign_marker(str(root), look)
    if found is not None:
        name, owner = found
        raise RyeError(
            "foreign-project",
            f"{root / name} belongs to another user ({_called(owner)}), so the project in {root} is not used.",
            f"Work in a folder of your own. {_how_to_allow(str(root))}",
            details={"project": str(root), "owner": owner},
        )
    refuse_linked(root)


def refuse_linked(root: Path) -> None:
    """Raise RyeError ``linked-outside`` if the ``.ai`` of a project is a link out of it."""
    target = outside_link(str(root))
    if target is not None:
        raise RyeError(
            "linked-outside",
            f"{root / '.ai'} is a symbolic link to {target}, outside the project: the items there are not this project's.",
            f"Put a folder in the link's place. {_how_to_allow(str(root), 'If you made the link')}",
            details={"project": str(root), "target": target},
        )


def _how_to_allow(root: str, when: str = "If you trust that user with all that this project can do") -> str:
    # The other user chose the folder's name: pasted, it must neither run anything nor allow a second folder.
    if os.pathsep in root or not root.isprintable():
        return f"{VARIABLE} cannot name a folder with such a path."
    return f"{when}, `export {VARIABLE}={shlex.quote(root)}` allows it."


def _called(owner: int) -> str:
    try:
        return pwd.getpwuid(owner).pw_name
    except KeyError:
        return f"user id {owner}"


def refuse_wide_folder(folder: Path, look: Callable[..., os.stat_result] = os.stat) -> None:
    """Raise RyeError ``wide-folder`` for a folder in which a project would take in what is not its own: the file system's
    root, a folder above the home folder, or one in which every user may create files, such as ``/tmp``.

    The home folder itself is allowed: only what its owner creates there is affected.
    """
    folder, home = folder.resolve(), os.path.expanduser("~")  # stays "~" for a user without a home folder
    if folder.parent == folder:
        why = "is the root of the file system"
    elif os.path.isabs(home) and _is_inside(os.path.realpath(home), str(folder)):
        why = "contains home folders"
    elif _open_to_all(folder, look):
        why = "is shared by all users of this machine"
    else:
        return
    raise RyeError(
        "wide-folder",
        f"{folder} {why}: a project there would include every folder below it.",
        "Create the project in a folder of its own: `rye init FOLDER`.",
    )


def _is_inside(path: str, folder: str) -> bool:
    return path != folder and os.path.commonpath((path, folder)) == folder


def _open_to_all(folder: Path, look: Callable[..., os.stat_result]) -> bool:
    """Whether everyone may create files there and nobody can remove another's. A folder without that second part, such as a
    mounted disk of another system, is its owner's mistake or has no modes."""
    shared = stat.S_ISVTX | stat.S_IWOTH
    try:
        return look(folder).st_mode & shared == shared
    except OSError:
        return False
