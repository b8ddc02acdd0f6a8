"""Whether a text is a version range, for the metadata that names one (DESIGN §6).

The grammar is :mod:`rye.resolution.ranges`, which knows nothing of items.
"""

from __future__ import annotations

from functools import lru_cache

from rye.errors import UsageError
from rye.resolution.ranges import Range

_MOST_CHARACTERS = 200


def is_range(text: str) -> bool:
    """Whether the solver could read ``text``: a blank one is none here, an author who means any version leaves it out."""
    return len(text) <= _MOST_CHARACTERS and _parses(text)


@lru_cache(maxsize=512)
def _parses(text: str) -> bool:
    """The same few ranges are read again and again; the texts kept are short."""
    if not text.strip():
        return False
    try:
        Range.parse(text)
    except UsageError:
        return False
    return True
