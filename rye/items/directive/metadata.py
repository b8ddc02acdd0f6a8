"""``<model>``, ``<limits>``, ``<cost>`` and ``<context>`` (R04, R07; DECISIONS Directives 3, 4; DESIGN §6)."""

from __future__ import annotations

from decimal import Decimal

from rye.errors import UsageError
from rye.items.directive.model import RELATIONS, Context, Cost, CostContext, Model, Spend
from rye.items.directive.rules import Findings
from rye.items.directive.xml_tree import Element
from rye.items.identity import parse_reference
from rye.items.reading import Dependency
from rye.items.version_text import is_range
from rye.text.diagnostics import Severity
from rye.text.lazy import lazy_pattern

_INTEGER = lazy_pattern(r"[0-9]{1,15}")
_DECIMAL = lazy_pattern(r"[0-9]{1,15}(?:\.[0-9]{1,6})?")
_LIST_MARKER = lazy_pattern(r"[-*+][ \t]+")
_USAGE = ("low", "medium", "high")

_LIMIT_ALIASES = {"turns": "max_turns", "tokens": "max_tokens"}
_INTEGER_LIMITS = {
    "max_turns": 1,
    "max_tokens": 1,
    "duration_seconds": 1,
    "depth": 0,
    "spawns": 0,
    "calls": 0,
    "tool_seconds": 0,
}
"""The minimum of each."""
LIMITS = (*_LIMIT_ALIASES, *_INTEGER_LIMITS, "spend")


def read_model(element: Element, findings: Findings) -> Model | None:
    """Read R04's ``<model>``; None if it has no tier."""
    findings.attributes("warning", element, ("tier", "id", "fallback", "fallback_id"))
    no_children(element, findings)
    given = {name: value.strip() or None for name, value in element.attributes.items()}
    tier = given.get("tier")
    if tier is None:
        findings.error("R04", "`<model>` has no `tier`.", element, 'Write `<model tier="general" />`, or another tier.')
        return None
    return Model(tier, given.get("id"), given.get("fallback"), given.get("fallback_id"), element.trimmed)


def read_limits(element: Element, findings: Findings) -> dict[str, int | Decimal | str]:
    """Read the limits under their full names, without malformed ones. Other attributes are kept as text."""
    findings.attributes("warning", element, LIMITS)
    no_children(element, findings)
    no_text(element, findings)
    limits: dict[str, int | Decimal | str] = {}
    for written, text in element.attributes.items():
        name = _LIMIT_ALIASES.get(written, written)
        value: int | Decimal | str | None
        if name in _INTEGER_LIMITS:
            value = _integer(text, _INTEGER_LIMITS[name])
        elif name == "spend":
            value = _decimal(text)
        else:
            value = text
        if value is None:
            wanted = "a decimal number" if name == "spend" else f"a whole number of at least {_INTEGER_LIMITS[name]}"
            findings.error("D020", f"The limit `{written}` is {text[:40]!r}.", element, f"It must be {wanted}.")
        elif name in limits and limits[name] != value:
            short = next(alias for alias, full in _LIMIT_ALIASES.items() if full == name)
            both = f"{element.attributes[short][:20]} and {element.attributes[name][:20]}"
            message = f"`{short}` and `{name}` mean the same limit but have different values: {both}."
            findings.error("D020", message, element, f"Keep only `{name}`.")
            del limits[name]
        else:
            limits[name] = value
    return limits


def read_cost(element: Element, findings: Findings) -> Cost:
    """Read R07's ``<cost>``: at least ``<context>`` with ``estimated_usage`` and ``turns``."""
    findings.attributes("warning", element)
    no_text(element, findings)
    only(element, ("context", "duration", "spend"), findings)
    context = single(element, "context", findings)
    if context is None:
        hint = 'Add `<context estimated_usage="medium" turns="10">8000</context>`.'
        findings.error("R07", "`<cost>` has no `<context>`.", element, hint)
    duration = single(element, "duration", findings)
    seconds = None
    if duration is not None:
        no_children(duration, findings)
        findings.attributes("warning", duration)
        seconds = _integer(duration.trimmed, 1)
        if seconds is None:
            message = f"`<duration>` is {duration.trimmed[:40]!r}."
            findings.error("D021", message, duration, "Write whole seconds, e.g. `<duration>600</duration>`.")
    return Cost(_cost_context(context, findings), seconds, _spend(single(element, "spend", findings), findings))


def _cost_context(element: Element | None, findings: Findings) -> CostContext | None:
    if element is None:
        return None
    given = element.attributes
    findings.attributes("warning", element, ("estimated_usage", "turns", "spawn_threshold"))
    no_children(element, findings)
    missing = [name for name in ("estimated_usage", "turns") if not given.get(name, "").strip()]
    if missing:
        names = " and ".join(f"`{name}`" for name in missing)
        hint = 'Write `<context estimated_usage="medium" turns="10">8000</context>`.'
        findings.error("R07", f"`<context>` in `<cost>` has no {names}.", element, hint)
    usage: str | None = given.get("estimated_usage", "").strip() or None
    if usage is not None and usage not in _USAGE:
        findings.error("R07", f"`estimated_usage` is {usage[:40]!r}.", element, f"Use one of {', '.join(_USAGE)}.")
        usage = None
    turns = _integer(given.get("turns", ""), 1)
    if turns is None and "turns" not in missing:
        findings.error("R07", f"`turns` is {given['turns'][:40]!r}.", element, "Use a whole number of at least 1.")
    threshold = _integer(given["spawn_threshold"], 0) if "spawn_threshold" in given else None
    if threshold is None and "spawn_threshold" in given:
        message = f"`spawn_threshold` is {given['spawn_threshold'][:40]!r}."
        findings.error("D021", message, element, "Use a whole number.")
    tokens = _integer(element.trimmed, 1) if element.trimmed else None
    if tokens is None and element.trimmed:
        message = f"The text of `<context>` in `<cost>` is {element.trimmed[:40]!r}."
        findings.error("D021", message, element, "Write the maximum number of context tokens, such as 8000.")
    return CostContext(usage, turns, threshold, tokens)


def _spend(element: Element | None, findings: Findings) -> Spend | None:
    if element is None:
        return None
    no_children(element, findings)
    findings.attributes("warning", element, ("currency",))
    amount = _decimal(element.trimmed)
    if amount is None:
        message = f"`<spend>` is {element.trimmed[:40]!r}."
        findings.error("D021", message, element, 'Write a decimal number, e.g. `<spend currency="USD">5.00</spend>`.')
        return None
    return Spend(amount, element.attributes.get("currency", "").strip() or None)


def read_context(element: Element, findings: Findings) -> Context:
    """Read related files, external dependencies, and the six relations in document order."""
    findings.attributes("warning", element)
    no_text(element, findings)
    only(element, ("related_files", "dependencies", *RELATIONS), findings)
    relations = [_relation(child, findings) for child in element.children if child.tag in RELATIONS]
    return Context(
        _listed(single(element, "related_files", findings), findings),
        _listed(single(element, "dependencies", findings), findings),
        tuple(relation for relation in relations if relation is not None),
    )


def _listed(element: Element | None, findings: Findings) -> tuple[str, ...]:
    """The items of a Markdown list, one per line. A line without a list marker is an item as well."""
    if element is None:
        return ()
    no_children(element, findings)
    findings.attributes("warning", element)
    lines = (line.strip() for line in element.text.split("\n"))
    items = (_LIST_MARKER.sub("", line, count=1).strip() for line in lines if line)
    return tuple(item for item in items if item and item not in ("-", "*", "+"))


def _relation(element: Element, findings: Findings) -> Dependency | None:
    findings.attributes("error", element, ("version",))
    no_children(element, findings, "error")  # a reader may take it for a part of the reference or its range
    version = element.attributes.get("version")
    try:
        reference = parse_reference(element.trimmed)
    except UsageError as error:
        hint = f'Write `<{element.tag} version="^1.2">namespace/category/name</{element.tag}>`, or only the name.'
        findings.add("error", "D040", f"`<{element.tag}>`: {error.message}", *element.text_place, hint)
        return None
    if version is not None and reference.range is not None and version.strip() != reference.range:
        message = f"`<{element.tag}>` has two ranges, {version!r} and {reference.range!r}."
        findings.error("D041", message, element, "Keep only the one in `version`.")
        return None
    wanted = version.strip() if version is not None else reference.range
    if wanted is not None and not is_range(wanted):
        message = f"{wanted[:40]!r} is not a version range."
        findings.error("D041", message, element, "Write SemVer ranges as `^1.2`, `~1.4`, `>=1, <3` or `1.x || 2.x`.")
        return None
    kind = f"{reference.kind}:" if reference.kind else ""
    return Dependency(element.tag, f"{kind}{reference.id}", wanted, element.line)


def _integer(text: str, least: int) -> int | None:
    text = text.strip()
    if _INTEGER.fullmatch(text) is None:
        return None
    value = int(text)
    return value if value >= least else None


def _decimal(text: str) -> Decimal | None:
    text = text.strip()
    return Decimal(text) if _DECIMAL.fullmatch(text) else None


# What an element may contain.


def single(element: Element, tag: str, findings: Findings) -> Element | None:
    """Return the only child with that tag. If there are several, report D013 and return the first."""
    first = None
    for child in element.children:
        if child.tag == tag:
            if first is None:
                first = child
            else:
                second(first, child, findings)
    return first


def second(first: Element, extra: Element, findings: Findings) -> None:
    """Report D013 for ``extra``, which repeats ``first``."""
    message = f"A second `<{first.tag}>`; the first is on line {first.line}."
    findings.error("D013", message, extra, "Delete one: only one counts, and a reader may see the other.")


def only(element: Element, known: tuple[str, ...], findings: Findings) -> None:
    """Report D011 for every child not in ``known``."""
    for child in element.children:
        if child.tag not in known:
            findings.unknown("warning", child.tag, child, element.tag, known)


def no_children(element: Element, findings: Findings, severity: Severity = "warning") -> None:
    """Report D011 for every child, except relationship elements, which R09 covers."""
    for child in element.children:
        if child.tag not in RELATIONS:
            findings.unknown(severity, child.tag, child, element.tag, ())


def no_text(element: Element, findings: Findings) -> None:
    """Report D014 if an element that allows only elements contains text."""
    if element.trimmed:
        message = f"`<{element.tag}>` contains text ({element.trimmed[:40]!r}), but allows only elements."
        findings.warning("D014", message, element, "Delete it, or move it into the right element.")
