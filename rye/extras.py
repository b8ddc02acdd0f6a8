"""Which optional extra of the package provides which modules."""

from __future__ import annotations

EXTRAS = {
    "lsp": ("pygls", "lsprotocol"),
    "mcp": ("mcp", "mcp_types"),
    "server": (
        *("alembic", "authlib", "granian", "jinja2", "joserfc", "litestar", "lxml", "markdown_it", "obstore"),
        *("prometheus_client", "psycopg", "sqlalchemy", "zstandard"),
    ),
}
"""The modules by extra (``pyproject.toml`` names their packages)."""
_SERVER = "registry_server"
"""Comes with the wheel, but not with the one file that has the client alone (`make zipapp`)."""


def extra_of(module: str | None) -> tuple[str, str] | None:
    """Return the top-level module and the extra that provides it, or None if it belongs to no extra."""
    top = (module or "").partition(".")[0]
    if top == _SERVER:
        return top, "server"
    return next(((top, extra) for extra, modules in EXTRAS.items() if top in modules), None)
