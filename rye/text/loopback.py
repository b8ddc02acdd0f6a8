"""Hosts that always mean this machine, the only ones that plain http is allowed to reach."""

from __future__ import annotations

import re

_BYTE = "(?:25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])"


def is_loopback(host: str) -> bool:
    """Whether the host is ``localhost``, in ``127.0.0.0/8`` or ``::1``, as :func:`urllib.parse.urlsplit` returns it."""
    return host in ("localhost", "::1") or re.fullmatch(rf"127(?:\.{_BYTE}){{3}}", host) is not None
