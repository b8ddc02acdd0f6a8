"""Check version ranges in metadata (DESIGN §6).

The grammar is in :mod:`rye.resolution.ranges`, which knows nothing of items.
"""

from __future__ import annotations

from functools import lru_cache

from rye.errors import UsageError
from rye.resolution.ranges import Range

_MOST_CHARACTERS = 200


def is_range(text: str) -> bool:
    """Whether the solver can parse ``text``. Blank text is not a range; an author who accepts any version omits it."""
    return len(text) <= _MOST_CHARACTERS and _parses(text)


@lru_cache(maxsize=512)
def _parses(text: str) -> bool:
    """Cached, because the same few ranges are checked repeatedly; the texts are short."""
    if not text.strip():
        return False
    try:
        Range.parse(text)
    except UsageError:
        return False
    return True
