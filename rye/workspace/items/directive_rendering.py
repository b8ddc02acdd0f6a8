"""Directives with their inputs filled in."""

from __future__ import annotations

from collections.abc import Mapping

from rye.items.directive.model import Directive
from rye.rendering.inputs import resolve
from rye.rendering.prompt import first_uses, source_of
from rye.rendering.prompt import render as render_prompt
from rye.workspace.context import Context
from rye.workspace.items.effective_item import EffectiveItem, Require
from rye.workspace.items.rendered import AskValue, Rendered, Steps, Used


def render(
    context: Context,
    found: EffectiveItem,
    directive: Directive,
    texts: Mapping[str, str],
    values: Mapping[str, object],
    require: Require,
    ask: AskValue | None,
    steps: Steps | None,
) -> Rendered:
    """A :data:`rye.workspace.items.rendering.Renderer`. Raises RyeError for invalid inputs."""
    texts = dict(texts)
    if ask is not None and {*texts, *values} <= {each.name for each in directive.inputs}:
        for each in directive.inputs:
            if each.required and each.default is None and each.name not in (*texts, *values):
                texts[each.name] = ask(each.name, each.type, each.description or "")
    source = source_of(directive)
    filled = resolve(directive.inputs, texts, values, uses=first_uses(source), place=found.place)
    shown = found.item.kind.load().as_json(directive)
    metadata = found.item.reading.metadata
    return Rendered(
        id=found.id,
        kind=found.item.kind.name,
        shown=found.item.shown,
        prompt=render_prompt(source, filled, found.place),
        inputs=filled,
        capabilities=metadata.capabilities if metadata else (),
        rights=shown["permissions"],
        hooks=shown["hooks"],
        model=shown["model"],
        limits=shown["limits"],
        agent_tools=(),
        diagnostics=found.own_findings(),
        findings=found.findings,
        customizations=tuple(Used("override", path) for path in found.overrides),
    )
