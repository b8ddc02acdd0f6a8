"""Formulas as their steps, with their variables filled in."""

from __future__ import annotations

from collections.abc import Mapping

from rye.errors import RyeError, UsageError
from rye.items.formula.model import Formula
from rye.items.formula.resolution import substitute
from rye.rendering.formula_text import formula_text
from rye.text.spelling import likeliest
from rye.workspace.context import Context
from rye.workspace.customizing.formulas import resolved_formula
from rye.workspace.customizing.overlaying import Overlaid
from rye.workspace.findings import FileFindings
from rye.workspace.items.effective_item import EffectiveItem, Require
from rye.workspace.items.rendered import AskValue, Rendered, Steps
from rye.workspace.items.rendered_text import rendered


def render(
    context: Context,
    found: EffectiveItem,
    formula: Formula,
    texts: Mapping[str, str],
    values: Mapping[str, object],
    require: Require,
    ask: AskValue | None,
    steps: Steps | None,
) -> Rendered:
    """A :data:`rye.workspace.items.rendering.Renderer`. Raises RyeError without steps or for invalid variables."""
    resolved = resolved_formula(context, found.item, require)
    if resolved.type != "workflow":
        raise UsageError(
            "wrong-kind",
            f"A formula of type {resolved.type} has no steps to render.",
            "Render the workflow that uses it. `rye show` prints its parts.",
            what="steps",
        )
    overlaid = steps(found, resolved) if steps is not None else Overlaid(resolved)
    resolved, findings = overlaid.formula, overlaid.findings
    given = _variables(resolved, texts, values, ask)
    filled, warnings = substitute(resolved, given)
    if warnings:
        findings = (*findings, FileFindings(found.item.shown, warnings))
    inputs: dict[str, object] = {var.name: var.default for var in resolved.vars if var.default is not None}
    return rendered(found, formula_text(filled), inputs | given, formula, findings, overlaid.source)


def _variables(
    formula: Formula, texts: Mapping[str, str], values: Mapping[str, object], ask: AskValue | None
) -> dict[str, str]:
    """The variables as texts. Asks for required ones that are missing, and reports all problems together."""
    declared = {var.name: var for var in formula.vars}
    problems: dict[str, str] = {}
    given: dict[str, str] = {}
    for name, value in {**values, **texts}.items():
        if name not in declared:
            meant = likeliest(name, declared)
            problems[name] = "is not declared" + (f"; did you mean {meant}?" if meant else "")
        elif not isinstance(value, str):
            problems[name] = "is not a text"
        else:
            given[name] = value
    for var in formula.vars:
        if not var.required or var.default is not None or var.name in given or var.name in problems:
            continue
        if ask is not None and not problems:
            given[var.name] = ask(var.name, "string", var.description)
        else:
            problems[var.name] = "is required"
    if problems:
        listed = "; ".join(f"{name} {problem}" for name, problem in problems.items())
        missing = next((name for name in problems if name in declared), None)
        known = ", ".join(declared) or "none"
        raise RyeError(
            "bad-inputs",
            f"Invalid inputs: {listed}.",
            f"Set it with --input {missing}=VALUE." if missing else f"Declared variables: {known}.",
            details={"problems": [{"input": name, "message": problem} for name, problem in problems.items()]},
        )
    return given
