"""Overrides without effect: their item, or the part of it that they name, is missing."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from rye.customization.places import rye_places
from rye.project.layout import find_project
from rye.text.diagnostics import Diagnostic
from rye.workspace.context import Context
from rye.workspace.customizing.overriding import OverrideChecked, check_overrides

_CODES = frozenset({"orphaned-override", "orphaned-directive"})


class Orphan(Struct, frozen=True):
    """One override without effect."""

    shown: str
    """Its overrides file, as shown to people."""
    message: str
    item: str
    """``[kind:]id``."""
    line: int
    hint: str


def orphaned_overrides(context: Context) -> tuple[Orphan, ...]:
    """The orphaned overrides in the user's and the project's space. Reads nothing if there are no overrides."""
    if not any(folder.path.is_dir() for folder in rye_places(context.home, find_project(context.cwd)).overrides):
        return ()
    return tuple(_orphans(context))


def _orphans(context: Context) -> Iterator[Orphan]:
    for checked in check_overrides(context, None):
        for finding in checked.findings:
            if finding.code in _CODES:
                yield _orphan(checked, finding)


def _orphan(checked: OverrideChecked, finding: Diagnostic) -> Orphan:
    what = finding.message.split("\n")[0]
    item = checked.item or checked.named_for
    hint = finding.hint or f"`rye override check {item}` says more."
    return Orphan(checked.shown, f"{checked.shown}: {what}", item, finding.line or 1, hint)
