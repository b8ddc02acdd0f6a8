"""The conversation of a run, independent of any provider: the prompt, the model's turns, and the results of its calls."""

from __future__ import annotations

from typing import Any

from msgspec import Struct


class Said(Struct, frozen=True):
    """Text for the model: the prompt, a reminder."""

    text: str


class ToolUse(Struct, frozen=True):
    """One call that the model wants made."""

    id: str
    name: str
    arguments: Any
    """A JSON value; the raw text if the model did not write JSON."""


class Reply(Struct, frozen=True):
    """One turn of the model."""

    text: str
    calls: tuple[ToolUse, ...]
    input_tokens: int | None
    """What the provider bills; None if it did not say."""
    output_tokens: int | None
    source: tuple[str, str] = ("", "")
    """The dialect and the model that it came from."""
    raw: Any = None
    """As received, to be sent back unchanged to the same model: some providers sign their model's reasoning."""


class Result(Struct, frozen=True):
    """The result of one call."""

    id: str
    text: str
    failed: bool


class Results(Struct, frozen=True):
    """The results of all calls of one turn, and notes to the model."""

    results: tuple[Result, ...]
    notes: tuple[str, ...] = ()


Message = Said | Reply | Results
