"""The prompt of a directive (DESIGN §8): title and description, process, success criteria, with inputs filled in, then returns.

Parts are joined by one blank line and otherwise stand as written: markup in them is for the model. The prompt has no newline at
its end. The fence is infrastructure and never part of it.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from rye.items.directive.model import Directive, LegacyOutputs, Output
from rye.rendering.interpolation import Missing, interpolate, missing_values
from rye.rendering.returns import legacy_returns_block, returns_block


class Part(Struct, frozen=True):
    """Text of the file; ``line`` is where it begins, None: not known."""

    text: str
    line: int | None = None


class PromptSource(Struct, frozen=True):
    """What a prompt is made of."""

    parts: tuple[Part, ...]
    """In the order of the prompt; blank ones are left out."""
    outputs: tuple[Output, ...] | LegacyOutputs = ()


def source_of(directive: Directive, text: str = "") -> PromptSource:
    """The parts of a directive that its prompt shows. Without a description in Markdown, the metadata's stands for it.

    ``text`` is the file's text, in which the lines of title and description are looked up for messages.
    """
    title, introduction = directive.title, directive.introduction.strip("\n")
    parts = [
        Part(f"# {title}" if title else "", _line_of(title, text)),
        Part(introduction, _line_of(introduction, text)) if introduction.strip() else Part(directive.description),
    ]
    if directive.process is not None:
        parts.append(Part(directive.process.source, directive.process.line))
    parts.append(Part(directive.success_criteria_source, directive.success_criteria_line))
    return PromptSource(tuple(parts), directive.outputs)


def _line_of(part: str, text: str) -> int | None:
    place = text.find(part)
    return text.count("\n", 0, place) + 1 if place >= 0 else None


def render(source: PromptSource, values: Mapping[str, object]) -> str:
    """The prompt with ``values`` (of :func:`rye.rendering.inputs.resolve`) filled in.

    Raises RyeError ``missing-input`` naming the line of every required placeholder without a value.
    """
    texts: list[str] = []
    missing: list[Missing] = []
    for part in source.parts:
        if not part.text.strip():
            continue
        line = None if part.line is None else part.line + len(part.text) - len(part.text.lstrip("\n"))
        text, without = interpolate(part.text.strip("\n"), values, line)
        texts.append(text)
        missing += without
    if isinstance(source.outputs, LegacyOutputs):
        block, without = legacy_returns_block(source.outputs, values)
        missing += without
    else:
        block = returns_block(source.outputs)
    if missing:
        raise missing_values(missing)
    return "\n\n".join([*texts, block] if block else texts)
