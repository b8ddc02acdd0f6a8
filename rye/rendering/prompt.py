"""The prompt of a directive (DESIGN §8; DECISIONS Directives 18): title and description, everything after the fence, returns.

The agent reads everything after the fence, complete and in order, including comments and code, with inputs filled in. The parts
are joined by one blank line and otherwise unchanged: their markup is for the model. The prompt does not end with a newline. The
fence is infrastructure and never part of the prompt.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from rye.items.directive.model import Directive, LegacyOutputs, Output
from rye.items.directive.text_lines import consecutive
from rye.rendering.interpolation import MissingValue, Place, interpolate, missing_values, own_file
from rye.rendering.returns import legacy_returns_block, returns_block


class PromptPart(Struct, frozen=True):
    """Text from the file. ``lines``: the file's line for each of its lines, if known."""

    text: str
    lines: Sequence[int] = ()


class PromptSource(Struct, frozen=True):
    """The parts of a prompt."""

    parts: tuple[PromptPart, ...]
    """In the order of the prompt; blank parts are skipped."""
    outputs: tuple[Output, ...] | LegacyOutputs = ()


def source_of(directive: Directive) -> PromptSource:
    """Return the parts of a directive that its prompt shows. If the Markdown has no description, the metadata's is used."""
    title_lines = (directive.title_line,) if directive.title_line is not None else ()
    parts = [PromptPart(f"# {directive.title}" if directive.title else "", title_lines)]
    if directive.introduction:
        parts.append(PromptPart(directive.introduction, directive.introduction_lines))
    else:
        parts.append(PromptPart(directive.description, directive.description_lines))
    parts.append(PromptPart(directive.body, consecutive(directive.body, directive.body_line)))
    return PromptSource(tuple(parts), directive.outputs)


def first_uses(source: PromptSource) -> dict[str, int]:
    """Return the line where each input is first needed: by a placeholder that is not optional and has no default."""
    texts = [(part.text, part.lines) for part in source.parts]
    if isinstance(source.outputs, LegacyOutputs):
        texts.append((source.outputs.success or "", source.outputs.success_lines))
        texts.append((source.outputs.failure or "", source.outputs.failure_lines))
    uses: dict[str, int] = {}
    for text, lines in texts:
        for one in interpolate(text, {}, lines)[1]:
            if one.line is not None:
                uses.setdefault(one.name, one.line)
    return uses


def render(source: PromptSource, values: Mapping[str, object], place: Place = own_file) -> str:
    """Return the prompt with ``values`` (from :func:`rye.rendering.inputs.resolve`) filled in.

    Raises RyeError ``missing-input`` with the line of every required placeholder without a value, as mapped by ``place``.
    """
    texts: list[str] = []
    missing: list[MissingValue] = []
    for part in source.parts:
        if not part.text.strip():
            continue
        lead = len(part.text) - len(part.text.lstrip("\n"))
        text, without = interpolate(part.text.strip("\n"), values, part.lines[lead:])
        texts.append(text)
        missing += without
    if isinstance(source.outputs, LegacyOutputs):
        block, without = legacy_returns_block(source.outputs, values)
        missing += without
    else:
        block = returns_block(source.outputs)
    if missing:
        raise missing_values(missing, place)
    return "\n\n".join([*texts, block] if block else texts)
