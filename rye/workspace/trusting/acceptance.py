"""Which approvals of a project's rye.lock count on this machine (DESIGN 6.1, Agreed here).

Approvals in the lock are the team's record; anyone who can commit can write them. They count here if this user gave
them in this project, or accepted the project. Approvals are remembered per user and project folder, in the user's data
folder, one per line. ``--trust-lock`` and ``RYE_TRUST_LOCK=1`` accept exactly what the lock approves, for this run,
and remember nothing.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from rye.consent.ask import Ask, is_plain
from rye.consent.sorts import sort_of
from rye.errors import RyeError
from rye.installation.transaction import LOCK_SECONDS, Change, exclusive
from rye.project.layout import read_project_file
from rye.storage import private_files
from rye.storage.safe_files import LockTimeout, file_lock
from rye.text.lazy import lazy_module

if TYPE_CHECKING:
    import json

    from rye.project.layout import Project
    from rye.project.lock import LockedItem
    from rye.storage.home import Home
    from rye.workspace.context import Context
else:
    json = lazy_module("json")  # only for text with unusual characters

TRUST_LOCK = "RYE_TRUST_LOCK"
_FOLDER = "accepted"
_SET = ("1", "true", "yes")
_LISTED = 3


_MARK = ".ai/.rye/accepted"
"""A number unique to this folder, so that another clone at the same path is a different project. Version control ignores it."""
_MARK_BYTES = 64


def forced_versions(items: Iterable[LockedItem]) -> set[Ask]:
    """The versions in these rows that ``[overrides]`` of rye.toml forces."""
    return {Ask(str(item.identity), "forced", item.forced) for item in items if item.forced is not None}


def of_the_lock(given: Iterable[Ask]) -> list[Ask]:
    """The approvals from rye.lock, without those about customizations, grants and the project."""
    return [one for one in given if (sort := sort_of(one.sort)) is not None and sort.in_lock]


def trusts_lock(context: Context, given: bool = False) -> bool:
    """Whether this run accepts what the lock approves. ``given``: ``--trust-lock``. A value of RYE_TRUST_LOCK that is not a
    clear yes does not turn the question off."""
    return given or context.environment.get(TRUST_LOCK, "").lower() in _SET


def unseen(home: Home, project: Project, wanted: Iterable[Ask]) -> tuple[Ask, ...]:
    """The approvals that this user has not agreed to in this project, sorted. A right covered by the item's agreed rights is
    not new."""
    asked = set(wanted)
    if not asked:
        return ()
    known = _read(memory_of(home, project, _FOLDER))
    return tuple(sorted(one for one in asked if one.line not in known and not _within(one, known)))


def accepted_before(home: Home, project: Project) -> bool:
    """Whether this user accepted this checkout or installed in it. If so, later customizations are only reported."""
    mark = _read_mark(project)
    return mark is not None and _accepted(mark).line in _read(memory_of(home, project, _FOLDER))


def remember_accepted(home: Home, project: Project, agreed: Iterable[Ask]) -> None:
    """Remember these, and that this checkout is accepted if its work folder is writable. Errors as for :func:`remember`."""
    mark = _read_mark(project)
    if mark is None:
        mark = os.urandom(_MARK_BYTES // 2).hex()
        try:
            with exclusive(project) as writer:
                writer.apply([Change(_MARK, mark.encode())])
        except (RyeError, OSError):  # rye asks again next time
            remember(home, project, agreed)
            return
    remember(home, project, (*agreed, _accepted(mark)))


def _accepted(mark: str) -> Ask:
    return Ask("", "project", f"accepted {mark}")


def _read_mark(project: Project) -> str | None:
    try:
        data = read_project_file(project.root / _MARK, _MARK_BYTES)
    except RyeError:
        return None
    return data.decode("ascii", "replace") if data is not None and len(data) == _MARK_BYTES else None


def _within(ask: Ask, known: frozenset[str]) -> bool:
    """Whether what was agreed to for the same item covers it, as its sort compares."""
    sort = sort_of(ask.sort)
    if sort is None or sort.covers is None:
        return False
    agreed: list[str] = []
    for line in known:
        with contextlib.suppress(ValueError):
            item, name, text = json.loads(line)
            if (item, name) == (ask.item, ask.sort):
                agreed.append(text)
    return bool(agreed) and sort.covers(agreed, ask.text)


def remember(home: Home, project: Project, agreed: Iterable[Ask]) -> None:
    """Store that this user agreed to these in this project. Keeps what another run stores at the same time. Raises RyeError
    ``in-use``."""
    place = memory_of(home, project, _FOLDER)
    added = {one.line for one in agreed}
    if added <= _read(place):
        return
    private_files.make_folder(place.parent)
    try:
        with file_lock(place.parent.with_suffix(".lock"), LOCK_SECONDS):
            lines = _read(place) | added
            private_files.write(place, "\n".join([_root(project), *sorted(lines)]) + "\n")
    except LockTimeout:
        raise RyeError(
            "in-use",
            "Another rye process is saving what you agreed to in this project.",
            "Wait for it to finish or stop it, then run the command again.",
            what="project",
        ) from None


def forget(home: Home, project: Project) -> bool:
    """Revoke the acceptance of a project. Return whether it was accepted."""
    place = memory_of(home, project, _FOLDER)
    existed = os.path.lexists(place)
    place.unlink(missing_ok=True)
    return existed


def not_accepted(waiting: tuple[Ask, ...]) -> RyeError:
    """The error if no one can be asked."""
    if all(one.sort == "grant" for one in waiting):
        return _refused("rye.toml grants tools", waiting)
    lock = of_the_lock(waiting)
    if len(lock) == len(waiting):
        said = "rye.lock approves"
    else:
        said = (
            "This project changes installed items, and rye.lock approves,"
            if lock
            else "This project changes installed items,"
        )
    return _refused(said, waiting)


def _refused(said: str, waiting: tuple[Ask, ...]) -> RyeError:
    listed = "; ".join(f"{one.item} {one.sort} {one.text}" for one in waiting[:_LISTED])
    more = f"; and {len(waiting) - _LISTED} more" if len(waiting) > _LISTED else ""
    return RyeError(
        "project-not-accepted",
        f"{said} what you have not agreed to: {listed}{more}.",
        "On a terminal, run `rye trust project` to review and accept it. On a build server that trusts everyone who can "
        f"commit, pass --trust-lock or set {TRUST_LOCK}=1.",
        details={"approvals": [one.as_json() for one in waiting]},
    )


def _root(project: Project) -> str:
    path = os.path.realpath(project.root)
    return f'"{path}"' if is_plain(path) else json.dumps(path)


def memory_of(home: Home, project: Project, folder: str) -> Path:
    """The file for this project below ``folder`` in the user's data folder, named by the project's real path."""
    return home.data / folder / hashlib.sha256(_root(project).encode()).hexdigest()[:32]


def _read(place: Path) -> frozenset[str]:
    """The lines. Empty if others can write the file, so that rye asks again."""
    try:
        descriptor = os.open(place, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return frozenset()
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or (
            os.name == "posix" and (status.st_uid != os.geteuid() or status.st_mode & 0o022)
        ):
            return frozenset()
        with os.fdopen(descriptor, "rb", closefd=False) as stream:
            return frozenset(stream.read().decode("utf-8").removesuffix("\n").split("\n")[1:])
    except (OSError, UnicodeDecodeError):
        return frozenset()
    finally:
        os.close(descriptor)
