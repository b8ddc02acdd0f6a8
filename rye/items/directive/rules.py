"""The collector of findings that the readers of a directive report to.

``R01`` to ``R12`` are the format document's numbered validation rules, as DECISIONS Directives 3 refines them. ``Dnnn`` are the
rest: what the document says elsewhere, what other decisions add, and what a safe reading requires (D7xx:
:mod:`rye.permissions.static_check`). What each means is in ``rye/explaining/codes/directives.toml``. The codes are stable.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from msgspec import Struct, field

from rye.items.directive.model import OPAQUE
from rye.limits import CONTENT
from rye.text.diagnostics import Diagnostic, Severity
from rye.text.spelling import near_miss

MAX_FINDINGS = CONTENT.listed_findings

_PARTS = {
    **dict.fromkeys(("metadata", "inputs", "outputs"), "directive"),
    **dict.fromkeys(("permissions", "hooks", "limits", "cost"), "metadata"),
}
"""Elements that grant, bound or shape a run, each with the only place where it counts. Elsewhere it is a decoy."""


class Placed(Protocol):
    """Anything with a position in the file: an element of the fence, a tag of the process."""

    @property
    def line(self) -> int:
        """The line, from 1."""

    @property
    def column(self) -> int:
        """The column, from 1."""


class Described(Placed, Protocol):
    """An element, as far as a finding about its attributes needs it."""

    @property
    def tag(self) -> str:
        """Its name."""

    @property
    def attributes(self) -> Mapping[str, str]:
        """Its attributes."""


class Findings(Struct):
    """Collects what the readers of one directive's parts report."""

    found: list[Diagnostic] = field(default_factory=list)
    more: int = 0
    more_errors: bool = False

    def add(self, severity: Severity, code: str, message: str, line: int | None, column: int | None, hint: str) -> None:
        """Report a finding. Beyond MAX_FINDINGS, findings are only counted."""
        if len(self.found) < MAX_FINDINGS:
            self.found.append(Diagnostic(severity, code, message, line, column, hint))
        else:
            self.more += 1
            self.more_errors = self.more_errors or severity == "error"

    def all(self) -> tuple[Diagnostic, ...]:
        """Return the reported findings. A last one counts those beyond MAX_FINDINGS."""
        if not self.more:
            return tuple(self.found)
        severity: Severity = "error" if self.more_errors else "warning"
        last = Diagnostic(severity, "D099", f"{self.more:,} more findings are not listed.", hint="Fix these first.")
        return (*self.found, last)

    def error(self, code: str, message: str, at: Placed, hint: str) -> None:
        """Report an error at the position of ``at``."""
        self.add("error", code, message, at.line, at.column, hint)

    def warning(self, code: str, message: str, at: Placed, hint: str) -> None:
        """Report a warning at the position of ``at``."""
        self.add("warning", code, message, at.line, at.column, hint)

    def unknown(self, severity: Severity, tag: str, at: Placed, inside: str, known: Iterable[str]) -> None:
        """Report D011: ``tag`` is not allowed in ``inside``. Opaque sections are allowed anywhere (DECISIONS Directives 11)."""
        if tag in OPAQUE:
            return
        if len(self.found) >= MAX_FINDINGS:
            self.add(severity, "D011", "", None, None, "")
            return
        if tag in _PARTS:
            message = f"`<{tag}>` has no effect in `<{inside}>`."
            self.error("D011", message, at, f"Move it into `<{_PARTS[tag]}>`, or delete it; a reader may believe it.")
            return
        self.add(
            severity, "D011", f"`<{tag}>` is unknown in `<{inside}>`.", at.line, at.column, _meant(tag, known, "<{}>")
        )

    def attributes(self, severity: Severity, element: Described, known: tuple[str, ...] = ()) -> None:
        """Report D012 for every attribute of ``element`` that is not in ``known``."""
        for name in element.attributes:
            if name not in known:
                self.attribute(severity, element.tag, name, element, known)

    def attribute(self, severity: Severity, tag: str, name: str, at: Placed, known: tuple[str, ...]) -> None:
        """Report D012 for the attribute ``name`` of ``tag``, which only has those in ``known``."""
        message = f"`<{tag}>` has no attribute `{name[:80]}`."
        self.add(severity, "D012", message, at.line, at.column, _meant(name, known, "{}"))


def _meant(word: str, known: Iterable[str], form: str) -> str:
    names = tuple(known)
    meant = near_miss(word, names)
    if meant is not None:
        return f"Did you mean `{form.format(meant)}`?"
    return f"Known here: {', '.join(f'`{form.format(name)}`' for name in names)}." if names else "Delete it."
