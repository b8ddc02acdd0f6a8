"""Which kind of item a file is, and its id, from where it stands or, failing that, from what it says.

Places (DESIGN §1, §6): ``…/<kind folder>/<category>/<name><suffix>`` for kinds with categories, ``<kind folder>/<name><suffix>``
for the others, ``skills/<name>/SKILL.md`` for skills; installed: ``.ai/packages/<namespace>/<kind folder>/…``.
"""

from __future__ import annotations

import re
from pathlib import PurePath

from msgspec import Struct

from rye.items.kinds import BY_FOLDER, KINDS, Kind

PACKAGES = "packages"
"""The folder below ``.ai`` that installed items stand in."""


class Location(Struct, frozen=True):
    """Where one item stands. ``category`` is None where the file is in no kind's folder, ``""`` directly in it."""

    kind: str
    name: str
    category: str | None
    namespace: str | None = None
    """Of an installed item; None for a project's own."""

    @property
    def local_id(self) -> str:
        """``category/name``, or the bare name."""
        return f"{self.category}/{self.name}" if self.category else self.name


def item_name(kind: Kind, path: PurePath) -> str | None:
    """The item's name in a file of that kind, or None when the file's name does not end as the kind's do."""
    if kind.main_file is not None:
        return path.parent.name if path.name == kind.main_file else None
    for suffix in kind.suffixes:
        if path.name.endswith(suffix) and len(path.name) > len(suffix):
            return path.name[: -len(suffix)]
    return None


def locate(path: PurePath) -> Location | None:
    """The location that the folders above a file imply; None where none of them is a kind's."""
    parts = path.parts
    start = len(parts) - 1 - parts[::-1].index(".ai") if ".ai" in parts else 0
    for index in range(start, len(parts) - 1):
        kind = BY_FOLDER.get(parts[index])
        if kind is None:
            continue
        name = item_name(kind, path)
        between = parts[index + 1 : -1]
        if name is None or (kind.main_file is None and between and not kind.nested):
            continue
        if kind.main_file is not None and len(between) != 1:
            continue
        namespace = parts[index - 1] if index >= 2 and parts[index - 2] == PACKAGES else None
        return Location(kind.name, name, "/".join(between) if kind.nested else "", namespace)
    return None


_DIRECTIVE = re.compile(r"^ {0,3}(`{3,}|~{3,}) *xml\b[^\n]*\n\s*<directive\b", re.MULTILINE | re.IGNORECASE)
_ROLE = re.compile(r"^# .+ — Nexus SDLC Agent[ \t]*$", re.MULTILINE)
_AGENT = re.compile(r"^(?:whenToUse|transitions)[ \t]*:", re.MULTILINE)
_KNOWLEDGE = re.compile(r"^(?:entry_type|title|tags)[ \t]*:", re.MULTILINE)
_FRONTMATTER = re.compile(r"\A(?:<!--[^\n]*-->\n)?---[ \t]*\n(?P<body>.*?)^---[ \t]*$", re.MULTILINE | re.DOTALL)
_YAML_FENCE = re.compile(r"\A(?:<!--[^\n]*-->\n)?\s*```ya?ml[ \t]*\n(?P<body>.*?)^```", re.MULTILINE | re.DOTALL)


def guess(path: PurePath, text: str) -> Location | None:
    """The kind that a file outside every kind's folder shows by its name or its content; None where it shows none."""
    for kind in (KINDS["formula"], KINDS["bundle"], KINDS["skill"]):
        name = item_name(kind, path)
        if name is not None:
            return Location(kind.name, name, None)
    if path.suffix in (".md", ".txt"):
        found = _guess_markdown(text)
        return Location(found, path.stem, None) if found else None
    if path.suffix in KINDS["tool"].suffixes and "__version__" in text:
        return Location("tool", path.stem, None)
    return None


def _guess_markdown(text: str) -> str | None:
    if _DIRECTIVE.search(text):
        return "directive"
    if _ROLE.search(text):
        return "role"
    head = _FRONTMATTER.search(text)
    if head is not None:
        if _AGENT.search(head["body"]):
            return "agent"
        return "knowledge" if _KNOWLEDGE.search(head["body"]) else None
    fence = _YAML_FENCE.search(text)
    return "knowledge" if fence is not None and _KNOWLEDGE.search(fence["body"]) else None
