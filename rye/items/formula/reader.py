"""Formulas: TOML steps with needs (DECISIONS Role directives and formula overlays 6, 7, 8, 11).

====  ==========================================================================================================
Code  Rule
====  ==========================================================================================================
F01   The file is TOML.
F02   Required keys and types: ``formula``, ``steps`` with ids, ``vars`` a string or a table, and so on.
F03   ``type`` is workflow, convoy, expansion or aspect; inferred from the content if it is missing.
F04   Ids are unique, needs are known, no cycles.
F05   Names of formulas are item names; when publishing, the formula's matches the file's.
F06   Variables: ``{{x}}`` without a declaration of x is a warning.
F07   Unknown keys are kept; a near-miss of a known key is a warning. What composition keeps but does not apply is a notice.
F08   ``version`` and ``dependencies``.
====  ==========================================================================================================

The needs of a formula with ``extends`` can name steps of its parents, so they are checked once it is resolved
(:mod:`rye.items.formula.resolution`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from rye.items.declared import dependencies_of, version_of
from rye.items.formula.graph import as_mermaid, as_text, cycle, ids_of, unknown_needs
from rye.items.formula.model import TYPES, ExpandRule, Formula, Step, Var
from rye.items.identity import is_segment
from rye.items.named import made_from
from rye.items.reading import Metadata, Reading, ReadOptions, Source
from rye.text.diagnostics import Diagnostic, Severity, in_order
from rye.text.spelling import near_miss
from rye.text.toml_reading import TomlDocument, TomlError, read_toml
from rye.text.yaml_reading import json_safe

PLACEHOLDER = re.compile(r"\{\{([A-Za-z_][A-Za-z0-9_]*)\}\}")
"""``{{name}}`` in a formula's strings."""
TEMPLATE_WORDS = frozenset(
    [
        "else",
        "end",
        "this",
        "root",
        "index",
        "key",
        "first",
        "last",
        "range",
        "with",
        "block",
        "define",
        "template",
        "nil",
    ]
)
"""Words of template languages that look like variables but are not."""
_TOP = (
    "formula", "description", "type", "version", "steps", "vars", "extends", "compose", "template", "legs", "synthesis",
    "aspects", "dependencies", "inputs", "prompts", "output", "advice", "pointcuts", "squash",
)  # fmt: skip
_STEP = ("id", "title", "description", "needs", "parallel", "interactive", "acceptance")
_VAR_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class _Checks:
    """Collects findings about one document; each one names the key's path and line."""

    def __init__(self, document: TomlDocument):
        self.document = document
        self.found: list[Diagnostic] = []

    def report(self, severity: Severity, code: str, message: str, *path: str | int, hint: str | None = None) -> None:
        self.found.append(Diagnostic(severity, code, message, self.document.line(*path), hint=hint))

    def text(self, table: dict[str, Any], key: str, *path: str | int) -> str | None:
        value = table.get(key)
        if value is None or isinstance(value, str):
            return value
        self.report("error", "F02", f"{shown((*path, key))} must be a string.", *path, key, hint="Put it in quotes.")
        return None

    def flag(self, table: dict[str, Any], key: str, *path: str | int) -> bool:
        value = table.get(key, False)
        if not isinstance(value, bool):
            self.report("error", "F02", f"{shown((*path, key))} must be true or false.", *path, key)
            return False
        return value

    def texts(self, table: dict[str, Any], key: str, *path: str | int) -> tuple[str, ...]:
        value = table.get(key, [])
        if not isinstance(value, list) or not all(isinstance(entry, str) and entry for entry in value):
            self.report("error", "F02", f"{shown((*path, key))} must be a list of strings.", *path, key)
            return ()
        return tuple(value)

    def tables(self, table: dict[str, Any], key: str, *path: str | int) -> list[dict[str, Any]]:
        value = table.get(key, [])
        if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
            message = f"{shown((*path, key))} must be an array of tables."
            self.report("error", "F02", message, *path, key, hint=f"Write [[{shown((*path, key))}]] above each table.")
            return []
        return value

    def near_misses(self, table: dict[str, Any], known: Iterable[str], *path: str | int) -> None:
        for key in table:
            if key not in known and (meant := near_miss(key, known)):
                message = f"The key {shown((*path, key))} is unknown and has no effect."
                self.report("warning", "F07", message, *path, key, hint=f"Did you mean {meant}?")


def shown(path: Iterable[str | int]) -> str:
    """``("steps", 1, "needs")`` → ``steps[1].needs``."""
    out = ""
    for part in path:
        out += f"[{part}]" if isinstance(part, int) else f"{'.' if out else ''}{part}"
    return out


def read(source: Source, options: ReadOptions) -> Reading[Formula]:
    """Read a formula's file. ``value`` is None if it has no usable name, type or steps."""
    try:
        document = read_toml(source.text)
    except TomlError as error:
        return Reading(
            None,
            None,
            (Diagnostic("error", "F01", f"The file is not valid TOML: {error.message}.", error.line, error.column),),
        )
    data, checks = document.value, _Checks(document)
    checks.near_misses(data, _TOP)
    name = _name(data, source, options, checks)
    description = checks.text(data, "description") or ""
    extends = _extends(data, checks)
    kind = _type(data, extends, checks)
    steps = {key: _steps(data, key, checks) for key in ("steps", "template", "legs", "aspects")}
    synthesis = _synthesis(data, steps["legs"], checks)
    declared = _vars(data, checks)
    expand, weave, composition = _compose(data, checks)
    version = version_of(data.get("version"), "F08", "version", document.line("version"), checks.found)
    dependencies = dependencies_of(data.get("dependencies"), "F08", document.line, checks.found, "dependencies")
    if kind is None:
        return Reading(None, None, in_order(checks.found))
    extra = {key: value for key, value in data.items() if key not in _TOP[:13]} | composition
    formula = Formula(
        formula=name or "",
        type=kind,
        description=description,
        version=version,
        steps=steps["steps"],
        vars=declared,
        extends=extends,
        expand=expand,
        weave=weave,
        template=steps["template"],
        legs=steps["legs"],
        synthesis=synthesis,
        aspects=steps["aspects"],
        extra=extra,
    )
    _check_content(formula, data, checks)
    _check_variables(formula, checks)
    if name is None:
        return Reading(None, None, in_order(checks.found))
    metadata = Metadata(
        name=name,
        version=version,
        description=" ".join(description.split()),
        dependencies=dependencies,
        names=made_from("formula", (*formula.extends, *(rule.with_ for rule in formula.expand), *formula.weave)),
    )
    # After a structural error, a value would be misleading: half the steps, or an order that does not exist.
    broken = any(d.severity == "error" and d.code in ("F02", "F04") for d in checks.found)
    return Reading(None if broken else formula, metadata, in_order(checks.found))


def _name(data: dict[str, Any], source: Source, options: ReadOptions, checks: _Checks) -> str | None:
    if "formula" not in data:
        checks.report("error", "F02", "formula is missing.", hint='Add `formula = "name"`, matching the file\'s name.')
        return None
    name = checks.text(data, "formula")
    if name is None:
        return None
    if not is_segment(name):
        message = f"formula {name[:80]!r} is not a valid item name: use a-z, 0-9, '-' and '_', at most 64 characters, no path."
        checks.report("error", "F05", message, "formula")
        return None
    if source.name is not None and name != source.name:
        severity: Severity = "error" if options.publishing else "warning"
        message = f"formula {name!r} does not match the file's name {source.name!r}, by which overlays find it."
        checks.report(severity, "F05", message, "formula", hint=f"Rename the file to {name}.formula.toml.")
    return name


def _extends(data: dict[str, Any], checks: _Checks) -> tuple[str, ...]:
    value = data.get("extends")
    names = (value,) if isinstance(value, str) else checks.texts(data, "extends")
    return tuple(name for index, name in enumerate(names) if _is_name(name, checks, "extends", index))


def _is_name(name: str, checks: _Checks, *path: str | int) -> bool:
    if is_segment(name):
        return True
    message = f"{shown(path)} names a formula {name[:80]!r}, which is not a valid item name; paths are not allowed."
    checks.report("error", "F05", message, *path)
    return False


def _type(data: dict[str, Any], extends: tuple[str, ...], checks: _Checks) -> str | None:
    if "type" in data:
        value = checks.text(data, "type")
        if value in TYPES:
            return value
        if value is not None:
            meant = near_miss(value, TYPES)
            hint = f"Did you mean {meant}?" if meant else f"The types are {', '.join(TYPES)}."
            checks.report("error", "F03", f"type {value[:80]!r} is unknown.", "type", hint=hint)
        return None
    for key, kind in (("steps", "workflow"), ("legs", "convoy"), ("template", "expansion"), ("aspects", "aspect")):
        if data.get(key):
            return kind
    if data.get("advice"):
        return "aspect"
    if extends:
        return "workflow"
    checks.report(
        "error",
        "F03",
        "The type cannot be inferred: there are no steps, legs, template or aspects.",
        hint="Add [[steps]].",
    )
    return None


def _steps(data: dict[str, Any], key: str, checks: _Checks) -> tuple[Step, ...]:
    steps: list[Step] = []
    seen: dict[str, int] = {}
    for index, table in enumerate(checks.tables(data, key)):
        path = (key, index)
        identifier = checks.text(table, "id", *path)
        if not identifier or not identifier.strip():
            if identifier is not None or "id" not in table:
                checks.report("error", "F02", f"{shown(path)} has no id.", *path)
            continue
        checks.near_misses(table, _STEP, *path)
        step = Step(
            id=identifier,
            title=checks.text(table, "title", *path) or "",
            description=checks.text(table, "description", *path) or "",
            needs=checks.texts(table, "needs", *path),
            parallel=checks.flag(table, "parallel", *path),
            interactive=checks.flag(table, "interactive", *path),
            acceptance=checks.text(table, "acceptance", *path),
            extra={name: value for name, value in table.items() if name not in _STEP},
            line=checks.document.line(*path),
        )
        for name in ids_of([step]):
            if name in seen:
                message = f"{shown(path)}: the id {name!r} is already used by {key}[{seen[name]}]."
                checks.report("error", "F04", message, *path, "id")
            seen.setdefault(name, index)
        steps.append(step)
    return tuple(steps)


def _synthesis(data: dict[str, Any], legs: tuple[Step, ...], checks: _Checks) -> Step | None:
    table = data.get("synthesis")
    if table is None:
        return None
    if not isinstance(table, dict):
        checks.report("error", "F02", "synthesis must be a table.", "synthesis")
        return None
    needs = checks.texts(table, "depends_on", "synthesis")
    known = [leg.id for leg in legs]
    for index, need in enumerate(needs):
        if need not in known:
            meant = near_miss(need, known)
            message = f"synthesis.depends_on[{index}] names an unknown leg {need!r}."
            hint = f"Did you mean {meant}?" if meant else None
            checks.report("error", "F04", message, "synthesis", "depends_on", hint=hint)
    rest = {key: value for key, value in table.items() if key not in ("title", "description", "depends_on")}
    return Step(
        id="synthesis",
        title=checks.text(table, "title", "synthesis") or "",
        description=checks.text(table, "description", "synthesis") or "",
        needs=needs,
        extra=rest,
        line=checks.document.line("synthesis"),
    )


def _vars(data: dict[str, Any], checks: _Checks) -> tuple[Var, ...]:
    table = data.get("vars", {})
    if not isinstance(table, dict):
        checks.report("error", "F02", "vars must be a table.", "vars")
        return ()
    variables: list[Var] = []
    for name, value in table.items():
        if not _VAR_NAME.fullmatch(name):
            checks.report(
                "warning",
                "F06",
                f"vars.{name} can never be used: {{{{{name}}}}} is not a valid placeholder.",
                "vars",
                name,
            )
        if isinstance(value, str):
            variables.append(Var(name, default=value))
            continue
        if not isinstance(value, dict):
            message = f"vars.{name} must be a string (its default) or a table."
            checks.report("error", "F02", message, "vars", name)
            continue
        checks.near_misses(value, ("description", "required", "default"), "vars", name)
        required = checks.flag(value, "required", "vars", name)
        default = value.get("default")
        if isinstance(default, bool | int | float):
            default = str(default).lower() if isinstance(default, bool) else str(default)
        elif default is not None and not isinstance(default, str):
            checks.report("error", "F02", f"vars.{name}.default must be a string.", "vars", name, "default")
            default = None
        if required and default is not None:
            message = f"vars.{name} is required and has a default; the default makes it optional."
            checks.report("warning", "F06", message, "vars", name)
        rest = {key: part for key, part in value.items() if key not in ("description", "required", "default")}
        description = checks.text(value, "description", "vars", name) or ""
        variables.append(Var(name, description, required, default, rest))
    return tuple(variables)


def _compose(data: dict[str, Any], checks: _Checks) -> tuple[tuple[ExpandRule, ...], tuple[str, ...], dict[str, Any]]:
    """Read the expand rules, the names of aspects, and the rest of ``compose`` as a dict with that one key (or empty)."""
    table = data.get("compose")
    if table is None:
        return (), (), {}
    if not isinstance(table, dict):
        checks.report("error", "F02", "compose must be a table.", "compose")
        return (), (), {}
    checks.near_misses(table, ("expand", "aspects", "map"), "compose")
    rules: list[ExpandRule] = []
    for index, entry in enumerate(checks.tables(table, "expand", "compose")):
        path = ("compose", "expand", index)
        target, with_ = checks.text(entry, "target", *path), checks.text(entry, "with", *path)
        for key, value in (("target", target), ("with", with_)):
            if not value:
                checks.report("error", "F02", f"{shown(path)} has no {key}.", *path)
        values = entry.get("vars", {})
        if not isinstance(values, dict) or not all(isinstance(v, str) for v in values.values()):
            checks.report("error", "F02", f"{shown(path)}.vars must be a table of strings.", *path, "vars")
            values = {}
        if target and with_ and _is_name(with_, checks, *path, "with"):
            rules.append(ExpandRule(target, with_, values))
    aspects = table.get("aspects", [])
    if not isinstance(aspects, list) or not all(isinstance(name, str) for name in aspects):
        checks.report("error", "F02", "compose.aspects must be a list of names.", "compose", "aspects")
        aspects = []
    names = tuple(name for index, name in enumerate(aspects) if _is_name(name, checks, "compose", "aspects", index))
    rest = {key: value for key, value in table.items() if key != "expand"}
    for key in rest:
        if key == "aspects":
            continue
        checks.report("notice", "F07", f"compose.{key} is kept but not applied.", "compose", key)
    return tuple(rules), names, {"compose": rest} if rest else {}


def _check_content(formula: Formula, data: dict[str, Any], checks: _Checks) -> None:
    """Check F02 and F04: each type has its required parts, needs are known, no step waits for itself."""
    key = {"workflow": "steps", "convoy": "legs", "expansion": "template", "aspect": "aspects"}[formula.type]
    parts: tuple[Step, ...] = getattr(formula, key)
    inherits = bool(formula.extends) and formula.type in ("workflow", "expansion")
    if not parts and not inherits and not (formula.type == "aspect" and data.get("advice")):
        if not data.get(key):
            checks.report("error", "F02", f"A formula of type {formula.type} needs at least one of [[{key}]].", "type")
        return
    for name in ("steps", "template"):
        steps: tuple[Step, ...] = getattr(formula, name)
        for index, at, need, meant in unknown_needs(steps) if not formula.extends else ():
            message = f"{name}[{index}].needs[{at}]: {steps[index].id!r} needs an unknown step {need!r}."
            hint = f"Did you mean {meant}?" if meant else None
            checks.report("error", "F04", message, name, index, "needs", hint=hint)
        if (path := cycle(steps)) is not None:
            first = next(index for index, step in enumerate(steps) if step.id == path[0])
            message = f"Steps wait for each other: {' → '.join(path)}."
            checks.report("error", "F04", message, name, first, "needs")


def _check_variables(formula: Formula, checks: _Checks) -> None:
    """Check F06: placeholders that nothing declares. With ``extends``, a parent may declare them."""
    if formula.extends:
        return
    declared = {var.name for var in formula.vars}
    candidates = sorted(declared)[:500]
    reported: set[str] = set()
    for key in ("steps", "template", "legs", "aspects"):
        for index, step in enumerate(getattr(formula, key)):
            for text in (step.title, step.description, step.acceptance or ""):
                for match in PLACEHOLDER.finditer(text):
                    name = match[1]
                    if name in declared or name in TEMPLATE_WORDS or name in reported:
                        continue
                    reported.add(name)
                    meant = near_miss(name, candidates)
                    hint = f"Did you mean {meant}?" if meant else f"Add [vars.{name}]."
                    message = f"{key}[{index}] uses {{{{{name}}}}}, which vars does not declare."
                    checks.report("warning", "F06", message, key, index, hint=hint)


def as_json(formula: Formula) -> dict[str, object]:
    """Return the fields for ``rye show`` (DESIGN §9), including the graph of steps as text and Mermaid."""
    return {
        "formula": formula.formula,
        "type": formula.type,
        "description": formula.description,
        "version": formula.version,
        "steps": [step_as_json(step) for step in formula.steps],
        "vars": {
            var.name: {"description": var.description, "required": var.required, "default": var.default}
            for var in formula.vars
        },
        "extends": list(formula.extends),
        "expand": [{"target": rule.target, "with": rule.with_, "vars": dict(rule.vars)} for rule in formula.expand],
        "legs": [step_as_json(step) for step in formula.legs],
        "synthesis": step_as_json(formula.synthesis) if formula.synthesis else None,
        "template": [step_as_json(step) for step in formula.template],
        "aspects": [step_as_json(step) for step in formula.aspects],
        "extra": json_safe(formula.extra),
        "graph": {"text": as_text(formula), "mermaid": as_mermaid(formula)},
    }


def step_as_json(step: Step) -> dict[str, object]:
    """Return a step with all its keys: the known ones always, the others as they are."""
    known = {
        "id": step.id,
        "title": step.title,
        "description": step.description,
        "needs": list(step.needs),
        "parallel": step.parallel,
        "interactive": step.interactive,
        "acceptance": step.acceptance,
    }
    return {**json_safe(step.extra), **known}


def template(name: str, category: str = "", author: str | None = None) -> str:
    """Return the file that ``rye new formula NAME`` writes: valid, ready to be filled in."""
    return f'''formula = "{name}"
description = "What this workflow achieves"
type = "workflow"
version = 1

[[steps]]
id = "prepare"
title = "Prepare"
description = """
Read {{{{issue}}}} and say what is to be done."""

[[steps]]
id = "finish"
title = "Finish"
needs = ["prepare"]
description = """
Do it, check it, report it."""

[vars.issue]
description = "The issue to work on"
required = true
'''
