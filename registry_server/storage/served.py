"""The paths that are served, each with its media type and cache lifetime: a closed list (docs/reference/protocol.md).

A request's path is served only if one of these patterns matches all of it, so that a client can never put anything
unchecked into the name of a file: no dots, no escapes, no upper case, no other folder.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """How a path is answered."""

    path: str
    """Relative to the store."""
    media_type: str
    cache_control: str
    is_immutable: bool
    tag: str | None
    """The entity tag. The path, if it always means the same bytes; otherwise None."""
    may_compress: bool
    """Whether it is the registry's own text, which compresses well."""
    needs_size: int
    """The bytes are final once the log has this many entries. A tile that no head covers yet must not be cached permanently."""


_ROUTES: tuple[tuple[re.Pattern[str], str, bool, bool], ...] = tuple(
    (re.compile(pattern), media_type, immutable, compress)
    for pattern, media_type, immutable, compress in (
        (r"config\.json", _JSON, False, False),
        (r"head", _JSON, False, True),
        (r"checkpoint", _TEXT, False, False),
        (r"clock", "application/x-ndjson", False, False),
        (r"policy", "application/x-ndjson", False, False),
        (r"owners/[a-z0-9][a-z0-9_-]{0,63}", "application/x-ndjson", False, True),
        (r"root/[1-9][0-9]{0,9}", _TEXT, True, False),
        (_TILE, _BYTES, True, False),
        (rf"map/{_SHA256}", _TEXT, True, True),
        (rf"index/{_SHA256}", "application/x-ndjson", True, True),
        # Items are untrusted text: never serve them with a type that a browser would run.
        (rf"blobs/sha256/([0-9a-f]{{2}})/(?=\1){_SHA256}", _BYTES, True, False),
    )
)


@lru_cache(maxsize=4096)
def served(path: str) -> Served | None:
    """Return how the decoded request path ``/…`` is answered; None if it is not served."""
    if len(path) > 200 or not path.startswith("/"):
        return None
    relative = path[1:]
    for pattern, media_type, is_immutable, may_compress in _ROUTES:
        if pattern.fullmatch(relative):
            cache = _IMMUTABLE if is_immutable else _HEAD
            tag = relative.replace("/", "-") if is_immutable else None
            size = _covering(relative) if relative.startswith("tile/") else 0
            return Served(
                path=relative,
                media_type=media_type,
                cache_control=cache,
                is_immutable=is_immutable,
                tag=tag,
                may_compress=may_compress,
                needs_size=size,
            )
    return None


def uncovered(file: Served) -> Served:
    """Return the same for a tile that no head covers yet: revalidated every time."""
    return replace(file, cache_control=_HEAD, is_immutable=False, tag=None)


def _covering(path: str) -> int:
    """Return the smallest size of a log in which this tile or bundle is final."""
    match = re.fullmatch(_TILE, path)
    assert match is not None
    level = 0 if match[1] == "entries" else int(match[1])
    index = int(match[2].replace("x", "").replace("/", ""))
    return (index * WIDTH + int(match[3] or WIDTH)) << (HEIGHT * level)
