"""Gemini CLI (tested with 0.61.0). An agent without ``tools`` has all of its parent's; one with an empty list has none.

It reads skills and agents only in trusted folders, asks once before it uses a project's agent, and gives every agent
``complete_task``. Its documentation says ``mcpServers``, but the program refuses an agent with that key and reads
``mcp_servers``.
"""

from __future__ import annotations

import re
from functools import lru_cache

from rye.deployment.rights import worded
from rye.deployment.targets import losses
from rye.deployment.targets.protocol import AgentDraft, AgentText, Places, Refusal, Target, TargetOptions
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


@lru_cache(maxsize=1)
def _inputs() -> re.Pattern[str]:
    return re.compile(r"\$\{\w+\}")


def agent(draft: AgentDraft, options: TargetOptions) -> AgentText:
    """Write an agent for Gemini CLI: Markdown with frontmatter. Refuses texts with ``${NAME}``."""
    found = _inputs().search(draft.body)
    if found is not None:
        message = f"Gemini CLI treats {found[0]} in an agent's text as an input, and does not start the agent."
        return AgentText(None, refusals=(Refusal("body", "deploy-inexpressible", message),))
    fields: dict[str, Yaml | None] = {"name": draft.name, "description": draft.description}
    if draft.server is not None:
        fields["tools"] = [f"mcp_{draft.server.name}_*"]
        fields["mcp_servers"] = {
            draft.server.name: {
                "command": draft.server.command,
                "args": draft.server.arguments,
                "env": draft.server.environment,
            },
        }
        return AgentText(frontmatter(draft.mark, fields, draft.body))
    rights = draft.rights
    widenings = (*losses.filters(rights, _TITLE), *losses.tools(rights, _TITLE, _WORDS))
    if rights.allowed is not None:
        fields["tools"] = losses.nearest(rights, _WORDS) if widenings else worded(rights, _WORDS).words
    fields["max_turns"] = draft.turns
    return AgentText(frontmatter(draft.mark, fields, draft.body), widenings)


TARGET = Target(
    name="gemini",
    title=_TITLE,
    adapter="gemini/1",
    tried="0.61.0",
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
)
