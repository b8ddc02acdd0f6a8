"""Overlays of formulas: applying the one in force, applying a file, and checking all of them
(DECISIONS Role directives and formula overlays)."""

from __future__ import annotations

from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path

from msgspec import Struct

from rye.consent.agreement import Agreement
from rye.customization import overlay_health
from rye.customization.overlay_files import InForce, in_force, malformed_overlay
from rye.customization.overlay_health import Health
from rye.customization.overlays import Overlay, OverlayResult, apply_overlay, read_overlay
from rye.customization.places import OVERLAY_SUFFIX, Folder, Places, check_name, rye_places
from rye.errors import RyeError
from rye.items.formula.model import Formula, Step
from rye.items.identity import Reference, is_segment
from rye.limits import OVERRIDES
from rye.project.layout import find_project
from rye.project.spaces import looks_like_path
from rye.storage.safe_files import read_bytes
from rye.text.diagnostics import Diagnostic
from rye.workspace.context import Context
from rye.workspace.customizing.editing import Editable
from rye.workspace.customizing.formulas import find_formula, nothing_required, resolved_formula
from rye.workspace.findings import FileFindings
from rye.workspace.items.agreement import require_text_allowed, require_used
from rye.workspace.items.effective_item import EffectiveItem, PublishedItems, entry_of

TEMPLATE = """\
# Overlay of the formula {formula}: changes to single steps. Each change is a table like this one; remove the # signs.
#
# [[step-overrides]]
# step_id = "the-step"
# mode = "append"          # or "replace", or "skip" (which needs no description)
# description = \"\"\"
# What to add.\"\"\"
"""


class Overlaid(Struct, frozen=True):
    """A resolved formula with the overlay in force, the effect of each entry, and findings about the overlay."""

    formula: Formula
    applied: tuple[str, ...] = ()
    findings: tuple[FileFindings, ...] = ()
    source: str | None = None
    """The file that changed its steps, as shown to people, or None."""


def overlay_in_force(context: Context, found: EffectiveItem, resolved: Formula) -> Overlaid:
    """The resolved formula with the overlay in force for it, whose bytes this user agreed to. Raises RyeError for a malformed
    overlay, and ``project-not-accepted``."""
    force = overlay_of(context, found, rye_places(context.home, found.project))
    if force is None:
        return Overlaid(resolved)
    require_overlay(context, found, force)
    return apply_in_force(force, resolved)


def overlay_of(context: Context, found: EffectiveItem, places: Places) -> InForce | None:
    """The overlay in force for a formula; None if its file's name is no item name.

    A project's overlay is for a formula in a space, since agreement to it names the formula. A file elsewhere has none, as it has
    no overrides.
    """
    name = formula_name(found)
    if name is None:
        return None
    is_placed = entry_of(context.home, found, found.project, None) is not None
    return in_force(places if is_placed or places.layout != "rye" else places.only("user"), name)


def require_overlay(context: Context, found: EffectiveItem, force: InForce, agreed: Agreement | None = None) -> None:
    """Require that this user agreed to the project's overlay that is about to be applied, or to its absence, and that no policy
    forbids what the one in force mentions. ``agreed``: as for :func:`require_used`. Raises RyeError ``project-not-accepted``,
    ``policy-violation``."""
    require_overlay_allowed(context, found, force)
    for file in force.files:
        if file.level == "project":
            require_used(context, found, "overlay", file.shown, file.data, agreed)


def require_overlay_allowed(context: Context, found: EffectiveItem, force: InForce) -> None:
    """Require that no policy forbids what the overlay in force mentions. Raises RyeError ``policy-violation``."""
    used = force.source
    if used is not None and used.data is not None:
        text = used.data.decode("utf-8", "replace")
        require_text_allowed(context, f"formula:{found.id}", found.project, used.shown, text)


def formula_name(found: EffectiveItem) -> str | None:
    """The name that this formula's overlays have: its file's name, or None if that is not an item name."""
    name = found.item.location.name
    return name if is_segment(name) else None


def apply_in_force(force: InForce, resolved: Formula) -> Overlaid:
    """The formula with the overlay applied. Raises RyeError for a malformed overlay."""
    overlay, source = force.overlay(), force.source
    if overlay is None or source is None:
        return Overlaid(resolved)
    said = list(force.warnings)
    applied: tuple[str, ...] = ()
    if overlay.overrides:
        result = _applied(overlay, resolved, source.shown)
        said += (Diagnostic("warning", "stale-override", warning) for warning in result.warnings)
        resolved, applied = replace(resolved, steps=result.steps), result.applied
    findings = (FileFindings(source.shown, tuple(said)),) if said else ()
    return Overlaid(resolved, applied, findings, source.shown if overlay.overrides else None)


def apply_file(context: Context, formula: str, path: Path, shown: str) -> tuple[Formula, OverlayResult[Step]]:
    """The formula ``FILE|ID``, resolved, and its steps after the overlay file. Raises RyeError."""
    found = find_formula(context, formula)
    data = read_bytes(path, OVERRIDES.file_bytes)
    if len(data) > OVERRIDES.file_bytes:
        raise RyeError("file-too-large", f"{shown!r} has more than {OVERRIDES.file_bytes:,} bytes.")
    reading = read_overlay(data)
    if reading.overlay is None:
        raise malformed_overlay(shown, reading.diagnostics)
    resolved = resolved_formula(context, found.item, nothing_required)
    result = _applied(reading.overlay, resolved, shown)
    return replace(resolved, steps=result.steps), result


def _applied(overlay: Overlay, resolved: Formula, shown: str) -> OverlayResult[Step]:
    """The steps after the overlay. Raises RyeError with the file and the line of the failing entry."""
    try:
        return apply_overlay(resolved.steps, overlay, formula_type=resolved.type)
    except RyeError as error:
        at = -1 if error.code == "overlay-leaves-no-step" else 0
        line = overlay.overrides[at].line if overlay.overrides else None
        place = f":{line}" if line is not None else ""
        raise RyeError(error.code, f"{shown}{place}: {error.message}", error.hint) from None


def named_formula(context: Context, where: Places, argument: str) -> tuple[str, EffectiveItem | None]:
    """A formula's name and the formula or None. An unknown name without an overlay is an error."""
    if where.layout == "rye" and (looks_like_path(argument, context.cwd) or "/" in argument or ":" in argument):
        found = find_formula(context, argument)
        return check_name(found.item.location.name, "formula"), found
    name = check_name(argument, "formula")
    try:
        return name, find_formula(context, name)
    except RyeError as error:
        known = error.code != "no-such-item" or any(folder.file(name, ".toml").exists() for folder in where.overlays)
        if known or where.layout != "rye":
            return name, None
        raise


def shown_overlay(context: Context, where: Places, argument: str) -> tuple[str, InForce]:
    """A formula's name, and the overlay in force for it."""
    name, _ = named_formula(context, where, argument)
    return name, in_force(where, name)


def check_overlay(context: Context, data: bytes, found: EffectiveItem | None) -> list[Diagnostic]:
    """The findings about an overlay's text: about the file and, if the formula is known, about its steps."""
    reading = read_overlay(data)
    findings = list(reading.diagnostics)
    if reading.overlay is None or found is None or not reading.overlay.overrides:
        return findings
    try:
        resolved = resolved_formula(context, found.item, nothing_required)
        result = apply_overlay(resolved.steps, reading.overlay, formula_type=resolved.type)
    except RyeError as error:
        return [*findings, Diagnostic("error", error.code, error.message, hint=error.hint)]
    return [*findings, *(Diagnostic("warning", "stale-override", warning) for warning in result.warnings)]


def overlay_to_edit(context: Context, where: Places, argument: str, user: bool) -> Editable:
    """The overlay file of a formula at the requested level. Raises RyeError if that level does not exist."""
    name, found = named_formula(context, where, argument)
    folder = where.of(where.overlays, "user" if user else "project")
    if folder is None:
        what = "rig" if where.layout == "gastown" else "project"
        raise RyeError("no-project", f"This folder has no {what}.", "--user edits the overlay in your own space.")
    template = TEMPLATE.format(formula=name)
    users = next((file.data for file in in_force(where, name).files if file.level == "user"), None)
    if not user and users is not None and read_overlay(users).overlay is not None:
        # A project's file replaces the user's entirely, so only a copy of the user's changes nothing.
        template = users.decode("utf-8").removeprefix("\ufeff")
    path = folder.file(name, OVERLAY_SUFFIX)
    return Editable(
        folder, path, folder.shown(path), folder.read(path), template, lambda data: check_overlay(context, data, found)
    )


# -- health ------------------------------------------------------------------------------------------------------------


class OverlayChecked(Struct, frozen=True, kw_only=True):
    """One overlay file. ``known_ids``: the step ids of its formula, if known."""

    formula: str
    level: str
    path: Path
    shown: str
    health: Health
    data: bytes | None = None
    known_ids: frozenset[str] = frozenset()

    def as_json(self) -> dict[str, object]:
        """An entry of ``rye overlay list --json``."""
        return {
            "formula": self.formula,
            "space": self.level,
            "path": self.shown,
            "state": self.health.status,
            "message": self.health.message,
            "stale": list(self.health.stale),
            "fixable": self.health.fixable,
        }


def overlay_checks(context: Context, where: Places) -> list[OverlayChecked]:
    """Check every overlay file of the layout against its formula, the user's first."""
    items = PublishedItems(context, find_project(context.cwd))
    return [_check(context, folder, path, items) for folder in where.overlays for path in folder.files(OVERLAY_SUFFIX)]


def _check(context: Context, folder: Folder, path: Path, items: PublishedItems) -> OverlayChecked:
    name, shown = path.name.removesuffix(OVERLAY_SUFFIX), folder.shown(path)

    def checked(health: Health, data: bytes | None = None, ids: frozenset[str] = frozenset()) -> OverlayChecked:
        return OverlayChecked(
            formula=name, level=folder.level, path=path, shown=shown, health=health, data=data, known_ids=ids
        )

    try:
        data = folder.read(path)
    except RyeError as error:
        return checked(Health("error", f"malformed overlay {shown}: {error.message}"))
    reading = read_overlay(data or b"")
    if reading.overlay is None:
        return checked(overlay_health.malformed(shown, reading))
    if not is_segment(name):
        return checked(Health("warning", f"{shown}: {name!r} is not a formula's name"))
    wanted = Reference(name, "formula")
    if not items.spaces.matching(wanted):
        names = [one.location.name for one in items.spaces.every() if one.location.kind == "formula"]
        near = get_close_matches(name, sorted(set(names)), 2, 0.5)
        return checked(overlay_health.unknown_formula(shown, name, near))
    try:
        found = items.find(wanted)
        formula = resolved_formula(context, found.item, nothing_required, items)
    except RyeError as error:
        return checked(Health("warning", f"{shown}: its formula cannot be used: {error.message}"))
    # A user's overlay applies to all their projects, so only a formula that all of them share proves anything.
    certain = folder.level == "project" or (found.entry is not None and found.entry.space in ("user", "system"))
    health = overlay_health.check(shown, name, reading.overlay, formula, certain=certain)
    return checked(health, data, frozenset(step.id for step in formula.steps))


def formula_problems(context: Context) -> dict[str, str | None]:
    """Why a formula cannot be used (hidden by another, or unresolvable), or None, by path."""
    problems: dict[str, str | None] = {}
    items = PublishedItems(context, find_project(context.cwd))
    for entry in (one for one in items.spaces.every() if one.location.kind == "formula"):
        problem = None
        try:
            found = items.find(Reference(entry.id, "formula"))
            if found.entry is None or found.entry.path != entry.path:
                problem = f"unreachable: {entry.id!r} finds {found.item.shown}"
            else:
                resolved_formula(context, found.item, nothing_required, items)
        except RyeError as error:
            problem = error.message.split("\n", 1)[0]
        problems[str(entry.path)] = problem
    return problems
