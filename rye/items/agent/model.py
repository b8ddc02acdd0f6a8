"""An agent as a value (SPEC-0006; DECISIONS Agents), and the words that the format gives a meaning to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import Struct, field

from rye.text.spelling import near_miss

KNOWN_TOOLS = ("Read", "Write", "Edit", "Glob", "Grep", "Bash", "WebFetch", "WebSearch")
"""The tools that every agent program of the format has (DECISIONS Agents 8)."""
TERMINAL = "complete"
"""The state that ends a run; no agent's name (DECISIONS Agents 7)."""
TRANSITIONS = ("onSuccess", "onFailure", "onMaxIterations")


class Agent(Struct, frozen=True):
    """One agent. The sections are as written, whole numbers as integers; an absent section is None."""

    name: str
    display_name: str
    when_to_use: str
    transitions: dict[str, Any]
    """As written: the default of ``onFailure`` is not filled in, unknown keys are kept."""
    system_prompt: str
    tools: dict[str, Any] | None = None
    limits: dict[str, Any] | None = None
    provider: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None
    version: str | None = None
    extra: dict[str, Any] = field(default_factory=dict)
    """Unknown keys at the top level, kept."""
    lines: dict[str, int] = field(default_factory=dict)
    """Lines of ``name``, each transition (``onSuccess``…) and each allowed tool (``tool:Read``)."""

    @property
    def targets(self) -> dict[str, str]:
        """The transitions that are written, by key, without unknown keys."""
        return {key: self.transitions[key] for key in TRANSITIONS if key in self.transitions}

    @property
    def resolved_targets(self) -> dict[str, str]:
        """The same with ``onFailure`` defaulting to the agent itself (DECISIONS Agents 7)."""
        return {"onFailure": self.name, **self.targets}

    @property
    def requires(self) -> tuple[str, ...]:
        """Other agents that this one hands over to: requirements that the file itself cannot fulfil (DECISIONS Agents 7)."""
        return tuple(sorted({t for t in self.targets.values() if t not in (self.name, TERMINAL)}))


def unknown_tool_hint(tool: str, known: Iterable[str]) -> str:
    """What to do about a tool that is not among the ``known`` ones."""
    meant = near_miss(tool, known)
    return f"Did you mean {meant}?" if meant else "Add it to the tools of rye.toml if your agent program has it."
