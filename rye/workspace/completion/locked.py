"""Names in a project's own files: rye.lock, rye.toml and the folder of runs. Anything that is not a valid name is skipped."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from rye.limits import COMPLETION
from rye.workspace.completion.place import NAMESPACE, Place, tables

_ROW = re.compile(r'^kind = "([a-z]+)"\nid = "([a-z0-9_/-]+)"$', re.MULTILINE)
_WANTED = re.compile(r"""^[ \t]*(?:"([a-z0-9_/:-]+)"|'([a-z0-9_/:-]+)')[ \t]*=""", re.MULTILINE)
_GROUP = re.compile(r"^[ \t]*\[groups\.([a-z0-9_-]+)\]", re.MULTILINE)
_KEY = re.compile(r"^[ \t]*([a-z0-9_-]+)[ \t]*=", re.MULTILINE)
_RUN = re.compile(r"[0-9A-HJKMNP-TV-Z]{26}")


def locked(place: Place) -> Iterator[str]:
    """The items in rye.lock, as ``id``, or ``kind:id`` where two kinds share the id, and those in rye.toml."""
    rows = [(kind, name) for kind, name in _ROW.findall(place.text("rye.lock")) if place.kind in ("", kind)]
    kinds: dict[str, set[str]] = {}
    for kind, name in rows:
        kinds.setdefault(name, set()).add(kind)
    for kind, name in rows:
        yield name if len(kinds[name]) == 1 else f"{kind}:{name}"
    if not place.kind:
        for table, text in tables(place.text("rye.toml")):
            if table == "dependencies" or table.startswith("groups."):
                yield from (first or second for first, second in _WANTED.findall(text))


def groups(place: Place) -> Iterator[str]:
    """The groups of rye.toml."""
    yield "main"
    yield from _GROUP.findall(place.text("rye.toml"))


def namespaces(place: Place) -> Iterator[str]:
    """The namespaces of this project, of its installed items, and of its registries and sources."""
    manifest = place.text("rye.toml")
    yield from NAMESPACE.findall(manifest)
    for table, text in tables(manifest):
        if table in ("registries", "sources"):
            yield from _KEY.findall(text)
    yield from (name.partition("/")[0] for _, name in _ROW.findall(place.text("rye.lock")))


def sources(place: Place) -> Iterator[str]:
    """The sources of rye.toml."""
    for table, text in tables(place.text("rye.toml")):
        if table == "sources":
            yield from _KEY.findall(text)
        elif table.startswith("sources."):
            yield table.removeprefix("sources.").strip("\"' ")


def runs(place: Place) -> Iterator[str]:
    """The newest runs of the project."""
    if place.root is not None:
        found = sorted(os.listdir(os.path.join(place.root, ".ai", "runs")), reverse=True)
        yield from (name for name in found[: COMPLETION.names] if _RUN.fullmatch(name))
