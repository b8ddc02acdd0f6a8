"""Which tools of its program an agent may use, in terms that every program can express (DESIGN 7.1,
docs/how-to/agents.md). Pure.

The eight tools are those of the agent format. A program that has one name for two of them gets that name only if both
are allowed: otherwise the agent would get more than was agreed to, or less than the item needs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from rye.items.agent_tools import EVERY, AgentTools


class AgentRights(Struct, frozen=True):
    """The tools of the agent program that an item may use."""

    allowed: tuple[str, ...] | None = None
    """None: all tools of the program."""
    blocked: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    """The only programs that Bash may start; empty: any."""
    patterns: tuple[str, ...] = ()
    """Texts that a Bash command must not contain."""

    @property
    def everything(self) -> bool:
        """Whether all tools are allowed."""
        return self.allowed is None and not self.blocked

    @property
    def names(self) -> frozenset[str]:
        """``allowed`` minus ``blocked``; undefined for :attr:`everything`."""
        return frozenset(self.allowed or ()) - frozenset(self.blocked)

    @property
    def uses_bash(self) -> bool:
        """Whether Bash is allowed."""
        return "Bash" in self.names if self.allowed is not None else "Bash" not in self.blocked


def rights_of(tools: AgentTools | None) -> AgentRights:
    """Return the rights of an item. One that lists no tools, or ``*``, may use all."""
    if tools is None:
        return AgentRights()
    allowed = None if tools.allowed is not None and EVERY in tools.allowed else tools.allowed
    return AgentRights(allowed, tools.blocked, tools.commands, tools.patterns)


class Worded(Struct, frozen=True):
    """Rights in one program's names for tools."""

    words: tuple[str, ...]
    lost: tuple[str, ...]
    """Allowed tools that no word can express."""


def worded(rights: AgentRights, words: Mapping[str, Sequence[str]]) -> Worded:
    """Return the program's words for the allowed tools, in the order of ``words``: each word with all tools it stands for."""
    names = rights.names
    said = {word: tools for word, tools in words.items() if names.issuperset(tools)}
    covered = {tool for tools in said.values() for tool in tools}
    return Worded(tuple(said), tuple(sorted(names - covered)))
