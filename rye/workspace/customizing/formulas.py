"""Formulas that refer to other formulas: first in the same folder, then in the spaces (DECISIONS Role directives 6).

Each formula found is checked like the item itself (:mod:`rye.workspace.items.effective_item`), because a formula inherits
its parent's text. Who uses that text also requires that the user agreed to the parent.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rye.errors import RyeError, UsageError
from rye.items.formula.model import Formula
from rye.items.formula.resolution import resolve
from rye.items.identity import Reference, is_segment
from rye.project.item_file import ItemFile, load_item
from rye.project.spaces import looks_like_path
from rye.project.target import require_parsed
from rye.workspace.context import Context
from rye.workspace.items.effective_item import EffectiveItem, PublishedItems, Require, checked_item, effective_item


def find_formula(context: Context, argument: str) -> EffectiveItem:
    """The formula ``FILE|ID``, as published. Raises UsageError for an item of another kind."""
    kind = None if looks_like_path(argument, context.cwd) else "formula"
    found = effective_item(context, argument, kind, base=True)
    if found.item.kind.name != "formula":
        raise UsageError(
            "wrong-kind",
            f"{argument!r} is a {found.item.kind.name}, not a formula.",
            "Overlays apply only to formulas.",
            what="formula",
        )
    return found


def resolved_formula(
    context: Context, item: ItemFile, require: Require, items: PublishedItems | None = None
) -> Formula:
    """The formula with ``extends`` and ``compose`` resolved. ``require`` is called with each formula that it refers to.
    ``items``: of a caller that looks at many.

    Raises RyeError if it is invalid or cannot be resolved, and what ``require`` raises.
    """
    return resolve(valid_formula(item), formula_loader(context, item.path.parent, require, items))


def nothing_required(_: EffectiveItem) -> None:
    """For callers that have asked about all formulas, or that compare a formula with its overlay, where no agent reads it."""


def formula_loader(
    context: Context, folder: Path, require: Require, items: PublishedItems | None = None
) -> Callable[[str], Formula | None]:
    """Return a function that finds a formula by name: first in ``folder``, then in the spaces."""

    def load(name: str) -> Formula | None:
        if not is_segment(name):
            return None
        path = folder / f"{name}.formula.toml"
        if path.is_file():
            item = load_item(path, kind="formula")
            found = EffectiveItem(item=item, entry=None, project=None, installed=checked_item(context, item))
        else:
            try:
                if items is not None:
                    found = items.find(Reference(name, "formula"))
                else:
                    found = effective_item(context, f"formula:{name}", base=True)
            except RyeError as error:
                if error.code == "no-such-item":
                    return None
                raise
        require(found)
        return valid_formula(found.item)

    return load


def valid_formula(item: ItemFile) -> Formula:
    """The formula of a file, if it has no errors.

    A formula with an error can lack a part, such as its parent, and half a workflow must not be used.
    """
    value = require_parsed(item)
    assert isinstance(value, Formula)
    errors = [finding for finding in item.reading.diagnostics if finding.severity == "error"]
    if errors:
        raise RyeError(
            "invalid-item",
            f"{item.shown}: {errors[0].message}",
            f"`rye validate {item.shown}` shows all findings.",
            details={"diagnostics": [finding.as_json() for finding in item.reading.diagnostics]},
        )
    return value
