"""Findings in files that a use case could still use: for a face to show, never to act on."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from rye.text.diagnostics import Diagnostic


class FileFindings(Struct, frozen=True):
    """Findings about one file. ``shown``: its path, as shown to people."""

    shown: str
    findings: tuple[Diagnostic, ...]


def as_json(found: Iterable[FileFindings]) -> list[dict[str, object]]:
    """The findings of all files in one list, each with its ``path``."""
    return [{**finding.as_json(), "path": file.shown} for file in found for finding in file.findings]
