"""The transition graph of a set of agents: which hand over to which, which are unreachable, which never end.

Nodes are the agents of the set. ``complete`` and targets outside the set are exits, since what happens after them is unknown.
``onFailure`` defaults to the agent itself. The *entry* is the given agent. Without one, it is the agent that reaches the most
others (the first by name if tied), among those that no other agent hands over to, or among all if each has a predecessor.
*Unreachable*: there is no path from the entry. *Non-terminating*: there is no path to any exit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct

from rye.items.agent.model import TERMINAL, Agent

_LABELS = {"onSuccess": "success", "onFailure": "failure", "onMaxIterations": "max iterations"}


class Edge(Struct, frozen=True, order=True):
    """One transition; ``label`` is success, failure or max iterations."""

    source: str
    target: str
    label: str


class AgentGraph(Struct, frozen=True):
    """Names everywhere, sorted."""

    agents: tuple[str, ...]
    edges: tuple[Edge, ...]
    entry: str | None
    unreachable: tuple[str, ...]
    non_terminating: tuple[str, ...]
    outside: tuple[str, ...]
    """Targets other than ``complete`` that are not agents of the set."""

    def as_json(self) -> dict[str, object]:
        """Return the graph for ``rye show`` as JSON."""
        return {
            "agents": list(self.agents),
            "edges": [{"from": e.source, "to": e.target, "on": e.label} for e in self.edges],
            "entry": self.entry,
            "unreachable": list(self.unreachable),
            "non_terminating": list(self.non_terminating),
            "outside": list(self.outside),
        }


def build(agents: Iterable[Agent], entry: str | None = None) -> AgentGraph:
    """Build the graph of a set. An ``entry`` that is not an agent of the set is ignored."""
    by_name = {agent.name: agent for agent in agents}
    names = tuple(sorted(by_name))
    edges = tuple(
        Edge(name, target, _LABELS[key])
        for name in names
        for key in _LABELS
        if (target := by_name[name].resolved_targets.get(key)) is not None
    )
    after: dict[str, set[str]] = {name: set() for name in names}
    before: dict[str, set[str]] = {}
    for edge in edges:
        after[edge.source].add(edge.target)
        before.setdefault(edge.target, set()).add(edge.source)
    start = entry if entry in by_name else _entry(names, after, before)
    reached = _closure([start], after) if start else set()
    exits = [target for target in before if target not in by_name]
    ending = _closure(exits, before)
    return AgentGraph(
        names,
        edges,
        start,
        tuple(name for name in names if name not in reached),
        tuple(name for name in names if name not in ending),
        tuple(sorted(target for target in exits if target != TERMINAL)),
    )


def _entry(names: tuple[str, ...], after: Mapping[str, set[str]], before: Mapping[str, set[str]]) -> str | None:
    candidates = [name for name in names if not before.get(name, set()) - {name}] or list(names)
    return max(candidates, key=lambda name: (len(_closure([name], after)), [-ord(c) for c in name]), default=None)


def _closure(starts: Iterable[str], edges: Mapping[str, set[str]]) -> set[str]:
    seen, waiting = set(starts), list(starts)
    while waiting:
        for target in edges.get(waiting.pop(), ()):
            if target not in seen:
                seen.add(target)
                waiting.append(target)
    return seen


def as_text(graph: AgentGraph) -> str:
    """Return one line per agent with its marks and one indented line per transition, ending with a newline."""
    lines: list[str] = []
    for name in graph.agents:
        marks = [
            mark
            for mark, holds in (
                ("entry", name == graph.entry),
                ("unreachable", name in graph.unreachable),
                ("non-terminating", name in graph.non_terminating),
            )
            if holds
        ]
        lines.append(name + (f"  [{', '.join(marks)}]" if marks else ""))
        for edge in graph.edges:
            if edge.source == name:
                note = "  (not in this set)" if edge.target in graph.outside else ""
                lines.append(f"  {edge.label} → {edge.target}{note}")
    return "\n".join(lines) + "\n" if lines else ""


def as_mermaid(graph: AgentGraph) -> str:
    """Return a Mermaid flowchart. Unreachable and non-terminating agents have classes with those names."""
    targets = sorted({edge.target for edge in graph.edges} - set(graph.agents))
    ids = {name: f"a{number}" for number, name in enumerate((*graph.agents, *targets))}
    out = ["flowchart LR"]
    out += [f'    {ids[name]}["{_escaped(name)}"]' for name in graph.agents]
    for name in targets:
        left, right = ("([", "])") if name == TERMINAL else ("{{", "}}")
        out.append(f'    {ids[name]}{left}"{_escaped(name)}"{right}')
    out += [f"    {ids[e.source]} -->|{e.label}| {ids[e.target]}" for e in graph.edges]
    for mark, style, names in (
        ("unreachable", "stroke-dasharray:5 5,color:#888", graph.unreachable),
        ("nonTerminating", "stroke:#c00,stroke-width:3px", graph.non_terminating),
    ):
        if names:
            out.append(f"    classDef {mark} {style}")
            out.append(f"    class {','.join(ids[name] for name in names)} {mark}")
    return "\n".join(out) + "\n"


def _escaped(text: str) -> str:
    """Escape a label for double quotes: Mermaid accepts entity codes there, and nothing else can end the label."""
    return "".join(c if c.isalnum() or c in " -_.:,/" else f"#{ord(c)};" for c in text)
