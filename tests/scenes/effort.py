"""How much a test tries: little in ``make test``, much in ``make fuzz``, which runs every file that uses :func:`tries`."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from _pytest.mark import ParameterSet

FUZZ = bool(os.environ.get("RYE_FUZZ"))


def tries(here: int, fuzz: int) -> int:
    """The number of examples or size of an input: ``here`` in ``make test``, ``fuzz`` in ``make fuzz``."""
    return fuzz if FUZZ else here


def rest_thorough(
    first_count: int, values: Iterable[object], alike: Callable[..., Hashable] = lambda *_value: None
) -> list[ParameterSet]:
    """Values for ``parametrize``, tuples for several arguments: ``make test`` runs the first, ``make test-thorough`` the others.

    Put first what proves most: cases that differ, before variants of the same. ``alike``: gives what a value's variants share, so
    that the first of each are run. ``make test-fast`` leaves the others out, too; ``make fuzz`` runs them all.
    """
    rows = [each if isinstance(each, tuple) else (each,) for each in values]
    rest = [] if FUZZ else [pytest.mark.thorough]
    before: Counter[Hashable] = Counter()
    given = []
    for row in rows:
        before[kind := alike(*row)] += 1
        given.append(pytest.param(*row, marks=rest if before[kind] > first_count else []))
    return given
