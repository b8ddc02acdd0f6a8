"""The diagnostic codes of a directive, and the collector that its readers report to.

``R01`` to ``R12`` are the format document's numbered validation rules as DECISIONS Directives 3 sharpens them; ``Dnnn`` is the
rest: what the document says elsewhere, what the other decisions add, and what a safe reading demands. The codes are stable.
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
    "R05": "The category is not the file's folder below `directives/`",
    "R06": "`<permissions>` is not made of primaries, or of `*` alone",
    "R07": "`<cost>` lacks `<context>` with `estimated_usage` and `turns`",
    "R08": "A capability path is malformed",
    "R09": "A relationship element is not a direct child of `<context>`",
    "R10": "A hook's `<when>` does not parse, or names an unknown variable",
    "R11": "An input's name is used twice",
    "R12": "`<process>` stands inside the fence or before it",
    "D001": "There is no XML fence",
    "D002": "The first XML fence does not hold a `<directive>`",
    "D003": "The XML is malformed",
    "D004": "A DOCTYPE",
    "D005": "A processing instruction, or an encoding other than UTF-8",
    "D006": "Elements, quotes or lists are nested too deeply, or there are too many",
    "D007": "A character reference brings in a hidden character",
    "D008": "A second XML fence holds a `<directive>`",
    "D009": "The directive's fence is never closed",
    "D010": "The name is not `snake_case`, or not the file's",
    "D011": "An element is unknown here",
    "D012": "An attribute is unknown here",
    "D013": "An element appears twice where only one is allowed",
    "D014": "Text appears where only elements belong",
    "D015": "A namespace",
    "D020": "A limit is not a number, or is given twice with different values",
    "D021": "A value in `<cost>` is not a number of its kind",
    "D030": "A capability is declared twice",
    "D031": "A primary grants nothing",
    "D040": "A relationship does not name an item",
    "D041": "A relationship's version range is malformed or given twice",
    "D050": "A hook is incomplete or malformed",
    "D060": "An input's declaration is malformed",
    "D061": "An output's declaration is malformed",
    "D070": "The process is missing, doubled or not closed",
    "D071": "A step is malformed",
    "D072": "An action element is malformed",
    "D073": "Success criteria are malformed or out of place",
    "D080": "A placeholder names an input that is not declared",
    "D090": "The Markdown title is missing",
    "D099": "More findings than are listed",
    "D701": "No declared capability covers a call in the process",
    "D702": "A declared capability that no call uses",
    "D703": "Too many calls and capabilities to compare",
}
"""Every code with what it means (D7xx: :mod:`rye.permissions.static_check`); ``docs/how-to/directives.md`` has the same table."""


MAX_FINDINGS = CONTENT.listed_findings

_PARTS = {
    **dict.fromkeys(("metadata", "inputs", "outputs"), "directive"),
    **dict.fromkeys(("permissions", "hooks", "limits", "cost"), "metadata"),
}
"""What grants, bounds or shapes a run, and where alone it does; elsewhere it is a decoy, never just unknown."""


class Placed(Protocol):
    """Anything with a place in the file: an element of the fence, a tag of the process."""

    @property
    def line(self) -> int: ...
    @property
    def column(self) -> int: ...


class Findings(Struct):
    """What the readers of one directive's parts report."""

    found: list[Diagnostic] = field(default_factory=list)
    more: int = 0
    more_errors: bool = False

    def add(self, severity: Severity, code: str, message: str, line: int | None, column: int | None, hint: str) -> None:
        if len(self.found) < MAX_FINDINGS:
            self.found.append(Diagnostic(severity, code, message, line, column, hint))
        else:
            self.more += 1
            self.more_errors = self.more_errors or severity == "error"

    def all(self) -> tuple[Diagnostic, ...]:
        """What was reported; more than MAX_FINDINGS are counted in one."""
        if not self.more:
            return tuple(self.found)
        severity: Severity = "error" if self.more_errors else "warning"
        last = Diagnostic(severity, "D099", f"{self.more:,} more findings are not listed.", hint="Mend these first.")
        return (*self.found, last)

    def error(self, code: str, message: str, at: Placed, hint: str) -> None:
        self.add("error", code, message, at.line, at.column, hint)

    def warning(self, code: str, message: str, at: Placed, hint: str) -> None:
        self.add("warning", code, message, at.line, at.column, hint)

    def unknown(self, severity: Severity, tag: str, at: Placed, inside: str, known: Iterable[str]) -> None:
        """D011: ``tag`` is not an element of ``inside``. Opaque sections may stand anywhere (DECISIONS Directives 11)."""
        if tag in OPAQUE:
            return
        if len(self.found) >= MAX_FINDINGS:
            self.add(severity, "D011", "", None, None, "")
            return
        if tag in _PARTS:
            message = f"`<{tag}>` stands in `<{inside}>`, where it does not count."
            self.error("D011", message, at, f"Move it into `<{_PARTS[tag]}>`, or delete it: a reader may believe it.")
            return
        self.add(
            severity, "D011", f"`<{tag}>` is unknown in `<{inside}>`.", at.line, at.column, _meant(tag, known, "<{}>")
        )

    def attributes(
        self, severity: Severity, tag: str, given: Mapping[str, str], at: Placed, known: tuple[str, ...]
    ) -> None:
        """D012 for every attribute of ``given`` that is not one of ``known``."""
        for name in given:
            if name not in known:
                message = f"`<{tag}>` has no attribute `{name[:80]}`."
                self.add(severity, "D012", message, at.line, at.column, _meant(name, known, "{}"))


def _meant(word: str, known: Iterable[str], form: str) -> str:
    names = tuple(known)
    meant = near_miss(word, names)
    if meant is not None:
        return f"Did you mean `{form.format(meant)}`?"
    return f"Known here: {', '.join(f'`{form.format(name)}`' for name in names)}." if names else "Delete it."
