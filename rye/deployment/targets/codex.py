"""Codex (tested with 0.169.0). It has no list of tools: an agent runs in a sandbox, and always keeps its shell.

It reads a project's agents only in trusted folders, and ignores an agent whose file has an unknown key.
"""

from __future__ import annotations

from rye.deployment.rights import ALL_FILES, READ_ONLY
from rye.deployment.targets import losses
from rye.deployment.targets.protocol import AgentDraft, AgentText, Places, Target, TargetOptions, Widening
from rye.deployment.written_forms import toml

_TITLE = "Codex"


def agent(draft: AgentDraft, options: TargetOptions) -> AgentText:
    """Write an agent for Codex: TOML, with the sandbox closest to the rights."""
    fields = {"name": draft.name, "description": draft.description, "developer_instructions": draft.body}
    if draft.server is not None:
        table = {"command": draft.server.command, "args": draft.server.arguments}
        name = f"mcp_servers.{draft.server.name}"
        tables = {name: table, f"{name}.env": draft.server.environment}
        data = toml(draft.mark, {**fields, "sandbox_mode": "read-only"}, tables)
        return AgentText(data, notes=("advisory: Codex keeps its shell, which can read files without asking Rye",))
    rights = draft.rights
    sandbox, widenings = None, list[Widening](losses.filters(rights, _TITLE))
    if rights.allowed is None:
        widenings += losses.blocked(rights, _TITLE)
    else:
        sandbox = "read-only" if rights.names <= READ_ONLY else "workspace-write"
        if rights.names not in (READ_ONLY, ALL_FILES):
            can = "it can read (Read, Glob, Grep), or read, write and run (with Write, Edit, Bash)"
            widenings.append(losses.inexact(rights, _TITLE, can))
    return AgentText(toml(draft.mark, {**fields, "sandbox_mode": sandbox}, {}), tuple(widenings))


TARGET = Target(
    name="codex",
    title=_TITLE,
    adapter="codex/1",
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
    binding="advisory",
    settings_servers=((".codex/config.toml", ("mcp_servers",)),),
    settings_hooks=((".codex/hooks.json", ("hooks",)), (".codex/config.toml", ("hooks",))),
)
