"""``<permissions>`` as capability strings (R06, R08; DECISIONS Directives 6).

Whatever breaks a rule grants nothing: a malformed path, a child in the wrong place, text mixed with elements. If the whole
element is ambiguous (a second one, or ``*`` together with anything), nothing in it counts.
"""

from __future__ import annotations

from rye.items.capabilities import EVERYTHING, ITEM_TYPES, PRIMARIES, capability, everything_of, is_path_pattern
from rye.items.directive.rules import Findings
from rye.items.directive.xml_tree import Element
from rye.items.rights import Permission

_SHAPE = "Write primaries (`<execute>`, `<search>`, `<load>`, `<sign>`) with item types in them, or `*` alone."


def read_permissions(element: Element, findings: Findings) -> tuple[Permission, ...]:
    """Return the capabilities that ``<permissions>`` declares, in document order."""
    findings.attributes("error", element)
    text = element.trimmed
    if text and element.children:
        findings.error("R06", f"`<permissions>` mixes text ({text[:40]!r}) with elements.", element, _SHAPE)
        return ()
    if text:
        if text == "*":
            return (Permission(EVERYTHING, element.line, element.column),)
        findings.error(
            "R06", f"`<permissions>` contains {text[:40]!r}; the only text it allows is `*`.", element, _SHAPE
        )
        return ()
    granted: dict[str, Permission] = {}
    primaries = 0
    for child in element.children:
        if child.tag == "acknowledge":
            continue  # a note to the reader; grants nothing, whatever it says
        if child.tag not in PRIMARIES:
            _misplaced(child, findings)
        else:  # if it is repeated, both count (DECISIONS Directives 19)
            primaries += 1
            for permission in _without_duplicates(_primary(child, findings), findings):
                granted.setdefault(permission.capability, permission)
    if not primaries:
        findings.error("R06", "`<permissions>` has no primary element.", element, _SHAPE)
    return tuple(granted.values())


def _misplaced(child: Element, findings: Findings) -> None:
    if child.tag in ITEM_TYPES:
        path = child.trimmed[:80]
        message = f"`<{child.tag}>` is directly in `<permissions>`, without a primary around it."
        shown = f"`<execute><{child.tag}>{path}</{child.tag}></execute>`"
        findings.error("R06", message, child, f"Wrap it in what is allowed, e.g. {shown}.")
        return
    message = f"`<{child.tag[:80]}>` is not a primary element."
    findings.error("R06", message, child, f"Primaries are {', '.join(f'`<{name}>`' for name in PRIMARIES)}.")


def _primary(element: Element, findings: Findings) -> list[Permission]:
    primary = element.tag
    findings.attributes("error", element)
    text = element.trimmed
    hint = f"Write `<{primary}>*</{primary}>` for everything, or item types: `<{primary}><tool>…</tool></{primary}>`."
    if text and element.children:
        findings.error("R06", f"`<{primary}>` mixes text ({text[:40]!r}) with elements.", element, hint)
        return []
    if text:
        if text == "*":
            return [Permission(everything_of(primary), element.line, element.column)]
        findings.error("R06", f"`<{primary}>` contains {text[:40]!r}; the only text it allows is `*`.", element, hint)
        return []
    if not element.children:
        findings.warning(
            "D031", f"`<{primary}>` is empty and grants nothing.", element, f"Delete it, or fill it. {hint}"
        )
    granted = []
    for child in element.children:
        permission = _item_type(primary, child, findings)
        if permission is not None:
            granted.append(permission)
    return granted


def _item_type(primary: str, element: Element, findings: Findings) -> Permission | None:
    if element.tag not in ITEM_TYPES:
        message = f"`<{element.tag[:80]}>` is not an item type."
        findings.error("R06", message, element, f"Item types are {', '.join(f'`<{name}>`' for name in ITEM_TYPES)}.")
        return None
    findings.attributes("error", element)
    path = element.trimmed
    if element.children or not is_path_pattern(path):
        message = f"{path[:80]!r} is not a capability path." if path else f"`<{element.tag}>` has no capability path."
        hint = "Use segments of A-Z a-z 0-9 _ - joined by `.` or `/`; wildcards `*`, `?` and `[…]`, e.g. `rye.file-system.*`."
        findings.error("R08", message, element, hint)
        return None
    return Permission(capability(primary, element.tag, path), element.line, element.column)


def _without_duplicates(granted: list[Permission], findings: Findings) -> tuple[Permission, ...]:
    first: dict[str, Permission] = {}
    for permission in granted:
        known = first.setdefault(permission.capability, permission)
        if known is not permission:
            message = f"{permission.capability!r} is a duplicate; it is first declared on line {known.line}."
            findings.error("D030", message, permission, "Delete one of them.")
    return tuple(first.values())
