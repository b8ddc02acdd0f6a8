"""The project's own items by their kinds' folders, and all usable items. No item's file is opened."""

from __future__ import annotations

import os
from collections.abc import Iterator

from rye.items.kinds import KINDS
from rye.limits import COMPLETION
from rye.workspace.completion.locked import locked
from rye.workspace.completion.place import NAMESPACE, Place


def own(place: Place) -> Iterator[str]:
    """The project's own items, by their kinds' folders. No file is opened, and no link below ``.ai`` followed: a repository could
    bring one to a folder without end."""
    if place.root is None:
        return
    namespace = NAMESPACE.search(place.text("rye.toml"))
    prefix = f"{namespace[1]}/" if namespace else ""
    for kind in KINDS.values():
        if place.kind not in ("", kind.name):
            continue
        base = os.path.join(place.root, ".ai", kind.folder)
        if os.path.islink(base):
            continue
        for folder, below, files in os.walk(base):
            below.sort()
            relative = os.path.relpath(folder, base).replace(os.sep, "/")
            if relative.count("/") >= COMPLETION.depth:
                below.clear()
            inside = "" if relative == "." else f"{relative}/"
            if kind.main_file is not None:
                if kind.main_file in files and inside:
                    yield prefix + inside[:-1]
                    below.clear()
                continue
            for name in sorted(files):
                ending = next((suffix for suffix in kind.suffixes if name.endswith(suffix) and name != suffix), None)
                if ending is not None:
                    yield prefix + inside + name[: -len(ending)]


def items(place: Place) -> Iterator[str]:
    """The locked items and the project's own."""
    yield from locked(place)
    yield from own(place)
