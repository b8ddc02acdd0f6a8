"""What an agent gets of an item (DESIGN 8): one value, whoever asks for it.

==========  ==========================================================================
directive   title, description, everything after the fence, then the returns block
agent       the System Prompt section
role        the whole text below the signature line
formula     its steps in their order, ``extends`` and ``compose`` resolved, overlay applied, variables filled in
knowledge   the Markdown without metadata and signature
skill       the body below the frontmatter
==========  ==========================================================================

Only directives and formulas take inputs; a formula's are its variables, which are texts. A tool is run and a bundle installed;
neither has a prompt.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from rye.errors import RyeError, UsageError
from rye.items.kinds import NoPrompt
from rye.workspace.context import Context
from rye.workspace.effective_item import EffectiveItem, effective_item
from rye.workspace.findings import FileFindings, as_json

if TYPE_CHECKING:
    from rye.items.directive.model import Directive
    from rye.items.formula.model import Formula

AskValue = Callable[[str, str, str], str]
"""Asks a person for one input's value as text; gets its name, declared type and description."""
Steps = Callable[[EffectiveItem, "Formula"], tuple["Formula", tuple[FileFindings, ...]]]
"""Changes a resolved formula before its variables are filled in; gives findings about the file that did, too."""


class RenderRequest(Struct, frozen=True):
    """What to render and with what."""

    item: str
    """``FILE|ID``."""
    kind: str | None = None
    """Read the file as an item of this kind."""
    texts: Mapping[str, str] = field(default_factory=dict)
    """Inputs as text, converted by their declared types; they go before ``values``."""
    values: Mapping[str, object] = field(default_factory=dict)
    """Inputs as JSON values."""
    base: bool = False
    """As published, without overrides and overlays."""


class Rendered(Struct, frozen=True):
    """A rendered item."""

    id: str
    kind: str
    shown: str
    """The item's file, as people see it."""
    prompt: str
    inputs: Mapping[str, object]
    """The values that were filled in, defaults included."""
    capabilities: tuple[str, ...]
    """As :func:`rye.permissions.matching.check` takes them."""
    rights: object
    """The capabilities in the form of ``rye show``."""
    hooks: object
    model: object
    limits: object
    agent_tools: tuple[str, ...]
    """Tools of the agent program that an agent or a skill names."""
    diagnostics: tuple[FileFindings, ...] = ()
    """Errors and warnings of the item itself; it parses all the same (DECISIONS Directives 13)."""
    findings: tuple[FileFindings, ...] = ()
    """Findings about overrides and overlays."""

    def as_json(self) -> dict[str, object]:
        """The stable JSON of ``rye render`` (DESIGN 9), with ``agent_tools`` and ``diagnostics`` added."""
        return {
            "prompt": self.prompt,
            "inputs": dict(self.inputs),
            "capabilities": self.rights,
            "hooks": self.hooks,
            "model": self.model,
            "limits": self.limits,
            "agent_tools": list(self.agent_tools),
            "diagnostics": as_json(self.diagnostics),
        }


def render(context: Context, request: RenderRequest, ask: AskValue | None = None) -> Rendered:
    """Render an item, with overrides and overlay unless ``base``.

    ``ask`` is called for required inputs without a value, when the context is interactive. Raises RyeError for an item that does
    not parse, may not be used or has no prompt, and for inputs that do not fit.
    """
    found = effective_item(context, request.item, request.kind, base=request.base)
    return render_item(context, found, request.texts, request.values, ask, None if request.base else _overlaid)


def render_item(
    context: Context,
    found: EffectiveItem,
    texts: Mapping[str, str],
    values: Mapping[str, object],
    ask: AskValue | None = None,
    steps: Steps | None = None,
) -> Rendered:
    """As :func:`render`, for an item that was found already. ``steps``: the overlay of a formula."""
    value = found.parsed()
    kind = found.item.kind
    if isinstance(kind.prompt, NoPrompt):
        raise UsageError("no-prompt", kind.prompt.message, kind.prompt.hint)
    if kind.prompt == "inputs":
        return _with_inputs(context, found, value, dict(texts), values, ask if context.interactive else None, steps)
    if texts or values:
        first = next(iter({**values, **texts}))
        raise UsageError(
            "unknown-input",
            f"Items of kind {kind.name} take no inputs, so {first!r} cannot be filled in.",
            "Leave --input out.",
        )
    return _rendered(found, _text(found, value), {}, value)


def _with_inputs(
    context: Context,
    found: EffectiveItem,
    value: object,
    texts: dict[str, str],
    values: Mapping[str, object],
    ask: AskValue | None,
    steps: Steps | None,
) -> Rendered:
    """Renders by the value's type: how inputs are declared and filled in is each format's own."""
    from rye.items.directive.model import Directive  # prompts without inputs need neither

    if isinstance(value, Directive):
        return _directive(found, value, texts, values, ask)
    from rye.items.formula.model import Formula  # dataclasses alone take longer than rendering a directive

    if isinstance(value, Formula):
        return _formula(context, found, value, texts, values, ask, steps)
    raise TypeError(f"{type(value).__name__} takes inputs, and nothing here fills them in.")


def _overlaid(found: EffectiveItem, formula: Formula) -> tuple[Formula, tuple[FileFindings, ...]]:
    from rye.workspace.overlaying import overlay_in_force  # only a formula has one

    return overlay_in_force(found, formula)


def _rendered(
    found: EffectiveItem,
    prompt: str,
    inputs: Mapping[str, object],
    value: object,
    findings: tuple[FileFindings, ...] = (),
) -> Rendered:
    from rye.text.yaml_reading import json_safe

    metadata = found.item.reading.metadata
    capabilities = metadata.capabilities if metadata else ()
    return Rendered(
        found.id,
        found.item.kind.name,
        found.item.shown,
        prompt,
        inputs,
        capabilities,
        list(capabilities),
        [],
        json_safe(getattr(value, "provider", None)),
        json_safe(getattr(value, "limits", None)),
        metadata.agent_tools.names if metadata and metadata.agent_tools else (),
        found.own_findings(),
        (*found.findings, *findings),
    )


# -- directives --------------------------------------------------------------------------------------------------------


def _directive(
    found: EffectiveItem,
    directive: Directive,
    texts: dict[str, str],
    values: Mapping[str, object],
    ask: AskValue | None,
) -> Rendered:
    from rye.rendering.inputs import resolve
    from rye.rendering.prompt import first_uses, source_of
    from rye.rendering.prompt import render as render_prompt

    if ask is not None:
        for each in directive.inputs:
            if each.required and each.default is None and each.name not in (*texts, *values):
                texts[each.name] = ask(each.name, each.type, each.description or "")
    source = source_of(directive)
    filled = resolve(directive.inputs, texts, values, uses=first_uses(source), place=found.place)
    shown = found.item.kind.load().as_json(directive)
    metadata = found.item.reading.metadata
    return Rendered(
        found.id,
        found.item.kind.name,
        found.item.shown,
        render_prompt(source, filled, found.place),
        filled,
        metadata.capabilities if metadata else (),
        shown["permissions"],
        shown["hooks"],
        shown["model"],
        shown["limits"],
        (),
        found.own_findings(),
        found.findings,
    )


# -- kinds that are text -----------------------------------------------------------------------------------------------


def _text(found: EffectiveItem, value: object) -> str:
    """The prompt that the kind's module makes of an item."""
    from rye.signing.sign_item import unsigned_text
    from rye.signing.signature_line import layout_of

    kind = found.item.kind
    reader = kind.load_prompt()
    assert reader is not None, f"the row of {kind.name} says that its module makes the prompt"
    return reader.prompt(value, unsigned_text(found.item.text or "", layout_of(kind.name, found.item.path.name)))


# -- formulas ----------------------------------------------------------------------------------------------------------


def _formula(
    context: Context,
    found: EffectiveItem,
    formula: Formula,
    texts: dict[str, str],
    values: Mapping[str, object],
    ask: AskValue | None,
    steps: Steps | None,
) -> Rendered:
    from rye.items.formula.resolution import substitute
    from rye.rendering.formula_text import formula_text
    from rye.workspace.formulas import resolved_formula

    resolved = resolved_formula(context, found.item)
    if resolved.type != "workflow":
        raise UsageError(
            "no-steps",
            f"A formula of type {resolved.type} renders no steps.",
            "Render the workflow that uses it; `rye show` prints its parts.",
        )
    findings: tuple[FileFindings, ...] = ()
    if steps is not None:
        resolved, findings = steps(found, resolved)
    given = _variables(resolved, texts, values, ask)
    filled, warnings = substitute(resolved, given)
    hints = tuple(replace(w, hint=(w.hint or "").replace("--var", "--input") or None) for w in warnings)
    if hints:
        findings = (*findings, FileFindings(found.item.shown, hints))
    inputs: dict[str, object] = {var.name: var.default for var in resolved.vars if var.default is not None}
    return _rendered(found, formula_text(filled), inputs | given, formula, findings)


def _variables(
    formula: Formula, texts: Mapping[str, str], values: Mapping[str, object], ask: AskValue | None
) -> dict[str, str]:
    """The given variables as texts, all problems reported together; a person is asked for required ones."""
    from rye.text.spelling import near_miss

    declared = {var.name: var for var in formula.vars}
    problems: dict[str, str] = {}
    given: dict[str, str] = {}
    for name, value in {**values, **texts}.items():
        if name not in declared:
            near = near_miss(name, declared)
            problems[name] = "is not declared" + (f"; did you mean {near}?" if near else "")
        elif not isinstance(value, str):
            problems[name] = "is not a text"
        else:
            given[name] = value
    for var in formula.vars:
        if not var.required or var.default is not None or var.name in given or var.name in problems:
            continue
        if ask is not None and not problems:
            given[var.name] = ask(var.name, "string", var.description)
        else:
            problems[var.name] = "is required"
    if problems:
        listed = "; ".join(f"{name} {problem}" for name, problem in problems.items())
        missing = next((name for name in problems if name in declared), None)
        known = ", ".join(declared) or "none"
        raise RyeError(
            "bad-inputs",
            f"The inputs do not fit: {listed}.",
            f"Give it as --input {missing}=VALUE." if missing else f"Declared variables: {known}.",
            details={"problems": [{"input": name, "message": problem} for name, problem in problems.items()]},
        )
    return given
