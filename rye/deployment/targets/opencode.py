"""OpenCode (tested with 1.18.33). An agent without permissions has all of them, and the last matching pattern wins."""

from __future__ import annotations

import json

from rye.deployment.rights import AgentRights
from rye.deployment.targets import losses
from rye.deployment.targets.active_syntax import ActiveSyntax
from rye.deployment.targets.protocol import AgentDraft, AgentText, Places, SharedEdit, Target, TargetOptions, Widening
from rye.deployment.written_forms import Yaml, frontmatter
from rye.items.agent.program_forms import BY_PROGRAM

_FORM = BY_PROGRAM["opencode"]
_TITLE, _WORDS = _FORM.title, _FORM.tools
_READ: dict[str, Yaml] = {"*": "allow", "*.env": "deny", "*.env.*": "deny", "*.env.example": "allow"}
"""OpenCode's default for reading: a plain ``allow`` would expose secrets as well."""


def agent(draft: AgentDraft, options: TargetOptions) -> AgentText:
    """Write an agent for OpenCode: Markdown with frontmatter, and settings for a bound agent's server.

    Its mode is ``all``: where only sub-agents may use it, `opencode run --agent NAME` falls back to the unlimited ``build``.
    """
    fields: dict[str, Yaml | None] = {"description": draft.description, "mode": "all"}
    if draft.server is not None:
        return _bound(draft, options, fields)
    rights = draft.rights
    widenings: tuple[Widening, ...] = losses.filters(rights, _TITLE, says_commands=True)
    notes: tuple[str, ...] = ()
    if rights.allowed is not None:
        lost = losses.tools(rights, _TITLE, _WORDS)
        widenings += lost
        words = losses.nearest(rights, _WORDS)
        if not lost:
            words = tuple(word for word in words if rights.names.issuperset(_WORDS[word]))
        fields["permission"] = {"*": "deny", **{word: _allowed(word, rights) for word in words}}
    elif rights.blocked or rights.commands:
        fields["permission"], notes, unknown = _all_but(rights)
        widenings += unknown
    fields[_FORM.turns] = draft.turns
    return AgentText(frontmatter(draft.mark, fields, draft.body), widenings, notes=notes)


def _allowed(word: str, rights: AgentRights) -> Yaml:
    if word == "read":
        return _READ
    if word == "bash" and rights.commands:
        return _commands(rights)
    return "allow"


def _commands(rights: AgentRights) -> Yaml:
    only: dict[str, Yaml] = {"*": "deny"}
    for command in rights.commands:
        only |= {command: "allow", f"{command} *": "allow"}
    return only


def _all_but(rights: AgentRights) -> tuple[Yaml, tuple[str, ...], tuple[Widening, ...]]:
    """Allow everything except what is blocked. A word that covers a blocked tool is denied as a whole: never more than was
    asked for."""
    permission: dict[str, Yaml] = {"*": "allow"}
    notes = []
    for word, names in _WORDS.items():
        taken = [name for name in names if name in rights.blocked]
        if taken:
            permission[word] = "deny"
            if len(taken) < len(names):
                notes.append(f"{word!r} is denied as a whole: {_TITLE} has no separate word for {', '.join(taken)}")
        elif word == "bash" and rights.commands:
            permission[word] = _commands(rights)
    known = {name for names in _WORDS.values() for name in names}
    unknown = tuple(name for name in rights.blocked if name not in known)
    lost = losses.blocked(AgentRights(blocked=unknown), _TITLE)
    return permission, tuple(notes), lost


def _bound(draft: AgentDraft, options: TargetOptions, fields: dict[str, Yaml | None]) -> AgentText:
    """Write a bound agent. Its server is in the settings, where every agent sees it, so its tools are denied there and
    allowed here."""
    assert draft.server is not None
    server = draft.server.name
    fields["permission"] = {"*": "deny", f"{server}_*": "allow"}
    settings = TARGET.places[options.scope].settings
    words = [draft.server.command, *draft.server.arguments]
    value = {"type": "local", "command": words, "environment": dict(draft.server.environment), "enabled": True}
    command = json.dumps(value)
    edits = (
        SharedEdit(settings, "json", ("mcp", server), command),
        SharedEdit(settings, "json", ("permission", f"{server}_*"), '"deny"'),
    )
    return AgentText(frontmatter(draft.mark, fields, draft.body), edits=edits)


TARGET = Target(
    form=_FORM,
    adapter="opencode/3",
    tried="1.18.33",
    places={
        "project": Places(
            detected_by=(".opencode", "opencode.json", "opencode.jsonc"),
            skills=".agents/skills",
            agents=".opencode/agents",
            agent_suffix=".md",
            index="AGENTS.md",
            settings=("opencode.json", "opencode.jsonc"),
        ),
        "user": Places(
            detected_by=(".config/opencode",),
            skills=".agents/skills",
            agents=".config/opencode/agents",
            agent_suffix=".md",
            index=".config/opencode/AGENTS.md",
            settings=(".config/opencode/opencode.json", ".config/opencode/opencode.jsonc"),
        ),
    },
    agent=agent,
    own_agents=(
        "build",
        "compaction",
        "explore",
        "general",
        "plan",
        "summary",
        "title",
    ),
    own_skills=("customize-opencode",),
    active=(
        ActiveSyntax("@", "@PATH", "adds the content of that file", ("skill", "command")),
        ActiveSyntax("!`", "!`COMMAND`", "runs that command", ("skill", "command")),
        ActiveSyntax(r"\$ARGUMENTS", "$ARGUMENTS", "fills in what its user typed", ("skill", "command")),
        ActiveSyntax(r"\{file:", "{file:PATH}", "adds the content of that file", ("settings",)),
        ActiveSyntax(r"\{env:", "{env:NAME}", "fills in that variable", ("settings",)),
    ),
    settings_servers=(("opencode.json", ("mcp",)), ("opencode.jsonc", ("mcp",))),
)
