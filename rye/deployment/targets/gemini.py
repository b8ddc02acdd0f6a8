"""Gemini CLI (tried with 0.61). An agent without ``tools`` has all of its parent's; skills need a trusted folder."""

from __future__ import annotations

from rye.deployment.rights import worded
from rye.deployment.targets import losses
from rye.deployment.targets.protocol import AgentDraft, AgentText, Places, Target, TargetOptions
from rye.deployment.written_forms import Yaml, frontmatter

_TITLE = "Gemini CLI"
_WORDS = {
    "read_file": ("Read",),
    "write_file": ("Write",),
    "replace": ("Edit",),
    "glob": ("Glob",),
    "grep_search": ("Grep",),
    "run_shell_command": ("Bash",),
    "web_fetch": ("WebFetch",),
    "google_web_search": ("WebSearch",),
}


def agent(draft: AgentDraft, options: TargetOptions) -> AgentText:
    fields: dict[str, Yaml | None] = {"name": draft.name, "description": draft.description}
    if draft.server is not None:
        fields["tools"] = [f"mcp_{draft.server.name}_*"]
        fields["mcpServers"] = {
            draft.server.name: {"command": draft.server.command, "args": draft.server.arguments},
        }
        return AgentText(frontmatter(draft.mark, fields, draft.body))
    rights = draft.rights
    widenings = (*losses.filters(rights, _TITLE), *losses.tools(rights, _TITLE, _WORDS))
    if rights.allowed is not None:
        words = losses.nearest(rights, _WORDS) if widenings else worded(rights, _WORDS).words
        if not words:  # an empty list and no list are one thing to some versions
            can = "an agent without a list of tools has all of its parent's"
            widenings = (*widenings, losses.inexact(rights, _TITLE, can))
        fields["tools"] = words
    fields["max_turns"] = draft.turns
    return AgentText(frontmatter(draft.mark, fields, draft.body), widenings)


TARGET = Target(
    name="gemini",
    title=_TITLE,
    adapter="gemini/1",
    tried="0.61",
    places={
        "project": Places(
            detected_by=(".gemini", "GEMINI.md"),
            skills=".agents/skills",
            agents=".gemini/agents",
            agent_suffix=".md",
            index="GEMINI.md",
        ),
        "user": Places(
            detected_by=(".gemini",),
            skills=".agents/skills",
            agents=".gemini/agents",
            agent_suffix=".md",
            index=".gemini/GEMINI.md",
        ),
    },
    agent=agent,
    says_turns=True,
    settings_hooks=((".gemini/settings.json", ("hooks",)),),
    settings_servers=((".gemini/settings.json", ("mcpServers",)),),
    notes={"skill": "Gemini CLI reads skills of a trusted folder only"},
)
