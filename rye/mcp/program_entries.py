"""How agent programs are told of the server: the entry of each program's settings. Pure.

An entry binds an agent where the program gives that agent nothing but these tools; then it says so with ``RYE_BINDING``.
"""

from __future__ import annotations

import json
from typing import Any

from msgspec import Struct

from rye.errors import UsageError

NAME = "rye"
PROGRAMS = ("claude", "codex", "copilot", "gemini", "opencode", "cursor")
EXCLUSIVE = frozenset({"claude", "copilot", "gemini", "opencode"})
"""Programs whose agents can be left without any tool of the program's own. Codex keeps its shell; Cursor cannot bind at all."""


class ProgramEntry(Struct, frozen=True):
    """What to put where."""

    program: str
    file: str
    """Relative to the project."""
    format: str
    """``json`` or ``toml``."""
    text: str
    """The part of the file."""


def arguments(as_: str | None = None) -> list[str]:
    """The words after ``rye``."""
    return ["mcp", "serve", *(["--as", as_] if as_ is not None else [])]


def inline_server(program: str, as_: str) -> dict[str, Any]:
    """The server of one bound agent, as the program's agent files have it. ``as_``: ``ID@VERSION``.

    Raises UsageError ``deploy-inexpressible`` for a program that cannot bind an agent.
    """
    if program == "cursor":
        message = "Cursor gives every agent its own tools, so no directive can be bound there."
        raise UsageError("deploy-inexpressible", message, "Use another target for directives with execute rights.")
    environment = {"RYE_BINDING": "exclusive" if program in EXCLUSIVE else "advisory"}
    words = arguments(as_)
    if program == "opencode":
        return {"type": "local", "command": ["rye", *words], "environment": environment, "enabled": True}
    if program == "copilot":
        return {"type": "local", "command": "rye", "args": words, "env": environment, "tools": ["*"]}
    if program == "claude":
        return {"type": "stdio", "command": "rye", "args": words, "env": environment}
    return {"command": "rye", "args": words, "env": environment}


def config_entry(program: str) -> ProgramEntry:
    """The entry for a whole project: search and load, and no execution. Raises UsageError ``unknown-program``."""
    words = arguments()
    plain: dict[str, Any] = {"command": "rye", "args": words}
    if program == "codex":
        text = f'[mcp_servers.{NAME}]\ncommand = "rye"\nargs = {json.dumps(words)}\n'
        return ProgramEntry(program, ".codex/config.toml", "toml", text)
    files = {
        "claude": (".mcp.json", {"mcpServers": {NAME: {"type": "stdio", **plain}}}),
        "copilot": (".vscode/mcp.json", {"servers": {NAME: {"type": "stdio", **plain}}}),
        "gemini": (".gemini/settings.json", {"mcpServers": {NAME: plain}}),
        "cursor": (".cursor/mcp.json", {"mcpServers": {NAME: plain}}),
        "opencode": ("opencode.json", {"mcp": {NAME: {"type": "local", "command": ["rye", *words], "enabled": True}}}),
    }
    if program not in files:
        raise UsageError("unknown-program", f"{program!r} is no program.", f"Programs: {', '.join(PROGRAMS)}.")
    file, value = files[program]
    return ProgramEntry(program, file, "json", json.dumps(value, indent=2) + "\n")
