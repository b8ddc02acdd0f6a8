"""The value of a file that parses."""

from __future__ import annotations

from typing import TypeVar

from rye.items.reading import Reading

V = TypeVar("V")


def parsed(reading: Reading[V]) -> V:
    """The value of a reading that must have one."""
    assert reading.value is not None, reading.diagnostics
    return reading.value
