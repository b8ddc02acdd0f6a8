"""What a marketplace and the plugins of a source declare: where their skills and agents are."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec
from msgspec import Struct

from rye.limits import SOURCES
from rye.sources.inventory.order import rank
from rye.sources.inventory.signs import AGENTS
from rye.sources.source_error import shown
from rye.text.json_reading import UNDECODABLE

MARKETPLACE = ".claude-plugin/marketplace.json"
PLUGIN = ".claude-plugin/plugin.json"


class Plugin(Struct):
    """A plugin of the repository: its folder, and the places of its skills and agents, from the source's own folder."""

    folder: str
    skills: list[str]
    """Skills' folders, and folders of such folders."""
    agents: list[str]
    """Agents' files, and folders of them."""


def is_plugin(path: str) -> bool:
    """Whether it is a plugin's own file."""
    return path == PLUGIN or path.endswith(f"/{PLUGIN}")


def read_plugins(texts: Mapping[str, bytes]) -> tuple[list[Plugin], list[str]]:
    """Return the plugins that the marketplace and the plugins' own files tell of, and notes about what is wrong there."""
    by_folder: dict[str, Plugin] = {}
    notes: list[str] = []

    def add(folder: str, declared: Mapping[str, object]) -> None:
        place = f"{folder}/".removeprefix("/")
        plugin = by_folder.setdefault(folder, Plugin(folder, [f"{place}skills"], [f"{place}{AGENTS}"]))
        plugin.skills += _places(folder, declared.get("skills"))
        plugin.agents += _places(folder, declared.get("agents"))

    if MARKETPLACE in texts:
        try:
            listed = msgspec.json.decode(texts[MARKETPLACE])
            rows = listed["plugins"][: SOURCES.plugins]
            root = str((listed.get("metadata") or {}).get("pluginRoot", ""))
        except (KeyError, TypeError, AttributeError, *UNDECODABLE):
            notes.append(f"{MARKETPLACE} is not a list of plugins")
            rows = []
        for row in rows:
            if isinstance(row, dict):
                source = row.get("source")
                folder = _inner(f"{root.rstrip('/')}/{source}" if root and isinstance(source, str) else source)
                if folder is None:
                    name = shown(str(row.get("name", "?")), 60)
                    notes.append(f"the plugin {name} is outside this repository; add the repository that has it")
                else:
                    add(folder, row)
    for path in sorted(filter(is_plugin, texts), key=rank):
        folder = path.removesuffix(PLUGIN).rstrip("/")
        if folder in by_folder or not any(part.startswith(".") for part in folder.split("/")):
            try:
                declared = msgspec.json.decode(texts[path])
            except UNDECODABLE:
                declared = None
            if not isinstance(declared, dict):
                notes.append(f"{shown(path, 200)} is not a plugin's file")
            add(folder, declared if isinstance(declared, dict) else {})
    return list(by_folder.values()), notes


def _places(folder: str, declared: object) -> list[str]:
    """Return the paths in ``folder`` that a plugin's key names: one or a list. What leads out of the plugin is left out."""
    given = declared[: SOURCES.items] if isinstance(declared, list) else [declared]
    return [f"{folder}/{inner}".strip("/") for inner in map(_inner, given) if inner is not None]


def _inner(path: object) -> str | None:
    """Normalize a path in the repository such as ``./plugins/x``; None for anything else."""
    if not isinstance(path, str) or re.search(r"[\\:]|//", path) or path.startswith("/"):
        return None
    parts = [part for part in path.split("/") if part not in ("", ".")]
    return None if ".." in parts else "/".join(parts)
