"""An item's inputs, outputs and steps as tables for its page. Pure.

They come from the client's own reader: the JSON of ``rye show`` (:class:`rye.items.readers.KindReader`). Any kind whose
JSON has ``inputs``, ``vars``, ``outputs`` or steps gets these tables. The page also shows the whole text, so nothing is
lost here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

from registry_server.pages.page_budget import Rows, line_cost, rows
from rye.items.kinds import KINDS

_STEPS = ("steps", "legs", "synthesis", "template", "aspects")
"""Fields that contain steps, in the order of the formula format."""


class Parameter(Struct, frozen=True):
    """An input of a directive, or a variable of a formula."""

    name: str
    type: str | None
    required: bool
    default: str | None
    description: str


class Returned(Struct, frozen=True):
    """An output."""

    name: str
    type: str | None
    description: str


class StepRow(Struct, frozen=True, kw_only=True):
    """A step of a formula."""

    id: str
    title: str
    needs: tuple[str, ...]
    """The ids of the steps that must be done before it."""
    parallel: bool
    interactive: bool
    """Whether it waits for a person."""
    acceptance: str | None
    """The condition for being done."""
    description: str


class Shape(Struct, frozen=True):
    """The inputs, outputs and steps of an item."""

    inputs: Rows[Parameter]
    outputs: Rows[Returned]
    steps: Rows[StepRow]


def shape_of(kind: str, value: object) -> Shape | None:
    """Return the shape of an item; None if it has none. ``value``: what the reader of its kind returned."""
    said = KINDS[kind].load().as_json(value)
    inputs = [_parameter(entry) for entry in _named(said.get("inputs"), said.get("vars"))]
    outputs = [
        Returned(entry["name"], entry.get("type"), entry.get("description") or "")
        for entry in _named(said.get("outputs"))
    ]
    steps = [_step(entry) for name in _STEPS for entry in _tables(said.get(name))]
    if not inputs and not outputs and not steps:
        return None
    return Shape(
        rows(inputs, lambda row: 160 + sum(map(line_cost, (row.name, row.default or "", row.description)))),
        rows(outputs, lambda row: 120 + line_cost(row.name) + line_cost(row.description)),
        rows(steps, _step_cost),
    )


def _named(*given: object) -> Iterable[Mapping[str, Any]]:
    """Yield tables that have a name. A text in place of a table is its description."""
    for tables in given:
        if isinstance(tables, dict):
            for name, said in tables.items():
                yield {**(said if isinstance(said, dict) else {"description": said}), "name": name}
        else:
            yield from _tables(tables)


def _tables(given: object) -> Iterable[Mapping[str, Any]]:
    if isinstance(given, dict):
        yield given
    elif isinstance(given, list):
        yield from (each for each in given if isinstance(each, dict))


def _parameter(said: Mapping[str, Any]) -> Parameter:
    return Parameter(
        said["name"], said.get("type"), bool(said.get("required")), said.get("default"), said.get("description") or ""
    )


def _step(said: Mapping[str, Any]) -> StepRow:
    return StepRow(
        id=said.get("id") or "",
        title=said.get("title") or "",
        needs=tuple(said.get("needs") or ()),
        parallel=bool(said.get("parallel")),
        interactive=bool(said.get("interactive")),
        acceptance=said.get("acceptance"),
        description=said.get("description") or "",
    )


def _step_cost(step: StepRow) -> int:
    needs = sum(20 + line_cost(need) for need in step.needs)
    return 240 + needs + sum(map(line_cost, (step.id, step.title, step.acceptance or "", step.description)))
