"""How dangerous the tools of an agent program are that an item names (DESIGN 7.1)."""

from __future__ import annotations

from rye.items.agent_tools import BASH, EVERY, AgentTools
from rye.permissions.risk import Tier

_SAFE = frozenset(("Read", "Glob", "Grep", "LS", "NotebookRead", "TodoWrite"))
_WRITE = frozenset(("Write", "Edit", "MultiEdit", "NotebookEdit"))


def tools_tier(tools: AgentTools | None) -> Tier | None:
    """Return the tier of the worst tool; None if there are no tools.

    Anything that can run any command is unrestricted. Reading is safe, editing is write. Everything else is elevated,
    including filtered commands, the network and unknown tools.
    """
    if tools is None or not tools.names:
        return None
    if tools.any_command:
        return Tier.UNRESTRICTED
    return max(tool_tier(name, tools) for name in tools.names)


def tool_tier(name: str, tools: AgentTools) -> Tier:
    """Return the tier of one of the names of ``tools``."""
    bare = name.partition("(")[0]
    if tools.any_command and (bare == BASH or name == EVERY):
        return Tier.UNRESTRICTED
    return Tier.SAFE if bare in _SAFE else Tier.WRITE if bare in _WRITE else Tier.ELEVATED
