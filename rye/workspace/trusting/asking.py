"""Ask a person, once, for everything that needs a yes. Nothing is remembered here: that is for the caller, in
:mod:`rye.workspace.trusting.acceptance`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from rye.consent.agreement import not_accepted
from rye.consent.ask import Ask
from rye.consent.sorts import approvals
from rye.errors import RyeError
from rye.text.lazy import lazy_module
from rye.workspace.installing.install_request import Proposal
from rye.workspace.trusting.acceptance import is_unmarked

if TYPE_CHECKING:
    from rye.describing import description
    from rye.installation.plan import ItemChange, Plan
    from rye.items.identity import Identity
    from rye.project.layout import Project
    from rye.project.lock import LockedItem
    from rye.workspace.context import Context
    from rye.workspace.installing.install_request import Agree, Texts
    from rye.workspace.installing.text_changes import TextChange
else:  # most runs have nothing that was not seen
    description = lazy_module("rye.describing.description")


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
