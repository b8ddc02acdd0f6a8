"""Which approvals of a project's rye.lock count on this machine (DESIGN 6.1, Agreed here).

Approvals in the lock are the team's record; anyone who can commit can write them. They count here if this user gave
them in this checkout, or accepted it. ``--trust-lock`` and ``RYE_TRUST_LOCK=1`` accept exactly what the lock
approves, for this run, and remember nothing.

The first item of a signer whose items this user has not agreed to asks, even without rights (DESIGN 7.1). Their
fingerprints are in a file in the user's data folder. Nothing that comes with a repository can write there. A file that
other users can write, or that cannot be read, counts as empty; the next installation then asks again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from rye.consent.agreement import Agreement, not_accepted
from rye.consent.ask import Ask
from rye.consent.customized import ShownChange
from rye.consent.memory import MARK, Memory, named_by_path, read_mark
from rye.consent.sorts import approvals
from rye.errors import RyeError
from rye.installation.transaction import make_records
from rye.storage import private_files
from rye.storage.home import Home
from rye.text.json_reading import UNDECODABLE
from rye.text.lazy import lazy_module
from rye.workspace.installing.install_request import Proposal

if TYPE_CHECKING:
    from rye.describing import description
    from rye.installation.plan import ItemChange, Plan
    from rye.items.identity import Identity
    from rye.project.layout import Project
    from rye.project.lock import LockedItem
    from rye.registry.store import cache
    from rye.workspace.context import Context
    from rye.workspace.installing.install_request import Agree, Texts
    from rye.workspace.installing.text_changes import TextChange
else:  # most runs have nothing that was not seen
    description = lazy_module("rye.describing.description")
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


def ask(
    context: Context,
    agree: Agree,
    plan: Plan | None = None,
    notes: Iterable[str] = (),
    waiting: tuple[ItemChange, ...] = (),
    unseen: tuple[Ask, ...] = (),
    texts: Texts = (),
    changed: Mapping[Identity, TextChange] | None = None,
    rows: Iterable[LockedItem] = (),
) -> bool:
    """Show what is about to happen and, if something needs a yes, ask once. Whether a person said yes.

    ``rows``: those of rye.lock that ``unseen`` may be about and that ``plan`` does not show.
    """
    if plan is not None:
        rows = (*rows, *(c.new for c in plan.changes if c.new is not None and not c.is_shown))
    return agree(
        Proposal(
            plan=plan,
            notes=tuple(notes),
            waiting=waiting,
            time=context.now(),
            unseen=unseen,
            undeclared=_undeclared(rows, unseen) if unseen else (),
            texts=texts,
            changed=changed or {},
        )
    )


def _undeclared(rows: Iterable[LockedItem], unseen: Sequence[Ask]) -> tuple[str, ...]:
    asked = frozenset(unseen)
    of_lock = [row for row in rows if not asked.isdisjoint(approvals([row]))]
    return tuple(
        str(row.identity) for row in of_lock if description.is_declared(row.kind, row.capabilities, row.tools) is False
    )


def is_unmarked(project: Project) -> bool:
    """Whether the checkout has no mark: it was cloned, or its ``.ai`` was deleted."""
    return read_mark(project.root) is None


def require_yes(
    context: Context,
    asks: tuple[Ask, ...],
    agree: Agree | None,
    *,
    is_shown: bool = False,
    project: Project | None = None,
    rows: Iterable[LockedItem] = (),
) -> None:
    """Ask about what rye.lock approves and the project changes, and remember a yes to nothing: the caller does.

    ``agree``: None: ask no one. ``rows``: those of rye.lock. ``is_shown``: whether to show it although no one can be asked.

    Raises RyeError ``project-not-accepted`` or ``declined``.
    """
    if not asks:
        return
    asked = agree is not None and context.interactive
    if agree is not None and (asked or is_shown) and ask(context, agree, unseen=asks, rows=rows):
        return
    raise (
        RyeError("declined", "Nothing was changed.")
        if asked
        else not_accepted(asks, is_unmarked=project is not None and is_unmarked(project))
    )


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
        private_files.write(make_records(project) / "accepted", text)

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


def agreed_file(home: Home, project: Project) -> Path | None:
    """The user's file about this checkout; None if the checkout has no mark."""
    return _memory(home, project).path


_ACCEPTED = Ask("", "project", "accepted")


def _memory(home: Home, project: Project) -> Memory:
    return Memory(home.data / "accepted", project.root)


AGREED = "agreed-signers.json"


def read_agreed(path: Path) -> frozenset[str]:
    """Return the fingerprints (``SHA256:…``)."""
    try:
        if path.is_symlink():
            return frozenset()
        return frozenset(msgspec.json.decode(private_files.read_trusted(path), type=list[str]))
    except (OSError, *UNDECODABLE):
        return frozenset()


def remember_agreed(path: Path, signers: Iterable[str]) -> None:
    """Add fingerprints. Raises OSError."""
    known = read_agreed(path)
    every = known | frozenset(signers)
    if every != known:
        private_files.make_folder(path.parent)
        private_files.write(path, msgspec.json.encode(sorted(every)).decode())


def agreed_signers(home: Home) -> frozenset[str]:
    """The fingerprints of their keys."""
    return read_agreed(home.data / AGREED)


def remember_signers(home: Home, fingerprints: Iterable[str]) -> None:
    """Remember keys whose items were installed with consent. If the disk is full or read-only, rye only asks again next time."""
    with contextlib.suppress(OSError):
        remember_agreed(home.data / AGREED, fingerprints)
