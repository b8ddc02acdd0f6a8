"""How much a test tries: little in ``make test``, much in ``make fuzz``, which runs every file that uses this."""

from __future__ import annotations

import os

FUZZ = bool(os.environ.get("RYE_FUZZ"))


def tries(here: int, fuzz: int) -> int:
    """The number of examples or size of an input: ``here`` in ``make test``, ``fuzz`` in ``make fuzz``."""
    return fuzz if FUZZ else here
