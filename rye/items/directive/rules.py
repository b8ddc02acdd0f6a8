"""The diagnostic codes of a directive, and the collector that its readers report to.

``R01`` to ``R12`` are the format document's numbered validation rules, as DECISIONS Directives 3 refines them. ``Dnnn`` are the
rest: what the document says elsewhere, what other decisions add, and what a safe reading requires. The codes are stable.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from msgspec import Struct, field

from rye.items.directive.model import OPAQUE
from rye.limits import CONTENT
from rye.text.diagnostics import Diagnostic, Severity
from rye.text.spelling import near_miss

CODES: dict[str, str] = {
    "R01": "`<directive>` needs `name` and `version`",
    "R02": "A required metadata field is missing or empty",
    "R03": "The version is not exactly `X.Y.Z`",
    "R04": "`<model>` needs a `tier`",
    "R05": "The category does not match the file's folder below `directives/`",
    "R06": "`<permissions>` holds something other than primaries, or `*` alone",
    "R07": "`<cost>` lacks `<context>` with `estimated_usage` and `turns`",
    "R08": "A capability path is malformed",
    "R09": "A relationship element is not a direct child of `<context>`",
    "R10": "A hook's `<when>` does not parse, or names an unknown variable",
    "R11": "An input's name is used twice",
    "R12": "`<process>` is inside the fence or before it",
    "D001": "There is no XML fence",
    "D002": "The first XML fence does not hold a `<directive>`",
    "D003": "The XML is malformed",
    "D004": "The fence contains a DOCTYPE",
    "D005": "The XML has a processing instruction, or an encoding other than UTF-8",
    "D006": "Elements, quotes or lists are nested too deeply, or there are too many",
    "D007": "A character reference brings in a hidden character",
    "D008": "A second XML fence holds a `<directive>`",
    "D009": "The directive's fence is never closed",
    "D010": "The name is not `snake_case`, or does not match the file",
    "D011": "An element is unknown here",
    "D012": "An attribute is unknown here",
    "D013": "An element appears twice where only one is allowed",
    "D014": "Text appears where only elements belong",
    "D015": "An element uses a namespace",
    "D020": "A limit is not a number, or has two different values",
    "D021": "A value in `<cost>` is not a number of its kind",
    "D030": "A capability is declared more than once",
    "D031": "A primary grants nothing",
    "D040": "A relationship does not name an item",
    "D041": "A relationship's version range is malformed, or there are two",
    "D050": "A hook is incomplete or malformed",
    "D060": "An input's declaration is malformed",
    "D061": "An output's declaration is malformed",
    "D070": "The process is missing, repeated or not closed",
    "D071": "A step is malformed",
    "D072": "An action element is malformed",
    "D073": "Success criteria are malformed or out of place",
    "D080": "A placeholder names an input that is not declared",
    "D090": "The Markdown title is missing",
    "D099": "More findings than are listed",
    "D701": "No declared capability covers a call in the process",
    "D702": "No call uses a declared capability",
    "D703": "Too many calls and capabilities to compare",
}
"""Every code and its meaning (D7xx: :mod:`rye.permissions.static_check`). ``docs/how-to/directives.md`` has the same table."""


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
