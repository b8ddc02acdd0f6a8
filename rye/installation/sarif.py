"""Findings as SARIF 2.1.0 (OASIS Static Analysis Results Interchange Format), as code hosts read it. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from urllib.parse import quote

from rye import __version__
from rye.installation.audit import RULES, Finding

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def sarif(findings: Sequence[Finding]) -> dict[str, object]:
    """One run of the tool ``rye`` with these results; paths are relative to the project (``%SRCROOT%``)."""
    rules = list(RULES)
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "rye",
                        "version": __version__,
                        "semanticVersion": __version__,
                        "rules": [{"id": rule, "shortDescription": {"text": text}} for rule, text in RULES.items()],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "originalUriBaseIds": {"SRCROOT": {"description": {"text": "The project's folder."}}},
                "results": [_result(finding, rules.index(finding.rule)) for finding in findings],
            }
        ],
    }


def _result(finding: Finding, index: int) -> dict[str, object]:
    text = finding.message if finding.hint is None else f"{finding.message} {finding.hint}"
    about = f"{finding.rule}\0{finding.path}\0{finding.message}"
    return {
        "ruleId": finding.rule,
        "ruleIndex": index,
        "level": finding.severity,
        "message": {"text": text},
        "locations": [{"physicalLocation": {"artifactLocation": {"uri": quote(finding.path), "uriBaseId": "SRCROOT"}}}],
        "partialFingerprints": {"rye/v1": hashlib.sha256(about.encode()).hexdigest()},
    }
