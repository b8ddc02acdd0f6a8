"""Cached names of published items, from the pinned registries' name maps, walked from the last verified head.

Only cached nodes are read, up to a limit, and each is checked against its hash. Nothing is fetched.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rye.limits import COMPLETION
from rye.registry.protocol.name_map.nodes import Leaf, NameMapError, decode_node
from rye.registry.store.cache import Cache, Packs
from rye.storage.places import place_of
from rye.storage.safe_files import read_regular
from rye.workspace.completion.locked import locked
from rye.workspace.completion.place import Place

_HASH = re.compile(r"[0-9a-f]{64}")


def cached_names(environment: Mapping[str, str]) -> Iterator[str]:
    """The ids in the cached parts of all pinned registries' name maps; ``kind:id`` where two kinds share an id."""
    cache = Cache(Path(place_of("cache", environment), "registry"))
    states = Path(place_of("data", environment), "registries")
    packs = Packs(cache.folder / "packs")
    try:
        for folder in sorted(os.listdir(states)):
            root = _map_root(states / folder / "state.json")
            if root is not None:
                yield from _below(root, cache, packs)
    finally:
        packs.close()


def _map_root(state: Path) -> str | None:
    """The root hash of the name map in the last verified head."""
    try:
        root = json.loads(_object(state).get("head") or "{}").get("map")
    except (ValueError, TypeError, AttributeError, RecursionError):
        return None
    return root if isinstance(root, str) and _HASH.fullmatch(root) else None


def _object(path: Path) -> dict[str, Any]:
    """A JSON object from the user's data folder; empty if it cannot be read."""
    try:
        found = json.loads(read_regular(path))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _below(root: str, cache: Cache, packs: Packs) -> Iterator[str]:
    waiting, read = [root], 0
    kinds: dict[str, list[str]] = {}
    while waiting and read < COMPLETION.map_nodes:
        sha256 = waiting.pop()
        data = packs.get(sha256) or cache.get(sha256)
        if data is None:
            continue
        read += 1
        try:
            node = decode_node(data)
        except NameMapError:
            continue
        if isinstance(node, Leaf):
            for name in node.entries:
                kind, _, identifier = name.partition(":")
                if kind != "namespace":
                    kinds.setdefault(identifier, []).append(kind)
        else:
            waiting.extend(child.sha256 for child in node.children)
    for identifier, found in kinds.items():
        yield from [identifier] if len(found) == 1 else [f"{kind}:{identifier}" for kind in found]


def published(place: Place) -> Iterator[str]:
    """The cached names of the pinned registries, and the locked items."""
    yield from cached_names(place.environment)
    yield from locked(place)


def registries(place: Place) -> Iterator[str]:
    """The addresses of the user's pinned registries."""
    yield from sorted(_object(Path(place_of("data", place.environment), "registries", "addresses.json")))
