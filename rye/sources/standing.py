"""Whether source folders still match rye.lock."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from rye.errors import RyeError
from rye.project.declared_sources import Source
from rye.project.lock import LockedFile, LockedItem
from rye.sources.opening import Opener


def stands(opener: Opener, sources: Mapping[str, Source], rows: Sequence[LockedItem]) -> bool:
    """Whether the folders have exactly the files of these rows. False for an unreadable folder; opening it reports why."""
    groups: dict[str, list[LockedItem]] = {}
    for row in rows:
        if row.source is not None and row.source.path is not None:
            groups.setdefault(row.identity.namespace, []).append(row)
    return all(name in sources and _holds(opener, sources[name], group) for name, group in groups.items())


def _holds(opener: Opener, source: Source, rows: Sequence[LockedItem]) -> bool:
    try:
        opened = opener.open(source, None)
        found = {(row.kind, row.identity.local_id): row for row in rows}
        judged = opened.judge(opened.items[key] for key in found if key in opened.items)
    except RyeError:
        return False
    for key, row in found.items():
        item = judged.get(key)
        if item is None or isinstance(item, str) or opened.place_of(opened.items[key]) != row.source:
            return False
        files = {
            LockedFile(one.path, len(one.data), hashlib.sha256(one.data).hexdigest(), one.executable)
            for one in item.attached
        }
        if hashlib.sha256(item.data).hexdigest() != row.sha256 or files != set(row.attached):
            return False
    return True
