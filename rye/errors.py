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
        """Return the error document of ``--json``: ``{"error": {"code", "message", "hint", …details}}``."""
        return {"error": {**self.details, "code": self.code, "message": self.message, "hint": self.hint}}


class UsageError(RyeError):
    """The command line is wrong: an unknown flag, a malformed reference, contradicting options."""

    exit_code = 2


def extra_missing(package: str, extra: str) -> RyeError:
    """Return the error for a package of an extra of rye's that is not installed."""
    return RyeError(
        "extra-missing",
        f"The package {package} is not installed; this needs rye's extra {extra!r}.",
        f"Install rye with its extra: pip install 'rye-registry[{extra}]'.",
    )
