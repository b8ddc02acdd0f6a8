"""The entries in agent programs' settings that start the server, for `rye mcp config`. Pure.

With them, every agent of a project can search and load. The server of a bound agent is :mod:`rye.deployment.rendering`.
"""

from __future__ import annotations

import json
from typing import Any

from msgspec import Struct

from rye.errors import UsageError

NAME = "rye"
PROGRAMS = ("claude", "codex", "copilot", "gemini", "opencode", "cursor")


class ProgramEntry(Struct, frozen=True):
    """A program's settings file, and the entry to add to it."""

    program: str
    file: str
    """The settings file, relative to the project."""
    format: str
    """``json`` or ``toml``."""
    text: str
    """The entry, as a complete document of that format."""


def config_entry(program: str) -> ProgramEntry:
    """Return a program's entry for a whole project: search and load, no execution. Raises UsageError ``unknown-name``."""
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
        raise UsageError(
            "unknown-name",
            f"{program!r} is not a supported program.",
            f"Use one of {', '.join(PROGRAMS)}.",
            what="program",
        )
    file, value = files[program]
    return ProgramEntry(program, file, "json", json.dumps(value, indent=2) + "\n")
