"""An agent as a value (SPEC-0006; DECISIONS Agents), and the words with a meaning in its format."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import Struct, field

from rye.text.spelling import near_miss

KNOWN_TOOLS = ("Read", "Write", "Edit", "Glob", "Grep", "Bash", "WebFetch", "WebSearch")
"""The tools that every agent program of the format has (DECISIONS Agents 8)."""
TERMINAL = "complete"
"""The state that ends a run; no agent can have this name (DECISIONS Agents 7)."""
TRANSITIONS = ("onSuccess", "onFailure", "onMaxIterations")


class Agent(Struct, frozen=True, kw_only=True):
    """One agent. Sections are as written, with whole numbers as integers; an absent section is None."""

    name: str
    display_name: str
    when_to_use: str
    transitions: dict[str, Any]
    """As written: ``onFailure`` has no default here, unknown keys are kept."""
    system_prompt: str
    tools: dict[str, Any] | None = None
    limits: dict[str, Any] | None = None
    provider: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None
    version: str | None = None
    extra: dict[str, Any] = field(default_factory=dict)
    """The unknown keys at the top level."""
    lines: dict[str, int] = field(default_factory=dict)
    """Line numbers of ``name``, each transition (``onSuccess``…) and each allowed tool (``tool:Read``)."""

    @property
    def targets(self) -> dict[str, str]:
        """The written transitions by key, without unknown keys."""
        return {key: self.transitions[key] for key in TRANSITIONS if key in self.transitions}

    @property
    def resolved_targets(self) -> dict[str, str]:
        """The same, with ``onFailure`` defaulting to the agent itself (DECISIONS Agents 7)."""
        return {"onFailure": self.name, **self.targets}

    @property
    def maximums(self) -> dict[str, int]:
        """The limits that are whole numbers, by their names in the format."""
        return {name: value for name, value in (self.limits or {}).items() if isinstance(value, int)}

    @property
    def model_choice(self) -> dict[str, str]:
        """Which program and model it asks for."""
        return {name: str(value) for name, value in (self.provider or {}).items()}

    @property
    def requires(self) -> tuple[str, ...]:
        """Other agents that this one hands over to. The file itself cannot satisfy these requirements (DECISIONS Agents 7)."""
        return tuple(sorted({t for t in self.targets.values() if t not in (self.name, TERMINAL)}))


def unknown_tool_hint(tool: str, known: Iterable[str]) -> str:
    """The hint for a tool that is not among the ``known`` ones."""
    meant = near_miss(tool, known)
    return f"Did you mean {meant}?" if meant else "Add it to the tools of rye.toml if your agent program has it."
