"""``extends``, ``compose.expand``, ``compose.aspects`` and ``{{var}}``: from formulas as written to steps as rendered
(DECISIONS Overlays 5, 6, 7).

* Parents' steps come first, in the order of ``extends``, with each parent's own expand rules applied. A child's step with the
  same id replaces the parent's in place; other steps follow. The same goes for variables and templates; the child's description
  wins.
* Expanding replaces the target step with the expansion's template. ``{target}``, ``{target.id}``, ``{target.title}`` and
  ``{target.description}`` are filled in from the target and ``{name}`` from the expansion's variables, in one pass. So is
  ``{{name}}`` if only the expansion declares it; otherwise it is left for the formula's own value. Template steps that need
  nothing in the template inherit the target's needs; whatever needed the target needs every template step that no other
  template step needs (in a chain: the last).
* Aspects are then woven around the result, in their order (:mod:`rye.items.formula.aspects`).
* Overlays apply to that, and then :func:`substitute` fills in ``{{var}}`` in one pass; values are never scanned again.

Everything is bounded (:data:`rye.limits.CONTENT`): the length of a chain, the number of steps, the size of their text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from rye.errors import RyeError
from rye.items.formula.aspects import weave
from rye.items.formula.graph import cycle, ids_of, unknown_needs
from rye.items.formula.model import ExpandRule, Formula, Step, Var
from rye.items.formula.reader import PLACEHOLDER, TEMPLATE_WORDS, shown
from rye.limits import CONTENT
from rye.text.diagnostics import Diagnostic
from rye.text.spelling import near_miss

Load = Callable[[str], Formula | None]
"""Returns the formula with that name as written, or None if there is none."""

_TARGET = re.compile(
    r"\{\{(?P<var>[A-Za-z_][A-Za-z0-9_]*)\}\}|\{(target(?:\.(?:id|title|description))?|[A-Za-z_][A-Za-z0-9_]*)\}"
)


def resolve(formula: Formula, load: Load) -> Formula:
    """Return the formula with parents merged and steps expanded. Raises RyeError naming the invalid chain, step or formula."""
    return _Resolver(load).resolve(formula, ())


class _Resolver:
    def __init__(self, load: Load):
        self.load = load
        self.done: dict[str, Formula] = {}

    def resolve(self, formula: Formula, chain: tuple[str, ...]) -> Formula:
        if formula.formula in chain:
            path = " → ".join((*chain, formula.formula))
            raise RyeError(
                "formula-cycle", f"Formulas extend each other: {path}.", "Remove one `extends`.", what="formulas"
            )
        chain = (*chain, formula.formula)
        if len(chain) > CONTENT.formula_chain:
            raise RyeError(
                "formula-too-large",
                f"A chain of more than {CONTENT.formula_chain} formulas extend each other: {chain[0]} …",
            )
        merged = self.merge(formula, chain)
        for rule in merged.expand:
            merged = self.expand(merged, rule, chain)
        for name in merged.weave:
            merged = self.weave(merged, name, chain)
        merged = replace(merged, extends=(), expand=(), weave=())
        check_steps(merged)
        return merged

    def find(self, name: str, chain: tuple[str, ...], why: str) -> Formula:
        """Return the resolved formula of that name."""
        if name in chain:
            path = " → ".join((*chain, name))
            raise RyeError("formula-cycle", f"Formulas need each other: {path}.", "Break the cycle.", what="formulas")
        if name not in self.done:
            found = self.load(name)
            if found is None:
                hint = f"Put {name}.formula.toml next to it, or install it."
                raise RyeError("unknown-formula", f"{chain[-1]} {why} {name!r}, which does not exist.", hint)
            self.done[name] = self.resolve(found, chain)
        return self.done[name]

    def merge(self, formula: Formula, chain: tuple[str, ...]) -> Formula:
        if not formula.extends:
            return formula
        parents = [self.find(name, chain, "extends") for name in formula.extends]
        inherited = {
            key: _joined([(parent.formula, getattr(parent, key)) for parent in parents], formula.formula)
            for key in ("steps", "template")
        }
        variables: dict[str, Var] = {}
        for parent in parents:
            for var in parent.vars:
                variables.setdefault(var.name, var)
        variables |= {var.name: var for var in formula.vars}
        described = formula.description or next((p.description for p in parents if p.description), "")
        return replace(
            formula,
            description=described,
            steps=_overridden(inherited["steps"], formula.steps),
            template=_overridden(inherited["template"], formula.template),
            vars=tuple(variables.values()),
        )

    def weave(self, formula: Formula, name: str, chain: tuple[str, ...]) -> Formula:
        aspect = self.find(name, chain, "applies the aspect")
        if aspect.type != "aspect":
            message = f"{formula.formula} applies {name!r} as an aspect, but its type is {aspect.type}."
            raise RyeError("wrong-formula-type", message, "Only formulas of type aspect have advice.", what="aspect")
        steps = weave(formula.steps, aspect)
        _check_size(formula.formula, steps)
        return replace(formula, steps=steps)

    def expand(self, formula: Formula, rule: ExpandRule, chain: tuple[str, ...]) -> Formula:
        expansion = self.find(rule.with_, chain, "expands a step with")
        if expansion.type != "expansion":
            message = (
                f"{formula.formula} expands {rule.target!r} with {rule.with_!r}, but its type is {expansion.type}."
            )
            raise RyeError(
                "wrong-formula-type", message, "Only formulas of type expansion have a template.", what="expansion"
            )
        at = next((index for index, step in enumerate(formula.steps) if step.id == rule.target), None)
        if at is None:
            meant = near_miss(rule.target, [step.id for step in formula.steps])
            message = f"{formula.formula} expands the step {rule.target!r}, which it does not have."
            raise RyeError("unknown-step", message, f"Did you mean {meant}?" if meant else None, what="rule")
        target = formula.steps[at]
        new = _filled(expansion, rule, target, frozenset(var.name for var in formula.vars))
        own = {step.id for step in new}
        needed = {need for step in new for need in step.needs}
        ends = tuple(step.id for step in new if step.id not in needed) or (new[-1].id,)
        new = [s if own.intersection(s.needs) else replace(s, needs=_unique((*target.needs, *s.needs))) for s in new]
        rest = [
            replace(s, needs=_unique(e for n in s.needs for e in (ends if n == target.id else (n,))))
            if target.id in s.needs
            else s
            for s in formula.steps
        ]
        steps = (*rest[:at], *new, *rest[at + 1 :])
        _check_size(formula.formula, steps)
        return replace(formula, steps=steps)


def _joined(parts: list[tuple[str, tuple[Step, ...]]], child: str) -> tuple[Step, ...]:
    """The steps of all parents. If two parents have a step with the same id, they conflict."""
    steps: dict[str, tuple[str, Step]] = {}
    for parent, own in parts:
        for step in own:
            if step.id in steps and steps[step.id][1] != step:
                message = f"{child} extends {steps[step.id][0]} and {parent}, which both have a step {step.id!r}."
                raise RyeError("duplicate-step", message, "Rename one of the steps.")
            steps.setdefault(step.id, (parent, step))
    return tuple(step for _, step in steps.values())


def _overridden(inherited: tuple[Step, ...], own: tuple[Step, ...]) -> tuple[Step, ...]:
    mine = {step.id: step for step in own}
    old = {step.id for step in inherited}
    return (*(mine.get(s.id, s) for s in inherited), *(s for s in own if s.id not in old))


def _filled(expansion: Formula, rule: ExpandRule, target: Step, outer: frozenset[str]) -> list[Step]:
    """The template's steps for one target. ``outer``: variables of the formula, which are filled in later."""
    own = {var.name: var.default for var in expansion.vars if var.default is not None} | rule.vars
    values = own | {
        "target": target.id,
        "target.id": target.id,
        "target.title": target.title,
        "target.description": target.description,
    }
    missing = [var.name for var in expansion.vars if var.required and var.name not in values]
    if missing:
        message = f"The expansion {expansion.formula!r} requires {', '.join(missing)} for the step {target.id!r}."
        raise RyeError("missing-variable", message, f"Set them under vars of the rule for {rule.target!r}.")
    budget = CONTENT.formula_characters

    def value_of(match: re.Match[str]) -> str:
        name = match["var"]
        if name is None:
            return values.get(match[2], match[0])
        return match[0] if name in outer else own.get(name, match[0])

    def fill(text: str) -> str:
        nonlocal budget
        budget -= len(text) + sum(len(value_of(match)) for match in _TARGET.finditer(text))
        if budget < 0:
            raise _too_large(expansion.formula)
        return _TARGET.sub(value_of, text)

    return [
        replace(
            step,
            id=fill(step.id),
            title=fill(step.title),
            description=fill(step.description),
            needs=tuple(fill(need) for need in step.needs),
            acceptance=None if step.acceptance is None else fill(step.acceptance),
            line=None,
        )
        for step in expansion.template
    ]


def _unique(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def _too_large(name: str) -> RyeError:
    limits = f"{CONTENT.formula_steps} steps or {CONTENT.formula_characters} characters"
    return RyeError("formula-too-large", f"Expanding {name!r} results in more than {limits}.", "Expand fewer steps.")


def _check_size(name: str, steps: tuple[Step, ...]) -> None:
    characters = sum(len(step.title) + len(step.description) + len(step.acceptance or "") for step in steps)
    if len(steps) > CONTENT.formula_steps or characters > CONTENT.formula_characters:
        raise _too_large(name)


def check_steps(formula: Formula) -> None:
    """Check a resolved formula: unique ids, known needs, no cycles. Raises RyeError naming the step or the path."""
    for key in ("steps", "template"):
        steps: tuple[Step, ...] = getattr(formula, key)
        seen: set[str] = set()
        for name in ids_of(steps):
            if name in seen:
                raise RyeError("duplicate-step", f"{formula.formula} has two steps {name!r} once it is resolved.")
            seen.add(name)
        for index, at, need, meant in unknown_needs(steps):
            where = shown((key, index, "needs", at))
            message = f"{formula.formula}: {steps[index].id!r} needs an unknown step {need!r} ({where})."
            raise RyeError("unknown-step", message, f"Did you mean {meant}?" if meant else None, what="need")
        path = cycle(steps)
        if path is not None:
            raise RyeError(
                "formula-cycle", f"{formula.formula}: steps wait for each other: {' → '.join(path)}.", what="steps"
            )


def substitute(formula: Formula, values: Mapping[str, str]) -> tuple[Formula, tuple[Diagnostic, ...]]:
    """Fill in ``{{var}}`` in the steps and the description. Return the formula and warnings about placeholders that remain.

    A given value overrides the default. A required variable without either is an error (RyeError), as is a value for an
    undeclared variable. A placeholder that nothing declares, or whose variable has no value, remains, with a warning.
    """
    declared = {var.name: var for var in formula.vars}
    for name in values:
        if name not in declared:
            meant = near_miss(name, declared)
            known = ", ".join(sorted(declared)) or "none"
            hint = f"Did you mean {meant}?" if meant else f"Variables: {known}."
            raise RyeError("unknown-variable", f"{formula.formula} has no variable {name!r}.", hint)
    filled = {var.name: var.default for var in formula.vars if var.default is not None} | dict(values)
    missing = sorted(var.name for var in formula.vars if var.required and var.name not in filled)
    if missing:
        message = f"{formula.formula} needs a value for {', '.join(missing)}."
        raise RyeError("missing-variable", message, " ".join(f"--input {name}=…" for name in missing))
    left: dict[str, None] = {}
    budget = CONTENT.formula_characters

    def value_of(match: re.Match[str]) -> str:
        nonlocal budget
        name = match[1]
        if name in filled:
            budget -= len(filled[name])
            if budget < 0:
                raise _too_large(formula.formula)
            return filled[name]
        if name not in TEMPLATE_WORDS:
            left[name] = None
        return match[0]

    def fill(text: str) -> str:
        return PLACEHOLDER.sub(value_of, text)

    steps = tuple(
        replace(
            step,
            title=fill(step.title),
            description=fill(step.description),
            acceptance=None if step.acceptance is None else fill(step.acceptance),
        )
        for step in formula.steps
    )
    result = replace(formula, description=fill(formula.description), steps=steps)
    warnings = tuple(
        Diagnostic("warning", "F06", f"{{{{{name}}}}} has no value and remains in the text.", hint=f"--input {name}=…")
        for name in left
    )
    return result, warnings
