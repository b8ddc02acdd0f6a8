"""The paths that are served, each with its media type and how long it may be cached: a closed list (docs/protocol.md).

A request's path is served only when it matches one of these patterns as a whole, so nothing that a client writes ever becomes
part of a file's name unchecked: no dots, no escapes, no upper case, no other folder.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_SHA256 = r"[0-9a-f]{64}"
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


_ROUTES: tuple[tuple[re.Pattern[str], str, bool], ...] = tuple(
    (re.compile(pattern), media_type, immutable)
    for pattern, media_type, immutable in (
        (r"config\.json", _JSON, False),
        (r"head", _JSON, False),
        (r"checkpoint", _TEXT, False),
        (r"root/[1-9][0-9]{0,9}", _TEXT, True),
        (r"tile/(?:[0-9]|[1-5][0-9]|6[0-3]|entries)/(?:x[0-9]{3}/){0,5}[0-9]{3}(?:\.p/[1-9][0-9]{0,2})?", _BYTES, True),
        (rf"shards/{_SHA256}", _TEXT, True),
        (rf"index/{_SHA256}", "application/x-ndjson", True),
        # Items are other people's text: never a type that a browser would run.
        (rf"blobs/sha256/([0-9a-f]{{2}})/(?=\1){_SHA256}", _BYTES, True),
    )
)


def served(path: str) -> Served | None:
    """How the decoded request path ``/…`` is answered; None: there is no such path."""
    if len(path) > 200 or not path.startswith("/"):
        return None
    relative = path[1:]
    for pattern, media_type, is_immutable in _ROUTES:
        if pattern.fullmatch(relative):
            return Served(relative, media_type, _IMMUTABLE if is_immutable else _HEAD, is_immutable)
    return None
