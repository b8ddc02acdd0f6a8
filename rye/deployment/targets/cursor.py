"""Cursor (not tested; from its documentation). An agent is read-only or unrestricted, and cannot have its own server."""

from __future__ import annotations

from rye.deployment.targets import losses
from rye.deployment.targets.active_syntax import ActiveSyntax
from rye.deployment.targets.protocol import AgentDraft, AgentText, Places, Refusal, Target, TargetOptions, Widening
from rye.deployment.written_forms import Yaml, frontmatter
from rye.items.agent.program_forms import BY_PROGRAM, READ_ONLY

_FORM = BY_PROGRAM["cursor"]
_TITLE = _FORM.title


def agent(draft: AgentDraft, options: TargetOptions) -> AgentText:
    """Write an agent for Cursor: Markdown with frontmatter. Refuses bound agents."""
    if draft.server is not None:
        message = "Cursor cannot limit an agent to the tools of one server, so nothing would enforce its rights."
        return AgentText(None, refusals=(Refusal("permissions", "deploy-inexpressible", message),))
    rights = draft.rights
    readonly, widenings = None, list[Widening](losses.filters(rights, _TITLE))
    if rights.allowed is None:
        widenings += losses.blocked(rights, _TITLE)
    else:
        readonly = rights.names <= READ_ONLY
        if rights.names != READ_ONLY:
            widenings.append(losses.inexact(rights, _TITLE, "an agent is read-only (Read, Glob, Grep) or unrestricted"))
    fields: dict[str, Yaml | None] = {
        "name": draft.name,
        "description": draft.description,
        "readonly": readonly or None,
    }
    return AgentText(frontmatter(draft.mark, fields, draft.body), tuple(widenings))


_PLACES = Places(
    detected_by=(".cursor", ".cursorrules"),
    skills=".agents/skills",
    agents=".cursor/agents",
    agent_suffix=".md",
    index="AGENTS.md",
)

TARGET = Target(
    form=_FORM,
    adapter="cursor/2",
    tried="not tried",
    places={
        "project": _PLACES,
        "user": Places(detected_by=(".cursor",), skills=".agents/skills", agents=".cursor/agents", agent_suffix=".md"),
    },
    agent=agent,
    active=(
        ActiveSyntax("@", "@PATH", "adds the content of that file", ("instructions",)),
        ActiveSyntax(r"\$\{", "${NAME}", "fills in that variable", ("settings",)),
    ),
    settings_hooks=((".cursor/hooks.json", ("hooks",)),),
    settings_servers=((".cursor/mcp.json", ("mcpServers",)),),
)
