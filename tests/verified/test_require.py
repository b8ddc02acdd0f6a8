"""The error for rows of rye.lock that were not verified names them in the number that they have."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from rye.verified.require import unverified


def rows(number: int) -> list[Any]:
    return [SimpleNamespace(identity=f"skill:acme/{n}", version="1.0.0") for n in range(number)]


@pytest.mark.parametrize(
    ("number", "begins"),
    [
        (1, "skill:acme/0 1.0.0: rye.lock names it, but rye has not verified it on"),
        (2, "skill:acme/0 1.0.0, skill:acme/1 1.0.0: rye.lock names them, but rye has not verified them on"),
        (5, "skill:acme/0 1.0.0, skill:acme/1 1.0.0, skill:acme/2 1.0.0 and 2 more: rye.lock names them, but"),
    ],
)
def test_one_row_or_several(number: int, begins: str) -> None:
    assert unverified(rows(number), "it is offline.").message.startswith(begins)
