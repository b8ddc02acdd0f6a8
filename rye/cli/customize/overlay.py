"""``rye overlay``: change single steps of formulas (DECISIONS Role directives and formula overlays)."""

from __future__ import annotations

import click

from rye.cli.console import printable
from rye.cli.customize.editing import edit_and_report
from rye.cli.customize.layouts import layout_options, places
from rye.cli.main import family
from rye.cli.options import Session, command
from rye.rendering.formula_text import formula_text
from rye.workspace.customizing.overlaying import (
    apply_file,
    named_formula,
    overlay_checks,
    overlay_to_edit,
    shown_overlay,
)


@command("apply")
@click.argument("formula", metavar="FORMULA")
@click.argument("overlay", metavar="OVERLAY")
@click.pass_obj
def apply(session: Session, formula: str, overlay: str) -> None:
    """Apply the file OVERLAY to a formula (a file or an id), and print the resulting steps."""
    changed, result = apply_file(session, formula, session.path(overlay), overlay)
    if session.json:
        steps = [
            {"id": step.id, "title": step.title, "description": step.description, "needs": list(step.needs)}
            for step in result.steps
        ]
        session.console.document({"steps": steps, "warnings": list(result.warnings), "applied": list(result.applied)})
        return
    for warning in result.warnings:
        session.console.warn(warning)
    session.console.data(printable(formula_text(changed)))


@command("show")
@click.argument("formula", metavar="FORMULA")
@layout_options
@click.pass_obj
def show(session: Session, formula: str, layout: str, town: str | None, rig: str | None) -> None:
    """Print the overlay that applies to a formula, its source, and what it hides."""
    where = places(session, layout, town, rig)
    name, force = shown_overlay(session, where, formula)
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
        session.console.say(f"No overlay for {name}. `rye overlay edit {name}` creates one.")
        return
    session.console.diagnostics(source.shown, force.warnings)
    session.console.say(f"# {source.shown} ({source.level})")
    text = printable(source.data.decode("utf-8").removeprefix("\ufeff"))
    session.console.data(text, newline=not text.endswith("\n"))


@command("edit")
@click.argument("formula", metavar="FORMULA")
@click.option("--user", is_flag=True, help="Edit the overlay in your own space (gastown: the town's).")
@layout_options
@click.pass_obj
def edit(session: Session, formula: str, user: bool, layout: str, town: str | None, rig: str | None) -> None:
    """Open a formula's overlay in your editor. An invalid overlay is not saved."""
    edit_and_report(session, overlay_to_edit(session, places(session, layout, town, rig), formula, user))


@command("list")
@layout_options
@click.pass_obj
def list_overlays(session: Session, layout: str, town: str | None, rig: str | None) -> None:
    """List all overlay files and whether they are healthy."""
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
    """Check overlays against their formulas (default: all overlays). Exits 1 on errors."""
    where = places(session, layout, town, rig)
    names = {named_formula(session, where, formula)[0] for formula in formulas}
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
    "Change single steps of formulas.",
    {
        "apply": ("rye.cli.customize.overlay:apply", "Apply an overlay file to a formula."),
        "show": ("rye.cli.customize.overlay:show", "Show the overlay that applies, and its source."),
        "edit": ("rye.cli.customize.overlay:edit", "Open a formula's overlay in your editor."),
        "list": ("rye.cli.customize.overlay:list_overlays", "List overlay files."),
        "check": ("rye.cli.customize.overlay:check", "Check overlays against their formulas."),
    },
)
