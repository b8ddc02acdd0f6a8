"""Which optional extra of the package provides which modules, and how to add one to this program.

Rye is on no package index, so no hint names the distribution alone: whoever registers that name there would be installed.
"""

from __future__ import annotations

import importlib
import json
import shlex
import sys
from pathlib import Path

from rye.errors import RyeError

EXTRAS = {
    "dns": ("dns",),
    "lsp": ("pygls", "lsprotocol"),
    "mcp": ("mcp", "mcp_types"),
    "server": (
        *("alembic", "authlib", "dns", "granian", "jinja2", "joserfc", "litestar", "lxml", "markdown_it", "obstore"),
        *("prometheus_client", "psycopg", "pygments", "sqlalchemy", "zstandard"),
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


def extra_missing(package: str, extra: str) -> RyeError:
    """Return the error for a package of an extra of rye's that is not installed."""
    place, is_editable = _installed_from()
    if place is None:
        hint = "Rye is on no package index. In a clone of it, `make demo` sets up .venv with everything: use .venv/bin/rye there."
    else:
        hint = f"Add it: {_install(f'{place}[{extra}]', is_editable=is_editable)}"
    return RyeError("extra-missing", f"The package {package} is not installed; this needs rye's extra {extra!r}.", hint)


def _install(what: str, *, is_editable: bool) -> str:
    python = shlex.quote(sys.executable)
    has_pip = importlib.import_module("importlib.util").find_spec("pip")  # only this error needs it
    pip = f"{python} -m pip install" if has_pip else f"uv pip install --python {python}"
    return f"{pip} {'-e ' if is_editable else ''}{shlex.quote(what)}"


def _installed_from() -> tuple[Path | None, bool]:
    """Return the wheel or the folder that this program was installed from, as pip noted it (PEP 610), and whether it runs from
    there; otherwise the checkout that it runs in. None if neither is there any more."""
    metadata = importlib.import_module("importlib.metadata")  # only this error needs it
    checkout = Path(__file__).resolve().parents[1]
    if (checkout / "pyproject.toml").is_file():
        return checkout, True
    try:
        noted = json.loads(metadata.distribution("rye-registry").read_text("direct_url.json") or "{}")
        url = noted.get("url") if isinstance(noted, dict) else None
    except (metadata.PackageNotFoundError, OSError, ValueError):
        return None, False
    if not isinstance(url, str) or not url.startswith("file:///"):
        return None, False
    place = Path(importlib.import_module("urllib.request").url2pathname(url.removeprefix("file://")))
    return (place if place.exists() else None), False
