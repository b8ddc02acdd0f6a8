"""``compose.aspects``: the steps of an aspect woven around the steps of a workflow (DECISIONS "Every kind" 6).

An aspect's ``[[advice]]`` selects steps by a pattern (``target``, ``*`` and ``?`` as in file names) and gives steps to put before
and after each of them: ``before``, ``after``, ``around.before``, ``around.after``. With ``[[pointcuts]]``, it selects only
steps that one of them matches (``glob``, ``type``, ``label``). In an advice's steps, ``{step.id}``, ``{step.title}`` and
``{step.description}`` are filled in from the step that they surround, in one pass.

The first step put before a target inherits its needs, each further one needs its predecessor, and the target needs the last.
Steps put after it form a chain from the target in the same way, and whatever needed the target now needs the last of them.
An aspect does not surround the steps that it adds itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

from msgspec import Struct

from rye.errors import RyeError
from rye.items.formula.model import Formula, Step

_POINTCUT = ("glob", "type", "label")
_STEP = ("id", "title", "description", "needs", "acceptance")


class _Advice(Struct, frozen=True):
    target: str
    before: tuple[Step, ...]
    after: tuple[Step, ...]


class _Surrounded(Struct, frozen=True):
    before: tuple[Step, ...]
    step: Step
    after: tuple[Step, ...]


def weave(steps: tuple[Step, ...], aspect: Formula) -> tuple[Step, ...]:
    """Return ``steps`` with the advice of ``aspect`` woven in. Raises RyeError ``bad-advice`` for malformed advice."""
    rules = [_advice(entry, aspect) for entry in _tables(aspect.extra.get("advice"), "advice", aspect)]
    pointcuts = _tables(aspect.extra.get("pointcuts"), "pointcuts", aspect)
    for pointcut in pointcuts:
        if not pointcut or any(key not in _POINTCUT or not isinstance(pointcut[key], str) for key in pointcut):
            raise _bad(aspect, f"a pointcut has {', '.join(_POINTCUT)}, each a string")
    surrounded = [_surround(step, rules, pointcuts) for step in steps]
    ends = {each.step.id: each.after[-1].id for each in surrounded if each.after}
    woven: list[Step] = []
    for each in surrounded:
        needs = tuple(dict.fromkeys(ends.get(need, need) for need in each.step.needs))
        before = _chain(each.before, needs)
        own = replace(each.step, needs=(before[-1].id,) if before else needs)
        woven += (*before, own, *_chain(each.after, (own.id,)))
    return tuple(woven)


def _surround(step: Step, rules: Iterable[_Advice], pointcuts: list[dict[str, Any]]) -> _Surrounded:
    here = [rule for rule in rules if fnmatchcase(step.id, rule.target)]
    if pointcuts and not any(_matches(step, pointcut) for pointcut in pointcuts):
        here = []
    return _Surrounded(
        tuple(_filled(each, step) for rule in here for each in rule.before),
        step,
        tuple(_filled(each, step) for rule in here for each in rule.after),
    )


def _matches(step: Step, pointcut: Mapping[str, str]) -> bool:
    """Whether the step meets every condition of the pointcut."""
    labels = step.extra.get("labels")
    holds = {
        "glob": fnmatchcase(step.id, pointcut.get("glob", "*")),
        "type": step.extra.get("type") == pointcut.get("type"),
        "label": isinstance(labels, list) and pointcut.get("label") in labels,
    }
    return all(holds[key] for key in pointcut)


def _chain(steps: tuple[Step, ...], needs: tuple[str, ...]) -> tuple[Step, ...]:
    """Make each step need its predecessor, and the first one ``needs``, in addition to its own needs."""
    chained: list[Step] = []
    for step in steps:
        first = (chained[-1].id,) if chained else needs
        chained.append(replace(step, needs=tuple(dict.fromkeys((*first, *step.needs)))))
    return tuple(chained)


@cache
def _placeholder() -> re.Pattern[str]:
    return re.compile(r"\{step\.(id|title|description)\}")


def _filled(advice: Step, step: Step) -> Step:
    def fill(text: str) -> str:
        return _placeholder().sub(lambda found: str(getattr(step, found[1])), text)

    return replace(
        advice,
        id=fill(advice.id),
        title=fill(advice.title),
        description=fill(advice.description),
        needs=tuple(fill(need) for need in advice.needs),
        acceptance=None if advice.acceptance is None else fill(advice.acceptance),
    )


# Reading.


def _advice(entry: dict[str, Any], aspect: Formula) -> _Advice:
    target = entry.get("target")
    around = entry.get("around", {})
    if not isinstance(target, str) or not target:
        raise _bad(aspect, "an advice has no target")
    if (
        not isinstance(around, dict)
        or set(entry) - {"target", "before", "after", "around"}
        or set(around) - {"before", "after"}
    ):
        raise _bad(
            aspect, f"the advice for {target!r} has keys other than before, after, around.before and around.after"
        )
    before, after = (
        tuple(
            _step(table, target, aspect)
            for given in (entry.get(key), around.get(key))
            for table in _tables(given, f"{key} of {target!r}", aspect)
        )
        for key in ("before", "after")
    )
    return _Advice(target, before, after)


def _step(table: dict[str, Any], target: str, aspect: Formula) -> Step:
    texts = {key: table.get(key, "") for key in _STEP if key != "needs"}
    needs = table.get("needs", [])
    if not texts["id"] or not all(isinstance(text, str) for text in texts.values()):
        raise _bad(aspect, f"a step for {target!r} has no id, or a key that must be a string is not")
    if not isinstance(needs, list) or not all(isinstance(need, str) for need in needs):
        raise _bad(aspect, f"the needs of the step {texts['id']!r} are not a list of strings")
    extra = {key: value for key, value in table.items() if key not in _STEP}
    acceptance = texts["acceptance"] or None
    return Step(
        id=texts["id"],
        title=texts["title"],
        description=texts["description"],
        needs=tuple(needs),
        acceptance=acceptance,
        extra=extra,
    )


def _tables(value: Any, what: str, aspect: Formula) -> list[dict[str, Any]]:
    """Return a list of tables. A single table counts as a list with one entry, a missing value as an empty list."""
    if value is None:
        return []
    tables = [value] if isinstance(value, dict) else value
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise _bad(aspect, f"{what} is not a list of tables")
    return tables


def _bad(aspect: Formula, why: str) -> RyeError:
    hint = "An advice has a target, and steps in before, after, around.before or around.after."
    return RyeError("bad-advice", f"The aspect {aspect.formula!r} cannot be applied: {why}.", hint)
