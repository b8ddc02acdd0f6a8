"""The elements of a directive as a table: which children, attributes and values each accepts. For editors.

The readers (:mod:`rye.items.directive.reader` and its neighbours) decide. ``tests/items/test_directive_grammar.py`` checks that
they accept every child and attribute of this table and no others. Keys include the parent, because two elements are called
``context`` and the content of ``<execute>`` depends on where it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from rye.items.capabilities import ITEM_TYPES, PRIMARIES
from rye.items.directive.input_values import INPUT_TYPES
from rye.items.directive.metadata import LIMITS
from rye.items.directive.model import RELATIONS


class ElementRule(Struct, frozen=True):
    """What the format allows in one element at one place."""

    says: str
    """A sentence on what it is for."""
    children: tuple[str, ...] = ()
    attributes: Mapping[str, tuple[str, ...]] = {}
    """Attribute names, each with its allowed values; an empty tuple allows any text."""
    text: str = ""
    """What its text is: ``capability`` (a path), ``item`` (an id), ``usage`` and so on; empty if it is free text."""


_USAGE = ("low", "medium", "high")
_TYPES = {"type": INPUT_TYPES}
_RELATION_SAYS = {
    "requires": "A feature that the project provides, or an item that must be present.",
    "depends_on": "An item that is installed along with this one.",
    "used_by": "An item that uses this one. For readers.",
    "suggests": "An item that goes well with this one. It is shown, not installed.",
    "conflicts_with": "An item that must not be installed together with this one.",
    "example_of": "An item that this one is an example of. For readers.",
}
_PRIMARY_SAYS = {
    "execute": "What may be run.",
    "search": "What may be searched.",
    "load": "What may be read.",
    "sign": "What may be signed.",
}

GRAMMAR: Mapping[str, ElementRule] = {
    "directive": ElementRule(
        "A workflow for an agent.", ("metadata", "inputs", "outputs"), {"name": (), "version": ()}
    ),
    "directive/metadata": ElementRule(
        "What the directive is and what it can do.",
        ("description", "category", "author", "model", "limits", "permissions", "cost", "context", "hooks"),
    ),
    "metadata/description": ElementRule("What the directive does, in a sentence."),
    "metadata/category": ElementRule("The folder below `directives/`."),
    "metadata/author": ElementRule("Who wrote it."),
    "metadata/model": ElementRule(
        "Which model to use and how it should reason.", (), {"tier": (), "id": (), "fallback": (), "fallback_id": ()}
    ),
    "metadata/limits": ElementRule("The most that a run can use.", (), dict.fromkeys(LIMITS, ())),
    "metadata/permissions": ElementRule(
        "What a run is allowed to do. Everything else is denied.", (*PRIMARIES, "acknowledge")
    ),
    **{f"permissions/{name}": ElementRule(_PRIMARY_SAYS[name], ITEM_TYPES) for name in PRIMARIES},
    "permissions/acknowledge": ElementRule("A note to the reader. It grants nothing."),
    **{
        f"{primary}/{item_type}": ElementRule(f"A path of {item_type} items, with wildcards.", text="capability")
        for primary in PRIMARIES
        for item_type in ITEM_TYPES
    },
    "metadata/cost": ElementRule("What a run is expected to use.", ("context", "duration", "spend")),
    "cost/context": ElementRule(
        "The maximum number of tokens, and how much of the context a run uses.",
        (),
        {"estimated_usage": _USAGE, "turns": (), "spawn_threshold": ()},
    ),
    "cost/duration": ElementRule("The maximum in seconds."),
    "cost/spend": ElementRule("The maximum amount of money.", (), {"currency": ("USD", "EUR")}),
    "metadata/context": ElementRule("Related files and items.", ("related_files", "dependencies", *RELATIONS)),
    "context/related_files": ElementRule("A list of files."),
    "context/dependencies": ElementRule("A list of dependencies to install outside of Rye."),
    **{f"context/{name}": ElementRule(_RELATION_SAYS[name], (), {"version": ()}, text="item") for name in RELATIONS},
    "metadata/hooks": ElementRule("What happens when a condition holds.", ("hook",)),
    "hooks/hook": ElementRule("One condition and one action.", ("when", "execute", "inputs")),
    "hook/when": ElementRule("An expression over the event. Write `&lt;` for `<`."),
    "hook/execute": ElementRule("The item that is run.", (), {"item_type": ITEM_TYPES}, text="item"),
    "hook/inputs": ElementRule("Values for the item's inputs; `${name}` inserts a value of the event."),
    "directive/inputs": ElementRule("What a caller passes in.", ("input",)),
    "inputs/input": ElementRule(
        "One value that a caller passes in.", (), {"name": (), **_TYPES, "required": ("true", "false"), "default": ()}
    ),
    "directive/outputs": ElementRule("What a run returns.", ("output",)),
    "outputs/output": ElementRule("One value that a run returns.", (), {"name": (), **_TYPES}),
}
"""The fence, by ``parent/element``; the root by its name."""

_CALL = {"item_type": ITEM_TYPES, "item_id": ()}
SECTIONS: Mapping[str, ElementRule] = {
    "process": ElementRule("The steps to follow.", ("step",)),
    "process/step": ElementRule("One step.", ("description", *PRIMARIES), {"name": ()}),
    "step/description": ElementRule("What the step does."),
    **{f"step/{name}": ElementRule(_PRIMARY_SAYS[name], ("param",), _CALL) for name in PRIMARIES},
    **{f"{name}/param": ElementRule("One argument of the call.", (), {"name": (), "value": ()}) for name in PRIMARIES},
    "success_criteria": ElementRule("What is true when the work is done.", ("criterion",)),
    "success_criteria/criterion": ElementRule("One thing that can be checked."),
}
"""The sections after the fence."""
AFTER_THE_FENCE = ("process", "success_criteria")


def rule_at(path: Sequence[str], *, fence: bool) -> ElementRule | None:
    """The row for the last element of a path, or None if the table has no such element there."""
    table = GRAMMAR if fence else SECTIONS
    if not path:
        return None
    return table.get(path[0]) if len(path) == 1 else table.get(f"{path[-2]}/{path[-1]}")


def children_at(path: Sequence[str], *, fence: bool) -> tuple[str, ...]:
    """Names of the elements allowed inside the last element of a path; for an empty path, at the top."""
    if not path:
        return ("directive",) if fence else AFTER_THE_FENCE
    rule = rule_at(path, fence=fence)
    return rule.children if rule is not None else ()
