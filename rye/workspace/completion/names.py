"""Names for completion, only from the disk: rye.lock, own items, keys, settings, cached name maps.

A name grants nothing, so nothing is verified here; the command that uses the name does that. What cannot be read gives no
names. Names that a terminal would not show as they are, are skipped. Files and folders are left to the shell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import cast

from rye.limits import COMPLETION
from rye.workspace.completion.place import Place


def names(kind: str, folder: str, environment: Mapping[str, str], begun: str = "") -> list[str]:
    """The distinct names that start with ``begun``, sorted. If no id does, ids are matched without their namespace.

    ``kind``: as in the table (``item``, ``item role``, ``key`` …). ``folder``: where the person works. ``environment``: names
    the user's folders.
    """
    what, _, of_kind = kind.partition(" ")
    source = _SOURCES.get(what.removesuffix("-or-file"))
    if source is None:
        return []
    ids: set[str] = set()
    short: set[str] = set()
    try:
        for name in _load(source)(Place(folder, of_kind, environment)):
            if name.startswith(begun):
                ids.add(name)
            elif name.partition("/")[2].startswith(begun):
                short.add(name.partition("/")[2])
            if len(ids) >= COMPLETION.names:
                break
    except OSError:  # what cannot be read gives no names
        pass
    shown = sorted(name for name in ids or short if name.isprintable() and len(name) <= COMPLETION.name_characters)
    return shown[: COMPLETION.names]


def takes_files(kind: str) -> str:
    """``file`` or ``dir`` if the shell should also offer those; otherwise empty."""
    return "dir" if kind == "folder" else "file" if kind == "file" or kind.endswith("-or-file") else ""


_HERE = "rye.workspace.completion"
_SOURCES = {
    "item": f"{_HERE}.own_items:items",
    "locked": f"{_HERE}.locked:locked",
    "group": f"{_HERE}.locked:groups",
    "namespace": f"{_HERE}.locked:namespaces",
    "source": f"{_HERE}.locked:sources",
    "run": f"{_HERE}.locked:runs",
    "published": f"{_HERE}.cached_names:published",
    "registry": f"{_HERE}.cached_names:registries",
    "key": f"{_HERE}.user_names:keys",
    "target": f"{_HERE}.user_names:targets",
    "code": f"{_HERE}.codes:codes",
    "setting": f"{_HERE}.user_names:settings",
}
"""Each kind of value and the function that lists its names, imported on use, because an answer must be fast."""


def _load(source: str) -> Callable[[Place], Iterator[str]]:
    module, _, name = source.partition(":")
    return cast("Callable[[Place], Iterator[str]]", getattr(import_module(module), name))
