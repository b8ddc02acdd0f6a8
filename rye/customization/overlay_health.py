"""The health of formula overlays, as pure functions (DECISIONS Role directives and formula overlays 9).

``overlay-health`` is *ok* (``N overlay(s) healthy``, ``no overlay files found``), a *warning* (stale step ids, an overlay for
an unknown formula or without overrides) or an *error* (the overlay is malformed or cannot be applied). The fix removes only
stale entries, and only if the file is well-formed and it is certain which formula it is for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from rye.customization.overlays import Overlay, OverlayReading, apply_overlay, read_overlay, remove_stale
from rye.errors import RyeError
from rye.items.formula.model import Formula
from rye.text.display import visible
from rye.text.line_form import BOM

Status = Literal["ok", "warning", "error"]
_ORDER: tuple[Status, ...] = ("ok", "warning", "error")


class Health(Struct, frozen=True):
    """The health of one file. ``stale``: step ids that the formula does not have; ``fixable``: ``--fix`` can remove them;
    ``applies``: whether all of it has an effect."""

    status: Status
    message: str
    stale: tuple[str, ...] = ()
    fixable: bool = False
    applies: bool = False


def worst(statuses: Sequence[Status]) -> Status:
    """The worst status; ``ok`` if there are none."""
    return max(statuses, key=_ORDER.index, default="ok")


def malformed(shown: str, reading: OverlayReading) -> Health:
    """The health of a file that cannot be read as an overlay. It must be fixed by hand."""
    first = next(finding for finding in reading.diagnostics if finding.severity == "error")
    place = f":{first.line}" if first.line is not None else ""
    return Health("error", f"malformed overlay {shown}{place}: {first.message}")


def unknown_formula(shown: str, name: str, meant: Sequence[str]) -> Health:
    """The health of an overlay whose formula does not exist here. It can be for another project, so it is never removed."""
    hint = f"; did you mean {' or '.join(meant)}?" if meant else ""
    return Health("warning", f"overlay for unknown formula {visible(name)}: {shown}{hint}")


def check(shown: str, name: str, overlay: Overlay, formula: Formula, *, certain: bool) -> Health:
    """The health of a well-formed overlay, checked against its resolved formula.

    ``certain``: the overlay applies to this formula only. Otherwise stale entries are reported but not fixable, since another
    project can have a formula of that name with these steps.
    """
    ids = {step.id for step in formula.steps}
    stale = tuple(dict.fromkeys(each.step_id for each in overlay.overrides if each.step_id not in ids))
    try:
        result = apply_overlay(formula.steps, overlay, formula_type=formula.type)
    except RyeError as error:
        return Health("error", f"{shown}: {error.message}")
    if stale:
        lines = [f"stale step IDs in {shown}:"]
        lines += [f'- step_id "{visible(each)}" not found in formula {name}' for each in stale]
        if not certain:
            lines.append("- not fixed: other projects use this file, and their formulas may have these steps")
        return Health("warning", "\n".join(lines), stale, certain)
    if result.warnings:
        return Health("warning", f"{shown}: {'; '.join(result.warnings)}")
    if not overlay.overrides:
        return Health("warning", f"{shown} has no step overrides, but disables the user's overlay", applies=True)
    return Health("ok", shown, applies=True)


def fixed(data: bytes, known_ids: frozenset[str]) -> tuple[bytes | None, tuple[str, ...]]:
    """The file without its stale entries (None if no others are left), and the removed step ids.

    Raises RyeError if the file is malformed or its entries cannot be removed line by line.
    """
    reading = read_overlay(data)
    if reading.overlay is None:
        raise RyeError("malformed-overlay", "The overlay is malformed.", "Fix it by hand first.")
    text = data.decode("utf-8")
    bom = BOM if text.startswith(BOM) else ""
    result = remove_stale(text.removeprefix(BOM), known_ids)
    return (None if result.text is None else (bom + result.text).encode("utf-8")), result.removed
