"""Runs one tool by hand, with the same checks, sandbox and grants as an agent's call (``rye run tool:ID``).

The caller is the person at the command line, so there is no chain of rights and no log. Everything else applies: the tool
must have a valid signature or a verified release, this user must have agreed to it, and its needs must be granted.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import PurePath
from threading import Event
from typing import Any

from msgspec import Struct

from rye.errors import RyeError, UsageError
from rye.items.autorun import obeyed
from rye.items.identity import parse_reference
from rye.items.needs import Needs
from rye.limits import RUNTIME
from rye.project.context import require_project
from rye.project.user_config import read_other_policies
from rye.runtime.calls import CallError
from rye.runtime.chain import capability_of
from rye.runtime.effects import ToolResult, UsableItem
from rye.runtime.opening import rules_in_force
from rye.runtime.project_items import ProjectItems
from rye.runtime.run.user_models import user_models
from rye.runtime.sandboxed_tools import SandboxedTools
from rye.workspace.context import Context


class Tried(Struct, frozen=True):
    """One tool call by hand, and its result."""

    item: UsableItem
    grants: Needs
    """What rye.toml grants the tool and this user agreed to."""
    result: ToolResult

    def how_to_allow(self, refused: str) -> str:
        """What would allow something that the tool was refused (:class:`rye.runtime.effects.ToolResult`), or why nothing does."""
        key, _, value = refused.partition(" ")
        if key != "write":
            return f'`[sandbox."tool:{self.item.id}"]` in rye.toml grants {key}.'
        row = obeyed(PurePath(value).name, at_root=True)
        said = f"No grant of a folder allows this name: it is obeyed by {row.obeyed_by if row is not None else 'git'}."
        return f"{said} A grant can name the file itself." if row is not None and row.for_builds else said

    def as_json(self) -> dict[str, object]:
        """Return the document of ``rye run tool:ID --json``."""
        result, failed = self.result, self.result.error
        error = {"code": failed.code, "message": failed.message, "hint": failed.hint} if failed is not None else None
        return {
            "tool": self.item.label,
            "sha256": self.item.sha256,
            "result": result.output,
            "exit": result.exit,
            "seconds": round(result.seconds, 3),
            "messages": result.stderr,
            "granted": [f"{key} {value}" for key, value in self.grants.lines()],
            "refused": list(result.refused),
            "error": error,
        }


def try_tool(context: Context, target: str, parameters: Mapping[str, Any], cancel: Event) -> Tried:
    """Run the tool ``target`` (``tool:ID``) once. The tool's own failures are in the result.

    Raises RyeError if it cannot start: an item that may not be used, ``policy-violation``, ``not-runnable``,
    ``sandbox-unavailable``, or ``bad-argument`` for parameters that are too large.
    """
    reference = parse_reference(target)
    if reference.kind != "tool":
        raise UsageError("wrong-kind", f"{reference} is not a tool.", "Write tool:ID.", what="tool")
    data = json.dumps(parameters, separators=(",", ":"), allow_nan=False).encode()
    if len(data) > RUNTIME.argument_bytes:
        message = f"The parameters are {len(data)} bytes of JSON; the limit is {RUNTIME.argument_bytes}."
        raise UsageError("bad-argument", message, "Pass the path of a file instead of its content.", what="input")
    items = ProjectItems(context, require_project(context.cwd))
    tools = SandboxedTools(context, items, user_models(context.home, context.environment).names)
    item = items.read("tool", items.resolve("tool", reference.id), reference.range, runs=True)
    _require_allowed(context, items, item)
    _warn_of_short_names(context, items, item)
    try:
        tools.check(item)
        return Tried(item, tools.granted(item), tools.run(item, data, None, cancel))
    except CallError as error:
        raise RyeError(error.code, error.message, error.hint) from error


def _require_allowed(context: Context, items: ProjectItems, item: UsableItem) -> None:
    """Raise RyeError ``policy-violation`` for a tool that the policies forbid every agent to call."""
    others = read_other_policies(context.home, context.now())
    rules = rules_in_force(context, items.project, items.manifest(), others)
    required = capability_of("execute", "tool", item.id)
    if rules.forbids(required) or rules.answer("execute", required) == "deny":
        hint = "See `[policy]` in rye.toml and in the policies of the user and the organization."
        raise RyeError("policy-violation", f"The policy forbids {required}.", hint)


def _warn_of_short_names(context: Context, items: ProjectItems, item: UsableItem) -> None:
    """Say that a grant of rye.toml is another tool's: an own tool can be run by its name without the namespace, but not granted
    anything, because that is the name of a tool of another publisher."""
    granted = items.manifest().sandbox
    if f"tool:{item.id}" in granted:
        return
    for name in granted:
        if item.id.endswith(f"/{name.removeprefix('tool:')}"):
            context.warn(
                f'[sandbox."{name}"] in rye.toml is not about {item.label}.', f'Write [sandbox."tool:{item.id}"].'
            )
