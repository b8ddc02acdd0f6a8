"""What was said in a run, in nobody's dialect: the prompt, the model's turns, and what its calls gave."""

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
    """As JSON; text where the model wrote none."""


class Reply(Struct, frozen=True):
    """One turn of the model."""

    text: str
    calls: tuple[ToolUse, ...]
    input_tokens: int | None
    """What the provider bills; None: it did not say."""
    output_tokens: int | None
    source: tuple[str, str] = ("", "")
    """Dialect and model that it came from."""
    raw: Any = None
    """As it came, to be sent back unchanged to the same model: some providers sign their model's thoughts."""


class Result(Struct, frozen=True):
    """What one call gave."""

    id: str
    text: str
    failed: bool


class Results(Struct, frozen=True):
    """What all calls of one turn gave, and what the model is told besides."""

    results: tuple[Result, ...]
    notes: tuple[str, ...] = ()


Message = Said | Reply | Results
