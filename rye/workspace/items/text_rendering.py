"""Render items that are text: their kind's module creates the prompt."""

from __future__ import annotations

from collections.abc import Mapping

from rye.errors import UsageError
from rye.signing.sign_item import unsigned_text
from rye.signing.signature_line import layout_of
from rye.workspace.context import Context
from rye.workspace.items.effective_item import EffectiveItem, Require
from rye.workspace.items.rendered import AskValue, Rendered, Steps
from rye.workspace.items.rendered_text import rendered


def render(
    context: Context,
    found: EffectiveItem,
    value: object,
    texts: Mapping[str, str],
    values: Mapping[str, object],
    require: Require,
    ask: AskValue | None,
    steps: Steps | None,
) -> Rendered:
    """A :data:`rye.workspace.items.rendering.Renderer`. Raises UsageError for inputs, which these kinds do not accept."""
    if texts or values:
        first = next(iter({**values, **texts}))
        raise UsageError(
            "wrong-kind",
            f"Items of kind {found.item.kind.name} take no inputs, so {first!r} cannot be filled in.",
            "Omit --input.",
            what="inputs",
        )
    kind = found.item.kind
    reader = kind.load_prompt()
    assert reader is not None, f"the row of {kind.name} says that its module makes the prompt"
    prompt = reader.prompt(value, unsigned_text(found.item.text or "", layout_of(kind.name, found.item.path.name)))
    return rendered(found, prompt, {}, value)
