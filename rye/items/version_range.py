"""Whether a text is a version range, for the metadata that names one (DESIGN §6).

The grammar is :mod:`rye.resolution.ranges`, which knows nothing of items.
"""

from __future__ import annotations

from rye.errors import UsageError
from rye.resolution.ranges import Range

_MOST_CHARACTERS = 200


def is_range(text: str) -> bool:
    """Whether the solver could read ``text``: a blank one is none here, an author who means any version leaves it out."""
    if not text.strip() or len(text) > _MOST_CHARACTERS:
        return False
    try:
        Range.parse(text)
    except UsageError:
        return False
    return True
