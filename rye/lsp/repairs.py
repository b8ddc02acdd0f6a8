"""Quick fixes: the changes that a finding's hint suggests, as edits of the text."""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec import Struct

from rye.lsp.cursor import fence_of
from rye.lsp.positions import Text
from rye.lsp.ranges import span_of
from rye.text.diagnostics import Diagnostic

_MEANT = re.compile(r"^Did you mean [`'\"](?:<)?([^`'\"<>]+)>?[`'\"]\?")
_ADD = re.compile(r'^Add `([a-z_]+="[^"`]*")`')
_ADD_CHILD = re.compile(r"^Add `(<([a-z_]+)>[^`<]*</\2>)`")
_ADD_RIGHT = re.compile(r"^Add the capability (\S+) to <permissions>: (<.+>)$")
_START_TAG = re.compile(r"<[A-Za-z_][\w.-]*+(?:[^<>\"']++|\"[^\"<]*+\"|'[^'<]*+')*?(/?)>")
_DELETE = "Delete the character."
_WHOLE_FILE = "validate --fix"
_FIXED = frozenset({"C09", "C10", "R05", "R12", "D020", "D073"})
"""Findings that :mod:`rye.items.directive.fix` and similar modules can fix if there is only one solution."""
_TAG_NAME = re.compile(r"<([A-Za-z_][\w.-]*)")
_MOST = 64 * 1024


class Edit(Struct, frozen=True):
    """Replaces what is between two offsets with ``text``."""

    start: int
    end: int
    text: str


class Repair(Struct, frozen=True):
    """A fix that an editor offers."""

    title: str
    edits: tuple[Edit, ...]
    finding: Diagnostic | None = None
    """The finding that it fixes; None: it is for the whole file."""


def repairs_of(text: Text, findings: Iterable[Diagnostic]) -> list[Repair]:
    """Return the fixes for single findings, in the order of the findings."""
    return [repair for finding in findings if (repair := _repair(text, finding)) is not None]


def fixable_as_a_whole(findings: Iterable[Diagnostic]) -> bool:
    """Whether `rye validate --fix` may fix one of the findings."""
    return any(finding.code in _FIXED or _WHOLE_FILE in (finding.hint or "") for finding in findings)


def whole_file(text: Text, fixed: str, changes: tuple[str, ...]) -> Repair:
    """Return a single edit from a text to its fixed form, from the first different character to the last."""
    old = text.text
    start = next((n for n, (a, b) in enumerate(zip(old, fixed, strict=False)) if a != b), min(len(old), len(fixed)))
    most = min(len(old), len(fixed)) - start
    tail = next((n for n in range(most) if old[-1 - n] != fixed[-1 - n]), most)
    title = changes[0] if len(changes) == 1 else "Fix what has one answer (rye validate --fix)"
    return Repair(title, (Edit(start, len(old) - tail, fixed[start : len(fixed) - tail]),))


def _repair(text: Text, finding: Diagnostic) -> Repair | None:
    if finding.line is None or finding.hint is None:
        return None
    start, end = span_of(text, finding)
    if finding.hint == _DELETE and finding.column is not None:
        return Repair("Delete the character", (Edit(start, end, ""),), finding)
    added = _ADD.match(finding.hint)
    name = _TAG_NAME.match(text.text, text.own_offset(finding.line, finding.column or 1))
    if added is not None and name is not None:
        return Repair(f"Add {added[1]}", (Edit(name.end(), name.end(), f" {added[1]}"),), finding)
    inserted = _inserted(text.text, finding, name)
    if inserted is not None:
        return inserted
    meant = _MEANT.match(finding.hint)
    if meant is None:
        return None
    return _renamed(text.text, finding, meant[1], (start, end))


def _inserted(text: str, finding: Diagnostic, name: re.Match[str] | None) -> Repair | None:
    """Return the fix that adds a missing element: a child of the finding's tag, or a right that a call needs."""
    hint = finding.hint or ""
    child = _ADD_CHILD.match(hint)
    if child is not None and name is not None:
        start_tag = _START_TAG.match(text, name.start())
        if start_tag is None or start_tag[1]:
            return None
        indent = text[text.rfind("\n", 0, name.start()) + 1 : name.start()]
        before = f"\n{indent}  " if not indent.strip() else ""
        return Repair(f"Add {child[1]}", (Edit(start_tag.end(), start_tag.end(), f"{before}{child[1]}"),), finding)
    right = _ADD_RIGHT.match(hint)
    fence = fence_of(text)
    if right is None or fence is None:
        return None
    at = text.find("</permissions>", *fence)
    if at < 0:
        return None
    indent = text[text.rfind("\n", 0, at) + 1 : at]
    own_line = not indent.strip()
    written = f"  {right[2]}\n{indent}" if own_line else right[2]
    return Repair(f"Grant {right[1]}", (Edit(at, at, written),), finding)


def _renamed(text: str, finding: Diagnostic, new: str, span: tuple[int, int]) -> Repair | None:
    start, end = span
    title = f"Change to {new}"
    name = _TAG_NAME.match(text, start)
    if name is not None:
        edits = [Edit(name.start(1), name.end(1), new)]
        closing = _closing(text, name)
        if closing is not None:
            edits.append(Edit(*closing, new))
        return Repair(title, tuple(edits), finding)
    written = text[start:end]
    attribute = re.match(r"[\w.-]+(?=\s*=)", written)
    if attribute is not None and f"`{attribute[0]}`" in finding.message:
        return Repair(title, (Edit(start, start + attribute.end(), new),), finding)
    for quoted in re.findall(r"['`\"]([^'`\"]+)['`\"]", finding.message):
        at = text.find(quoted, start, max(end, start + len(quoted)))
        if at >= 0:
            return Repair(title, (Edit(at, at + len(quoted), new),), finding)
    return None


def _closing(text: str, opened: re.Match[str]) -> tuple[int, int] | None:
    """Return the span of the name in an element's closing tag; None if the element is self-closing or too long to search."""
    name = re.escape(opened[1])
    tag = re.compile(rf"<(/?){name}(?=[\s/>])((?>(?:[^<>\"']++|\"[^\"<]*+\"|'[^'<]*+')*))>")
    depth = 0
    for found in tag.finditer(text, opened.start(), opened.start() + _MOST):
        if found[1]:
            depth -= 1
            if depth == 0:
                return found.start() + 2, found.start() + 2 + len(opened[1])
        elif not found[2].endswith("/"):
            depth += 1
        elif depth == 0:
            return None
    return None
