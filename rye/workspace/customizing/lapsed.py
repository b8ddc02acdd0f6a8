"""Customizations that no longer apply: their item, or the part of it that they name, is gone, or they are refused (DESIGN 6.1).

``ci``, ``audit``, ``check``, ``doctor`` and ``list`` ask :func:`lapsed_customizations`, so that they give one answer. One of the
project fails the first four until it is renewed or removed; one in the user's own space is theirs, and a warning.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date
from functools import cached_property

from msgspec import Struct

from rye.customization.places import Places, rye_places
from rye.customization.role_files import all_files
from rye.errors import RyeError
from rye.project.layout import find_project
from rye.text.diagnostics import Diagnostic
from rye.workspace.context import Context
from rye.workspace.customizing.overlaying import OverlayChecked, overlay_checks
from rye.workspace.customizing.overriding import OverrideChecked, check_overrides
from rye.workspace.customizing.roles import known_roles

_CODES = frozenset({"orphaned-override", "orphaned-directive", "not-used", "override-conflict"})


class Lapsed(Struct, frozen=True, kw_only=True):
    """One customization without effect."""

    shown: str
    """Its file, as shown to people."""
    message: str
    item: str
    """``[kind:]id``; a role's or a formula's name has its kind."""
    line: int
    hint: str
    in_project: bool
    """Whether it is part of the repository."""


class CustomizationChecks:
    """What each customization in these places does: found once for all that ask."""

    def __init__(self, context: Context, places: Places, today: date | None = None) -> None:
        """``today``: the date for the age of reviews; None skips that check."""
        self.places = places
        self._context, self._today = context, today

    @cached_property
    def overrides(self) -> tuple[OverrideChecked, ...]:
        """Of overrides files."""
        return tuple(check_overrides(self._context, self._today))

    @cached_property
    def overlays(self) -> tuple[OverlayChecked, ...]:
        """Of formulas' overlays."""
        return tuple(overlay_checks(self._context, self.places))


def lapsed_customizations(context: Context, checks: CustomizationChecks | None = None) -> tuple[Lapsed, ...]:
    """The customizations in the project's and the user's space that no longer apply. Reads nothing if there are none.

    ``checks``: of a caller who asks for them more than once.
    """
    if checks is None:
        checks = CustomizationChecks(context, rye_places(context.home, find_project(context.cwd)))
    places = checks.places
    folders = (*places.overrides, *places.overlays, *places.role_directives)
    if not any(folder.path.is_dir() for folder in folders):
        return ()
    lapsed = (overlay for overlay in checks.overlays if not overlay.health.applies)
    return (*_overrides(checks.overrides), *map(_overlay, lapsed), *_role_directives(context, places))


def require_applied(context: Context) -> None:
    """Raise RyeError ``customization-lapsed`` if a customization of the project no longer applies."""
    lapsed = [one for one in lapsed_customizations(context) if one.in_project]
    if lapsed:
        more = f" (and {len(lapsed) - 1} more)" if len(lapsed) > 1 else ""
        raise RyeError(
            "customization-lapsed",
            f"A customization in this project no longer applies{more}: {lapsed[0].message}",
            lapsed[0].hint,
            details={
                "customizations": [{"path": one.shown, "line": one.line, "message": one.message} for one in lapsed]
            },
        )


def _overrides(found: Iterable[OverrideChecked]) -> Iterator[Lapsed]:
    for checked in found:
        for finding in checked.findings:
            if finding.code in _CODES or finding.severity == "error":
                yield _override(checked, finding)


def _override(checked: OverrideChecked, finding: Diagnostic) -> Lapsed:
    item = checked.item or checked.named_for
    if checked.item is None:
        hint = finding.hint or f"Remove {checked.shown}, or rename it to the id of its item."
    else:
        user = "" if checked.level == "project" else " --user"
        renews = f"`rye override edit {item}{user}` renews it"
        if checked.is_about_files:
            renews = f"`rye override new {item} --file PATH{user}` renews an entry"
        hint = f"{renews}; or remove {checked.shown}."
    return Lapsed(
        shown=checked.shown,
        message=f"{checked.shown}: {finding.message.split(chr(10))[0]}",
        item=item,
        line=finding.line or 1,
        hint=hint,
        in_project=checked.level == "project",
    )


def _overlay(checked: OverlayChecked) -> Lapsed:
    user = "" if checked.level == "project" else " --user"
    said = " ".join(line.strip() for line in checked.health.message.split("\n"))
    return Lapsed(
        shown=checked.shown,
        message=said,
        item=f"formula:{checked.formula}",
        line=1,
        hint=f"`rye overlay edit {checked.formula}{user}` renews it; or remove {checked.shown}.",
        in_project=checked.level == "project",
    )


def _role_directives(context: Context, places: Places) -> Iterator[Lapsed]:
    known = known_roles(context)
    for file in all_files(places):
        if file.role not in known:
            yield Lapsed(
                shown=file.path,
                message=f"{file.path}: there is no role {file.role!r} that it could change.",
                item=f"role:{file.role}",
                line=1,
                hint=f"Remove {file.path}, or rename it to its role; `rye role list` names the roles.",
                in_project=file.level == "project",
            )
