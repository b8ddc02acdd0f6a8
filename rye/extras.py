"""Which extra of the package brings a module that is not installed: the error says what to install."""

from __future__ import annotations

from rye.errors import RyeError

EXTRAS = {
    "lsp": ("pygls", "lsprotocol"),
    "mcp": ("mcp", "mcp_types"),
    "server": (
        *("alembic", "authlib", "granian", "jinja2", "joserfc", "litestar", "markdown_it", "obstore"),
        *("prometheus_client", "psycopg", "sqlalchemy", "zstandard"),
    ),
}
"""The modules by extra (``pyproject.toml`` names their packages)."""


def missing_extra(module: str | None) -> RyeError | None:
    """The error for a module that is not installed and belongs to an extra; None for any other module."""
    top = (module or "").partition(".")[0]
    for extra, modules in EXTRAS.items():
        if top in modules:
            return RyeError(
                "extra-missing",
                f"The package {top} is not installed; this needs rye's extra {extra!r}.",
                f"Install rye with its extra: pip install 'rye[{extra}]'.",
            )
    return None
