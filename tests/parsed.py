"""What a file that parses says."""

from __future__ import annotations

from typing import TypeVar

from rye.items.reading import Reading

V = TypeVar("V")


def parsed(reading: Reading[V]) -> V:
    """The value of a reading that has to have one."""
    assert reading.value is not None, reading.diagnostics
    return reading.value
