"""Runs a project's tools in this machine's sandbox, with what the operator grants them (docs/how-to/tools.md).

The sandbox is the one that ``RYE_SANDBOX`` names, otherwise the first that works on this machine.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Event
from typing import cast, get_args

from rye.errors import RyeError, UsageError
from rye.items.needs import Needs
from rye.limits import SANDBOX
from rye.runtime.calls import CallError, from_rye_error
from rye.runtime.effects import ToolResult, UsableItem
from rye.runtime.project_items import ProjectItems
from rye.runtime.sandbox import landlock
from rye.runtime.sandbox.bubblewrap import Bubblewrap
from rye.runtime.sandbox.landlock import Landlock
from rye.runtime.sandbox.probing import why_not
from rye.runtime.sandbox.profile import profile_for
from rye.runtime.sandbox.running import fresh_work
from rye.runtime.sandbox.seatbelt import Seatbelt
from rye.runtime.sandbox.tool_run import Backend, Outcome, SandboxUnavailable, Suffix, ToolRun
from rye.text.json_reading import JsonError, read_json
from rye.workspace.context import Context
from rye.workspace.trusting.project_changes import grants_in_force, require_granted

_LAST_LINES = 3
_LINE_CHARACTERS = 300


def value_of(outcome: Outcome, item: str) -> object:
    """Return the JSON value that the tool returned. Raises RyeError ``cancelled``, ``tool-timeout``, ``output-too-large``,
    ``tool-failed``."""
    if outcome.ended == "cancelled":
        raise RyeError("cancelled", f"{item} was cancelled after {outcome.seconds:.1f} s.")
    if outcome.ended == "timeout":
        message = f"{item} exceeded its time limit and was killed after {outcome.seconds:.1f} s."
        raise RyeError("tool-timeout", message, "Make it do less in one call.")
    if outcome.truncated or outcome.ended == "output":
        message = f"{item} wrote more than {SANDBOX.output_bytes} bytes, or far too many messages, and was killed."
        raise RyeError("output-too-large", message, "Make it write to a granted folder and return the path.")
    if outcome.ended == "killed":
        raise RyeError("tool-failed", f"{item} was killed: {outcome.reason or 'unknown reason'}.", _said(outcome))
    if outcome.refused:
        message = f"{item} created files that no tool may create; they were renamed to refused-by-rye-…: "
        message += f"{', '.join(outcome.refused[:5])}."
        raise RyeError("tool-failed", message, "Do not use this tool, or remove the folder from its write grants.")
    if outcome.cleared:
        message = (
            f"{item} set bits or capabilities with which files act as their owner or as root; they were cleared from: "
        )
        message += f"{', '.join(outcome.cleared[:5])}."
        raise RyeError("tool-failed", message, "Do not use this tool with write grants.")
    if outcome.unlisted:
        message = f"{item} left folders that cannot be looked into: {', '.join(outcome.unlisted[:5])}."
        raise RyeError("tool-failed", message, "Delete them, and do not use this tool with write grants.")
    if outcome.exit != 0:
        raise RyeError("tool-failed", f"{item} failed with exit status {outcome.exit}.", _said(outcome))
    try:
        return read_json(outcome.output)
    except JsonError as error:
        what = "nothing" if not outcome.output.strip() else "something that is not a JSON value"
        message = f"{item} returned {what}: {error}."
        raise RyeError(
            "tool-failed", message, "A tool must return exactly one JSON value; write messages to stderr."
        ) from None


def _said(outcome: Outcome) -> str | None:
    """Return the end of the tool's messages, on one line. The text is untrusted."""
    text = outcome.stderr.decode("utf-8", "replace")
    lines = ["".join(each if each.isprintable() else " " for each in line).strip() for line in text.split("\n")]
    last = " / ".join([line for line in lines if line][-_LAST_LINES:])
    return f"Its last messages: {last[-_LINE_CHARACTERS:]}" if last else None


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


class SandboxedTools:
    """:class:`rye.runtime.effects.Tools` with a sandbox, chosen on the first call. Without one, no tool runs."""

    def __init__(self, context: Context, items: ProjectItems, withheld: frozenset[str] = frozenset()):
        """``withheld``: environment variables that tools never get, even if granted."""
        self._context = context
        self._items = items
        self._withheld = withheld
        self._backend: Backend | None = None

    def check(self, item: UsableItem) -> None:
        """Check suffix, grants and sandbox. Raises CallError ``not-runnable``, ``sandbox-unavailable``."""
        if item.suffix not in get_args(Suffix):
            message = f"{item.label} cannot run: {item.suffix} files contain no code that Rye runs."
            raise CallError("not-runnable", message, f"Rye runs tools that end in {', '.join(get_args(Suffix))}.")
        try:
            self.granted(item)
        except RyeError as error:
            raise from_rye_error(error, item.label) from error
        self._sandbox()

    def run(self, item: UsableItem, parameters: bytes, seconds: float | None, cancel: Event) -> ToolResult:
        """Run the item's bytes in the sandbox; ``seconds`` can only shorten the tool's own limit. Raises CallError."""
        own = SANDBOX.seconds
        given = own if seconds is None else min(own, seconds)
        project = Path(os.path.realpath(self._items.project.root))
        try:
            with fresh_work() as work:
                profile = profile_for(
                    project,
                    work,
                    self._context.environment,
                    self.granted(item),
                    deny=self._context.home.folders(),
                    caches=(self._context.home.cache,),
                    journals=self._context.home.calls,
                    withheld=self._withheld,
                    seconds=given,
                )
                tool = ToolRun(item.text.encode(), cast("Suffix", item.suffix), parameters, item.label, profile)
                outcome = self._sandbox().run(tool, cancel)
        except RyeError as error:
            raise from_rye_error(error, item.label) from error
        said = "".join(f"rye: {each}\n" for each in outcome.recovered)
        said += outcome.stderr.decode("utf-8", "replace")
        refused = tuple(f"network {host}" for host in outcome.refused_hosts)
        refused += tuple(f"write {path}" for path in outcome.refused)
        refused += tuple(f"mode {path}" for path in outcome.cleared)
        ended_by_limit = outcome.ended == "timeout" and given < own
        try:
            value = value_of(outcome, item.label)
        except RyeError as error:
            failed = from_rye_error(error, item.label)
            failed.details["exit"] = outcome.exit
            failed.details["seconds"] = round(outcome.seconds, 3)
            return ToolResult(
                exit=outcome.exit,
                output=None,
                truncated=outcome.truncated,
                seconds=outcome.seconds,
                error=failed,
                ended_by_limit=ended_by_limit,
                stderr=said,
                refused=refused,
            )
        return ToolResult(
            exit=outcome.exit,
            output=value,
            truncated=outcome.truncated,
            seconds=outcome.seconds,
            stderr=said,
            refused=refused,
        )

    def granted(self, item: UsableItem) -> Needs:
        """Return what rye.toml grants the tool and this user agreed to. Raises RyeError if the tool needs more."""
        manifest, name = self._items.manifest(), f"tool:{item.id}"
        found = grants_in_force(self._context, self._items.project, manifest, name, item.publisher)
        require_granted(name, item.needs, manifest, found)
        return found

    def _sandbox(self) -> Backend:
        if self._backend is None:
            try:
                self._backend = backend(self._context.environment)
            except RyeError as error:
                raise from_rye_error(error) from error
        return self._backend
