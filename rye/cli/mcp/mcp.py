"""``rye mcp``: serve this project's items to agent programs, with rights enforced outside the model."""

from __future__ import annotations

from rye.cli.main import family

mcp = family(
    "mcp",
    "Serve items to agent programs over the Model Context Protocol.",
    {
        "serve": ("rye.cli.mcp.serve:serve", "Serve on standard input and output, or over HTTP."),
        "token": ("rye.cli.mcp.token:token", "Create a bearer token for a server over HTTP."),
        "config": ("rye.cli.mcp.config:config", "Print the entry for an agent program's settings."),
    },
)
