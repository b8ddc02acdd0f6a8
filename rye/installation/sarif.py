"""Findings as SARIF 2.1.0 (OASIS Static Analysis Results Interchange Format), as code hosts read it. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from urllib.parse import quote

from msgspec import Struct

from rye import __version__
from rye.installation.audit.finding import HELP, RULE_SEVERITIES, RULES, Finding
from rye.items.signed_release import Mention

_SCORES = {"error": "8.0", "warning": "5.0", "info": "2.0"}
SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


class Mentioned(Struct, frozen=True):
    """One mention in an installed item. ``path``: the installed file, relative to the project."""

    item: str
    version: str
    path: str
    mention: Mention


def sarif(findings: Sequence[Finding], mentioned: Sequence[Mentioned] = ()) -> dict[str, object]:
    """Return one run of the tool ``rye`` with these results; paths are relative to the project (``%SRCROOT%``).

    Facts are not verdicts: they have their own rules, and their results are of the kind ``informational`` or ``review``.
    """
    facts = sorted({entry.mention.fact for entry in mentioned})
    rules = {**RULES, **{f"fact/{fact}": f"An item mentions {fact}." for fact in facts}}
    names = list(rules)
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
                        "rules": [_rule(rule, text) for rule, text in rules.items()],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "originalUriBaseIds": {"SRCROOT": {"description": {"text": "The project's folder."}}},
                "results": [
                    *(_result(finding, names.index(finding.rule)) for finding in findings),
                    *(_fact(entry, names.index(f"fact/{entry.mention.fact}")) for entry in mentioned),
                ],
            }
        ],
    }


def _rule(name: str, text: str) -> dict[str, object]:
    """Return a rule with its help and a severity by which code hosts sort (0 to 10, like CVSS)."""
    severity = RULE_SEVERITIES.get(name, "info")
    level = "note" if severity == "info" else severity
    help_text = (
        HELP.get(name) or "A fact is not a verdict: read the text around it. `rye facts` lists all facts of an item."
    )
    return {
        "id": name,
        "shortDescription": {"text": text},
        "help": {"text": help_text, "markdown": help_text},
        "defaultConfiguration": {"level": level},
        "properties": {
            "tags": ["security"],
            "problem.severity": "recommendation" if severity == "info" else severity,
            "security-severity": _SCORES[severity],
        },
    }


def _fact(entry: Mentioned, index: int) -> dict[str, object]:
    mention = entry.mention
    about = f"fact/{mention.fact}\0{entry.path}\0{mention.value}"
    place = {"artifactLocation": {"uri": quote(entry.path), "uriBaseId": "SRCROOT"}}
    return {
        "ruleId": f"fact/{mention.fact}",
        "ruleIndex": index,
        "kind": "informational" if mention.is_note else "review",
        "level": "none",
        "message": {"text": f"{entry.item} {entry.version} mentions {mention.fact} ({mention.level}): {mention.value}"},
        "locations": [{"physicalLocation": {**place, "region": {"startLine": mention.line}}}],
        "partialFingerprints": {"rye/v1": hashlib.sha256(about.encode()).hexdigest()},
    }


def _result(finding: Finding, index: int) -> dict[str, object]:
    text = finding.message if finding.hint is None else f"{finding.message} {finding.hint}"
    about = f"{finding.rule}\0{finding.path}\0{finding.message}"
    return {
        "ruleId": finding.rule,
        "ruleIndex": index,
        "level": "note" if finding.severity == "info" else finding.severity,
        "message": {"text": text},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": quote(finding.path), "uriBaseId": "SRCROOT"},
                    "region": {"startLine": finding.line},
                }
            }
        ],
        "properties": {"security-severity": _SCORES[finding.severity]},
        "partialFingerprints": {"rye/v1": hashlib.sha256(about.encode()).hexdigest()},
    }
