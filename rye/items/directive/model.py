"""A directive as a value, read by :mod:`rye.items.directive.reader`. Lines and columns count from 1 in the file."""

from __future__ import annotations

from decimal import Decimal

from msgspec import Struct

from rye.items.directive.expressions import Expression
from rye.items.directive.input_values import InputDeclaration
from rye.items.reading import Dependency
from rye.items.rights import Call, Permission

RELATIONS = ("requires", "depends_on", "used_by", "suggests", "conflicts_with", "example_of")
"""The relationship elements, direct children of ``<context>`` (R09)."""
OPAQUE = ("template", "example", "raw")
"""Elements of the fence whose content is text, whatever it looks like (DECISIONS Directives 11)."""


class Model(Struct, frozen=True):
    """``<model>``: which model to use."""

    tier: str
    id: str | None = None
    fallback: str | None = None
    fallback_id: str | None = None
    text: str = ""
    """How the model should reason, in a sentence or two."""


class CostContext(Struct, frozen=True):
    """``<context>`` in ``<cost>``: how much of the model's context a run is expected to use."""

    estimated_usage: str | None = None
    """``low``, ``medium`` or ``high``."""
    turns: int | None = None
    spawn_threshold: int | None = None
    max_tokens: int | None = None
    """The element's text: the maximum number of context tokens."""


class Spend(Struct, frozen=True):
    """``<spend>``: the maximum amount of money."""

    amount: Decimal
    currency: str | None = None

    @property
    def in_dollars(self) -> bool:
        """Whether the amount can be counted: prices are in dollars, and exchange rates are not known here."""
        return self.currency is None or self.currency.upper() == "USD"


class Cost(Struct, frozen=True):
    """``<cost>``: what a run is expected to use."""

    context: CostContext | None = None
    duration: int | None = None
    """The maximum in seconds."""
    spend: Spend | None = None


class Context(Struct, frozen=True):
    """``<context>`` in ``<metadata>``: related files and items."""

    related_files: tuple[str, ...] = ()
    dependencies: tuple[str, ...] = ()
    """External dependencies as written (``pytest>=7.0``)."""
    relations: tuple[Dependency, ...] = ()
    """In document order."""


class Hook(Struct, frozen=True, kw_only=True):
    """One ``<hook>``. ``expression`` is None if ``<when>`` does not parse; such a hook never fires."""

    when: str
    expression: Expression | None
    item_type: str
    item_id: str
    inputs: tuple[tuple[str, str], ...]
    line: int
    column: int
    when_line: int
    when_column: int


class Output(Struct, frozen=True):
    """One declared ``<output>``."""

    name: str
    description: str
    type: str | None = None
    line: int | None = None


class LegacyOutputs(Struct, frozen=True):
    """``<success>`` and ``<failure>`` messages, each None if the element is missing."""

    success: str | None = None
    failure: str | None = None
    line: int | None = None
    success_lines: tuple[int, ...] = ()
    """The line in the file of each line of ``success``."""
    failure_lines: tuple[int, ...] = ()


class Section(Struct, frozen=True):
    """An opaque section of the fence: the text of ``<template>``, ``<example>`` or ``<raw>``."""

    kind: str
    attributes: tuple[tuple[str, str], ...]
    text: str
    """Its text, or, if it contains elements, everything between its tags as written."""
    line: int
    column: int


class Action(Struct, frozen=True, kw_only=True):
    """An action element in a process step: ``<execute>``, ``<search>``, ``<load>`` or ``<sign>``."""

    primary: str
    item_type: str | None
    item_id: str | None
    attributes: tuple[tuple[str, str], ...]
    """All attributes, including ``item_type`` and ``item_id``."""
    params: tuple[tuple[str, str], ...]
    """Its ``<param name value/>`` children."""
    line: int
    column: int


class Step(Struct, frozen=True):
    """One ``<step>`` of a process."""

    name: str
    written: str
    """Its content as written."""
    description: str | None
    """The text of its ``<description>`` element."""
    actions: tuple[Action, ...]
    line: int
    column: int

    @property
    def text(self) -> str:
        """The content without its common indent and outer blank lines. Computed on access, since few callers need it."""
        return _dedented(self.written).strip("\n").rstrip()


def _dedented(text: str) -> str:
    """``textwrap.dedent`` without its import: empties whitespace-only lines, then removes the indentation that all others
    share."""
    lines = [line if line.strip(" \t") else "" for line in text.split("\n")]
    filled = [line for line in lines if line]
    if not filled:
        return "\n".join(lines)
    first, last = min(filled), max(filled)  # a prefix common to these two is common to all lines
    margin = 0
    while margin < len(first) and first[margin] in " \t" and first[margin] == last[margin : margin + 1]:
        margin += 1
    return "\n".join([line[margin:] for line in lines]) if margin else "\n".join(lines)


class Process(Struct, frozen=True):
    """The ``<process>`` section after the fence."""

    steps: tuple[Step, ...]
    text: str
    """The content between its tags, as written."""
    source: str
    """The whole section with its tags, as written."""
    line: int
    column: int
    end_line: int


class Criterion(Struct, frozen=True):
    """One ``<criterion>`` of the success criteria."""

    text: str
    line: int


class Directive(Struct, frozen=True, kw_only=True):
    """A directive. Parts that break a rule are missing; nothing invalid ever grants anything."""

    name: str
    version: str
    description: str
    category: str
    author: str
    title: str
    """The text of the Markdown title above the fence, or an empty string."""
    title_line: int | None
    introduction: str
    """The Markdown between the title and the fence."""
    introduction_lines: tuple[int, ...]
    """The line in the file of each line of ``introduction``. ``description_lines`` is the same for ``description``."""
    description_lines: tuple[int, ...]
    model: Model | None
    limits: dict[str, int | Decimal | str]
    """``turns`` and ``tokens`` under their full names ``max_turns`` and ``max_tokens``."""
    permissions: tuple[Permission, ...]
    cost: Cost | None
    context: Context
    hooks: tuple[Hook, ...]
    inputs: tuple[InputDeclaration, ...]
    outputs: tuple[Output, ...] | LegacyOutputs
    sections: tuple[Section, ...]
    body: str
    """Everything after the fence, as written (DECISIONS Directives 18)."""
    body_line: int
    """The line in the file where it begins."""
    process: Process | None
    success_criteria: tuple[Criterion, ...]
    success_criteria_source: str
    """The whole ``<success_criteria>`` section with its tags, as written, or an empty string."""
    success_criteria_line: int | None
    calls: tuple[Call, ...]
    """Every call in the process, in order."""
    line: int
    """The column of the ``<directive>`` element."""

    @property
    def capabilities(self) -> tuple[str, ...]:
        """The capability strings, sorted, without duplicates."""
        return tuple(sorted({permission.capability for permission in self.permissions}))

    @property
    def maximums(self) -> dict[str, int | Decimal]:
        """How much a run may use at most, by the names of :mod:`rye.runtime.limits`: what ``<limits>`` and ``<cost>`` say; the
        smaller where both do."""
        numbers = {name: self.limits.get(written) for name, written in _MAXIMUMS.items()}
        found = {
            name: number
            for name, number in numbers.items()
            if isinstance(number, Decimal if name == "spend" else int) and number is not None
        }
        cost, context = self.cost, self.cost.context if self.cost is not None else None
        others = {
            "turns": context.turns if context is not None else None,
            "tokens": context.max_tokens if context is not None else None,
            "spend": cost.spend.amount
            if cost is not None and cost.spend is not None and cost.spend.in_dollars
            else None,
            "duration": cost.duration if cost is not None else None,
        }
        for name, number in others.items():
            if number is not None:
                found[name] = min(found.get(name, number), number)
        return found

    @property
    def model_choice(self) -> dict[str, str]:
        """Which models a run may use, as ``<model>`` says: tier, id, fallback."""
        if self.model is None:
            return {}
        written = {"tier": self.model.tier, "id": self.model.id}
        written |= {"fallback": self.model.fallback, "fallback_id": self.model.fallback_id}
        return {name: text for name, text in written.items() if text}


_MAXIMUMS = {
    "turns": "max_turns",
    "tokens": "max_tokens",
    "spend": "spend",
    "duration": "duration_seconds",
    "depth": "depth",
    "spawns": "spawns",
    "calls": "calls",
    "tool_seconds": "tool_seconds",
}
"""The names in ``<limits>``."""
