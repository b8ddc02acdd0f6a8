"""The attacks that docs/reference/attacks*.md name, which ``make test`` runs whatever it leaves to ``make test-thorough``."""

from __future__ import annotations

import re
from pathlib import Path

from tests.attacks.simulation import Attack

_PAGES = sorted((Path(__file__).parents[2] / "docs" / "reference").glob("attacks*.md"))
NAMED = frozenset(name for page in _PAGES for name in re.findall(r"`test_\w+\.py::([^`]+)`", page.read_text("utf-8")))


def of_the_tables(attack: Attack) -> str:
    """For :func:`tests.scenes.effort.rest_thorough`: each attack of the tables is a sort of its own, the others are one."""
    return attack.name if attack.name in NAMED else ""
