"""The prompt that an agent gets from an item (DESIGN 8), the same for every caller.

==========  ==========================================================================
directive   title, description, everything after the fence, then the returns block
agent       the System Prompt section
role        the whole text below the signature line
formula     its steps in their order, ``extends`` and ``compose`` resolved, overlay applied, variables filled in
knowledge   the Markdown without metadata and signature
skill       the body below the frontmatter
==========  ==========================================================================

Only directives and formulas have inputs; those of a formula are its variables, which are texts. A tool runs and a bundle
installs items; neither has a prompt.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from rye.errors import UsageError
from rye.items.kinds import NoPrompt
from rye.text.lazy import lazy_module
from rye.workspace.context import Context
from rye.workspace.installing.install_request import Agree
from rye.workspace.items.agreement import require_agreed
from rye.workspace.items.effective_item import EffectiveItem, Require, effective_item
from rye.workspace.items.rendered import AskValue, Rendered, Steps

if TYPE_CHECKING:
    from rye.items.formula.model import Formula
    from rye.workspace.customizing import overlaying
    from rye.workspace.customizing.overlaying import Overlaid
else:
    overlaying = lazy_module("rye.workspace.customizing.overlaying")  # only for a formula

Renderer = Callable[
    [Context, EffectiveItem, Any, Mapping[str, str], Mapping[str, object], Require, AskValue | None, Steps | None],
    Rendered,
]
"""Takes the context, the item, its parsed value, inputs as texts and as values, the check of other items whose text it takes,
the callback for questions, and an overlay."""

_WITH_INPUTS = {
    "directive": "rye.workspace.items.directive_rendering",
    "formula": "rye.workspace.items.formula_rendering",
}
"""The modules that render kinds with inputs, which each format declares and fills in differently. Imported when needed."""


class RenderRequest(Struct, frozen=True):
    """An item to render, with its inputs."""

    item: str
    """``FILE|ID``."""
    kind: str | None = None
    """Read the file as an item of this kind."""
    texts: Mapping[str, str] = field(default_factory=dict)
    """Inputs as text, converted to their declared types. They take precedence over ``values``."""
    values: Mapping[str, object] = field(default_factory=dict)
    """Inputs as JSON values."""
    base: bool = False
    """Render as published, without overrides and overlays."""


def render(
    context: Context, request: RenderRequest, ask: AskValue | None = None, agree: Agree | None = None
) -> Rendered:
    """Render an item, with overrides and overlay unless ``base``.

    ``ask`` is called for required inputs without a value if the context is interactive. ``agree`` is called for approvals
    that this user has not agreed to (None: ask no one).

    Raises RyeError for an item that does not parse, must not be used or has no prompt, for invalid inputs, and
    ``project-not-accepted`` or ``consent-needed`` if consent is missing.
    """
    found = effective_item(context, request.item, request.kind, base=request.base)
    require_agreed(context, found, agree, customized=not request.base)

    def require(other: EffectiveItem) -> None:
        require_agreed(context, other, agree, customized=False)

    def overlay(found: EffectiveItem, resolved: Formula) -> Overlaid:
        return overlaying.overlay_in_force(context, found, resolved)

    return render_item(context, found, request.texts, request.values, require, ask, None if request.base else overlay)


def render_item(
    context: Context,
    found: EffectiveItem,
    texts: Mapping[str, str],
    values: Mapping[str, object],
    require: Require,
    ask: AskValue | None = None,
    steps: Steps | None = None,
) -> Rendered:
    """Like :func:`render`, for an item already found and agreed to (:func:`rye.workspace.items.agreement.require_agreed`).

    ``require``: requires the same of a formula that it inherits from. ``steps``: the overlay of a formula; None: without one.
    """
    value = found.parsed()
    kind = found.item.kind
    if isinstance(kind.prompt, NoPrompt):
        raise UsageError("no-prompt", kind.prompt.message, kind.prompt.hint)
    module = _WITH_INPUTS[kind.name] if kind.prompt == "inputs" else "rye.workspace.items.text_rendering"
    renderer: Renderer = import_module(module).render
    return renderer(context, found, value, texts, values, require, ask if context.interactive else None, steps)
