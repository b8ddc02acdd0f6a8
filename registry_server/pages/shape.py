"""What an item takes, returns and does step by step, for a page: tables that its own reader made, not its text. Pure.

The reader is the client's, and its JSON is that of ``rye show`` (:class:`rye.items.reading.KindReader`): whatever kind says
``inputs`` or ``vars``, ``outputs`` or steps there has them on its page. The text says it all again, so nothing is lost here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

from registry_server.pages.fitting import Rows, line_cost, rows
from rye.items.kinds import KINDS
from rye.items.published import read_published
from rye.registry.protocol.statements import Release

_STEPS = ("steps", "legs", "synthesis", "template", "aspects")
"""Where steps stand, in the order of the file's format."""


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


class StepRow(Struct, frozen=True):
    """A step of a formula."""

    id: str
    title: str
    needs: tuple[str, ...]
    """Steps that come before it."""
    parallel: bool
    interactive: bool
    """Whether it waits for a person."""
    acceptance: str | None
    """When it is done."""
    description: str


class Shape(Struct, frozen=True):
    inputs: Rows[Parameter]
    outputs: Rows[Returned]
    steps: Rows[StepRow]


def shape_of(release: Release, data: bytes) -> Shape | None:
    """None: it has nothing of all this, or cannot be read. ``data``: the item's own file."""
    kind = KINDS[release.identity.kind]
    paths = [entry.path for entry in release.attached]
    value = read_published(release.identity, release.file.suffix, data, paths).value
    if value is None:
        return None
    said = kind.load().as_json(value)
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
    """Tables with a name each. A text in place of a table is its description."""
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
        said.get("id") or "",
        said.get("title") or "",
        tuple(said.get("needs") or ()),
        bool(said.get("parallel")),
        bool(said.get("interactive")),
        said.get("acceptance"),
        said.get("description") or "",
    )


def _step_cost(step: StepRow) -> int:
    needs = sum(20 + line_cost(need) for need in step.needs)
    return 240 + needs + sum(map(line_cost, (step.id, step.title, step.acceptance or "", step.description)))
