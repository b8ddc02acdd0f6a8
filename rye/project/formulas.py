"""Formulas that name other formulas: the one beside it comes first, then the spaces (DECISIONS Role directives 6)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rye.errors import RyeError
from rye.items.formula.model import Formula
from rye.items.formula.resolution import resolve
from rye.items.identity import is_segment
from rye.project.item_file import ItemFile, load_item
from rye.project.target import Target, find_target, require_parsed


def resolved_formula(found: Target, cwd: Path) -> Formula:
    """The formula with ``extends`` and ``compose.expand`` resolved. Raises RyeError for what is not valid or does not resolve."""
    return resolve(valid_formula(found.item), formula_loader(found, cwd))


def formula_loader(found: Target, cwd: Path) -> Callable[[str], Formula | None]:
    """Looks a formula up by its name: beside ``found``, then in the spaces around ``cwd``."""
    beside = found.item.path.parent

    def load(name: str) -> Formula | None:
        if not is_segment(name):
            return None
        path = beside / f"{name}.formula.toml"
        if path.is_file():
            return valid_formula(load_item(path, kind="formula"))
        try:
            return valid_formula(find_target(f"formula:{name}", cwd).item)
        except RyeError as error:
            if error.code == "no-such-item":
                return None
            raise

    return load


def valid_formula(item: ItemFile) -> Formula:
    """The formula of a file without errors.

    One with an error may lack what the error is about, such as a parent: half a workflow is no workflow.
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
