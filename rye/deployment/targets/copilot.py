"""GitHub Copilot CLI (tested with 1.0.102) and VS Code. Without ``tools`` an agent has all of them; an empty list means none.

Copilot CLI always adds ``skill`` and ``sql``, a database of the session.
"""

from __future__ import annotations

from rye.deployment.rights import worded
from rye.deployment.targets import losses
from rye.deployment.targets.active_syntax import ActiveSyntax
from rye.deployment.targets.protocol import AgentDraft, AgentText, Places, Target, TargetOptions
from rye.deployment.written_forms import Yaml, frontmatter
from rye.items.agent.program_forms import BY_PROGRAM

_FORM = BY_PROGRAM["copilot"]
_TITLE, _WORDS = _FORM.title, _FORM.tools


def agent(draft: AgentDraft, options: TargetOptions) -> AgentText:
    """Write an agent for Copilot: Markdown with frontmatter."""
    fields: dict[str, Yaml | None] = {"name": draft.name, "description": draft.description}
    if draft.server is not None:
        fields["tools"] = [f"{draft.server.name}/*"]
        fields["mcp-servers"] = {
            draft.server.name: {
                "type": "local",
                "command": draft.server.command,
                "args": draft.server.arguments,
                "env": draft.server.environment,
                "tools": ["*"],
            }
        }
        return AgentText(frontmatter(draft.mark, fields, draft.body))
    rights = draft.rights
    widenings = (*losses.filters(rights, _TITLE), *losses.tools(rights, _TITLE, _WORDS))
    if rights.allowed is not None:
        fields["tools"] = losses.nearest(rights, _WORDS) if widenings else worded(rights, _WORDS).words
    fields["model"] = draft.model if draft.model_of == _FORM.models_of else None
    return AgentText(frontmatter(draft.mark, fields, draft.body), widenings)


TARGET = Target(
    form=_FORM,
    adapter="copilot/2",
    tried="1.0.102",
    places={
        "project": Places(
            detected_by=(".github/agents", ".github/skills", ".github/copilot-instructions.md", ".copilot"),
            skills=".agents/skills",
            agents=".github/agents",
            agent_suffix=".agent.md",
            index="AGENTS.md",
        ),
        "user": Places(
            detected_by=(".copilot",),
            skills=".agents/skills",
            agents=".copilot/agents",
            agent_suffix=".agent.md",
        ),
    },
    agent=agent,
    own_agents=(
        "code-review",
        "explore",
        "general-purpose",
        "research",
        "security-review",
        "task",
    ),
    own_skills=(
        "customize-cloud-agent",
        "github-pr-media",
    ),
    active=(
        ActiveSyntax("@", "@PATH", "adds the content of that file", ("instructions",)),
        ActiveSyntax(r"\$\{", "${NAME}", "fills in that variable", ("settings",)),
    ),
    most_agent_characters=30_000,
    settings_servers=((".vscode/mcp.json", ("servers",)), (".github/mcp.json", ("mcpServers",))),
)
