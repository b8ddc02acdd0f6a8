"""The input and output of a sandbox, and the interface of every kind of sandbox."""

from __future__ import annotations

from threading import Event
from typing import Literal, Protocol

from msgspec import Struct

from rye.errors import RyeError
from rye.runtime.sandbox.profile import Profile

Suffix = Literal[".py", ".js", ".ts", ".sh"]
Ended = Literal["exited", "timeout", "output", "killed", "cancelled"]


class ToolRun(Struct, frozen=True):
    """One call of one tool."""

    code: bytes
    """The verified bytes. They run from a private copy, never from their original path."""
    suffix: Suffix
    parameters: bytes
    """A JSON object; the caller has checked it against the tool's declared parameters, if any."""
    item: str
    """``tool:acme/net/fetch@1.2.0``, as passed to the tool."""
    profile: Profile


class Outcome(Struct, frozen=True, kw_only=True):
    """How a call ended. ``rye.runtime.sandboxed_tools`` converts it to a value or an error."""

    exit: int | None
    """The tool's exit status; None if it was killed."""
    output: bytes
    """The result that it wrote, at most ``SANDBOX.output_bytes``."""
    truncated: bool
    """Whether it wrote more than that. The rest is lost, and the tool was killed."""
    stderr: bytes
    """The first ``SANDBOX.stderr_bytes`` of standard error, including Python's ``print`` and JavaScript's ``console.log``."""
    seconds: float
    ended: Ended
    """``killed``: a signal, or one of the limits on memory, processor time and files; ``reason`` says which."""
    reason: str | None = None
    """Why it was killed, in a few words; None if that is unknown, or it was not killed."""
    refused: tuple[str, ...] = ()
    """Paths below granted folders that it created although no tool may (``.git``, ``.claude`` …). They were renamed."""
    unlisted: tuple[str, ...] = ()
    """Folders below granted ones that it left in a state in which they could not be looked into."""
    cleared: tuple[str, ...] = ()
    """Files and folders below granted ones that it gave set-user-id, set-group-id or sticky bits or capabilities. These were
    cleared."""
    recovered: tuple[str, ...] = ()
    """What was swept before this call because Rye was ended during an earlier one: a sentence each."""
    refused_hosts: tuple[str, ...] = ()
    """``host:port`` of requests to the proxy that were not granted. If no host is granted, there is no proxy."""


class Backend(Protocol):
    """One kind of sandbox."""

    @property
    def name(self) -> str:
        """``bubblewrap``, ``landlock`` or ``seatbelt``."""
        ...

    def run(self, tool: ToolRun, cancel: Event) -> Outcome:
        """Run the tool, and return when none of its processes is left.

        Raises SandboxUnavailable if the sandbox cannot enforce this profile here, and RyeError ``not-runnable`` if there is
        no interpreter for the tool.
        """
        ...


class SandboxUnavailable(RyeError):
    """No sandbox here works and can enforce this profile. The tool was not started."""

    def __init__(self, message: str, hint: str | None = None):
        super().__init__("sandbox-unavailable", message, hint)
