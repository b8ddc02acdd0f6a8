"""Gemini CLI (tested with 0.61.0). An agent without ``tools`` has all of its parent's; one with an empty list has none.

It reads skills and agents only in trusted folders, asks once before it uses a project's agent, and gives every agent
``complete_task``. Its documentation says ``mcpServers``, but the program refuses an agent with that key and reads
``mcp_servers``.
"""

from __future__ import annotations

from rye.deployment.rights import worded
from rye.deployment.targets import losses
from rye.deployment.targets.active_syntax import ActiveSyntax
from rye.deployment.targets.protocol import AgentDraft, AgentText, Places, Target, TargetOptions
from rye.deployment.written_forms import Yaml, frontmatter
from rye.items.agent.program_forms import BY_PROGRAM

_FORM = BY_PROGRAM["gemini"]
_TITLE, _WORDS = _FORM.title, _FORM.tools


def agent(draft: AgentDraft, options: TargetOptions) -> AgentText:
    """Write an agent for Gemini CLI: Markdown with frontmatter."""
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
    fields[_FORM.turns] = draft.turns
    return AgentText(frontmatter(draft.mark, fields, draft.body), widenings)


TARGET = Target(
    form=_FORM,
    adapter="gemini/2",
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
    own_agents=(
        "cli_help",
        "codebase_investigator",
        "generalist",
    ),
    own_skills=(
        "antigravity-support",
        "skill-creator",
    ),
    active=(
        ActiveSyntax("@", "@PATH", "adds the content of that file", ("instructions",)),
        ActiveSyntax(
            r"\$\{\w+\}", "${NAME}", "asks for that input, and does not start the agent without it", ("agent",)
        ),
        ActiveSyntax(r"\$[{A-Za-z_]", "$NAME", "fills in that variable", ("settings",)),
        ActiveSyntax(r"!\{", "!{COMMAND}", "runs that command", ("command",)),
        ActiveSyntax(r"@\{", "@{PATH}", "adds the content of that file", ("command",)),
        ActiveSyntax(r"\{\{", "{{args}}", "fills in what its user typed", ("command",)),
    ),
    settings_hooks=((".gemini/settings.json", ("hooks",)),),
    settings_servers=((".gemini/settings.json", ("mcpServers",)),),
)
