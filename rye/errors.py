"""The error types that reach the user.

::

    RyeError                 the command failed: exit 1
    └── UsageError           the command line is wrong: exit 2

Every error has a ``code`` (stable, kebab-case, for programs), a ``message`` (what failed and why) and a ``hint`` (the next
command, or what to change). If several things share a code (``already-exists``), ``details["what"]`` names the thing (``team``).
Code below ``rye.cli`` raises these errors and never prints; ``rye.cli`` prints and never decides.
Findings about a file's content are not errors but :class:`rye.text.diagnostics.Diagnostic` values.
"""

from __future__ import annotations

import re


class RyeError(Exception):
    """The command failed. Carries what failed, why, and what to do next."""

    exit_code = 1

    def __init__(
        self,
        code: str,
        message: str,
        hint: str | None = None,
        *,
        what: str | None = None,
        details: dict[str, object] | None = None,
    ):
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint
        self.details = {**({} if what is None else {"what": what}), **(details or {})}

    def as_json(self) -> dict[str, object]:
        """Return the error document of ``--json``: ``{"error": {"code", "message", "hint", …details}}``, without passwords of
        addresses."""
        details = {name: _told(value) for name, value in self.details.items()}
        hint = without_passwords(self.hint) if self.hint is not None else None
        return {"error": {**details, "code": self.code, "message": without_passwords(self.message), "hint": hint}}


class UsageError(RyeError):
    """The command line is wrong: an unknown flag, a malformed reference, contradicting options."""

    exit_code = 2


def without_passwords(text: str) -> str:
    """Any message without the user and password of an address in it.

    Unlike :func:`rye.text.addresses.without_credentials`, which gets an address, it leaves what only looks like one, such as
    ``skill:pdf@1.0.0``. It knows a path in which an address lost a slash."""
    if "@" not in text:
        return text
    hidden = re.sub(r"(ssh:)?//([^/\s]*)@", without_user, text)
    hidden = re.sub(r"(?<=[A-Za-z0-9]:)/[^/\s]*@", "/…@", hidden)
    return re.sub(r"(?<![\w/…])[^\s/@:'\"]+:[^\s/@'\"]+@(?=[^\s/:@'\"]+(?::[^\s'\"]|/))", "…@", hidden)


def without_user(found: re.Match[str]) -> str:
    """What is shown in place of a match: of ssh, whose group 1 is ``ssh:``, a user without a password stays."""
    return found[0] if found[1] and re.fullmatch(r"[A-Za-z0-9._-]+", found[2]) else f"{found[1] or ''}//…@"


def _told(value: object) -> object:
    if isinstance(value, str):
        return without_passwords(value)
    if isinstance(value, dict):
        return {key: _told(one) for key, one in value.items()}
    return [_told(one) for one in value] if isinstance(value, list | tuple) else value
