"""What ``rye overlay check``, ``rye doctor`` and the like look at: the files and items that are here, with their health."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from typing import TYPE_CHECKING

from msgspec import Struct

from rye.errors import RyeError

if TYPE_CHECKING:
    from pathlib import Path

    from rye.cli.options import Session
    from rye.customization.overlay_health import Health
    from rye.customization.places import Folder, Places
    from rye.project.spaces import Entry


class OverlayChecked(Struct, frozen=True):
    """One overlay file. ``known_ids``: the step ids of its formula, where that is known."""

    formula: str
    level: str
    path: Path
    shown: str
    health: Health
    data: bytes | None = None
    known_ids: frozenset[str] = frozenset()

    def as_json(self) -> dict[str, object]:
        return {
            "formula": self.formula,
            "space": self.level,
            "path": self.shown,
            "state": self.health.status,
            "message": self.health.message,
            "stale": list(self.health.stale),
            "fixable": self.health.fixable,
        }


def overlay_checks(session: Session, where: Places) -> list[OverlayChecked]:
    """Every overlay file of the layout against its formula, the user's first."""
    from rye.customization.places import OVERLAY_SUFFIX

    names = list(names_of(session, "formula"))
    return [
        _check_overlay(session, folder, path, names)
        for folder in where.overlays
        for path in folder.files(OVERLAY_SUFFIX)
    ]


def _check_overlay(session: Session, folder: Folder, path: Path, names: list[str]) -> OverlayChecked:
    from rye.cli.customize.overlay import find_formula
    from rye.customization import overlay_health
    from rye.customization.overlay_health import Health
    from rye.customization.overlays import read_overlay
    from rye.items.identity import is_segment
    from rye.project.formulas import resolved_formula

    name, shown = path.name.removesuffix(".toml"), folder.shown(path)

    def checked(health: Health, data: bytes | None = None, ids: frozenset[str] = frozenset()) -> OverlayChecked:
        return OverlayChecked(name, folder.level, path, shown, health, data, ids)

    try:
        data = folder.read(path)
    except RyeError as error:
        return checked(Health("error", f"malformed overlay {shown}: {error.message}"))
    reading = read_overlay(data or b"")
    if reading.overlay is None:
        return checked(overlay_health.malformed(shown, reading))
    if not is_segment(name):
        return checked(Health("warning", f"{shown}: {name!r} is no formula's name"))
    try:
        found = find_formula(session, f"formula:{name}")
        formula = resolved_formula(found, session.cwd)
    except RyeError as error:
        if error.code == "no-such-item":
            return checked(overlay_health.unknown_formula(shown, name, get_close_matches(name, names, 2, 0.5)))
        return checked(Health("warning", f"{shown}: its formula cannot be used: {error.message}"))
    # A user's overlay is for all of their projects: only a formula that is the same for all of them proves anything.
    certain = folder.level == "project" or (found.entry is not None and found.entry.space in ("user", "system"))
    health = overlay_health.check(shown, name, reading.overlay, formula, certain=certain)
    return checked(health, data, frozenset(step.id for step in formula.steps))


def entries_of(session: Session, kind: str) -> Iterator[Entry]:
    """The items of one kind in all spaces, in the order in which they are found."""
    from rye.project.context import load_manifest
    from rye.project.layout import find_project
    from rye.project.spaces import entries

    project = find_project(session.cwd)
    manifest = load_manifest(project) if project is not None else None
    for _, present in entries(project, manifest.namespace if manifest is not None else None):
        yield from (entry for entry in present if entry.location.kind == kind)


def names_of(session: Session, kind: str) -> dict[str, str]:
    """The names of the items of one kind, sorted, each with the space that it is found in first."""
    found: dict[str, str] = {}
    for entry in entries_of(session, kind):
        found.setdefault(entry.location.name, entry.space)
    return dict(sorted(found.items()))


def formula_reasons(session: Session) -> dict[str, str | None]:
    """Why each formula cannot be used, by path: another one hides it, or it does not resolve. None: it can."""
    return {str(entry.path): _reason(session, entry) for entry in entries_of(session, "formula")}


def _reason(session: Session, entry: Entry) -> str | None:
    from rye.project.formulas import resolved_formula
    from rye.project.target import find_target

    try:
        found = find_target(f"formula:{entry.id}", session.cwd)
        if found.entry is None or found.entry.path != entry.path:
            return f"unreachable: {entry.id!r} finds {found.item.shown}"
        resolved_formula(found, session.cwd)
    except RyeError as error:
        return error.message.split("\n", 1)[0]
    return None
