"""Which approvals of a project's rye.lock count on this machine (DESIGN 6.1, Agreed here).

Approvals in the lock are the team's record; anyone who can commit can write them. They count here if this user gave
them in this project, or accepted the project. ``--trust-lock`` and ``RYE_TRUST_LOCK=1`` accept exactly what the lock
approves, for this run, and remember nothing.

The first item of a signer whose items this user has not agreed to asks, even without rights (DESIGN 7.1). Their
fingerprints are in a file in the user's data folder. Nothing that comes with a repository can write there. A file that
other users can write, or that cannot be read, counts as empty; the next installation then asks again.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from rye.consent.agreement import Agreement, not_accepted
from rye.consent.ask import Ask
from rye.consent.memory import Memory
from rye.errors import RyeError
from rye.installation.transaction import Change, exclusive
from rye.project.layout import read_project_file
from rye.storage.home import Home
from rye.storage.private_files import make_folder, read_trusted, write
from rye.workspace.installing.install_request import Proposal

if TYPE_CHECKING:
    from rye.installation.plan import ItemChange, Plan
    from rye.project.layout import Project
    from rye.workspace.context import Context
    from rye.workspace.installing.install_request import Agree

_SET = ("1", "true", "yes")
_MARK = ".ai/.rye/accepted"
"""A number unique to this folder, so that another clone at the same path is a different project. Version control ignores it."""
_MARK_BYTES = 64


def trusts_lock(context: Context, given: bool = False) -> bool:
    """Whether this run accepts what the lock approves. ``given``: ``--trust-lock``. A value of RYE_TRUST_LOCK that is not a
    clear yes does not turn the question off."""
    return given or context.environment.get("RYE_TRUST_LOCK", "").lower() in _SET


def remembered(home: Home, project: Project) -> Agreement:
    """What this user agreed to in this project."""
    return Agreement(_memory(home, project).lines())


def agreement(context: Context, project: Project, trust_lock: bool = False) -> Agreement:
    """The same in this run, which may accept what the lock approves. ``trust_lock``: the option ``--trust-lock``."""
    return Agreement(_memory(context.home, project).lines(), trusts_lock(context, trust_lock))


def ask(
    context: Context,
    agree: Agree,
    plan: Plan | None = None,
    notes: Iterable[str] = (),
    waiting: tuple[ItemChange, ...] = (),
    unseen: tuple[Ask, ...] = (),
) -> bool:
    """Show what is about to happen and, if something needs a yes, ask once. Whether a person said yes."""
    return agree(Proposal(plan, tuple(notes), waiting, context.now(), unseen))


def require_yes(context: Context, asks: tuple[Ask, ...], agree: Agree | None, *, is_shown: bool = False) -> None:
    """Ask about what rye.lock approves and the project changes, and remember a yes to nothing: the caller does.

    ``agree``: None: ask no one. ``is_shown``: whether to show it although no one can be asked. Raises RyeError
    ``project-not-accepted`` or ``declined``.
    """
    if not asks:
        return
    asked = agree is not None and context.interactive
    if agree is not None and (asked or is_shown) and ask(context, agree, unseen=asks):
        return
    raise RyeError("declined", "Nothing was changed.") if asked else not_accepted(asks)


def require_named_yes(
    context: Context, question: str, nobody: RyeError, show: Callable[[], None] | None = None
) -> None:
    """Ask about what the command itself names, so that ``--yes`` is enough, and remember a yes to nothing: the caller does.

    ``nobody``: what is raised if no one can be asked. ``show``: shows what is asked about, if the caller has not done so; called
    only before a question. Raises RyeError ``declined``.
    """
    if context.assume_yes:
        return
    if not context.interactive:
        raise nobody
    if show is not None:
        show()
    if not context.ask(question):
        raise RyeError("declined", "Nothing was changed.")


def accepted_before(home: Home, project: Project) -> bool:
    """Whether this user accepted this checkout or installed in it. If so, later customizations are only reported."""
    mark = _read_mark(project)
    return mark is not None and _accepted(mark).line in _memory(home, project).lines()


def remember(home: Home, project: Project, asks: Iterable[Ask], *, accepts: bool = False) -> None:
    """Remember that this user agreed to these. ``accepts``: also that this checkout is accepted, if its work folder is writable.
    Raises RyeError ``in-use``."""
    _memory(home, project).add((*asks, *(_mark_of(project) if accepts else ())))


def forget(home: Home, project: Project) -> bool:
    """Revoke the acceptance of a project. Return whether it was accepted."""
    return _memory(home, project).remove()


def memory_of(home: Home, project: Project, folder: str) -> Path:
    """The file for this project below ``folder`` in the user's data folder, named by the project's real path."""
    return Memory(home.data / folder, project.root).path


def _memory(home: Home, project: Project) -> Memory:
    return Memory(home.data / "accepted", project.root)


def _mark_of(project: Project) -> tuple[Ask, ...]:
    """The acceptance of this checkout; nothing if it has no mark and none can be written, so that Rye asks again next time."""
    mark = _read_mark(project)
    if mark is None:
        mark = os.urandom(_MARK_BYTES // 2).hex()
        try:
            with exclusive(project) as writer:
                writer.apply([Change(_MARK, mark.encode())])
        except (RyeError, OSError):
            return ()
    return (_accepted(mark),)


def _accepted(mark: str) -> Ask:
    return Ask("", "project", f"accepted {mark}")


def _read_mark(project: Project) -> str | None:
    try:
        data = read_project_file(project.root / _MARK, _MARK_BYTES)
    except RyeError:
        return None
    return data.decode("ascii", "replace") if data is not None and len(data) == _MARK_BYTES else None


AGREED = "agreed-signers.json"


def read_agreed(path: Path) -> frozenset[str]:
    """Return the fingerprints (``SHA256:…``)."""
    try:
        if path.is_symlink():
            return frozenset()
        return frozenset(msgspec.json.decode(read_trusted(path), type=list[str]))
    except (OSError, msgspec.MsgspecError):
        return frozenset()


def remember_agreed(path: Path, signers: Iterable[str]) -> None:
    """Add fingerprints. Raises OSError."""
    known = read_agreed(path)
    every = known | frozenset(signers)
    if every != known:
        make_folder(path.parent)
        write(path, msgspec.json.encode(sorted(every)).decode())


def agreed_signers(home: Home) -> frozenset[str]:
    """The fingerprints of their keys."""
    return read_agreed(home.data / AGREED)


def remember_signers(home: Home, fingerprints: Iterable[str]) -> None:
    """Remember keys whose items were installed with consent. If the disk is full or read-only, rye only asks again next time."""
    with contextlib.suppress(OSError):
        remember_agreed(home.data / AGREED, fingerprints)
