"""Reading a provider's answer: strictly where something follows from it, indifferent to what is not used."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from rye.limits import RUN

T = TypeVar("T")


class BadAnswer(Exception):
    """A provider's answer that is not a turn of a model."""


def decoded(data: bytes, type: type[T]) -> T:
    """The answer as its type. Raises BadAnswer."""
    try:
        return msgspec.json.decode(data, type=type)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BadAnswer(f"it is not what this dialect answers: {error}") from None


def tokens(value: int | None) -> int | None:
    """A count of tokens as a provider bills it. Raises BadAnswer for one that nobody could have used: it would lift a limit."""
    if value is not None and not 0 <= value <= RUN.counted_tokens:
        raise BadAnswer(f"it bills {value} tokens")
    return value


def base(url: str, path: str) -> str:
    """The address of an endpoint; a base that ends with the version of the API does not get it twice."""
    version = path.split("/", 2)[1]
    return url.removesuffix(f"/{version}") + path
