"""What goes into a sandbox and what comes out, and what every kind of sandbox offers."""

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
    """The verified bytes. They run from a private copy, never from the path that they came from."""
    suffix: Suffix
    parameters: bytes
    """JSON, an object; checked by the caller against what the tool declares, if it declares anything."""
    item: str
    """``tool:acme/net/fetch@1.2.0``: what the tool is told it is."""
    profile: Profile


class Outcome(Struct, frozen=True):
    """What a call did, whatever it was. ``rye.runtime.sandbox.results`` turns it into a value or an error."""

    exit: int | None
    """The tool's exit status; None where a signal ended it."""
    output: bytes
    """What it wrote as its result, at most ``SANDBOX.output_bytes``."""
    truncated: bool
    """Whether it wrote more than that. The rest is lost, and the tool was killed."""
    stderr: bytes
    """For the log: the first ``SANDBOX.stderr_bytes`` of it, ``print`` of Python and ``console.log`` of JavaScript included."""
    seconds: float
    ended: Ended
    """``killed``: a signal, or one of the limits on memory, processor time and files; ``reason`` says which."""
    reason: str | None = None
    """Why it was killed, in a few words; None where nobody knows or it was not."""
    refused: tuple[str, ...] = ()
    """Paths below granted folders that no tool may create (``.git``, ``.claude`` …): it did, and they have another name now."""
    refused_hosts: tuple[str, ...] = ()
    """``host:port`` of what it asked the proxy for and is not granted. Without any granted host there is no proxy to ask."""


class Backend(Protocol):
    """One kind of sandbox that was seen working on this machine."""

    @property
    def name(self) -> str:
        """``bubblewrap``, ``landlock`` or ``seatbelt``."""
        ...

    def run(self, tool: ToolRun, cancel: Event) -> Outcome:
        """Run the tool to its end and return once none of its processes is left.

        Raises SandboxUnavailable where the sandbox cannot hold this profile here, and RyeError ``not-runnable`` where there
        is not an interpreter.
        """
        ...


class SandboxUnavailable(RyeError):
    """No sandbox works here, or none that can hold this profile: the tool was not started."""

    def __init__(self, message: str, hint: str | None = None):
        super().__init__("sandbox-unavailable", message, hint)
