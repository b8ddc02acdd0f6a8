"""How agent programs are told of the server: the entry of each program's settings, for `rye mcp config`. Pure.

These give every agent of a project search and load. The server of one bound agent is :mod:`rye.deployment.bound_server`.
"""

from __future__ import annotations

import json
from typing import Any

from msgspec import Struct

from rye.errors import UsageError

NAME = "rye"
PROGRAMS = ("claude", "codex", "copilot", "gemini", "opencode", "cursor")


class ProgramEntry(Struct, frozen=True):
    """What to put where."""

    program: str
    file: str
    """Relative to the project."""
    format: str
    """``json`` or ``toml``."""
    text: str
    """The part of the file."""


def config_entry(program: str) -> ProgramEntry:
    """The entry for a whole project: search and load, and no execution. Raises UsageError ``unknown-program``."""
    words = ["mcp", "serve"]
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
        raise UsageError("unknown-program", f"{program!r} is not a program.", f"Programs: {', '.join(PROGRAMS)}.")
    file, value = files[program]
    return ProgramEntry(program, file, "json", json.dumps(value, indent=2) + "\n")
