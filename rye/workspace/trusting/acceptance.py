"""Which approvals of a project's rye.lock count on this machine (DESIGN 6.1, Agreed here).

Approvals in the lock are the team's record; anyone who can commit can write them. They count here if this user gave
them in this checkout, or accepted it. ``--trust-lock`` and ``RYE_TRUST_LOCK=1`` accept exactly what the lock
approves, for this run, and remember nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from rye.consent.agreement import Agreement
from rye.consent.ask import Ask
from rye.consent.customized import ShownChange
from rye.consent.memory import MARK, Memory, named_by_path, read_mark
from rye.errors import RyeError
from rye.installation.journal import records_in
from rye.storage.home import Home
from rye.storage.opened_folder import opened_folder
from rye.text.lazy import lazy_module

if TYPE_CHECKING:
    from rye.project.layout import Project
    from rye.registry.store import cache
    from rye.workspace.context import Context
else:  # most runs keep no bytes of a customization
    cache = lazy_module("rye.registry.store.cache")

_SET = ("1", "true", "yes")


def trusts_lock(context: Context) -> bool:
    """Whether this run accepts what the lock approves: ``--trust-lock``, or RYE_TRUST_LOCK, which means the same. A value of the
    variable that is not a clear yes does not turn the question off."""
    return context.trust_lock or context.environment.get("RYE_TRUST_LOCK", "").lower() in _SET


def remembered(home: Home, project: Project) -> Agreement:
    """What this user agreed to in this project."""
    return Agreement(_memory(home, project).lines())


def agreement(context: Context, project: Project) -> Agreement:
    """The same in this run, which may accept what the lock approves."""
    return Agreement(_memory(context.home, project).lines(), trusts_lock(context))


def is_unmarked(project: Project) -> bool:
    """Whether the checkout has no mark: it was cloned, or its ``.ai`` was deleted."""
    return read_mark(project.root) is None


def accepted_before(home: Home, project: Project) -> bool:
    """Whether this user accepted this checkout or installed in it. If so, later customizations are only reported."""
    return _ACCEPTED.line in _memory(home, project).lines()


def remember(home: Home, project: Project, asks: Iterable[Ask], *, accepts: bool = False) -> bool:
    """Remember that this user agreed to these in this checkout. ``accepts``: also that the checkout is accepted.

    Of a customization, its bytes are kept in the user's cache, to show later what became of them.

    Return False if nothing was remembered, since the checkout cannot be given a mark (:mod:`rye.consent.memory`). Raises RyeError
    ``in-use``.
    """
    given = tuple(asks)
    changes = [one.subject.change for one in given if isinstance(one.subject, ShownChange)]
    for data in (data for one in changes for data in one.kept):
        cache.Cache(home.registry_cache).put(data)

    def write_mark(text: str) -> None:
        with opened_folder(project.root) as root, records_in(root) as records:
            records.replace("accepted", text.encode(), mode=0o600)

    states = (one.state for one in changes)
    return _memory(home, project).add((*given, *states, *((_ACCEPTED,) if accepts else ())), write_mark)


def remember_or_warn(context: Context, project: Project, asks: Iterable[Ask], *, accepts: bool = False) -> None:
    """The same for a command that goes on without. Raises RyeError ``in-use``."""
    asked = tuple(asks)
    if not remember(context.home, project, asked, accepts=accepts) and asked:
        error = not_remembered(project)
        context.warn(error.message, error.hint or "")


def require_remembered(home: Home, project: Project, asks: Iterable[Ask], *, accepts: bool = False) -> None:
    """The same where remembering is all that the command is for. Raises RyeError ``state-unwritable``, too."""
    if not remember(home, project, asks, accepts=accepts):
        raise not_remembered(project)


def not_remembered(project: Project) -> RyeError:
    """The error where the user's agreement cannot be kept."""
    return RyeError(
        "state-unwritable",
        f"Rye cannot remember your agreement, since it cannot write the mark of this checkout, {project.root / MARK}.",
        "Make .ai/.rye a real folder that you can write to. Where that is not possible and you trust everyone who can commit, "
        "pass --trust-lock or set RYE_TRUST_LOCK=1.",
    )


def forget(home: Home, project: Project) -> bool:
    """Revoke the acceptance of a project. Return whether it was accepted."""
    return _memory(home, project).remove()


def own_record(home: Home, project: Project, folder: str) -> Path:
    """The file below ``folder`` in the user's data folder in which Rye records what it wrote in this project, by hash.

    It is named by the project's real path: such a record says whose bytes these are, and agrees to nothing.
    """
    return named_by_path(home.data / folder, project.root)


_ACCEPTED = Ask("", "project", "accepted")


def _memory(home: Home, project: Project) -> Memory:
    return Memory(home.data / "accepted", project.root)
