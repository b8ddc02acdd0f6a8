"""``<inputs>`` and ``<outputs>`` (R11; DECISIONS Directives 10, 14)."""

from __future__ import annotations

from rye.items.directive.input_values import INPUT_TYPES, InputDeclaration, from_text
from rye.items.directive.model import LegacyOutputs, Output
from rye.items.directive.placeholders import is_input_name
from rye.items.directive.rules import Findings
from rye.items.directive.text_lines import element_lines
from rye.items.directive.xml_tree import Element
from rye.text.lazy import lazy_pattern

_KEY = lazy_pattern(r"[A-Za-z_][A-Za-z0-9_-]*")
_LEGACY = ("success", "failure")


def read_inputs(element: Element, findings: Findings) -> tuple[InputDeclaration, ...]:
    """Return the declared inputs in order, without malformed ones. Of two with the same name, the first counts."""
    findings.attributes("error", element)
    _refuse_text(element, findings)
    declared: dict[str, InputDeclaration] = {}
    for child in element.children:
        if child.tag != "input":
            findings.unknown("error", child.tag, child, "inputs", ("input",))
            continue
        declaration = _input(child, findings)
        if declaration is None:
            continue
        first = declared.setdefault(declaration.name, declaration)
        if first is not declaration:
            message = f"The input {declaration.name!r} is a duplicate; it is first declared on line {first.line}."
            findings.error("R11", message, child, "Rename one of the two, or delete it.")
    return tuple(declared.values())


def _input(element: Element, findings: Findings) -> InputDeclaration | None:
    given = element.attributes
    findings.attributes("error", element, ("name", "type", "required", "default"))
    for child in element.children:
        findings.unknown("error", child.tag, child, "input", ())
    name, type_ = given.get("name", ""), given.get("type", "")
    if not is_input_name(name):
        message = f"{name[:80]!r} is not an input name." if name else "The input has no `name`."
        findings.error("D060", message, element, "Use letters, digits and `_`, and do not start with a digit.")
        return None
    if type_ not in INPUT_TYPES:
        message = (
            f"The input {name!r} has the unknown type {type_[:40]!r}."
            if type_
            else f"The input {name!r} has no `type`."
        )
        findings.error("D060", message, element, f"Types are {', '.join(INPUT_TYPES)}.")
        return None
    required = given.get("required", "false")
    if required not in ("true", "false"):
        message = f"`required` of the input {name!r} is {required[:40]!r}, not a boolean."
        findings.error("D060", message, element, "Write `true` or `false`.")
    default = given.get("default")
    if default is not None:
        try:
            from_text(type_, default)
        except ValueError as error:
            message = f"The default of the input {name!r} is not of its type: {error}."
            findings.error("D060", message, element, f"Change the default to type {type_}, or delete it.")
            default = None
    return InputDeclaration(name, type_, required == "true", default, element.trimmed, element.line)


def read_outputs(element: Element, findings: Findings) -> tuple[Output, ...] | LegacyOutputs:
    """Read a list (``<output name>``), a dict (``<key>description</key>``) or the legacy ``<success>``/``<failure>``."""
    findings.attributes("error", element)
    _refuse_text(element, findings)
    tags = {child.tag for child in element.children}
    if tags & set(_LEGACY):
        return _legacy(element, findings)
    if "output" in tags:
        return _list(element, findings)
    return _dict(element, findings)


def _list(element: Element, findings: Findings) -> tuple[Output, ...]:
    outputs = []
    for child in element.children:
        if child.tag != "output":
            findings.unknown("error", child.tag, child, "outputs", ("output",))
            continue
        findings.attributes("error", child, ("name", "type"))
        name = child.attributes.get("name", "")
        if not name.strip():
            findings.error(
                "D061", "The output has no `name`.", child, 'Write `<output name="result">What it is</output>`.'
            )
            continue
        if _KEY.fullmatch(name) is None:
            message = f"The output's name {name[:80]!r} is not a plain word, and parents must match it exactly."
            findings.warning("D061", message, child, "Use letters, digits, `_` and `-`.")
        outputs.append((child, Output(name, child.trimmed, _type(child, findings), child.line)))
    return _unique(outputs, findings)


def _dict(element: Element, findings: Findings) -> tuple[Output, ...]:
    outputs = []
    for child in element.children:
        if "name" in child.attributes:
            findings.unknown("error", child.tag, child, "outputs", ("output",))
            continue
        findings.attributes("error", child, ("type",))
        outputs.append((child, Output(child.tag, child.trimmed, _type(child, findings), child.line)))
    return _unique(outputs, findings)


def _unique(outputs: list[tuple[Element, Output]], findings: Findings) -> tuple[Output, ...]:
    found: dict[str, Output] = {}
    for element, output in outputs:
        for child in element.children:
            findings.unknown("error", child.tag, child, element.tag, ())
        if found.setdefault(output.name, output) is not output:
            message = (
                f"The output {output.name!r} is a duplicate; it is first declared on line {found[output.name].line}."
            )
            findings.error("D061", message, element, "Rename one of the two, or delete it.")
    return tuple(found.values())


def _type(element: Element, findings: Findings) -> str | None:
    given = element.attributes.get("type")
    if given is not None and given not in INPUT_TYPES:
        findings.warning(
            "D061", f"The output has the unknown type {given[:40]!r}.", element, f"Types are {', '.join(INPUT_TYPES)}."
        )
    return given


def _legacy(element: Element, findings: Findings) -> LegacyOutputs:
    messages: dict[str, Element] = {}
    for child in element.children:
        if child.tag not in _LEGACY:
            message = f"`<{child.tag}>` is next to `<success>` or `<failure>`."
            findings.error("D061", message, child, 'Declare every output as `<output name="…">`.')
            continue
        findings.attributes("error", child)
        for below in child.children:
            findings.unknown("error", below.tag, below, child.tag, ())
        if child.tag in messages:
            findings.error("D013", f"A second `<{child.tag}>`.", child, "Keep one.")
            continue
        messages[child.tag] = child
    success, failure = (messages.get(tag) for tag in _LEGACY)
    return LegacyOutputs(
        success.trimmed if success is not None else None,
        failure.trimmed if failure is not None else None,
        element.line,
        element_lines(success) if success is not None else (),
        element_lines(failure) if failure is not None else (),
    )


def _refuse_text(element: Element, findings: Findings) -> None:
    if element.trimmed:
        message = f"`<{element.tag}>` contains text ({element.trimmed[:40]!r}), but allows only elements."
        findings.error("D014", message, element, "Delete it, or move it into an element.")
