"""Chooses the sandbox: the one that ``RYE_SANDBOX`` names, otherwise the first that works on this machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rye.errors import UsageError
from rye.runtime.sandbox import landlock
from rye.runtime.sandbox.bubblewrap import Bubblewrap
from rye.runtime.sandbox.landlock import Landlock
from rye.runtime.sandbox.probing import why_not
from rye.runtime.sandbox.seatbelt import Seatbelt
from rye.runtime.sandbox.tool_run import Backend, SandboxUnavailable

_KINDS: dict[str, Callable[[Mapping[str, str]], Backend]] = {
    "bubblewrap": Bubblewrap,
    "landlock": lambda environ: Landlock(environ, landlock.version()),
    "seatbelt": Seatbelt,
}
NAMES = tuple(_KINDS)
"""The sandboxes, in the order in which they are tried."""

_probed: dict[str, str | None] = {}
"""What this process found wrong with each sandbox; None: it works."""


def backend(environ: Mapping[str, str]) -> Backend:
    """Return a sandbox that passed the probe in this process: it refused and allowed what it should.

    Raises SandboxUnavailable if none works, or the one in ``RYE_SANDBOX`` does not, and UsageError for an unknown name.
    """
    demanded = environ.get("RYE_SANDBOX", "")
    if demanded and demanded not in NAMES:
        raise UsageError("usage", f"RYE_SANDBOX={demanded!r} is not a sandbox.", f"Set one of {', '.join(NAMES)}.")
    wrong: list[str] = []
    for name in (demanded,) if demanded else NAMES:
        found = _KINDS[name](environ)
        if name not in _probed:
            _probed[name] = why_not(found)
        if _probed[name] is None:
            return found
        wrong.append(f"{name}: {_probed[name]}")
    what = f"The sandbox {demanded}, which RYE_SANDBOX requires, does not" if demanded else "No sandbox"
    works = "work" if demanded else "works"
    raise SandboxUnavailable(
        f"{what} {works} on this machine, so no tool can run. {' '.join(each.rstrip('.') + '.' for each in wrong)}",
        "Install bubblewrap (Debian: apt install bubblewrap), or use Linux 6.2 or later, where Landlock is enough.",
    )
