"""Which hosts always mean this machine, the only ones that plain http may reach; and what of an address may be shown."""

from __future__ import annotations

import re

from rye.errors import without_user

_BYTE = "(?:25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])"


def is_loopback(host: str) -> bool:
    """Whether the host is ``localhost``, in ``127.0.0.0/8`` or ``::1``, as :func:`urllib.parse.urlsplit` returns it."""
    return host in ("localhost", "::1") or re.fullmatch(rf"127(?:\.{_BYTE}){{3}}", host) is not None


def without_credentials(text: str) -> str:
    """A text in which no address has its user, password or query, for messages, logs and JSON. A user of ssh stays, without a
    password: everyone's is ``git``.

    What is refused is shown as well, so nothing is assumed of its form: whatever stands between ``//`` and the last ``@`` before
    the path is hidden, and what looks like a user and a password before a host.
    """
    hidden = re.sub(r"(ssh:)?//([^/\s]*)@", without_user, text)
    hidden = re.sub(r"(?<![\w/…])[^\s/@:'\"]+:[^\s/@]*@(?=[^\s@])", "…@", hidden)
    return re.sub(r"[?][^\s'\"#]+", "?…", hidden) if "://" in hidden else hidden
