"""Claude Code (tested with 2.1.330). An agent without ``tools`` has all of them, so "no tools" is one tool that is also blocked.

It starts the server of a project's agent only in trusted folders. An agent with Bash searches with it, and gets no Glob or
Grep. Without ``alwaysLoad``, it asks its model before the server has started, and the agent starts without any tools.
"""

from __future__ import annotations

from rye.deployment.targets import losses
from rye.deployment.targets.active_syntax import ActiveSyntax
from rye.deployment.targets.protocol import AgentDraft, AgentText, Places, Target, TargetOptions
from rye.deployment.written_forms import Yaml, frontmatter
from rye.items.agent.program_forms import BY_PROGRAM

_FORM = BY_PROGRAM["claude"]
_TITLE = _FORM.title
_SERVER_TOOLS = ("rye_search", "rye_load", "rye_execute", "rye_sign", "rye_return")


def agent(draft: AgentDraft, options: TargetOptions) -> AgentText:
    """Write an agent for Claude Code: Markdown with frontmatter."""
    fields: dict[str, Yaml | None] = {"name": draft.name, "description": draft.description}
    if draft.server is not None:
        fields["tools"] = ", ".join(f"mcp__{draft.server.name}__{tool}" for tool in _SERVER_TOOLS)
        fields["mcpServers"] = [
            {
                draft.server.name: {
                    "type": "stdio",
                    "alwaysLoad": True,
                    "command": draft.server.command,
                    "args": draft.server.arguments,
                    "env": draft.server.environment,
                }
            }
        ]
        return AgentText(frontmatter(draft.mark, fields, draft.body))
    rights = draft.rights
    allowed, blocked = rights.allowed, rights.blocked
    if allowed is not None and not allowed:
        allowed, blocked = ("Read",), tuple(sorted({"Read", *blocked}))
    fields["tools"] = ", ".join(allowed) if allowed is not None else None
    fields["disallowedTools"] = ", ".join(blocked) or None
    fields["model"] = draft.model if draft.model_of == _FORM.models_of else None
    fields[_FORM.turns] = draft.turns
    return AgentText(
        frontmatter(draft.mark, fields, draft.body), (*losses.filters(rights, _TITLE), *losses.patterns(rights, _TITLE))
    )


TARGET = Target(
    form=_FORM,
    adapter="claude/2",
    tried="2.1.330",
    places={
        "project": Places(
            detected_by=(".claude", "CLAUDE.md"),
            skills=".claude/skills",
            agents=".claude/agents",
            agent_suffix=".md",
            index="CLAUDE.md",
        ),
        "user": Places(
            detected_by=(".claude",),
            skills=".claude/skills",
            agents=".claude/agents",
            agent_suffix=".md",
            index=".claude/CLAUDE.md",
        ),
    },
    agent=agent,
    own_agents=(
        "claude",
        "explore",
        "general-purpose",
        "plan",
        "statusline-setup",
    ),
    own_skills=(
        "batch",
        "claude-api",
        "code-review",
        "dataviz",
        "debug",
        "deep-research",
        "doctor",
        "fewer-permission-prompts",
        "loop",
        "plugin-authoring",
        "run",
        "run-skill-generator",
        "simplify",
        "update-config",
        "verify",
        "workflow-authoring",
    ),
    active=(
        ActiveSyntax("@", "@PATH", "adds the content of that file", ("instructions", "skill")),
        ActiveSyntax("!`", "!`COMMAND`", "runs that command", ("skill",)),
        ActiveSyntax("(?:```|~~~)!", "```!", "runs the commands of that block", ("skill",)),
        ActiveSyntax(r"\$ARGUMENTS", "$ARGUMENTS", "fills in what its user typed", ("skill",)),
        ActiveSyntax(r"\$\{", "${NAME}", "fills in that variable", ("skill", "settings")),
    ),
    settings_hooks=((".claude/settings.json", ("hooks",)), (".claude/settings.local.json", ("hooks",))),
    settings_servers=((".mcp.json", ("mcpServers",)),),
)
