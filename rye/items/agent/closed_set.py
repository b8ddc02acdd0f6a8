"""Rules across the agents of one folder, a closed set (DECISIONS Agents 7, 8, 9, 11)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from rye.items.agent.model import KNOWN_TOOLS, TERMINAL, Agent, unknown_tool_hint
from rye.items.reading import Reading, ReadOptions
from rye.text.diagnostics import Diagnostic, in_order
from rye.text.spelling import near_miss


def check_set(
    readings: Mapping[str, Reading[Agent]], options: ReadOptions | None = None
) -> dict[str, tuple[Diagnostic, ...]]:
    """Return findings by path, in path order: unknown transition targets, unknown tools, duplicate names.

    A file that did not parse is not an agent, so transitions to it are unknown; its own findings say why.
    """
    agents = {path: value for path in sorted(readings) if (value := readings[path].value) is not None}
    names = {agent.name for agent in agents.values()}
    known_tools = {*KNOWN_TOOLS, *(options.tools if options else ())}
    places: dict[str, list[str]] = defaultdict(list)
    for path, agent in agents.items():
        places[agent.name.lower()].append(path)
    diagnostics: dict[str, tuple[Diagnostic, ...]] = {}
    for path, agent in agents.items():
        here: list[Diagnostic] = []
        others = [other for other in places[agent.name.lower()] if other != path]
        if others:
            message = f"The name {agent.name!r} is used in {path} and in {', '.join(others)}."
            here.append(Diagnostic("error", "A09", message, agent.lines.get("name")))
        for key, target in agent.targets.items():
            if target not in names and target != TERMINAL:
                meant = near_miss(target, sorted(names | {TERMINAL}))
                hint = f"Did you mean {meant}?" if meant else f"Add the agent, or use {TERMINAL!r} to end the run."
                message = f"transitions.{key}: transition target {target!r} not found in this set."
                here.append(Diagnostic("error", "A07", message, agent.lines.get(key), hint=hint))
        for tool in dict.fromkeys((agent.tools or {}).get("allowed") or ()):
            if isinstance(tool, str) and tool not in known_tools:
                message = f"Unknown tool {tool!r} in allowed list."
                hint = unknown_tool_hint(tool, known_tools)
                here.append(Diagnostic("error", "A08", message, agent.lines.get(f"tool:{tool}"), hint=hint))
        if here:
            diagnostics[path] = in_order(here)
    return diagnostics
