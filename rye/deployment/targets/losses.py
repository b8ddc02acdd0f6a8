"""The widenings for rights that a program cannot express, worded the same for all adapters. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rye.deployment.rights import AgentRights, worded
from rye.deployment.targets.protocol import Widening


def filters(rights: AgentRights, title: str, *, says_commands: bool = False) -> tuple[Widening, ...]:
    """Return the lost restrictions of Bash. ``says_commands``: whether the program has a list of allowed commands."""
    if not rights.uses_bash:
        return ()
    widenings = []
    if rights.commands and not says_commands:
        message = f"{title} cannot limit Bash to {', '.join(rights.commands)}."
        widenings.append(_lost("tools.bashFilter.allowedCommands", message, rights.commands))
    if rights.patterns:
        message = f"{title} cannot refuse commands that contain {', '.join(map(repr, rights.patterns))}."
        widenings.append(_lost("tools.bashFilter.blockedPatterns", message, rights.patterns))
    return tuple(widenings)


def tools(rights: AgentRights, title: str, words: Mapping[str, Sequence[str]]) -> tuple[Widening, ...]:
    """Return what is lost in a program that only has a list of allowed tools. ``words``: its words for tools."""
    if rights.allowed is None:
        return blocked(rights, title)
    lost = worded(rights, words).lost
    if not lost:
        return ()
    joined = {tool: word for word, names in words.items() for tool in names}
    parts = [
        f"{tool} (part of {joined[tool]!r}, which allows {' and '.join(words[joined[tool]])})"
        if tool in joined
        else f"{tool} (unknown to it)"
        for tool in lost
    ]
    return (_lost("tools.allowed", f"{title} cannot allow exactly {', '.join(parts)}.", lost),)


def blocked(rights: AgentRights, title: str) -> tuple[Widening, ...]:
    """Return what is lost in a program that cannot block single tools."""
    if not rights.blocked:
        return ()
    message = f"{title} cannot block {', '.join(rights.blocked)} where everything else is allowed."
    return (_lost("tools.blocked", message, rights.blocked),)


def patterns(rights: AgentRights, title: str) -> tuple[Widening, ...]:
    """Return what is lost in a program that lists tools by name: ``Bash(git:*)`` might be treated as the whole tool."""
    widenings = []
    for field, names in (("tools.allowed", rights.allowed or ()), ("tools.blocked", rights.blocked)):
        odd = [name for name in names if not name.replace("_", "").replace("-", "").isalnum()]
        if odd:
            message = f"{title} accepts only names of tools, and {', '.join(odd)} is more than a name."
            widenings.append(_lost(field, message, odd))
    return tuple(widenings)


def inexact(rights: AgentRights, title: str, can: str) -> Widening:
    """Return what is lost in a program that has a few fixed sets of rights. ``can``: says which."""
    names = ", ".join(sorted(rights.names)) or "no tools"
    return _lost("tools.allowed", f"{title} cannot allow exactly {names}: {can}.", sorted(rights.names))


def nearest(rights: AgentRights, words: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return the fewest words that cover all allowed tools, and possibly more. Written after the widening was agreed to."""
    return tuple(word for word, names in words.items() if rights.names.intersection(names))


def _lost(field: str, message: str, values: Sequence[str]) -> Widening:
    return Widening(field, "deploy-inexpressible", message, "\n".join(values))
