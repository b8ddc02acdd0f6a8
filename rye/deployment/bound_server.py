"""The server that a bound agent has for its only tools: how a program starts it (docs/how-to/agents.md, Bound agents). Pure."""

from __future__ import annotations

from typing import Literal

from rye.deployment.targets.protocol import Server

BINDING = "RYE_BINDING"
"""What `rye mcp serve` reads it from (:mod:`rye.mcp.serving`)."""


def bound_server(name: str, identifier: str, version: str, binding: Literal["exclusive", "advisory"]) -> Server:
    """The entry for one directive. ``name``: what the agent is called in the program; ``binding``: the target's.

    The server has a name of its own. Under a common one, a session's other server of that name would take its place, and the
    agent would get that server's rights.
    """
    arguments = ("mcp", "serve", "--as", f"{identifier}@{version}")
    return Server(f"rye-{name}", "rye", arguments, {BINDING: binding})
