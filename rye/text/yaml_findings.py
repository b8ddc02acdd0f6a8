"""Collects findings about one YAML document, for the kinds whose items start with one."""

from __future__ import annotations

from rye.text.diagnostics import Diagnostic, Severity
from rye.text.yaml_reading import YamlDocument


class YamlFindings:
    """Collects findings, each at the line and column of its key."""

    def __init__(self, document: YamlDocument):
        self.document = document
        self.found: list[Diagnostic] = []

    def report(self, severity: Severity, code: str, message: str, *path: str | int, hint: str | None = None) -> None:
        """Add a finding about the value at ``path``."""
        line, column = self.document.position(*path)
        self.found.append(Diagnostic(severity, code, message, line, column, hint))
