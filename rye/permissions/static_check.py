"""Calls in a directive's process compared with what it declares (DECISIONS Directives 7).

``D701`` warning a call that no declared capability can cover, with the capability to add ``D702`` info a declared
capability that no call uses ``D703`` warning more calls and capabilities than can be compared

Parts of a call can be unknown until it runs: ``{input:name}``, ``<name>``, ``...`` or a missing argument. An unknown
part can have any value. A call is reported only if *no* value of its unknown parts would be allowed: a directive that
declares ``acme.*`` and signs ``{input:name}`` is correct, and should not be told to declare more. Whether the value of
a run is allowed is decided at run time (:mod:`rye.permissions.matching`). A search without an id is fully known: it
needs every item of its type (DECISIONS Directives 16).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from rye.items.capabilities import ITEM_TYPES, is_path_pattern
from rye.items.rights import Call, Caller, Permission
from rye.limits import PERMISSIONS
from rye.permissions.containment import Budget, Granted, TooComplex, find
from rye.permissions.matching import search_allowed_by
from rye.permissions.patterns import compile_glob
from rye.text.diagnostics import Diagnostic, in_order

UNCOVERED = "D701"
_UNKNOWN = re.compile(r"\$?\{[^{}]*\}|<[^<>]*>|\.{3,}|…")
_STARS = re.compile(r"\*+")


def check_calls(caller: Caller) -> tuple[Diagnostic, ...]:
    """Return the findings for one item, in the order of the file."""
    return compare(caller.permissions, caller.calls)


def compare(permissions: Sequence[Permission], calls: Iterable[Call]) -> tuple[Diagnostic, ...]:
    """Return the findings for ``calls`` against ``permissions``, in the order of the file."""
    comparison = _Comparison(permission.capability for permission in permissions)
    diagnostics: list[Diagnostic] = []
    for call in calls:
        try:
            if not comparison.covers(call):
                diagnostics.append(_uncovered(call))
        except TooComplex:
            message = "There are too many calls and capabilities to compare all of them."
            diagnostics.append(Diagnostic("warning", "D703", message, call.line, call.column, "Split the directive."))
            return in_order(diagnostics)
    for permission in permissions:
        if permission.capability not in comparison.used:
            message = f"No call in the process uses {permission.capability}."
            hint = "Remove it unless something else needs it: fewer capabilities are safer."
            diagnostics.append(Diagnostic("info", "D702", message, permission.line, permission.column, hint))
    return in_order(diagnostics)


class _Comparison:
    """Which of a directive's capabilities can allow a call. Each call is compared once, however often it occurs."""

    def __init__(self, capabilities: Iterable[str]):
        self.granted = Granted(capabilities)
        self.used: set[str] = set()
        self.known: dict[tuple[str, str | None, str | None], bool] = {}
        self.budget = Budget()
        self.pairs = PERMISSIONS.compared_calls

    def covers(self, call: Call) -> bool:
        """Raises TooComplex."""
        key = (call.primary, call.item_type, call.item_id)
        if key not in self.known:
            users = self.users(call)
            self.used.update(users)
            self.known[key] = bool(users)
        return self.known[key]

    def users(self, call: Call) -> list[str]:
        pattern = required_pattern(call)
        near = [glob.text for glob in self.granted.near(compile_glob(pattern).literal_prefix)]
        self.pairs -= len(near)
        if self.pairs < 0:
            raise TooComplex
        if call.primary == "search" and call.item_id is None and call.item_type in ITEM_TYPES:
            near = [glob.text for glob in self.granted.near(f"rye.search.{call.item_type}")]
            return [capability for capability in near if search_allowed_by([capability], call.item_type)]
        return [capability for capability in near if find([pattern, capability], (), self.budget) is not None]


def required_pattern(call: Call) -> str:
    """Return what ``call`` can ask for, as a capability pattern: known parts as they are, ``*`` for each unknown
    one.
    """
    item_type = call.item_type if call.item_type in ITEM_TYPES else "*"
    if call.item_id is None:
        return f"rye.{call.primary}.{item_type}.*"
    parts = _UNKNOWN.split(call.item_id)
    path = "*".join("".join(f"[{c}]" if c in "*?[" else c for c in part.replace("/", ".")) for part in parts)
    return _STARS.sub("*", f"rye.{call.primary}.{item_type}.{path}")


def _uncovered(call: Call) -> Diagnostic:
    pattern = required_pattern(call)
    prefix = f"rye.{call.primary}.{call.item_type}."
    path = pattern.removeprefix(prefix)
    if call.item_type is None:
        hint = f"Name the call's item_type, and declare what it needs below <{call.primary}>."
    elif call.item_type not in ITEM_TYPES:
        hint = f"Item types are {', '.join(ITEM_TYPES)}."
    elif is_path_pattern(path):
        element = f"<{call.primary}><{call.item_type}>{path}</{call.item_type}></{call.primary}>"
        hint = f"Add the capability {pattern} to <permissions>: {element}"
    else:
        hint = "The item_id is not an id: write segments of a-z, 0-9, - and _ joined by '/'."
    what = f" {call.item_id!r}" if call.item_id is not None else ""
    message = (
        f"No declared capability covers this rye_{call.primary} of {call.item_type or 'an item'}{what}: {pattern}."
    )
    return Diagnostic("warning", UNCOVERED, message, call.line, call.column, hint)
