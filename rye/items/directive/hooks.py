"""``<hooks>``: when each one fires and exactly what it executes (R10; DESIGN §7, §8)."""

from __future__ import annotations

from rye.items.capabilities import ITEM_TYPES
from rye.items.directive.expressions import Expression, ExpressionError, parse
from rye.items.directive.metadata import no_children, single
from rye.items.directive.model import Hook
from rye.items.directive.rules import Findings
from rye.items.directive.xml_document import BLANKS
from rye.items.directive.xml_tree import Element
from rye.items.identity import is_id
from rye.text.lazy import lazy_pattern

VARIABLES = frozenset(("cost", "loop_count", "error", "deviation", "directive"))
"""The top-level variables in an event's context."""


def read_hooks(element: Element, findings: Findings) -> tuple[Hook, ...]:
    """Return the hooks in document order, without those that do not say what to execute."""
    findings.attributes("error", element)
    _refuse_text(element, findings)
    hooks = []
    for child in element.children:
        if child.tag != "hook":
            findings.unknown("error", child.tag, child, "hooks", ("hook",))
            continue
        hook = _hook(child, findings)
        if hook is not None:
            hooks.append(hook)
    return tuple(hooks)


def _hook(element: Element, findings: Findings) -> Hook | None:
    findings.attributes("error", element)
    _refuse_text(element, findings)
    for child in element.children:
        if child.tag not in ("when", "execute", "inputs"):
            findings.unknown("error", child.tag, child, "hook", ("when", "execute", "inputs"))
    when = single(element, "when", findings)
    execute = single(element, "execute", findings)
    inputs = single(element, "inputs", findings)
    tags = [child.tag for child in element.children]
    doubled = any(tags.count(tag) > 1 for tag in ("when", "execute", "inputs"))
    if when is None or not when.trimmed:
        hint = "Add `<when>`, e.g. `<when>cost.current &gt; cost.limit * 0.9</when>`."
        findings.error("D050", "The hook has no condition.", when or element, hint)
    action = _execute(element, execute, findings)
    values = _inputs(inputs, findings) if inputs is not None else ()
    if when is None or not when.trimmed or action is None or doubled:
        return None
    expression = _expression(when, findings)
    item_type, item_id = action
    when_line, when_column = when.text_place
    return Hook(
        when=when.trimmed,
        expression=expression,
        item_type=item_type,
        item_id=item_id,
        inputs=values,
        line=element.line,
        column=element.column,
        when_line=when_line,
        when_column=when_column,
    )


def _expression(when: Element, findings: Findings) -> Expression | None:
    findings.attributes("error", when)
    if when.children:
        findings.error(
            "D050", "`<when>` holds elements.", when, "Write the expression as plain text, with `&lt;` for `<`."
        )
        return None
    try:
        expression = parse(when.trimmed)
    except ExpressionError as error:
        line, column = _place(when, error.column)
        hint = "Use comparisons, and/or/not, in, arithmetic, literals and dotted names; calls are not supported."
        findings.add("error", "R10", f"The condition does not parse: {error.message}", line, column, hint)
        return None
    for name in expression.unknown(VARIABLES):
        line, column = _place(when, name.column)
        message = f"The condition reads {name.dotted!r}, which no event sets, so it is always null."
        findings.add("warning", "R10", message, line, column, f"Variables: {', '.join(sorted(VARIABLES))}.")
    return expression


def _place(when: Element, column: int) -> tuple[int, int]:
    """Convert a column of the expression to a position in the file, where for example `&lt;` is four characters."""
    source = when.source.lstrip(BLANKS)
    position, at = len(source), 0
    for found in _PIECE.finditer(source):
        start, text = found.start(), found.group()
        if found[1] is not None:
            start, text = found.start(1), found[1]
        elif text.startswith("<!--"):
            continue
        elif text[0] == "&":
            text = "&"
        if not at:
            start, text = start + len(text) - len(text.lstrip(BLANKS)), text.lstrip(BLANKS)
        if at + len(text) >= column:
            position = start + column - 1 - at
            break
        at += len(text)
    before = source[:position]
    newlines = before.count("\n")
    if newlines:
        return when.text_line + newlines, len(before) - before.rfind("\n")
    return when.text_line, when.text_column + position


_PIECE = lazy_pattern(r"(?s)<!--.*?-->|<!\[CDATA\[(.*?)\]\]>|&[^;]*;|.")
"""A comment, a CDATA section and its text, a reference, or any other character."""


def _execute(hook: Element, execute: Element | None, findings: Findings) -> tuple[str, str] | None:
    shape = 'Write `<execute item_type="directive">category/name</execute>`.'
    if execute is None:
        findings.error("D050", "The hook executes nothing.", hook, shape)
        return None
    findings.attributes("error", execute, ("item_type",))
    item_type, item_id = execute.attributes.get("item_type", ""), execute.trimmed
    if item_type not in ITEM_TYPES:
        message = (
            f"`item_type` of `<execute>` is {item_type[:40]!r}." if item_type else "`<execute>` has no `item_type`."
        )
        findings.error("D050", message, execute, f"Item types are {', '.join(ITEM_TYPES)}. {shape}")
        return None
    if execute.children or not is_id(item_id):
        message = f"`<execute>` names {item_id[:80]!r}, which is not an id."
        findings.error("D050", message, execute, shape)
        return None
    return item_type, item_id


def _inputs(element: Element, findings: Findings) -> tuple[tuple[str, str], ...]:
    """The values for the inputs of the hook's item, as pairs of name and text."""
    findings.attributes("error", element)
    _refuse_text(element, findings)
    values: dict[str, str] = {}
    for child in element.children:
        findings.attributes("error", child)
        if child.children:
            no_children(child, findings)
            findings.error(
                "D050", f"The hook's input `{child.tag}` holds elements.", child, "Write its value as plain text."
            )
        elif child.tag in values:
            findings.error("D050", f"The hook's input `{child.tag}` is a duplicate.", child, "Keep one.")
        else:
            values[child.tag] = child.trimmed
    return tuple(values.items())


def _refuse_text(element: Element, findings: Findings) -> None:
    if element.trimmed:
        message = f"`<{element.tag}>` contains text ({element.trimmed[:40]!r}), but allows only elements."
        findings.error("D014", message, element, "Delete it.")
