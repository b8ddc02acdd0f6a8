"""What a formula's overlay loses by an update (DECISIONS Overrides 20).

An entry is lost if it was applied and its step is gone, or if the formula no longer declares a variable that it names. Lines of
steps that an overlay took out may not be back in other steps.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from rye.customization.losses import Loss, lines_back
from rye.customization.overlays import Overlay, StepOverride, apply_overlay
from rye.errors import RyeError
from rye.items.formula.model import Formula, Step
from rye.items.formula.reader import PLACEHOLDER
from rye.text.display import visible


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
