"""Reads a provider's answers: strict about the fields that are used, indifferent to all others."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from rye.limits import RUN
from rye.text.json_reading import UNDECODABLE

T = TypeVar("T")


class BadAnswer(Exception):
    """A provider's answer is not a valid turn of a model."""


def decoded(data: bytes, type: type[T]) -> T:
    """Decode an answer. Raises BadAnswer."""
    try:
        return msgspec.json.decode(data, type=type)
    except UNDECODABLE as error:
        raise BadAnswer(f"it does not match this dialect: {error}") from None


def tokens(value: int | None) -> int | None:
    """Check a number of billed tokens. Raises BadAnswer for an impossible number, such as a negative one that would raise a
    limit."""
    if value is not None and not 0 <= value <= RUN.counted_tokens:
        raise BadAnswer(f"it bills {value} tokens")
    return value


def base(url: str, path: str) -> str:
    """Join base and path. If the base already ends with the API version, it is not repeated."""
    version = path.split("/", 2)[1]
    return url.removesuffix(f"/{version}") + path
