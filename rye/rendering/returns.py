"""The ``<returns>`` block that ends a prompt (DESIGN §8; DECISIONS Directives 10, 17).

::

    <returns>
      <output name="deployment_id">ID of the created deployment</output>
    </returns>

Outputs written as a list or as a dict produce the same block; legacy messages produce ``<success>`` and ``<failure>`` with
their inputs filled in. Descriptions of outputs are not interpolated. Text is escaped as XML after inputs are filled in, so that
no value can close an element. Without outputs, there is no block.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rye.items.directive.model import LegacyOutputs, Output
from rye.rendering.interpolation import MissingValue, interpolate

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
