"""The health of formula overlays, as pure functions (DECISIONS Role directives and formula overlays 9).

``overlay-health`` is *ok* (``N overlay(s) healthy``, ``no overlay files found``), a *warning* (stale step ids, an overlay for
an unknown formula or without overrides) or an *error* (the overlay is malformed or cannot be applied). The fix removes only
stale entries, and only if the file is well-formed and it is certain which formula it is for.

What an update takes from an overlay is told as losses (DECISIONS Overrides 20): of an entry that was applied, if its step is gone
or the formula no longer declares a variable that it names; and of lines that an overlay took out of steps, if they are back in
others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from rye.customization.losses import Loss, lines_back
from rye.customization.overlays import (
    Overlay,
    OverlayReading,
    StepOverride,
    apply_overlay,
    read_overlay,
    remove_stale,
)
from rye.errors import RyeError
from rye.items.formula.model import Formula, Step
from rye.items.formula.reader import PLACEHOLDER
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


class Overlaid(Struct, frozen=True):
    """A resolved formula's steps as written, and with the overlay; none if the overlay could not be applied."""

    written: tuple[Step, ...] = ()
    told: tuple[Step, ...] = ()
    variables: frozenset[str] = frozenset()
    """The names that ``{{name}}`` has a value for."""


def overlaid(formula: Formula, overlay: Overlay) -> Overlaid:
    """A resolved formula with the overlay. Raises RyeError if the overlay cannot be applied."""
    told = apply_overlay(formula.steps, overlay, formula_type=formula.type).steps
    return Overlaid(formula.steps, told, frozenset(variable.name for variable in formula.vars))


def overlay_losses(
    shown: str, overlay: Overlay, before: Overlaid | None, after: Overlaid | RyeError
) -> tuple[Loss, ...]:
    """What a formula's overlay loses. ``before``: None if the steps until now are not known, so that every entry counts;
    ``after``: an error if the overlay cannot be applied any more."""
    known = _ids(before.written) if before is not None else None
    held = [one for one in overlay.overrides if known is None or one.step_id in known]
    if isinstance(after, RyeError):
        return tuple(_entry_lost(shown, one, f"is refused: {after.message}") for one in held)
    there = _ids(after.written)
    losses = [_entry_lost(shown, one, "has no effect: the step is gone") for one in held if one.step_id not in there]
    if before is None:
        return tuple(losses)
    for one in held:
        names = {match[1] for match in PLACEHOLDER.finditer(one.description or "")}
        lost = sorted((names & before.variables) - after.variables)
        if one.step_id in there and lost:
            named = ", ".join(f"{{{{{name}}}}}" for name in lost)
            losses.append(_entry_lost(shown, one, f"names what the formula does not declare any more: {named}"))
    back = lines_back(*map(_text_of, (before.written, before.told, after.told)))
    if back:
        losses.append(Loss(shown, 1, "what it took out of the steps is back", back))
    return tuple(losses)


def _ids(steps: Sequence[Step]) -> frozenset[str]:
    return frozenset(step.id for step in steps)


def _text_of(steps: Sequence[Step]) -> str:
    return "\n".join(text for step in steps for text in (step.title, step.description, step.acceptance or ""))


def _entry_lost(shown: str, entry: StepOverride, what: str) -> Loss:
    text = (entry.description or "").strip("\n")
    named = f"{entry.mode} {visible(entry.step_id)!r}"
    return Loss(shown, entry.line or 1, f"{named} {what}", tuple(text.split("\n")) if text else ())
