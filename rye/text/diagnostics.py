"""Findings about a file's content, each with its position in the file."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

Severity = Literal["error", "warning", "notice", "info"]


class Diagnostic(Struct, frozen=True):
    """One finding. ``line`` and ``column`` count from 1 (columns in characters); None: it concerns the whole file."""

    severity: Severity
    code: str
    message: str
    line: int | None = None
    column: int | None = None
    hint: str | None = None

    def as_json(self) -> dict[str, object]:
        """The stable JSON of ``rye validate`` (DESIGN §9), plus ``hint``."""
        return {
            "severity": self.severity,
            "code": self.code,
            "message": self.message,
            "line": self.line,
            "column": self.column,
            "hint": self.hint,
        }


def has_errors(diagnostics: Iterable[Diagnostic]) -> bool:
    """Whether any finding is an error."""
    return any(diagnostic.severity == "error" for diagnostic in diagnostics)


def to_mend(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Errors and warnings: what a command that continues despite them must show (DECISIONS Directives 13)."""
    return tuple(diagnostic for diagnostic in diagnostics if diagnostic.severity in ("error", "warning"))


def strict(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """The findings under ``--strict``, where every warning is an error."""
    return tuple(replace(d, severity="error") if d.severity == "warning" else d for d in diagnostics)


def in_order(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """The findings sorted by line, column, then code; those about the whole file first."""
    return tuple(sorted(diagnostics, key=lambda d: (d.line or 0, d.column or 0, d.code)))
