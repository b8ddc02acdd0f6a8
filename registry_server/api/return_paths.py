"""Where a browser goes after signing in: the page that was asked for, and never another site (CWE-601).

A path is taken only if it is one of this registry's own pages. Everything else is forgotten, and signing in ends at the
account's page: other sites, other ports, paths that a browser reads as a host (``//``, ``/\\``), and what a page acts on.
"""

from __future__ import annotations

import re
from urllib.parse import unquote

MOST = 500
"""Characters of a path."""
_PATH = re.compile(r"/(?:-/[A-Za-z0-9._~@:+%/-]*(?:\?[A-Za-z0-9._~@:+%/=&-]*)?)?")


def return_path(text: str) -> str:
    """Return the path if a browser may be sent there; empty: it may not."""
    if len(text) > MOST or _PATH.fullmatch(text) is None:
        return ""
    path = unquote(text.partition("?")[0])  # as the server reads it, and a browser the dots
    if "//" in text or "//" in path or any(part in (".", "..") for part in path.split("/")):
        return ""
    return "" if path.lower().startswith("/-/account") else text
