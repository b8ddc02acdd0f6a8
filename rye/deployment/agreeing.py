"""Which widenings of the state file count on this machine: those that this user agreed to in this project, or all of them where
this run trusts what others agreed to (:mod:`rye.workspace.trusting.acceptance`, DESIGN 6.1)."""

from __future__ import annotations

from collections.abc import Sequence

from rye.deployment.state import Allowed, State
from rye.project.layout import Project
from rye.workspace.context import Context
from rye.workspace.trusting.acceptance import Approval, remember, trusts_lock, unseen


def counted(context: Context, project: Project, state: State) -> list[Allowed]:
    """What the state file allows and this user agreed to."""
    if trusts_lock(context):
        return list(state.allowed)
    waiting = set(unseen(project, map(_approval, state.allowed)))
    return [one for one in state.allowed if _approval(one) not in waiting]


def agree(project: Project, given: Sequence[Allowed]) -> None:
    """This user agreed to these now."""
    if given:
        remember(project, map(_approval, given))


def _approval(one: Allowed) -> Approval:
    return Approval(one.item, "deploy", f"{one.target} {one.field} {one.sha256}")
