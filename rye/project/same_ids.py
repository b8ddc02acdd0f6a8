"""Files of a project that share an id, such as ``count.js`` and ``count.py``. A lookup of that id finds neither (DESIGN §1).

An id has no suffix, and lookups treat ``-`` and ``_`` as the same character, so ``read-file.py`` and ``read_file.py`` have the
same id.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from rye.items.identity import lookup_key
from rye.items.kinds import KINDS
from rye.items.location import locate, shared_folder
from rye.project.item_file import ItemFile
from rye.text.diagnostics import Diagnostic


def same_ids(items: Iterable[ItemFile]) -> dict[str, tuple[Diagnostic, ...]]:
    """Return a finding, by shown path, for each item that shares its id with another file in its folder."""
    folders: dict[Path, dict[tuple[str, str], list[str]]] = {}
    diagnostics: dict[str, tuple[Diagnostic, ...]] = {}
    for item in items:
        kind, location = KINDS[item.location.kind], item.location
        if kind.main_file is not None or location.category is None or location.namespace is not None:
            continue
        folder = item.path.absolute().parent
        if folder not in folders:
            folders[folder] = _names_by_id(folder)
        names = folders[folder].get((kind.name, lookup_key(location.name)), [])
        others = [name for name in names if name != item.path.name]
        if others and item.path.name in names:
            diagnostics[item.shown] = (_finding(kind.name, location.local_id, [item.path.name, *others]),)
    return diagnostics


def _finding(kind: str, identifier: str, names: list[str]) -> Diagnostic:
    listed = " and ".join(name if name.isprintable() else ascii(name) for name in names)
    return Diagnostic(
        "error",
        "ambiguous-id",
        f"{listed} have the same id, {kind}:{identifier}, so neither can be used.",
        hint="Rename or delete one of them. An id has no suffix, and `-` and `_` count as the same character.",
    )


def _names_by_id(folder: Path) -> dict[tuple[str, str], list[str]]:
    """Map kind and lookup key → the files with that id, sorted. Folders that two kinds share are left out."""
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    try:
        names = sorted(entry.name for entry in os.scandir(folder) if entry.is_file())
    except OSError:
        return found
    for name in names:
        location = locate(folder / name)
        if location is not None and not shared_folder(location):
            found[(location.kind, lookup_key(location.name))].append(name)
    return found
