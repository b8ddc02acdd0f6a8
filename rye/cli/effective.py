"""The item that a command works on: unchanged since it was installed, with the overrides that apply to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rye.errors import RyeError
from rye.project.target import Target, find_target

if TYPE_CHECKING:
    from rye.cli.options import Session


def effective_target(
    session: Session, argument: str, kind: str | None = None, *, base: bool = False, inspect: bool = False
) -> Target:
    """Find the item that ``FILE|ID`` means, with its overrides applied unless ``base``.

    An installed item whose bytes are not those of the lock is refused; with ``inspect`` only a warning says so.
    """
    target = find_target(argument, session.cwd, kind)
    problem = _changed_since_installed(target)
    if problem is not None:
        if not inspect:
            raise problem
        session.console.warn(problem.message, problem.hint)
    return target


def _changed_since_installed(target: Target) -> RyeError | None:
    if target.entry is None or target.entry.space != "installed" or target.project is None:
        return None
    from hashlib import sha256

    from rye.items.identity import Identity
    from rye.project.lock_file import read_lock

    item = target.item
    locked = read_lock(target.project).find(Identity(item.kind.name, target.id))
    if locked is None:
        return RyeError(
            "not-locked",
            f"{item.shown} is in .ai/packages but not in rye.lock: nobody installed it.",
            "Remove it, or install it with `rye add`.",
        )
    if sha256(item.data).hexdigest() == locked.sha256:
        return None
    return RyeError(
        "modified-item",
        f"{item.shown} was changed since {locked.id}@{locked.version} was installed.",
        "`rye install` puts the signed bytes back; keep a change of your own with `rye override new "
        + locked.id
        + "`.",
    )
