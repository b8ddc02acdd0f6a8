"""The paths that are served, each with its media type and how long it may be cached: a closed list (docs/reference/protocol.md).

A request's path is served only when it matches one of these patterns as a whole, so nothing that a client writes ever becomes
part of a file's name unchecked: no dots, no escapes, no upper case, no other folder.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache

from rye.registry.protocol.tiles import HEIGHT, WIDTH

_SHA256 = r"[0-9a-f]{64}"
_TILE = r"tile/([0-9]|[1-5][0-9]|6[0-3]|entries)/((?:x[0-9]{3}/){0,5}[0-9]{3})(?:\.p/([1-9][0-9]{0,2}))?"
_IMMUTABLE = "public, max-age=31536000, immutable"
_HEAD = "public, max-age=0, must-revalidate"
_TEXT = "text/plain"  # the charset is added when it is sent
_BYTES = "application/octet-stream"
_JSON = "application/json"


@dataclass(frozen=True, slots=True)
class Served:
    """How a path is answered."""

    path: str
    """Relative to the store."""
    media_type: str
    cache_control: str
    is_immutable: bool
    tag: str | None
    """What identifies the bytes, for an entity tag: the name, where a name means the same bytes for ever."""
    may_compress: bool
    """Whether it is text of ours that shrinks."""
    needs_size: int
    """A log of so many entries has these bytes for good: a tile that no head covers yet may not be cached for ever."""


_ROUTES: tuple[tuple[re.Pattern[str], str, bool, bool], ...] = tuple(
    (re.compile(pattern), media_type, immutable, compress)
    for pattern, media_type, immutable, compress in (
        (r"config\.json", _JSON, False, False),
        (r"head", _JSON, False, True),
        (r"checkpoint", _TEXT, False, False),
        (r"root/[1-9][0-9]{0,9}", _TEXT, True, False),
        (_TILE, _BYTES, True, False),
        (rf"map/{_SHA256}", _TEXT, True, True),
        (rf"index/{_SHA256}", "application/x-ndjson", True, True),
        # Items are other people's text: never a type that a browser would run.
        (rf"blobs/sha256/([0-9a-f]{{2}})/(?=\1){_SHA256}", _BYTES, True, False),
    )
)


@lru_cache(maxsize=4096)
def served(path: str) -> Served | None:
    """How the decoded request path ``/…`` is answered; None: there is no such path."""
    if len(path) > 200 or not path.startswith("/"):
        return None
    relative = path[1:]
    for pattern, media_type, is_immutable, may_compress in _ROUTES:
        if pattern.fullmatch(relative):
            cache = _IMMUTABLE if is_immutable else _HEAD
            tag = relative.replace("/", "-") if is_immutable else None
            size = _covering(relative) if relative.startswith("tile/") else 0
            return Served(relative, media_type, cache, is_immutable, tag, may_compress, size)
    return None


def uncovered(found: Served) -> Served:
    """The same for a tile that no head covers yet."""
    return replace(found, cache_control=_HEAD, is_immutable=False, tag=None)


def _covering(path: str) -> int:
    """The least size of a log that has this tile or bundle for good."""
    match = re.fullmatch(_TILE, path)
    assert match is not None
    level = 0 if match[1] == "entries" else int(match[1])
    index = int(match[2].replace("x", "").replace("/", ""))
    return (index * WIDTH + int(match[3] or WIDTH)) << (HEIGHT * level)
