"""Printing the findings of use cases."""

from __future__ import annotations

from collections.abc import Iterable

from rye.cli.options import Session
from rye.workspace.findings import FileFindings


def show_findings(session: Session, found: Iterable[FileFindings]) -> None:
    """Print each finding on stderr, as ``path:line:column: severity[code]: message``."""
    for file in found:
        session.console.diagnostics(file.shown, file.findings)
