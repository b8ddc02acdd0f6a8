"""What a use case found in files that it went on with: for a face to show, never to act on."""

from __future__ import annotations

from msgspec import Struct

from rye.text.diagnostics import Diagnostic


class FileFindings(Struct, frozen=True):
    """Findings about one file. ``shown``: its path as people see it."""

    shown: str
    findings: tuple[Diagnostic, ...]
