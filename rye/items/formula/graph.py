"""The graph of steps: unknown needs, cycles, a working order, text and Mermaid. No recursion, since formulas can be long."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence

from rye.items.formula.model import Formula, Step
from rye.text.spelling import near_miss


def ids_of(steps: Iterable[Step]) -> list[str]:
    """Return every id that a need can name: those of steps and, in containers, of their children, in order."""
    ids: list[str] = []
    for step in steps:
        ids.append(step.id)
        ids += [child for child in _children(step) if child]
    return ids


def _children(step: Step) -> Iterator[str]:
    waiting = deque(_tables(step.extra.get("children")))
    while waiting:
        child = waiting.popleft()
        identifier = child.get("id")
        if isinstance(identifier, str):
            yield identifier
        waiting.extend(_tables(child.get("children")))


def _tables(value: object) -> list[dict[str, object]]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def unknown_needs(steps: Sequence[Step], known: Iterable[str] | None = None) -> list[tuple[int, int, str, str | None]]:
    """Return needs that match no step: index of the step, index in its needs, the need, and the likely intended id or None."""
    ids = dict.fromkeys(ids_of(steps) if known is None else known)
    candidates = list(ids)[:500]
    return [
        (index, at, need, near_miss(need, candidates))
        for index, step in enumerate(steps)
        for at, need in enumerate(step.needs)
        if need not in ids
    ]


def cycle(steps: Iterable[Step]) -> list[str] | None:
    """Return a cycle among the needs as a path that ends where it began (``a, b, a``: a needs b, b needs a), or None."""
    needs = {step.id: step.needs for step in steps}
    done: set[str] = set()
    for start in needs:
        if start in done:
            continue
        path: list[str] = [start]
        on_path = {start}
        ways = [iter(needs[start])]
        while ways:
            following = next(ways[-1], None)
            if following is None:
                ways.pop()
                finished = path.pop()
                on_path.discard(finished)
                done.add(finished)
            elif following in on_path:
                return [*path[path.index(following) :], following]
            elif following in needs and following not in done:
                path.append(following)
                on_path.add(following)
                ways.append(iter(needs[following]))
    return None


def in_work_order(steps: Sequence[Step]) -> list[Step]:
    """Return steps after what they need, otherwise in the file's order; those on a cycle come last."""
    by_id = {step.id: step for step in steps}
    waiting = {step.id: len({need for need in step.needs if need in by_id}) for step in steps}
    after: dict[str, list[str]] = defaultdict(list)
    for step in steps:
        for need in dict.fromkeys(step.needs):
            after[need].append(step.id)
    ready = deque(step.id for step in steps if not waiting[step.id])
    order: list[str] = []
    while ready:
        current = ready.popleft()
        order.append(current)
        for follower in after[current]:
            waiting[follower] -= 1
            if waiting[follower] == 0:
                ready.append(follower)
    placed = set(order)
    return [by_id[name] for name in order] + [step for step in steps if step.id not in placed]


def shown_steps(formula: Formula) -> tuple[Step, ...]:
    """Return the steps that form the graph of a formula, whatever its type."""
    if formula.type == "convoy":
        return (*formula.legs, *((formula.synthesis,) if formula.synthesis else ()))
    return {"workflow": formula.steps, "expansion": formula.template, "aspect": formula.aspects}.get(formula.type, ())


def as_text(formula: Formula) -> str:
    """Return the steps in a working order, each with its needs, ending with a newline. Empty without steps."""
    lines: list[str] = []
    for number, step in enumerate(in_work_order(shown_steps(formula)), 1):
        marks = [mark for mark, holds in (("parallel", step.parallel), ("interactive", step.interactive)) if holds]
        title = f"  {step.title}" if step.title else ""
        lines.append(f"{number}. {step.id}{title}" + (f"  [{', '.join(marks)}]" if marks else ""))
        if step.needs:
            lines.append(f"   needs {', '.join(step.needs)}")
    return "\n".join(lines) + "\n" if lines else ""


def as_mermaid(formula: Formula) -> str:
    """Return a Mermaid flowchart with an arrow from each step to those that need it."""
    steps = shown_steps(formula)
    ids = {step.id: f"s{number}" for number, step in enumerate(steps)}
    out = ["flowchart TD"]
    for step in steps:
        out.append(f'    {ids[step.id]}["{_escaped(step.title or step.id)}"]')
    for step in steps:
        out += [f"    {ids[need]} --> {ids[step.id]}" for need in dict.fromkeys(step.needs) if need in ids]
    return "\n".join(out) + "\n"


def _escaped(text: str) -> str:
    """Escape a label for double quotes: Mermaid accepts entity codes there, and nothing else can end the label."""
    return "".join(c if c.isalnum() or c in " -_.:,/" else f"#{ord(c)};" for c in text)
