"""``rye prime``: everything that an agent in a role is told, as one prompt."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from rye.cli.customize.layouts import layout_options, places
from rye.cli.options import Session, command
from rye.errors import RyeError, UsageError

if TYPE_CHECKING:
    from rye.customization.overlay_files import InForce
    from rye.customization.places import Places
    from rye.customization.prime import Looked, Section
    from rye.items.formula.model import Formula
    from rye.project.target import Target


@command("prime")
@click.argument("role", metavar="ROLE")
@click.option("--formula", metavar="F", help="Add the steps of this formula, a file or an id, with its overlay.")
@click.option("--context", "contexts", multiple=True, metavar="FILE", help="Add a context file; repeat for more.")
@click.option("--handoff", metavar="FILE", help="Add what the one before hands over.")
@click.option("--input", "assignments", multiple=True, metavar="K=V", help="A variable of the formula.")
@click.option("--explain", is_flag=True, help="Name every source that was looked at, and what overlays did.")
@layout_options
@click.pass_obj
def prime(
    session: Session,
    role: str,
    formula: str | None,
    contexts: tuple[str, ...],
    handoff: str | None,
    assignments: tuple[str, ...],
    explain: bool,
    layout: str,
    town: str | None,
    rig: str | None,
) -> None:
    """Print one prompt: role, role directives, context files, hand-off, formula steps with overlays, in this order."""
    from rye.cli.console import printable
    from rye.customization.places import check_name
    from rye.customization.prime import ordered
    from rye.customization.prime import prompt as joined
    from rye.rendering.inputs import parse_assignments

    texts = parse_assignments(assignments)
    if texts and formula is None:
        raise UsageError("usage", "--input is for the variables of a formula.", "Name it with --formula.")
    check_name(role, "role")
    where = places(session, layout, town, rig)
    looked: list[Looked] = []
    sections: list[Section] = [
        *_role(session, where, role, looked),
        *_directives(where, role, looked),
        *(_file(session, "context", file, looked) for file in contexts),
    ]
    if handoff is not None:
        sections.append(_file(session, "handoff", handoff, looked))
    if formula is not None:
        sections.append(_formula(session, where, formula, texts, looked))
    prompt = joined(sections)
    if explain and not session.json:
        for each in looked:
            click.echo(printable(str(each)), err=True)
    if session.json:
        session.console.document(
            {
                "role": role,
                "prompt": prompt,
                "sections": [section.as_json() for section in ordered(sections)],
                "sources": [each.as_json() for each in looked],
            }
        )
        return
    session.console.data(printable(prompt) if sys.stdout.isatty() else prompt, newline=False)


def _role(session: Session, where: Places, role: str, looked: list[Looked]) -> list[Section]:
    """The role template with its overrides. Gas Town keeps templates in its program, so there it may be missing."""
    from rye.cli.customize.role import known_roles, unknown_role
    from rye.cli.effective import effective_target
    from rye.customization.prime import Looked, Section
    from rye.project.target import require_parsed

    try:
        found = effective_target(session, f"role:{role}")
    except RyeError as error:
        if error.code != "no-such-item":
            raise
        if where.layout == "rye":
            raise unknown_role(role, list(known_roles(session))) from None
        looked.append(Looked("role", role, False))
        return []
    require_parsed(found.item)
    from rye.cli.use.render_kinds import render_kind

    document = render_kind(session, found, found.item.reading.value, {}, {})
    looked.append(Looked("role", found.item.shown, True))
    looked.extend(Looked("role", path, True, "override applied") for path in found.overrides)
    return [Section("role", str(document["prompt"]), (found.item.shown, *found.overrides))]


def _directives(where: Places, role: str, looked: list[Looked]) -> list[Section]:
    from rye.customization.prime import Looked, Section
    from rye.customization.role_files import directives_of

    told = directives_of(where, role)
    for file in told.sources:
        detail = "blank, so it says nothing" if file.found and not file.effective else ""
        looked.append(Looked("role-directives", file.path, file.found, detail))
    said = tuple(file.path for file in told.sources if file.effective)
    return [Section("role-directives", told.render(), said)] if told.text else []


def _file(session: Session, part: str, file: str, looked: list[Looked]) -> Section:
    """A context or hand-off file: plain text, its findings about hidden characters shown as warnings."""
    from rye.customization.prime import Looked, Section
    from rye.limits import OVERRIDES, ContentLimits
    from rye.project.item_file import read_bytes
    from rye.text import content

    data = read_bytes(session.path(file), OVERRIDES.context_bytes)
    decoded = content.decode(data, ContentLimits(item_bytes=OVERRIDES.context_bytes))
    if decoded.text is None:
        raise RyeError("unreadable", f"{file}: {decoded.diagnostics[0].message}", "Give a text file.")
    findings = [finding for finding in decoded.diagnostics if finding.severity in ("error", "warning")]
    session.console.diagnostics(file, findings)
    looked.append(Looked(part, file, True))
    return Section(part, decoded.text, (file,))


def _formula(session: Session, where: Places, argument: str, texts: dict[str, str], looked: list[Looked]) -> Section:
    from rye.cli.customize.overlay import apply_in_force, find_formula, formula_name
    from rye.cli.use.render_kinds import render_kind
    from rye.customization.overlay_files import in_force
    from rye.customization.prime import Looked, Section
    from rye.project.target import require_parsed

    found = find_formula(session, argument)
    value = require_parsed(found.item)
    looked.append(Looked("formula", found.item.shown, True))
    name = formula_name(found)
    force = in_force(where, name) if name is not None else None
    sources = [found.item.shown]

    def overlays(session: Session, _found: Target, resolved: Formula) -> Formula:
        if force is None:
            return resolved
        changed, applied = apply_in_force(session, force, resolved)
        sources.extend(_explained(where, force, applied, looked))
        return changed

    document = render_kind(session, found, value, texts, {}, overlays=overlays)
    return Section("formula", str(document["prompt"]), tuple(sources))


def _explained(where: Places, force: InForce, applied: tuple[str, ...], looked: list[Looked]) -> list[str]:
    """Note the overlay files that were looked at and what the one in force did; gives that one's path."""
    from rye.customization.prime import Looked

    used = force.source
    for file in force.files:
        hidden = "hidden by the project's" if file.found and used is not None and file is not used else ""
        looked.append(Looked("overlay", file.shown, file.found, hidden))
    if used is None:
        return []
    overrides = force.choice.overlay.overrides if force.choice.overlay is not None else ()
    scope = f" ({f'rig={where.rig}' if used.level == 'project' else 'town'})"
    detail = f"Formula overlay: applying {len(overrides)} override(s) for {force.formula}{scope}"
    looked.append(Looked("overlay", used.shown, True, detail))
    looked.extend(Looked("overlay", used.shown, True, each) for each in applied)
    return [used.shown]
