"""``rye overlay``: changes to single steps of formulas (DECISIONS Role directives and formula overlays)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from rye.cli.customize.layouts import layout_options, places
from rye.cli.main import family
from rye.cli.options import Session, command
from rye.errors import RyeError, UsageError

if TYPE_CHECKING:
    from rye.customization.overlay_files import InForce
    from rye.customization.places import Places
    from rye.items.formula.model import Formula
    from rye.project.target import Target
    from rye.text.diagnostics import Diagnostic

TEMPLATE = """\
# Overlay of the formula {formula}: changes to single steps. Each change is a table like this one; take the # away.
#
# [[step-overrides]]
# step_id = "the-step"
# mode = "append"          # or "replace", or "skip" (which needs no description)
# description = \"\"\"
# What to add.\"\"\"
"""


def overlay_in_force(session: Session, found: Target, resolved: Formula) -> Formula:
    """The formula with the overlay in force applied: for ``rye render``. Stale entries and a hidden user's overlay warn."""
    from rye.customization.overlay_files import in_force
    from rye.customization.places import rye_places

    name = formula_name(found)
    if name is None:
        return resolved
    return apply_in_force(session, in_force(rye_places(found.project), name), resolved)[0]


def formula_name(found: Target) -> str | None:
    """The name that overlays of this formula have: its file's. None where that is no item name, so nothing can be for it."""
    from rye.items.identity import is_segment

    name = found.item.location.name
    return name if is_segment(name) else None


def apply_in_force(session: Session, force: InForce, resolved: Formula) -> tuple[Formula, tuple[str, ...]]:
    """The changed formula and what each entry did. Raises RyeError for a malformed overlay."""
    from rye.customization.overlays import apply_overlay

    overlay, source = force.overlay(), force.source
    if overlay is None or source is None:
        return resolved, ()
    session.console.diagnostics(source.shown, force.warnings)
    if not overlay.overrides:
        return resolved, ()
    result = apply_overlay(resolved.steps, overlay, formula_type=resolved.type)
    for warning in result.warnings:
        session.console.warn(f"{source.shown}: {warning}")
    return replace(resolved, steps=result.steps), result.applied


@command("apply")
@click.argument("formula", metavar="FORMULA")
@click.argument("overlay", metavar="OVERLAY")
@click.pass_obj
def apply(session: Session, formula: str, overlay: str) -> None:
    """Apply the file OVERLAY to a formula, a file or an id, and print the steps that are left."""
    from rye.customization.overlay_files import malformed_overlay
    from rye.customization.overlays import apply_overlay, read_overlay
    from rye.limits import OVERRIDES
    from rye.project.formulas import resolved_formula
    from rye.project.item_file import read_bytes

    found = find_formula(session, formula)
    data = read_bytes(session.path(overlay), OVERRIDES.file_bytes)
    if len(data) > OVERRIDES.file_bytes:
        raise RyeError("too-large", f"{overlay!r} has more than {OVERRIDES.file_bytes:,} bytes.")
    reading = read_overlay(data)
    if reading.overlay is None:
        raise malformed_overlay(overlay, reading.diagnostics)
    resolved = resolved_formula(found, session.cwd)
    result = apply_overlay(resolved.steps, reading.overlay, formula_type=resolved.type)
    if session.json:
        steps = [
            {"id": step.id, "title": step.title, "description": step.description, "needs": list(step.needs)}
            for step in result.steps
        ]
        session.console.document({"steps": steps, "warnings": list(result.warnings), "applied": list(result.applied)})
        return
    from rye.cli.console import printable
    from rye.rendering.formula_text import formula_text

    for warning in result.warnings:
        session.console.warn(warning)
    session.console.data(printable(formula_text(replace(resolved, steps=result.steps))))


def find_formula(session: Session, argument: str) -> Target:
    """The formula that ``FILE|ID`` means, as published. Raises UsageError for an item of another kind."""
    from rye.cli.effective import effective_target
    from rye.project.spaces import looks_like_path

    kind = None if looks_like_path(argument, session.cwd) else "formula"
    found = effective_target(session, argument, kind, base=True)
    if found.item.kind.name != "formula":
        raise UsageError("not-a-formula", f"{argument!r} is a {found.item.kind.name}.", "Overlays are for formulas.")
    return found


def _named(session: Session, where: Places, argument: str) -> tuple[str, Target | None]:
    """A formula's name and the formula itself, where it is here. An unknown name without a file is an error."""
    from rye.customization.places import check_name
    from rye.project.spaces import looks_like_path

    if where.layout == "rye" and (looks_like_path(argument, session.cwd) or "/" in argument or ":" in argument):
        found = find_formula(session, argument)
        return check_name(found.item.location.name, "formula"), found
    name = check_name(argument, "formula")
    try:
        return name, find_formula(session, name)
    except RyeError as error:
        known = error.code != "no-such-item" or any(folder.file(name, ".toml").exists() for folder in where.overlays)
        if known or where.layout != "rye":
            return name, None
        raise


@command("show")
@click.argument("formula", metavar="FORMULA")
@layout_options
@click.pass_obj
def show(session: Session, formula: str, layout: str, town: str | None, rig: str | None) -> None:
    """Print the overlay in force for a formula, where it comes from, and what it hides."""
    from rye.cli.console import printable
    from rye.customization.overlay_files import in_force

    where = places(session, layout, town, rig)
    name, _ = _named(session, where, formula)
    force = in_force(where, name)
    source, overlay = force.source, force.overlay()
    if session.json:
        session.console.document(
            {
                "formula": name,
                "source": force.choice.source,
                "path": source.shown if source else None,
                "overrides": [
                    {"step_id": each.step_id, "mode": each.mode, "description": each.description}
                    for each in (overlay.overrides if overlay else ())
                ],
                "warnings": [finding.message for finding in force.warnings],
                "looked_at": [{"level": f.level, "path": f.shown, "found": f.found} for f in force.files],
            }
        )
        return
    if source is None or source.data is None:
        session.console.say(f"No overlay for {name}. `rye overlay edit {name}` makes one.")
        return
    session.console.diagnostics(source.shown, force.warnings)
    session.console.say(f"# {source.shown} ({source.level})")
    text = printable(source.data.decode("utf-8").removeprefix("\ufeff"))
    session.console.data(text, newline=not text.endswith("\n"))


@command("edit")
@click.argument("formula", metavar="FORMULA")
@click.option("--user", is_flag=True, help="The overlay in your own space (gastown: the town's).")
@layout_options
@click.pass_obj
def edit(session: Session, formula: str, user: bool, layout: str, town: str | None, rig: str | None) -> None:
    """Open a formula's overlay in your editor; what is not valid is not saved."""
    from rye.cli.customize.editing import edit_file, report_edit
    from rye.customization.overlay_files import in_force
    from rye.customization.overlays import read_overlay

    where = places(session, layout, town, rig)
    name, found = _named(session, where, formula)
    folder = where.of(where.overlays, "user" if user else "project")
    if folder is None:
        what = "rig" if layout == "gastown" else "project"
        raise RyeError("no-project", f"There is no {what} here.", "--user edits the overlay of your own space.")
    path = folder.file(name, ".toml")
    files = {file.level: file.data for file in in_force(where, name).files}
    template = TEMPLATE.format(formula=name)
    users = files.get("user")
    if not user and users is not None and read_overlay(users).overlay is not None:
        # A project's file replaces the user's entirely: only a copy of it changes nothing.
        template = users.decode("utf-8").removeprefix("\ufeff")

    def check(data: bytes) -> list[Diagnostic]:
        return _findings(session, data, found)

    report_edit(session, edit_file(session, path, folder.shown(path), folder.read(path), template, check))


def _findings(session: Session, data: bytes, found: Target | None) -> list[Diagnostic]:
    """What is wrong with an overlay: as a file and, where its formula is here, for that."""
    from rye.customization.overlays import apply_overlay, read_overlay
    from rye.project.formulas import resolved_formula
    from rye.text.diagnostics import Diagnostic

    reading = read_overlay(data)
    findings = list(reading.diagnostics)
    if reading.overlay is None or found is None or not reading.overlay.overrides:
        return findings
    try:
        resolved = resolved_formula(found, session.cwd)
        result = apply_overlay(resolved.steps, reading.overlay, formula_type=resolved.type)
    except RyeError as error:
        return [*findings, Diagnostic("error", error.code, error.message, hint=error.hint)]
    return [*findings, *(Diagnostic("warning", "stale-override", warning) for warning in result.warnings)]


@command("list")
@layout_options
@click.pass_obj
def list_overlays(session: Session, layout: str, town: str | None, rig: str | None) -> None:
    """List all overlay files and whether they are healthy."""
    from rye.cli.customize.customization_checks import overlay_checks

    checked = overlay_checks(session, places(session, layout, town, rig))
    if session.json:
        session.console.document({"overlays": [one.as_json() for one in checked]})
        return
    if not checked:
        session.console.say("No overlay files found.")
    session.console.table(
        [[one.formula, one.health.status, one.level, one.shown] for one in checked],
        ["FORMULA", "STATE", "SPACE", "FILE"],
    )


@command("check")
@click.argument("formulas", nargs=-1, metavar="[FORMULA]…")
@layout_options
@click.pass_obj
def check(session: Session, formulas: tuple[str, ...], layout: str, town: str | None, rig: str | None) -> int:
    """Check overlays against their formulas; without FORMULAs all of them. Exit 1 on errors."""
    from rye.cli.console import printable
    from rye.cli.customize.customization_checks import overlay_checks

    where = places(session, layout, town, rig)
    names = {_named(session, where, formula)[0] for formula in formulas}
    checked = [one for one in overlay_checks(session, where) if not names or one.formula in names]
    failed = any(one.health.status == "error" for one in checked)
    if session.json:
        session.console.document({"overlays": [one.as_json() for one in checked], "ok": not failed})
        return 1 if failed else 0
    for one in checked:
        session.console.data(printable(f"{one.health.status}  {one.health.message}"))
    if not checked:
        session.console.say("No overlay files found.")
    return 1 if failed else 0


overlay = family(
    "overlay",
    "Changes to single steps of formulas.",
    {
        "apply": ("rye.cli.customize.overlay:apply", "Apply an overlay file to a formula."),
        "show": ("rye.cli.customize.overlay:show", "The overlay in force, and its source."),
        "edit": ("rye.cli.customize.overlay:edit", "Open a formula's overlay in your editor."),
        "list": ("rye.cli.customize.overlay:list_overlays", "List overlay files."),
        "check": ("rye.cli.customize.overlay:check", "Check overlays against their formulas."),
    },
)
