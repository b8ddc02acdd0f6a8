"""Runs a project's tools in this machine's sandbox, with what the operator grants them (docs/how-to/tools.md)."""

from __future__ import annotations

import os
from pathlib import Path
from threading import Event
from typing import cast, get_args

from rye.errors import RyeError
from rye.items.needs import Needs
from rye.limits import SANDBOX
from rye.runtime.calls import CallError, from_rye_error
from rye.runtime.effects import ToolResult, UsableItem
from rye.runtime.project_items import ProjectItems
from rye.runtime.sandbox.choosing import backend
from rye.runtime.sandbox.profile import profile_for
from rye.runtime.sandbox.results import value_of
from rye.runtime.sandbox.running import fresh_work
from rye.runtime.sandbox.tool_run import Backend, Suffix, ToolRun
from rye.workspace.context import Context
from rye.workspace.trusting.grants import grants_in_force, require_granted


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
                    withheld=self._withheld,
                    seconds=given,
                )
                tool = ToolRun(item.text.encode(), cast("Suffix", item.suffix), parameters, item.label, profile)
                outcome = self._sandbox().run(tool, cancel)
        except RyeError as error:
            raise from_rye_error(error, item.label) from error
        said = outcome.stderr.decode("utf-8", "replace")
        refused = tuple(f"network {host}" for host in outcome.refused_hosts)
        refused += tuple(f"write {path}" for path in outcome.refused)
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
        found = grants_in_force(self._context, self._items.project, manifest, name)
        require_granted(name, item.needs, manifest, found)
        return found

    def _sandbox(self) -> Backend:
        if self._backend is None:
            try:
                self._backend = backend(self._context.environment)
            except RyeError as error:
                raise from_rye_error(error) from error
        return self._backend
