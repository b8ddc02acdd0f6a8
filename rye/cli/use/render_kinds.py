"""``rye render`` of the kinds beside directives: what an agent gets of each.

==========  ==========================================================================
agent       the System Prompt section
role        the whole text below the signature line
formula     its steps in their order, ``extends`` and expansions resolved, variables filled in from ``--input``
knowledge   the Markdown without metadata and signature
skill       the body below the frontmatter
==========  ==========================================================================

Only a formula takes inputs: its variables, which are texts. A tool is run and a bundle installed; neither has a prompt.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from rye.errors import RyeError, UsageError

if TYPE_CHECKING:
    from rye.cli.options import Session
    from rye.items.formula.model import Formula
    from rye.project.target import Target

StepsHook = Callable[["Session", "Target", "Formula"], "Formula"]
"""Changes a resolved formula before its variables are filled in (overlays); called unless ``base`` is asked for."""


def render_kind(
    session: Session,
    found: Target,
    value: Any,
    texts: Mapping[str, str],
    values: Mapping[str, Any],
    *,
    base: bool = False,
    overlays: StepsHook | None = None,
) -> dict[str, object]:
    """The document of ``rye render`` (DESIGN §9) for a parsed item of any kind but directive.

    ``base``: as published, so ``overlays`` is not called.
    """
    name = found.item.kind.name
    if name == "formula":
        return _formula(session, found, value, texts, values, None if base else overlays)
    if name not in _PROMPTS:
        raise _no_prompt(name)
    if texts or values:
        first = next(iter({**values, **texts}))
        raise UsageError(
            "unknown-input",
            f"Items of kind {name} take no inputs, so {first!r} cannot be filled in.",
            "Leave --input out.",
        )
    return _document(found, _PROMPTS[name](found, value), {}, value)


def _document(found: Target, prompt: str, inputs: dict[str, object], value: Any) -> dict[str, object]:
    from rye.text.yaml_reading import json_safe

    metadata = found.item.reading.metadata
    return {
        "prompt": prompt,
        "inputs": inputs,
        "capabilities": list(metadata.capabilities) if metadata else [],
        "hooks": [],
        "model": json_safe(getattr(value, "provider", None)),
        "limits": json_safe(getattr(value, "limits", None)),
        "agent_tools": list(metadata.agent_tools) if metadata else [],
    }


def _agent(_found: Target, value: Any) -> str:
    return str(value.system_prompt)


def _role(found: Target, _value: Any) -> str:
    """The file's text without its signature line; other comments are the author's."""
    from rye.signing.sign_item import unsigned_text
    from rye.signing.signature_line import layout_of

    text = found.item.text or ""
    return unsigned_text(text, layout_of("role", found.item.path.name)).strip("\n")


def _body(_found: Target, value: Any) -> str:
    return str(value.body).strip("\n")


_PROMPTS: dict[str, Callable[[Target, Any], str]] = {"agent": _agent, "role": _role, "knowledge": _body, "skill": _body}


def _no_prompt(kind: str) -> UsageError:
    reasons = {
        "tool": ("A tool is code that is run, not text for an agent.", "`rye show` prints what it says of itself."),
        "bundle": ("A bundle names other items and has no text of its own.", "Render one of its members."),
    }
    message, hint = reasons.get(kind, (f"Items of kind {kind} have no prompt.", "`rye show` prints what it says."))
    return UsageError("no-prompt", message, hint)


# Formulas.


def _formula(
    session: Session,
    found: Target,
    formula: Formula,
    texts: Mapping[str, str],
    values: Mapping[str, Any],
    overlays: StepsHook | None,
) -> dict[str, object]:
    from rye.items.formula.resolution import substitute
    from rye.project.formulas import resolved_formula
    from rye.rendering.formula_text import formula_text

    resolved = resolved_formula(found, session.cwd)
    if resolved.type != "workflow":
        raise UsageError(
            "no-steps",
            f"A formula of type {resolved.type} renders no steps.",
            "Render the workflow that uses it; `rye show` prints its parts.",
        )
    if overlays is not None:
        resolved = overlays(session, found, resolved)
    given = _variables(session, resolved, texts, values)
    filled, warnings = substitute(resolved, given)
    hints = [replace(w, hint=(w.hint or "").replace("--var", "--input") or None) for w in warnings]
    session.console.diagnostics(found.item.shown, hints)
    inputs: dict[str, object] = {var.name: var.default for var in resolved.vars if var.default is not None}
    return _document(found, formula_text(filled), inputs | given, formula)


def _variables(
    session: Session, formula: Formula, texts: Mapping[str, str], values: Mapping[str, Any]
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
        if session.interactive and not problems:
            session.console.say(var.description, "dim")
            given[var.name] = session.console.ask(var.name)
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
