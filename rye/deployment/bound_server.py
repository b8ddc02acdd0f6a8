"""How a program starts the server that provides a bound agent's only tools (docs/how-to/agents.md, Bound agents). Pure."""

from __future__ import annotations

from typing import Literal

from rye.deployment.targets.protocol import Server

BINDING = "RYE_BINDING"
"""The variable from which `rye mcp serve` reads the binding (:mod:`rye.mcp.serving`)."""


def bound_server(name: str, identifier: str, version: str, binding: Literal["exclusive", "advisory"]) -> Server:
    """Return the server entry for one directive. ``name``: the agent's name in the program; ``binding``: the target's.

    Each server has a unique name. With a shared name, another server of the session could take its place, and the agent would
    get that server's rights.
    """
    arguments = ("mcp", "serve", "--as", f"{identifier}@{version}")
    return Server(f"rye-{name}", "rye", arguments, {BINDING: binding})
