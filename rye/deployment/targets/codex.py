"""Codex (tested with 0.169.0). It has no list of tools: an agent runs in a sandbox, and always keeps its shell.

It reads a project's agents only in trusted folders, and ignores an agent whose file has an unknown key. The servers in that
file are never started: agents have those of the session. So bound agents are refused.
"""

from __future__ import annotations

from rye.deployment.targets import losses
from rye.deployment.targets.protocol import AgentDraft, AgentText, Places, Refusal, Target, TargetOptions, Widening
from rye.deployment.written_forms import toml
from rye.items.agent.program_forms import ALL_FILES, BY_PROGRAM, READ_ONLY

_FORM = BY_PROGRAM["codex"]
_TITLE = _FORM.title


def agent(draft: AgentDraft, options: TargetOptions) -> AgentText:
    """Write an agent for Codex: TOML, with the sandbox closest to the rights."""
    fields = {"name": draft.name, "description": draft.description, "developer_instructions": draft.body}
    if draft.server is not None:
        message = (
            "Codex does not start the server of an agent's file: its agents have the session's servers and a shell, so nothing "
            "would enforce its rights."
        )
        return AgentText(None, refusals=(Refusal("permissions", "deploy-inexpressible", message),))
    rights = draft.rights
    sandbox, widenings = None, list[Widening](losses.filters(rights, _TITLE))
    if rights.allowed is None:
        widenings += losses.blocked(rights, _TITLE)
    else:
        sandbox = "read-only" if rights.names <= READ_ONLY else "workspace-write"
        if rights.names not in (READ_ONLY, ALL_FILES):
            can = "it can read (Read, Glob, Grep), or read, write and run (with Write, Edit, Bash)"
            widenings.append(losses.inexact(rights, _TITLE, can))
    return AgentText(toml(draft.mark, {**fields, "sandbox_mode": sandbox}), tuple(widenings))


TARGET = Target(
    form=_FORM,
    adapter="codex/2",
    tried="0.169.0",
    places={
        "project": Places(
            detected_by=(".codex",),
            skills=".agents/skills",
            agents=".codex/agents",
            agent_suffix=".toml",
            index="AGENTS.md",
            index_bytes=32 * 1024,
        ),
        "user": Places(
            detected_by=(".codex",),
            skills=".agents/skills",
            agents=".codex/agents",
            agent_suffix=".toml",
            index=".codex/AGENTS.md",
            index_bytes=32 * 1024,
        ),
    },
    agent=agent,
    own_agents=(
        "awaiter",
        "default",
        "explorer",
        "worker",
    ),
    own_skills=(
        "imagegen",
        "openai-docs",
        "skill-creator",
        "skill-installer",
    ),
    settings_servers=((".codex/config.toml", ("mcp_servers",)),),
    settings_hooks=((".codex/hooks.json", ("hooks",)), (".codex/config.toml", ("hooks",))),
)
