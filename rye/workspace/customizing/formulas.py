"""Formulas that name other formulas: the one in the same folder comes first, then the spaces (DECISIONS Role directives 6).

Each formula that is looked up is checked like the item itself (:mod:`rye.workspace.items.effective_item`): the parent of a
formula is half of its text.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rye.errors import RyeError, UsageError
from rye.items.formula.model import Formula
from rye.items.formula.resolution import resolve
from rye.items.identity import is_segment
from rye.project.item_file import ItemFile, load_item
from rye.project.spaces import looks_like_path
from rye.project.target import require_parsed
from rye.workspace.context import Context
from rye.workspace.items.effective_item import EffectiveItem, effective_item, refuse_changed


def find_formula(context: Context, argument: str) -> EffectiveItem:
    """The formula that ``FILE|ID`` means, as published. Raises UsageError for an item of another kind."""
    kind = None if looks_like_path(argument, context.cwd) else "formula"
    found = effective_item(context, argument, kind, base=True)
    if found.item.kind.name != "formula":
        raise UsageError("not-a-formula", f"{argument!r} is a {found.item.kind.name}.", "Overlays are for formulas.")
    return found


def resolved_formula(context: Context, item: ItemFile) -> Formula:
    """The formula with ``extends`` and ``compose`` resolved. Raises RyeError for what is not valid or does not resolve."""
    return resolve(valid_formula(item), formula_loader(context, item.path.parent))


def formula_loader(context: Context, folder: Path) -> Callable[[str], Formula | None]:
    """Looks a formula up by its name: in ``folder``, then in the spaces."""

    def load(name: str) -> Formula | None:
        if not is_segment(name):
            return None
        path = folder / f"{name}.formula.toml"
        if path.is_file():
            item = load_item(path, kind="formula")
            refuse_changed(context, item)
            return valid_formula(item)
        try:
            return valid_formula(effective_item(context, f"formula:{name}", base=True).item)
        except RyeError as error:
            if error.code == "no-such-item":
                return None
            raise

    return load


def valid_formula(item: ItemFile) -> Formula:
    """The formula of a file without errors.

    One with an error may lack what the error is about, such as a parent: half a workflow is not a workflow.
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
