"""The prompt of a directive (DESIGN §8; DECISIONS Directives 18): title and description, everything after the fence, returns.

The agent reads everything after the fence, complete and in order, including comments and code, with inputs filled in. The parts
are joined by one blank line and otherwise unchanged: their markup is for the model. The prompt does not end with a newline. The
fence is infrastructure and never part of the prompt.

The prompt of a directive with outputs ends with a ``<returns>`` block (DESIGN §8; DECISIONS Directives 10, 17)::

    <returns>
      <output name="deployment_id">ID of the created deployment</output>
    </returns>

Outputs written as a list or as a dict produce the same block; legacy messages produce ``<success>`` and ``<failure>`` with
their inputs filled in. Descriptions of outputs are not interpolated. Text is escaped as XML after inputs are filled in, so that
no value can close an element. Without outputs, there is no block.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from rye.items.directive.model import Directive, LegacyOutputs, Output
from rye.items.directive.text_lines import consecutive
from rye.rendering.interpolation import MissingValue, Place, interpolate, missing_values, own_file


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


def unfilled(directive: Directive) -> str:
    """Return what of a directive's text is in its prompt, with placeholders as written, and without returns."""
    return "\n\n".join(part.text for part in source_of(directive).parts)


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


_TEXT = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"}
_ESCAPES = str.maketrans(_TEXT)
_ATTRIBUTE_ESCAPES = str.maketrans({**_TEXT, '"': "&quot;", "\n": "&#10;", "\t": "&#9;"})


def returns_block(outputs: Iterable[Output] | Mapping[str, str]) -> str:
    """Return the block for outputs as a list, or as a dict of name to description. Empty without outputs."""
    if isinstance(outputs, Mapping):
        pairs = list(outputs.items())
    else:
        pairs = [(output.name, output.description) for output in outputs]
    return _block(
        f'<output name="{name.translate(_ATTRIBUTE_ESCAPES)}">{description.strip().translate(_ESCAPES)}</output>'
        for name, description in pairs
    )


def legacy_returns_block(outputs: LegacyOutputs, values: Mapping[str, object]) -> tuple[str, tuple[MissingValue, ...]]:
    """Return the block for legacy messages, filled in from ``values``, and their placeholders without a value."""
    lines: list[str] = []
    missing: list[MissingValue] = []
    messages = (
        ("success", outputs.success, outputs.success_lines),
        ("failure", outputs.failure, outputs.failure_lines),
    )
    for tag, message, places in messages:
        if message is not None:
            text, without = interpolate(message, values, places)
            lines.append(f"<{tag}>{text.translate(_ESCAPES)}</{tag}>")
            missing += without
    return _block(lines), tuple(missing)


def _block(elements: Iterable[str]) -> str:
    lines = [f"  {element}" for element in elements]
    return "\n".join(["<returns>", *lines, "</returns>"]) if lines else ""
