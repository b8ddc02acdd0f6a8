"""Determine a file's kind and id from its path or, failing that, from its content.

Paths (DESIGN §1, §6): ``…/<kind folder>/<category>/<name><suffix>`` for kinds with categories, ``<kind folder>/<name><suffix>``
for the others, ``skills/<name>/SKILL.md`` for skills; installed: ``.ai/packages/<namespace>/<kind folder>/…``.
"""

from __future__ import annotations

import re
from pathlib import PurePath
from types import ModuleType

from msgspec import Struct

from rye.items.kinds import KINDS, Kind, Sign
from rye.text.frontmatter import frontmatter_end

PACKAGES = "packages"
"""The folder below ``.ai`` that contains installed items."""


class Location(Struct, frozen=True):
    """Where an item is. ``category`` is None if the file is in no kind's folder, ``""`` directly in one."""

    kind: str
    name: str
    category: str | None
    namespace: str | None = None
    """The namespace of an installed item; None for a project's own."""

    @property
    def local_id(self) -> str:
        """``category/name``, or only the name."""
        return f"{self.category}/{self.name}" if self.category else self.name


def item_name(kind: Kind, path: PurePath) -> str | None:
    """The item's name, from the name of a file of that kind; None if that does not end the way the kind's files do."""
    if kind.main_file is not None:
        return path.parent.name if path.name == kind.main_file else None
    for suffix in kind.suffixes:
        if path.name.endswith(suffix) and len(path.name) > len(suffix):
            return path.name[: -len(suffix)]
    return None


def locate(path: PurePath) -> Location | None:
    """Return the location that the folders above a file imply, or None if none of them is a kind's."""
    parts = path.parts
    start = len(parts) - 1 - parts[::-1].index(".ai") if ".ai" in parts else 0
    for index in range(start, len(parts) - 1):
        kind = KINDS.in_folder(parts[index])
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


def shared_folder(location: Location) -> bool:
    """Whether only the text of a file in this place determines its kind."""
    folder = KINDS[location.kind].folder
    return any(kind.also_in is not None and kind.also_in.folder == folder for kind in KINDS.values())


def told_by_title(location: Location, text: str) -> Location:
    """Refine a file's location with its text: the title may say that it is of a different kind than its folder's
    (DECISIONS Roles 6). Frontmatter, or a code fence above the title, rules that out."""
    for kind in KINDS.values():
        if kind.also_in is None or kind.also_in.folder != KINDS[location.kind].folder or text.startswith("---"):
            continue
        found = _opening().title(text)
        if found is not None and re.fullmatch(kind.also_in.title, found):
            return Location(kind.name, location.name, location.category, location.namespace)
    return location


def _opening() -> ModuleType:
    """The Markdown scanner, which commands that read no texts do not need."""
    from rye.text import markdown_opening

    return markdown_opening


def tells_kind(path: PurePath) -> Kind | None:
    """Return the kind that a file's name alone determines, wherever the file is, or None."""
    return next((kind for kind in KINDS.values() if kind.telling and item_name(kind, path) is not None), None)


def guess(path: PurePath, text: str) -> Location | None:
    """Return the kind that a file outside all kinds' folders shows by its name or content, or None."""
    named = tells_kind(path)
    if named is not None:
        return Location(named.name, item_name(named, path) or path.stem, None)
    signs = [
        (kind.sign, kind) for kind in KINDS.values() if kind.sign is not None and path.suffix in kind.sign.suffixes
    ]
    for sign, kind in sorted(signs, key=lambda pair: pair[0].rank):
        if _shows(sign, text):
            return Location(kind.name, path.stem, None)
    return None


def _shows(sign: Sign, text: str) -> bool:
    if sign.within != "text":
        head = _frontmatter(text)
        if head is None and sign.within == "metadata":
            fence, _ = _opening().leading_fence(text, "yaml")
            head = fence.text if fence is not None and fence.closed and fence.word in ("yaml", "yml") else None
        if head is None:
            return False
        text = head
    return re.search(sign.pattern, text, re.MULTILINE | (re.IGNORECASE if sign.ignore_case else 0)) is not None


def _frontmatter(text: str) -> str | None:
    """The content of the frontmatter, which only a comment can precede (any comment; the kind's reader checks it)."""
    lines = text.split("\n")
    opener = int(lines[0].startswith("<!--") and lines[0].endswith("-->"))
    end = frontmatter_end(lines, opener)
    return "\n".join(lines[opener + 1 : end - 1]) if end is not None else None
