"""The agent program's own tools that an item names, and their restrictions (DESIGN 7.1). Values only, never translated.

An agent has ``tools`` with ``allowed``, ``blocked`` and ``bashFilter``; a skill has ``allowed-tools``. An agent without ``tools``
or without ``allowed`` can use every tool of the agent program.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from msgspec import Struct

EVERY = "*"
"""Represents every tool of the agent program in ``names``."""
BASH = "Bash"
_NAME = re.compile(r"([^()]*)(?:\(([^()]*)\))?")
_LIMITS_NOTHING = re.compile(r"[*: ]*")
_BLOCKED, _COMMAND, _PATTERN = "blocked ", "bash-command ", "bash-pattern "
_UNFILTERED = frozenset(("", "*", "**", ".*"))


class AgentTools(Struct, frozen=True):
    """What the item can use and what it cannot. Lists are sorted and have no duplicates."""

    allowed: tuple[str, ...] | None = None
    """None means every tool of the agent program."""
    blocked: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    """``bashFilter.allowedCommands``; empty means that any command not blocked is allowed."""
    patterns: tuple[str, ...] = ()
    """``bashFilter.blockedPatterns``."""

    @property
    def names(self) -> tuple[str, ...]:
        """``allowed`` minus ``blocked``; only ``*`` for every tool."""
        if self.allowed is None:
            return (EVERY,)
        return tuple(tool for tool in self.allowed if tool not in self.blocked)

    @property
    def limits(self) -> tuple[str, ...]:
        """The restrictions on the names, one word each, as rye.lock writes them."""
        return (
            *(_COMMAND + command for command in self.commands),
            *(_PATTERN + pattern for pattern in self.patterns),
            *(_BLOCKED + tool for tool in self.blocked),
        )

    @property
    def any_command(self) -> bool:
        """Whether the item can run any shell command."""
        if any(
            tool == BASH and argument is not None and limits_nothing(argument)
            for tool, argument in map(named, self.names)
        ):
            return True
        return self.uses_bash and not self.filtered

    @property
    def uses_bash(self) -> bool:
        """Whether the item can use Bash at all."""
        return BASH in self.names or (EVERY in self.names and BASH not in self.blocked)

    @property
    def filtered(self) -> bool:
        """Whether a ``bashFilter`` restricts commands."""
        return bool(self.commands or self.patterns)


def agent_tools(
    allowed: Iterable[str] | None,
    blocked: Iterable[str] = (),
    commands: Iterable[str] = (),
    patterns: Iterable[str] = (),
) -> AgentTools:
    """Build the value from a file's lists. A list of commands that allows every command counts as no list."""
    listed = _sorted(commands)
    return AgentTools(
        None if allowed is None else _sorted(allowed),
        _sorted(blocked),
        () if not _UNFILTERED.isdisjoint(command.strip() for command in listed) else listed,
        _sorted(pattern for pattern in patterns if pattern),
    )


def named(name: str) -> tuple[str, str | None]:
    """Return the tool that a name such as ``Bash(git:*)`` is about, and what is in its parentheses.

    A name with more parentheses than these is one of its own: agent programs may read several tools in ``Read(a), Bash(*)``.
    """
    found = _NAME.fullmatch(name)
    return (found[1], found[2]) if found is not None else (name, None)


def limits_nothing(argument: str) -> bool:
    """Whether what a tool has in parentheses, such as ``*`` or ``*:*``, matches everything."""
    return _LIMITS_NOTHING.fullmatch(argument) is not None


def from_words(names: Sequence[str], limits: Sequence[str]) -> AgentTools | None:
    """Build the value from its ``names`` and ``limits``; None if both are empty. Raises ValueError for an unknown limit."""
    parts: dict[str, list[str]] = {_BLOCKED: [], _COMMAND: [], _PATTERN: []}
    for limit in limits:
        kind = next((prefix for prefix in parts if limit.startswith(prefix)), None)
        if kind is None:
            raise ValueError(f"{limit!r} is not a limit of agent tools")
        parts[kind].append(limit.removeprefix(kind))
    if not names and not limits:
        return None
    allowed = None if EVERY in names else names
    return agent_tools(allowed, parts[_BLOCKED], parts[_COMMAND], parts[_PATTERN])


def widened(old: AgentTools | None, new: AgentTools | None) -> tuple[str, ...]:
    """Describe what ``new`` allows and ``old`` did not, and each restriction that was lifted, in words for a person.

    ``old`` None: nothing was agreed to. A restriction counts as lifted as soon as it is missing. Agent programs differ in what
    ``allowed`` means, so a ``blocked`` entry is never treated as redundant.
    """
    if new is None:
        return ()
    if old is None:
        return tuple(map(_name, new.names))
    found = [_name(name) for name in new.names if not _covered(name, old)]
    found += [f"{tool} is no longer blocked" for tool in old.blocked if tool not in new.blocked]
    if new.uses_bash and old.uses_bash:
        found += _filter_widened(old, new)
    return tuple(found)


def _covered(name: str, old: AgentTools) -> bool:
    if old.allowed is None:
        return name == EVERY or named(name)[0] not in old.blocked
    return name in old.names or (name not in old.blocked and named(name)[0] in old.names and not old.filtered)


def _filter_widened(old: AgentTools, new: AgentTools) -> Iterable[str]:
    if old.filtered and not new.filtered:
        return ["Bash without bashFilter"]
    lost = []
    if old.commands and not new.commands:
        lost.append("Bash with every command")
    elif old.commands:
        lost += [f"Bash with the command {command}" for command in new.commands if command not in old.commands]
    lost += [f"Bash without the blocked pattern {p!r}" for p in old.patterns if p not in new.patterns]
    return lost


def _name(name: str) -> str:
    return "every tool of the agent program" if name == EVERY else name


def shown(tools: AgentTools) -> tuple[str, ...]:
    """The tools and their restrictions, one line each, as screens list them."""
    lines = [_name(name) for name in tools.names]
    if tools.blocked:
        lines.append(f"never {', '.join(tools.blocked)}")
    if tools.commands:
        lines.append(f"Bash only with {', '.join(tools.commands)}")
    if tools.patterns:
        lines.append(f"Bash never with {', '.join(map(repr, tools.patterns))}")
    return tuple(lines)


def _sorted(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(words)))
