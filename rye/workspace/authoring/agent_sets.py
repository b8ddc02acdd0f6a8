"""Agents as a set with their graph of handovers, and YAML agents rewritten as Markdown (DECISIONS Agents)."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from rye.errors import RyeError, UsageError
from rye.items.agent.graph import build
from rye.items.agent.migration import migrate as as_markdown
from rye.items.agent.model import Agent
from rye.limits import CONTENT
from rye.project.checking import Checked, check_files
from rye.project.context import FileToRead, expand, read_options
from rye.project.item_file import ItemFile, load_item, place, read_item_bytes
from rye.project.layout import find_project
from rye.text import content
from rye.text.spelling import near_miss

if TYPE_CHECKING:
    from rye.items.agent.graph import AgentGraph
    from rye.workspace.context import Context
    from rye.workspace.named_file import NamedFile

_FOLDERS = (".ai/agents", ".rawko/agents")
"""The folders of a project's agents; the first one that exists is used."""


class AgentSet(Struct, frozen=True):
    """The agents of a folder, each with its findings; ``agents``: those that could be parsed."""

    checked: tuple[Checked, ...]
    agents: tuple[Agent, ...]

    def graph(self, entry: str | None = None) -> AgentGraph:
        """The graph of handovers, from the agent named ``entry``. Raises UsageError ``unknown-name``."""
        names = [agent.name for agent in self.agents]
        if entry is not None and entry not in names:
            meant = near_miss(entry, names)
            hint = f"Did you mean {meant}?" if meant else f"Agents: {', '.join(sorted(names)) or 'none'}."
            raise UsageError("unknown-name", f"No agent in this set is named {entry!r}.", hint, what="agent")
        return build(self.agents, entry)


def read_agents(context: Context, folder: str | None = None) -> AgentSet:
    """The agents of a folder, by default the project's. A file that does not parse becomes a finding.

    Raises RyeError ``no-such-folder``, ``no-items``.
    """
    checked = tuple(
        entry
        for entry in check_files(_agent_files(context, folder), "agent", read_options(context.cwd))
        if entry.kind == "agent"
    )
    values = (entry.item.reading.value for entry in checked if entry.item is not None)
    return AgentSet(checked, tuple(value for value in values if isinstance(value, Agent)))


def _agent_files(context: Context, folder: str | None) -> list[FileToRead]:
    if folder is None:
        project = find_project(context.cwd)
        root = project.root if project is not None else context.cwd
        places = [root / name for name in _FOLDERS if (root / name).is_dir()]
        if not places:
            raise RyeError(
                "no-items",
                "This folder has no .ai/agents or .rawko/agents.",
                "Name a folder: `rye agent graph FOLDER`.",
                what="agents",
            )
        folder = os.path.relpath(places[0], context.cwd)
    path = context.cwd / folder
    if not path.is_dir():
        raise RyeError("no-such-folder", f"The folder {folder!r} does not exist.", "Name a folder of agents.")
    direct = [
        FileToRead(file, os.path.join(folder, file.name), path) for file in sorted(path.glob("*.md")) if file.is_file()
    ]
    if direct and path.name == "agents":
        return direct
    found = [entry for entry in expand([folder], context.cwd) if _is_agent(entry.path)]
    if not found:
        raise RyeError(
            "no-items", f"{folder!r} contains no agents.", "Create one with `rye new agent NAME`.", what="agents"
        )
    return found


def _is_agent(path: Path) -> bool:
    located = place(
        path, read_item_bytes(path, CONTENT.item_bytes).decode("utf-8", "replace").replace("\r\n", "\n"), None
    )
    return located is not None and located.kind == "agent"


class _Planned(Struct, frozen=True):
    path: Path
    shown: str
    text: str


def migrate_agents(context: Context, files: Sequence[NamedFile]) -> Iterator[ItemFile]:
    """Write ``FILE.md`` next to each ``FILE.yaml``, and yield the written item.

    All are rewritten in memory before the first is written. Raises UsageError ``not-yaml``, RyeError ``malformed-agent``,
    ``already-exists`` and the rewriting's errors for an agent that is not pure YAML.
    """
    planned = [_planned(file) for file in files]
    for one in planned:
        try:
            with one.path.open("x", encoding="utf-8", newline="\n") as stream:
                stream.write(one.text)
        except FileExistsError:
            raise _exists(one.shown) from None
        yield load_item(one.path, shown=one.shown, kind="agent", options=read_options(context.cwd))


def _planned(file: NamedFile) -> _Planned:
    if not file.shown.endswith((".yaml", ".yml")):
        raise UsageError("not-yaml", f"{file.shown!r} does not end in .yaml or .yml.", "Name an agent's YAML file.")
    decoded = content.decode(read_item_bytes(file.path, CONTENT.item_bytes))
    errors = [finding for finding in decoded.diagnostics if finding.severity == "error"]
    if decoded.text is None or errors:
        raise RyeError("malformed-agent", f"{file.shown}: {errors[0].message}", errors[0].hint)
    shown = f"{file.shown.rpartition('.')[0]}.md"
    path = file.path.with_name(Path(shown).name)
    if path.exists() or path.is_symlink():
        raise _exists(shown)
    try:
        return _Planned(path, shown, as_markdown(decoded.text))
    except RyeError as error:
        raise RyeError(error.code, f"{file.shown}: {error.message}", error.hint, details=error.details) from None


def _exists(shown: str) -> RyeError:
    return RyeError(
        "already-exists", f"{shown!r} already exists and was left alone.", "Remove it first, or keep it.", what="file"
    )
