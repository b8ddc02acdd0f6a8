"""httpx without its own command line, which would import rich and click: half of the time that importing httpx takes."""

from __future__ import annotations

import sys

_CLI = "httpx._main"
_absent = sys.modules.setdefault(_CLI, None) is None  # type: ignore[arg-type]  # None: importing it fails, and httpx goes on

import httpx  # noqa: E402

if _absent:
    del sys.modules[_CLI]

__all__ = ["httpx"]
