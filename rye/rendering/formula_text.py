"""A formula as text for an agent: its steps in order, each with what it needs and when it is done.

The formula must be resolved, with overlays applied and variables filled in. Nothing is interpreted here.
"""

from __future__ import annotations

from collections.abc import Sequence

from rye.items.formula.graph import in_work_order
from rye.items.formula.model import Formula, Step


def formula_text(formula: Formula) -> str:
    """Return the title and description, then the steps, without a final newline."""
    parts = [f"# {formula.formula}", formula.description.strip("\n"), steps_text(formula.steps)]
    return "\n\n".join(part for part in parts if part.strip())


def steps_text(steps: Sequence[Step]) -> str:
    """Return the steps numbered from 1: in the file's order if that is a working order, otherwise each after its needs."""
    ordered = steps if _is_work_order(steps) else in_work_order(steps)
    return "\n\n".join(_step(number, step) for number, step in enumerate(ordered, 1))


def _is_work_order(steps: Sequence[Step]) -> bool:
    names = {step.id for step in steps}
    seen: set[str] = set()
    for step in steps:
        if any(need in names and need not in seen for need in step.needs):
            return False
        seen.add(step.id)
    return True


def _step(number: int, step: Step) -> str:
    marks = [mark for mark, holds in (("parallel", step.parallel), ("interactive", step.interactive)) if holds]
    heading = f"## Step {number}: {step.title or step.id} ({', '.join([step.id, *marks])})"
    needs = f"Needs: {', '.join(step.needs)}" if step.needs else ""
    done = f"Done when: {step.acceptance.strip()}" if step.acceptance and step.acceptance.strip() else ""
    return "\n\n".join(part for part in (heading, needs, step.description.strip("\n"), done) if part.strip())
