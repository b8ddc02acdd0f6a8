"""The server that a bound agent has for its only tools: how a program starts it (docs/agents.md, Bound agents). Pure."""

from __future__ import annotations

from rye.deployment.targets.protocol import Server


def bound_server(name: str, identifier: str, version: str) -> Server:
    """The entry for one directive. ``name``: what the agent is called in the program.

    The server has a name of its own. Under a common one, a session's other server of that name would take its place, and the
    agent would get that server's rights.
    """
    return Server(f"rye-{name}", "rye", ("mcp", "serve", "--as", f"{identifier}@{version}"))
